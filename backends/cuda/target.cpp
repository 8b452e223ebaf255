// What a GPU offers, and which implementation of a contraction it takes.
#include "backends/cuda/target.h"

#include <cstdio>
#include <optional>

#include "backends/cuda/code.h"
#include "backends/cuda/fused.h"
#include "backends/cuda/hand/hand.h"
#include "backends/cuda/library/library.h"
#include "backends/cuda/trial.h"
#include "base/hash.h"
#include "base/text.h"
#include "codegen/cache.h"
#include "codegen/cuda/print.h"
#include "codegen/cuda/product.h"

namespace plait::cuda {
namespace {

// Fewer operations than this are generated: a library's launch is no faster.
constexpr std::int64_t kSmallProduct = 4'000'000;
// Of our own kernels, how many are tried.
constexpr std::size_t kMostVariants = 4;

PrintedLoop as_loop(codegen::cuda::Printed p) {
  PrintedLoop out;
  out.call.function = {p.name, p.parameters};
  out.call.column_sizes = p.scratch_sizes;
  out.call.rows = p.blocks;
  out.call.finish_rows = p.finish_blocks;
  out.call.threads = p.threads;
  out.call.block_bytes = p.block_bytes;
  out.text = str(kNameComment, p.name, "\n", p.text);
  return out;
}

class DeviceSpace : public Space {
 public:
  DeviceSpace(std::shared_ptr<Device> device, std::int64_t bytes, const std::string& what)
      : device_(std::move(device)), bytes_(bytes) {
    if (bytes > 0) data_ = device_->allocate(bytes, what);
  }
  ~DeviceSpace() override {
    if (data_) device_->release(data_);
  }
  DeviceSpace(const DeviceSpace&) = delete;
  DeviceSpace& operator=(const DeviceSpace&) = delete;
  char* data() const override { return data_; }
  bool is_host() const override { return false; }
  std::int64_t bytes() const override { return bytes_; }
  void write(std::int64_t offset, const void* from, std::int64_t bytes) override {
    if (bytes > 0) device_->write(data_ + offset, from, bytes);
  }
  void read(std::int64_t offset, void* to, std::int64_t bytes) const override {
    if (bytes > 0) device_->read(to, data_ + offset, bytes);
  }
  std::int64_t resident_bytes() const override { return bytes_; }

 private:
  std::shared_ptr<Device> device_;
  char* data_ = nullptr;
  std::int64_t bytes_;
};

class CudaTarget : public Target {
 public:
  CudaTarget(std::shared_ptr<Device> device, std::shared_ptr<const Libraries> libraries,
             const CudaOptions& options)
      : device_(std::move(device)), libraries_(std::move(libraries)), options_(options) {}

  std::string_view name() const override { return "cuda"; }
  std::string identity() const override {
    return str("cuda ", device_->identity(), libraries_ ? ", " + libraries_->identity() : "",
               options_.tf32 ? ", tf32" : "");
  }
  int threads() const override { return 1; }

  Decision has_hand(const std::string& op) const override {
    if (find_hand(op)) return Decision::allow();
    return Decision::forbid("it has no kernel there; --backend ref runs it");
  }

  PrintedLoop print(const loop::Kernel& kernel, bool) const override {
    return as_loop(codegen::cuda::print_kernel(kernel, true));
  }
  PrintedLoop print(const loop::Contraction& c, const loop::Kernel* epilogue, bool whole,
                    const std::string& variant) const override {
    codegen::cuda::ProductOptions how;
    how.tf32 = options_.tf32;
    how.variant = whole ? "simple" : variant;
    return as_loop(codegen::cuda::print_product(c, epilogue, true, how));
  }

  Choice choose(const loop::Contraction& c, const loop::Kernel* epilogue, bool,
                const DimBindings& largest, bool measure) const override {
    Choice out;
    out.generated = true;
    const std::int64_t operations = evaluate(loop::operations(c), largest);
    if (operations < kSmallProduct) {
      out.why = str("only ", operations, " operations");
      return out;
    }
    if (!libraries_) {
      out.why = "no library is there";
      return out;
    }
    const Problem problem{c, epilogue, loop::bind(c, largest), largest,
                          epilogue ? find_fused(c, *epilogue) : std::nullopt};
    return measure ? measured(problem) : guessed(problem);
  }

  Choice choose(const LoopCall& call, const DimBindings& largest) const override {
    Choice out;
    const std::string& name = call.function.name;  // k_SCHEDULE_HASH
    const std::size_t cut = name.rfind('_');
    out.kernel = str("loop.", name.substr(2, cut - 2), ".", name.substr(cut + 1, 8));
    for (const Dim& size : call.column_sizes) {
      out.shared_bytes += rounded(8 * evaluate(size, largest));
    }
    out.why = str("generated, ", evaluate(call.rows, largest), " blocks");
    return out;
  }

  Choice choose(const HandCall& call, const DimBindings& largest) const override {
    const HandEntry* entry = find_hand(call.op);
    Choice out;
    out.kernel = std::string(entry->id);
    out.shared_bytes = rounded(entry->plan(call, largest).scratch_bytes);
    out.why = "written by hand";
    return out;
  }

  std::unique_ptr<Space> allocate(std::int64_t bytes, const std::string& what) const override {
    return std::make_unique<DeviceSpace>(device_, bytes, what);
  }
  std::unique_ptr<Code> load(const std::vector<std::vector<Call>>& steps,
                             const std::vector<std::string>& texts, bool whole) const override {
    return load_code(device_, libraries_, steps, texts, whole);
  }

 private:
  struct Problem {
    const loop::Contraction& contraction;
    const loop::Kernel* epilogue;  // null: none
    loop::BoundContraction bound;
    const DimBindings& largest;
    std::optional<Fused> fused;
  };

  /// A call that does all, or else the product with a kernel behind it. Null with `why`.
  std::unique_ptr<LibraryCall> library_call(const Problem& p, bool fused, const std::string& id,
                                            std::string& why) const {
    const bool follows = p.epilogue && !fused;
    return libraries_->make(p.bound, follows, fused ? epilogue_of(p.fused) : LibraryEpilogue{}, id,
                            why);
  }

  Choice as_choice(const Problem& p, const LibraryCall& call, bool fused) const {
    Choice out;
    const bool follows = p.epilogue && !fused;
    out.kernel = call.id();
    out.variant = to_text(LibraryVariant{call.id(), fused ? p.fused : std::nullopt});
    out.fused = fused;
    out.shared_bytes = tile_bytes(p.bound, follows) + rounded(call.workspace_bytes());
    return out;
  }

  Choice guessed(const Problem& p) const {
    Choice out;
    std::string why;
    for (const bool fused : {true, false}) {
      if (fused && !p.fused) continue;
      const auto call = library_call(p, fused, "", why);
      if (!call) continue;
      out = as_choice(p, *call, fused);
      out.why = "the library's first guess";
      return out;
    }
    out.generated = true;
    out.why = why;
    return out;
  }

  /// The fastest of the library's and our own, from the cache where it was measured before.
  Choice measured(const Problem& p) const {
    const std::string key = key_of(p);
    if (const auto stored = codegen::cache::load("choice", fnv1a64(key))) {
      if (std::optional<Choice> kept = from_stored(p, *stored)) return *kept;
    }
    Trial trial(*device_, p.bound, p.epilogue, p.largest);
    Choice best;
    double least = 1e9;
    std::vector<std::string> times;
    const auto tell = [&](const std::string& what, double seconds) {
      char text[32];
      std::snprintf(text, sizeof text, "%.2f us", seconds * 1e6);
      times.push_back(str(what, " ", text));
    };
    std::string why;
    for (const bool fused : {true, false}) {
      if (fused && !p.fused) continue;
      const auto call = library_call(p, fused, "", why);
      if (!call) {
        times.push_back("not a library: " + why);
        continue;
      }
      std::optional<PrintedLoop> after;
      if (p.epilogue && !fused) after = print(*p.epilogue, true);
      const double seconds =
          trial.time(*call, fused ? p.fused : std::nullopt, after ? &*after : nullptr);
      tell(str(call->id(), fused ? " fused" : ""), seconds);
      if (seconds >= least) continue;
      least = seconds;
      best = as_choice(p, *call, fused);
    }
    for (const std::string& variant : own_variants(p)) {
      const double seconds = trial.time(print(p.contraction, p.epilogue, false, variant));
      tell(variant, seconds);
      if (seconds >= least) continue;
      least = seconds;
      best = Choice{};
      best.generated = true;
      best.variant = variant;
    }
    best.why = "measured " + join(times, ", ");
    codegen::cache::store("choice", fnv1a64(key),
                          str(best.generated ? "own"
                              : best.fused   ? "fused"
                                             : "library",
                              '\n', best.generated ? best.variant : best.kernel, '\n', best.why));
    return best;
  }

  std::vector<std::string> own_variants(const Problem& p) const {
    codegen::cuda::ProductOptions how;
    how.tf32 = options_.tf32;
    std::vector<std::string> all = codegen::cuda::product_variants(p.contraction, p.largest, how);
    if (all.size() > kMostVariants) all.resize(kMostVariants);
    return all;
  }

  std::string key_of(const Problem& p) const {
    const PrintedLoop text = print(p.contraction, p.epilogue, false, "");
    std::string key = str(identity(), text.text);
    for (const Dim& d : text.call.function.parameters) key += str(' ', evaluate(d, p.largest));
    return key;
  }

  std::optional<Choice> from_stored(const Problem& p, const std::string& stored) const {
    const std::vector<std::string> lines = split(stored, '\n');
    if (lines.size() != 3) return std::nullopt;
    Choice out;
    if (lines[0] == "own") {
      out.generated = true;
      out.variant = lines[1];
    } else {
      std::string why;
      const bool fused = lines[0] == "fused";
      const auto call = library_call(p, fused, lines[1], why);
      if (!call) return std::nullopt;
      out = as_choice(p, *call, fused);
    }
    out.why = lines[2];
    return out;
  }

  std::shared_ptr<Device> device_;
  std::shared_ptr<const Libraries> libraries_;
  CudaOptions options_;
};

}  // namespace

std::unique_ptr<Target> make_cuda_target(std::shared_ptr<Device> device,
                                         std::shared_ptr<const Libraries> libraries,
                                         const CudaOptions& options) {
  return std::make_unique<CudaTarget>(std::move(device), std::move(libraries), options);
}

}  // namespace plait::cuda
