// Copies and products timed on the device.
#include "backends/cuda/ceilings.h"

#include <algorithm>
#include <functional>

#include "backends/cuda/sources.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/text.h"
#include "codegen/cache.h"
#include "codegen/cuda/print.h"
#include "codegen/cuda/product.h"

namespace plait::cuda {
namespace {

// Of a block, as in ceilings.cuh.
constexpr int kThreads = 256;
constexpr std::int64_t kLinesPerBlock = 4 * kThreads, kLineBytes = 16;
constexpr std::int64_t kBlockBytes = kLinesPerBlock * kLineBytes;

/// Memory that is given back.
class Piece {
 public:
  Piece(Device& device, std::int64_t bytes)
      : device_(device),
        blocks_((bytes + kBlockBytes - 1) / kBlockBytes),
        data_(device.allocate(blocks_ * kBlockBytes, "measuring what the device does at most")) {}
  ~Piece() { device_.release(data_); }
  Piece(const Piece&) = delete;
  Piece& operator=(const Piece&) = delete;
  char* data() const { return data_; }
  std::int64_t blocks() const { return blocks_; }

 private:
  Device& device_;
  std::int64_t blocks_;
  char* data_;
};

Word word_of(const void* address) { return reinterpret_cast<Word>(address); }

class Measure {
 public:
  Measure(Device& device, int runs)
      : device_(device),
        runs_(runs),
        module_(
            device.compile({codegen::cuda::unit_header() + std::string(codegen::cuda_ceilings())})
                .modules[0]) {}

  double copy_rate(std::int64_t bytes) const {
    const Piece from(device_, bytes), to(device_, bytes);
    fill(from);
    Launch launch = launch_of("plait_ceiling_copy", from);
    launch.words.push_back(word_of(to.data()));
    const double seconds = least_seconds([&] { device_.launch(launch); });
    return static_cast<double>(2 * from.blocks() * kBlockBytes) / seconds;
  }

  /// Of our own kernels, the fastest of the first few.
  double own_rate(const loop::BoundContraction& c, bool tf32) const {
    constexpr std::size_t kMostVariants = 3;
    const loop::Contraction contraction = as_symbolic(c);
    codegen::cuda::ProductOptions how{.tf32 = tf32};
    std::vector<std::string> variants =
        codegen::cuda::product_variants(contraction, DimBindings{}, how);
    if (variants.size() > kMostVariants) variants.resize(kMostVariants);
    const Operands o(*this, c);
    double best = 0;
    for (const std::string& variant : variants) {
      how.variant = variant;
      best = std::max(best, operations(c) / own_seconds(contraction, how, o));
    }
    return best;
  }

  double library_rate(const loop::BoundContraction& c, LibraryCall& call) const {
    const Operands o(*this, c);
    const Piece workspace(device_, std::max(call.tune_bytes(), call.workspace_bytes()) + 1);
    LibraryOperands operands;
    operands.a = o.a.data();
    operands.b = o.b.data();
    operands.c = o.c.data();
    operands.workspace = workspace.data();
    call.tune(device_.stream(), operands);
    return operations(c) / least_seconds([&] {
             if (const char* error = call.run(device_.stream(), operands)) throw RunError(error);
           });
  }

 private:
  /// Of a product: three matrices, two of them filled.
  struct Operands {
    Operands(const Measure& measure, const loop::BoundContraction& c)
        : a(measure.device_, bytes(c, c.m, c.k)),
          b(measure.device_, bytes(c, c.n, c.k)),
          c(measure.device_, bytes(c, c.m, c.n)) {
      measure.fill(a);
      measure.fill(b);
    }
    using Axes = std::vector<loop::AxisOf<std::int64_t>>;
    static std::int64_t bytes(const loop::BoundContraction& c, const Axes& x, const Axes& y) {
      return static_cast<std::int64_t>(size_of(c.dtype)) * x[0].extent * y[0].extent;
    }
    Piece a, b, c;
  };

  static double operations(const loop::BoundContraction& c) {
    return 2.0 * static_cast<double>(c.m[0].extent) * static_cast<double>(c.n[0].extent) *
           static_cast<double>(c.k[0].extent);
  }

  static loop::Contraction as_symbolic(const loop::BoundContraction& c) {
    const auto axis = [](const loop::AxisOf<std::int64_t>& x) {
      return loop::AxisOf<Dim>{x.extent, x.a, x.b, x.c, x.h, x.w};
    };
    loop::Contraction out;
    out.dtype = c.dtype;
    out.m = {axis(c.m[0])};
    out.n = {axis(c.n[0])};
    out.k = {axis(c.k[0])};
    return out;
  }

  Launch launch_of(const char* kernel, const Piece& piece) const {
    Launch launch;
    launch.function = module_->function(kernel);
    launch.blocks = piece.blocks();
    launch.threads = kThreads;
    launch.words = {word_of(piece.data())};
    return launch;
  }

  void fill(const Piece& piece) const { device_.launch(launch_of("plait_ceiling_fill", piece)); }

  double own_seconds(const loop::Contraction& c, const codegen::cuda::ProductOptions& how,
                     const Operands& o) const {
    const codegen::cuda::Printed p = codegen::cuda::print_product(c, nullptr, true, how);
    const auto modules = device_.compile({codegen::cuda::unit_header() + p.text}).modules;
    std::int64_t elements = 1;
    for (const Dim& size : p.scratch_sizes) elements += size.value();
    const Piece scratch(device_, 8 * elements), flag(device_, 256);
    Launch launch;
    launch.function = modules[0]->function(p.name);
    launch.dependent = true;
    launch.blocks = p.blocks.value();
    launch.threads = p.threads;
    launch.block_bytes = p.block_bytes;
    launch.words = {word_of(o.a.data()), word_of(o.b.data()), word_of(o.c.data())};
    std::int64_t at = 0;
    for (const Dim& size : p.scratch_sizes) {
      launch.words.push_back(word_of(scratch.data() + at));
      at += 8 * size.value();
    }
    launch.words.push_back(word_of(flag.data()));
    for (const Dim& d : p.parameters) launch.words.push_back(static_cast<Word>(d.value()));
    Launch finish = launch;
    const bool two = !p.finish_blocks.is(0);
    if (two) {
      finish.function = modules[0]->function(p.name + "_finish");
      finish.blocks = p.finish_blocks.value();
      finish.threads = codegen::cuda::kThreads;
      finish.block_bytes = 0;
    }
    return least_seconds([&] {
      device_.launch(launch);
      if (two) device_.launch(finish);
    });
  }

  double least_seconds(const std::function<void()>& run) const {
    run();
    double least = 1e9;
    for (int i = 0; i < runs_; ++i) {
      device_.forget_marks();
      const int begin = device_.mark();
      run();
      const int end = device_.mark();
      device_.wait();
      least = std::min(least, device_.seconds(begin, end));
    }
    return least;
  }

  Device& device_;
  int runs_;
  std::shared_ptr<Module> module_;
};

struct Precision {
  const char* name;
  DType dtype;
  bool tf32;
};
constexpr Precision kPrecisions[] = {{"bf16", DType::bf16, false},
                                     {"f16", DType::f16, false},
                                     {"f32", DType::f32, false},
                                     {"tf32", DType::f32, true}};

/// C[m, n] = A[m, k] * B[n, k], all sizes the same.
loop::BoundContraction cube(DType dtype, std::int64_t size) {
  loop::BoundContraction c;
  c.dtype = dtype;
  c.m = {{.extent = size, .a = size, .c = size}};
  c.n = {{.extent = size, .b = size, .c = 1}};
  c.k = {{.extent = size, .a = 1, .b = 1}};
  return c;
}

/// "cuda NVIDIA H200 with 132 multiprocessors, nvrtc 13.0": what stands before the compiler.
std::string device_name(const std::string& identity) {
  constexpr std::string_view kPrefix = "cuda ";
  const std::size_t begin = identity.starts_with(kPrefix) ? kPrefix.size() : 0;
  return identity.substr(begin, identity.find_first_of(",;", begin) - begin);
}

}  // namespace

DeviceModel measure_ceilings(Device& device, const Libraries* libraries, DeviceModel model,
                             const CeilingSizes& sizes) {
  model.name = device_name(device.identity());
  model.source = "measured";
  model.operations_per_second.clear();
  const Measure measure(device, sizes.runs);
  model.bytes_per_second = measure.copy_rate(std::min(sizes.copy_bytes, device.free_bytes() / 4));
  for (const Precision& p : kPrecisions) {
    const bool wide = p.dtype == DType::f32;
    const loop::BoundContraction c = cube(p.dtype, wide ? sizes.floats : sizes.halves);
    std::string why;
    const auto call =
        libraries ? libraries->with(p.tf32)->make(c, p.dtype, {}, "", true, why) : nullptr;
    model.operations_per_second[p.name] =
        call ? measure.library_rate(c, *call) : measure.own_rate(c, p.tf32);
  }
  return model;
}

std::optional<DeviceModel> ceilings_of(Device& device, const Libraries* libraries,
                                       const DeviceModel& model) {
  if (!device.stream()) return std::nullopt;
  const std::uint64_t key =
      fnv1a64(str(device.identity(), "\n", libraries ? libraries->identity() : "no libraries", "\n",
                  to_text(model)));
  if (const auto kept = codegen::cache::load("ceilings", key)) {
    try {
      return device_model_from_text(*kept, "the cache");
    } catch (const UserError&) {  // measured again
    }
  }
  DeviceModel out = measure_ceilings(device, libraries, model, {});
  codegen::cache::store("ceilings", key, to_text(out));
  return out;
}

}  // namespace plait::cuda
