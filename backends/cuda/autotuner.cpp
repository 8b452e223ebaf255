// Choosing, measuring, keeping.
#include "backends/cuda/autotuner.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <map>
#include <tuple>

#include "backends/cuda/candidate_timer.h"
#include "backends/cuda/code.h"
#include "backends/cuda/library_guess.h"
#include "backends/tuning.h"
#include "base/hash.h"
#include "base/text.h"
#include "codegen/cuda/product.h"
#include "codegen/cuda/product_shape.h"
#include "loop/statements.h"

namespace plait::cuda {
namespace {

// Of our own kernels, how many are tried, and how many that differ by stages and splits alone.
constexpr std::size_t kMostVariants = 4, kMostOfATile = 2;
// None is where the guess is so many times what a library took.
constexpr double kTooSlow = 1.6;
constexpr double kNever = std::numeric_limits<double>::infinity();
// How choices are measured: those kept from another way of measuring are not taken.
constexpr const char* kTrials = "trials 3 ";
constexpr double kCoarseSeconds = 1e-4;  // of a single run: what is shorter is not seen
constexpr const char* kGuess = "guess";  // not measured: the rule's choice
constexpr const char* kGood = "good ";   // a library's first guess, and its seconds

std::string time_text(const std::string& what, double seconds) {
  char text[32];
  std::snprintf(text, sizeof text, "%.2f us", seconds * 1e6);
  return str(what, " ", text);
}

/// That reads back as the same number.
std::string seconds_text(double seconds) {
  char text[32];
  std::snprintf(text, sizeof text, "%.17g", seconds);
  return text;
}

std::vector<std::string> worth_trying(const std::vector<std::string>& variants) {
  using codegen::cuda::Core;
  std::map<std::tuple<Core, int, int, int, int>, std::size_t> tiles;
  std::vector<std::string> some;
  for (const std::string& v : variants) {
    const auto shape = codegen::cuda::shape_from_text(v);
    check(shape.has_value(), "the variant ", v, " is no shape");
    const std::tuple tile(shape->core, shape->bm, shape->bn, shape->bk, shape->lanes);
    if (some.size() < kMostVariants && ++tiles[tile] <= kMostOfATile) some.push_back(v);
  }
  return some;
}

/// A convolution, or the gradient of its weights, over an image whose channels, next to each other,
/// are fewer than fill 16 bytes: the first layer of a network.
bool has_few_channels(const loop::BoundContraction& c) {
  if (!c.guarded) return false;
  const auto full = static_cast<std::int64_t>(16 / size_of(c.dtype));
  for (const auto* axes : {&c.k, &c.m}) {
    for (const auto& x : *axes) {
      if (x.a == 1 && x.h == 0 && x.w == 0 && x.extent > 1) return x.extent < full;
    }
  }
  return false;
}

// Our own kernel is taken where it is guessed to take less than this part of the library's time.
constexpr double kOwnPart = 0.95;

/// In a line of its own: libraries say more than one.
std::string line_of(std::string text) {
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

}  // namespace

std::unique_ptr<LibraryCall> Autotuner::call(const Problem& p, bool fused, const std::string& id,
                                             bool slow, std::string& why) const {
  const DType result = fused ? p.fused->dtype : p.separate_epilogue.value_or(p.bound.dtype);
  return libraries_.make(p.bound, result, fused ? epilogue_of(p.fused) : LibraryEpilogue{}, id,
                         slow, why);
}

Choice Autotuner::as_choice(const Problem& p, const LibraryCall& call, bool fused) const {
  Choice out;
  out.kernel = call.id();
  out.fused = fused;
  if (!fused) out.separate_epilogue = p.separate_epilogue;
  out.variant =
      to_text(LibraryVariant{call.id(), fused ? p.fused : std::nullopt, out.separate_epilogue});
  out.shared_bytes = rounded(call.workspace_bytes());
  if (out.separate_epilogue) out.shared_bytes += result_bytes(p.bound, *out.separate_epilogue);
  return out;
}

Choice Autotuner::first_guess(const Problem& p, std::unique_ptr<LibraryCall>& made) const {
  Choice out;
  std::string why;
  const bool tensor_cores = is_half(p.bound.dtype) || (p.bound.dtype == DType::f32 && tf32_);
  if (tensor_cores && has_few_channels(p.bound)) {
    out.generated = true;
    out.predicted = {own_seconds(p), "products"};
    out.why = "its image has few channels: libraries are slow there";
    return out;
  }
  for (const bool fused : {true, false}) {
    if (fused && !p.fused) continue;
    made = call(p, fused, "", false, why);
    if (!made) continue;
    out = as_choice(p, *made, fused);
    out.predicted = {guessed_seconds(p, fused), "products"};
    out.why = "the library's first guess";
    if (fused || !p.epilogue || !tensor_cores || p.bound.guarded) return out;
    const std::int64_t operations = evaluate(loop::operations(p.contraction), p.largest);
    const double apart = library_us(model_, operations, p.bound.dtype) +
                         behind_us(model_, p.bound, *p.separate_epilogue, *p.epilogue);
    const double own = own_seconds(p) * 1e6;
    if (own >= kOwnPart * apart) return out;
    out = {};
    out.generated = true;
    out.predicted = {own * 1e-6, "products"};
    out.why = str("what follows is its epilogue: estimated", time_text("", own * 1e-6),
                  ", a library and a separate kernel", time_text("", apart * 1e-6));
    return out;
  }
  out.generated = true;
  out.predicted = {own_seconds(p), "products"};
  out.why = why;
  return out;
}

double Autotuner::guessed_seconds(const Problem& p, bool fused) const {
  const double call =
      ceiling_us(model_, p.bound, p.separate_epilogue.value_or(p.bound.dtype), tf32_);
  const bool follows = p.epilogue && !fused;
  return (call / model_.share_of("library") +
          (follows ? behind_us(model_, p.bound, *p.separate_epilogue, *p.epilogue) : 0)) *
         1e-6;
}

double Autotuner::own_seconds(const Problem& p) const {
  return codegen::cuda::product_us(p.contraction, p.epilogue, p.largest, own_options()) * 1e-6;
}

Choice Autotuner::guessed(const Problem& p) const {
  std::unique_ptr<LibraryCall> made;
  Choice guess = first_guess(p, made);
  if (guess.generated) return guess;
  const std::uint64_t key = fnv1a64(key_of(p, guess.kernel));
  std::optional<std::string> against = known_result(p.tuning, "guess", key);
  if (!against) {
    against = objection(p, *made, guess);
    if (!against) {
      keep_here(p.tuning, "guess", key, "");
      return guess;
    }
    keep_result(p.tuning, "guess", key, *against);
  }
  if (against->empty()) return guess;
  if (against->starts_with(kGood)) {
    // One run between two events takes as long as it takes to ask for it, where that is longer.
    const double seconds = std::strtod(against->c_str() + std::strlen(kGood), nullptr);
    if (seconds < kCoarseSeconds) return guess;
    const double follows =
        p.epilogue && !guess.fused
            ? behind_us(model_, p.bound, *p.separate_epilogue, *p.epilogue) * 1e-6
            : 0;
    guess.predicted = {seconds + follows, "measured"};
    return guess;
  }
  made.reset();
  Choice out = measured(p);
  out.why = str(*against, "; ", out.why);
  return out;
}

std::optional<std::string> Autotuner::objection(const Problem& p, const LibraryCall& call,
                                                const Choice& guess) const {
  const double ceiling =
      ceiling_us(model_, p.bound, guess.separate_epilogue.value_or(p.bound.dtype), tf32_);
  const auto is_slow = [&](double seconds) { return is_far_below(seconds * 1e6, ceiling); };
  std::optional<CandidateTimer> timer;
  try {
    timer.emplace(device_, p.bound, guess.fused ? p.epilogue : nullptr, p.largest,
                  CandidateTimer::kWarm);
  } catch (const RunError&) {
    return std::nullopt;
  }
  try {
    const double seconds = timer->glance(call, guess.fused ? p.fused : std::nullopt, is_slow);
    if (!is_slow(seconds)) return kGood + seconds_text(seconds);
    return str("the library's first guess, ", time_text(call.id(), seconds),
               ", is far below its ceiling", time_text("", ceiling * 1e-6));
  } catch (const RunError& e) {
    return str("the library's first guess, ", call.id(), ", does not run: ", line_of(e.what()));
  }
}

Choice Autotuner::measured(const Problem& p) const {
  const std::uint64_t key = fnv1a64(key_of(p, ""));
  if (const auto stored = known_result(p.tuning, "choice", key)) {
    if (std::optional<Choice> found = kept(p, *stored)) return *found;
  }
  std::optional<CandidateTimer> timer;
  try {
    timer.emplace(device_, p.bound, p.epilogue, p.largest, CandidateTimer::kCold);
  } catch (const RunError& e) {
    std::unique_ptr<LibraryCall> ignored;
    Choice guess = first_guess(p, ignored);
    guess.why = str(guess.why, "; not measured: ", line_of(e.what()));
    keep_here(p.tuning, "choice", key, str(kGuess, "\n\n", guess.why));
    return guess;
  }
  std::vector<std::string> times;
  const Entry best = best_of(p, *timer, times);
  Choice won = best.choice;
  won.predicted = {best.seconds, "measured"};
  won.why = "measured " + join(times, ", ");
  const std::string result = str(won.generated ? "own"
                                 : won.fused   ? "fused"
                                               : "library",
                                 '\n', won.generated ? won.variant : won.kernel, '\n', won.why,
                                 '\n', seconds_text(won.predicted.seconds));
  keep_result(p.tuning, "choice", key, result);
  // As it will be made from what is kept, to the byte of its workspace.
  return kept(p, result).value_or(won);
}

Autotuner::Entry Autotuner::best_of(const Problem& p, CandidateTimer& timer,
                                    std::vector<std::string>& times) const {
  Entry best{{}, kNever};
  const auto enter = [&](const std::string& name, Choice choice, double seconds) {
    times.push_back(seconds < kNever ? time_text(name, seconds) : name + " does not run");
    if (seconds < best.seconds) best = {std::move(choice), seconds};
  };
  for (const bool fused : {true, false}) {
    if (fused && !p.fused) continue;
    const char* with = fused ? " with what follows: " : ": ";
    std::string why;
    const auto made = call(p, fused, "", false, why);
    if (!made) {
      times.push_back(str("not a library", with, line_of(why)));
      continue;
    }
    try {
      const bool behind = p.epilogue && !fused;
      const double seconds =
          behind ? timer.time(*made,
                              target_.print(kernel_behind(*p.epilogue, *p.separate_epilogue), true))
                 : timer.time(*made, fused ? p.fused : std::nullopt);
      enter(str(made->id(), fused        ? " fused"
                            : p.epilogue ? " and a kernel"
                                         : ""),
            as_choice(p, *made, fused), seconds);
    } catch (const RunError& e) {
      times.push_back(str("the library fails", with, line_of(e.what())));
    }
  }
  const double guess = own_seconds(p);
  const bool slow = guess > kTooSlow * best.seconds;
  if (slow) times.push_back(time_text("ours not tried: guessed", guess));
  const auto own = slow ? std::vector<std::string>{} : worth_trying(own_variants(p));
  std::vector<PrintedLoop> printed;
  for (const std::string& variant : own) {
    printed.push_back(target_.print(p.contraction, p.epilogue, false, variant));
  }
  const std::vector<double> seconds = timer.time(printed);
  for (std::size_t i = 0; i < own.size(); ++i) {
    Choice choice;
    choice.generated = true;
    choice.variant = own[i];
    enter(own[i], choice, seconds[i]);
  }
  if (best.seconds == kNever) {
    throw RunError("a contraction has nothing that runs: " + join(times, ", "));
  }
  return best;
}

std::string Autotuner::key_of(const Problem& p, const std::string& guess) const {
  const PrintedLoop own = target_.print(p.contraction, p.epilogue, false, "");
  std::string key = str(kTrials, target_.identity(), guess, own.text);
  for (const Dim& d : own.call.function.parameters) key += str(' ', evaluate(d, p.largest));
  return key;
}

std::optional<Choice> Autotuner::kept(const Problem& p, const std::string& stored) const {
  const std::vector<std::string> lines = split(stored, '\n');
  if (lines.size() != 3 && lines.size() != 4) return std::nullopt;
  Choice out;
  if (lines[0] == kGuess) {
    std::unique_ptr<LibraryCall> ignored;
    out = first_guess(p, ignored);
  } else if (lines[0] == "own") {
    const std::vector<std::string> own = own_variants(p);
    if (std::find(own.begin(), own.end(), lines[1]) == own.end()) return std::nullopt;
    out.generated = true;
    out.variant = lines[1];
    out.predicted = {own_seconds(p), "products"};
  } else {
    std::string why;
    const bool fused = lines[0] == "fused";
    if (fused && !p.fused) return std::nullopt;
    const auto made = call(p, fused, lines[1], true, why);
    if (!made) return std::nullopt;
    out = as_choice(p, *made, fused);
    out.predicted = {guessed_seconds(p, fused), "products"};
  }
  out.why = lines[2];
  if (lines.size() == 4) out.predicted = {std::strtod(lines[3].c_str(), nullptr), "measured"};
  return out;
}

codegen::cuda::ProductOptions Autotuner::own_options() const {
  return {.tf32 = tf32_, .variant = "", .pairs = device_.has_pairs(), .device = &model_};
}

std::vector<std::string> Autotuner::own_variants(const Problem& p) const {
  return codegen::cuda::product_variants(p.contraction, p.largest, own_options(), p.epilogue);
}

Choice Autotuner::choose(const loop::Contraction& c, const loop::Kernel* epilogue,
                         const DimBindings& largest, Tuning& tuning) const {
  Problem p{c, epilogue, loop::bind(c, largest), largest, std::nullopt, std::nullopt, tuning};
  if (epilogue) {
    p.fused = find_fused(c, *epilogue);
    p.separate_epilogue = loop::rounds_first(*epilogue, c.dtype) ? c.dtype : DType::f32;
  }
  return tuning.measure ? measured(p) : guessed(p);
}

}  // namespace plait::cuda
