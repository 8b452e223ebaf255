// Choosing, measuring, keeping.
#include "backends/cuda/contest.h"

#include <cstdio>

#include "backends/cuda/code.h"
#include "backends/cuda/trial.h"
#include "base/hash.h"
#include "base/text.h"
#include "codegen/cache.h"
#include "codegen/cuda/product.h"

namespace plait::cuda {
namespace {

// Of our own kernels, how many are tried.
constexpr std::size_t kMostVariants = 4;
// A kernel that reads a product and writes the results, by its bytes: near what the memory does.
constexpr double kBytesPerSecond = 3.2e12, kLaunchSeconds = 2e-6;

std::string time_text(const std::string& what, double seconds) {
  char text[32];
  std::snprintf(text, sizeof text, "%.2f us", seconds * 1e6);
  return str(what, " ", text);
}

/// A convolution of halves over an image whose channels, next to each other, are fewer than fill 16
/// bytes: the first layer of a network.
bool has_few_channels(const loop::BoundContraction& c) {
  if (!c.guarded || !is_half(c.dtype)) return false;
  for (const auto& x : c.k) {
    if (x.a == 1 && x.h == 0 && x.w == 0) return x.extent < 8;
  }
  return false;
}

/// What a kernel apart takes, about.
double apart_seconds(const loop::BoundContraction& c, DType product, const loop::Kernel& epilogue) {
  double bytes = static_cast<double>(result_bytes(c, product));
  for (std::size_t b = 0; b < epilogue.buffers.size(); ++b) {
    bytes += static_cast<double>(result_bytes(c, epilogue.buffers[b].dtype));
  }
  return kLaunchSeconds + bytes / kBytesPerSecond;
}

}  // namespace

std::unique_ptr<LibraryCall> Contest::call(const Problem& p, bool fused, const std::string& id,
                                           bool slow, std::string& why) const {
  const DType result = fused ? p.bound.dtype : p.apart.value_or(p.bound.dtype);
  return libraries_.make(p.bound, result, fused ? epilogue_of(p.fused) : LibraryEpilogue{}, id,
                         slow, why);
}

Choice Contest::as_choice(const Problem& p, const LibraryCall& call, bool fused) const {
  Choice out;
  out.kernel = call.id();
  out.fused = fused;
  if (!fused) out.apart = p.apart;
  out.variant = to_text(LibraryVariant{call.id(), fused ? p.fused : std::nullopt, out.apart});
  out.shared_bytes = rounded(call.workspace_bytes());
  if (out.apart) out.shared_bytes += result_bytes(p.bound, *out.apart);
  return out;
}

Choice Contest::guessed(const Problem& p) const {
  Choice out;
  std::string why;
  if (has_few_channels(p.bound)) {
    out.generated = true;
    out.why = "its image has few channels: libraries are slow there";
    return out;
  }
  for (const bool fused : {true, false}) {
    if (fused && !p.fused) continue;
    const auto made = call(p, fused, "", false, why);
    if (!made) continue;
    out = as_choice(p, *made, fused);
    out.why = "the library's first guess";
    return out;
  }
  out.generated = true;
  out.why = why;
  return out;
}

Choice Contest::measured(const Problem& p) const {
  const std::uint64_t key = fnv1a64(key_of(p));
  if (const auto stored = codegen::cache::load("choice", key)) {
    if (std::optional<Choice> found = kept(p, *stored)) return *found;
  }
  Trial trial(device_, p.bound, p.epilogue, p.largest);
  std::vector<std::string> times;
  Entry best{{}, 1e9};
  const auto enter = [&](const std::string& name, Choice choice, double seconds) {
    times.push_back(time_text(name, seconds));
    if (seconds < best.seconds) best = {std::move(choice), seconds};
  };
  for (const bool fused : {true, false}) {
    if (fused && !p.fused) continue;
    std::string why;
    const auto made = call(p, fused, "", false, why);
    if (!made) {
      times.push_back(str("not a library", fused ? " with what follows: " : ": ", why));
      continue;
    }
    double seconds = trial.time(*made, fused ? p.fused : std::nullopt);
    if (p.epilogue && !fused) seconds += apart_seconds(p.bound, *p.apart, *p.epilogue);
    enter(str(made->id(), fused        ? " fused"
                          : p.epilogue ? " and a kernel"
                                       : ""),
          as_choice(p, *made, fused), seconds);
  }
  codegen::cuda::ProductOptions how;
  how.tf32 = tf32_;
  std::vector<std::string> own = codegen::cuda::product_variants(p.contraction, p.largest, how);
  if (own.size() > kMostVariants) own.resize(kMostVariants);
  std::vector<PrintedLoop> printed;
  for (const std::string& variant : own) {
    printed.push_back(target_.print(p.contraction, p.epilogue, false, variant));
  }
  const std::vector<double> seconds = trial.time(printed);
  for (std::size_t i = 0; i < own.size(); ++i) {
    Choice choice;
    choice.generated = true;
    choice.variant = own[i];
    enter(own[i], choice, seconds[i]);
  }
  Choice& won = best.choice;
  won.why = "measured " + join(times, ", ");
  codegen::cache::store("choice", key,
                        str(won.generated ? "own"
                            : won.fused   ? "fused"
                                          : "library",
                            '\n', won.generated ? won.variant : won.kernel, '\n', won.why));
  return won;
}

std::string Contest::key_of(const Problem& p) const {
  const PrintedLoop own = target_.print(p.contraction, p.epilogue, false, "");
  std::string key = str(target_.identity(), own.text);
  for (const Dim& d : own.call.function.parameters) key += str(' ', evaluate(d, p.largest));
  return key;
}

std::optional<Choice> Contest::kept(const Problem& p, const std::string& stored) const {
  const std::vector<std::string> lines = split(stored, '\n');
  if (lines.size() != 3) return std::nullopt;
  Choice out;
  if (lines[0] == "own") {
    out.generated = true;
    out.variant = lines[1];
  } else {
    std::string why;
    const bool fused = lines[0] == "fused";
    if (fused && !p.fused) return std::nullopt;
    const auto made = call(p, fused, lines[1], true, why);
    if (!made) return std::nullopt;
    out = as_choice(p, *made, fused);
  }
  out.why = lines[2];
  return out;
}

Choice Contest::choose(const loop::Contraction& c, const loop::Kernel* epilogue,
                       const DimBindings& largest, bool measure) const {
  Problem p{c, epilogue, loop::bind(c, largest), largest, std::nullopt, std::nullopt};
  if (epilogue) {
    p.fused = find_fused(c, *epilogue);
    p.apart = rounds_first(c, *epilogue) ? c.dtype : DType::f32;
  }
  return measure ? measured(p) : guessed(p);
}

}  // namespace plait::cuda
