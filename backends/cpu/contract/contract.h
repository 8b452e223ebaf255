// The contraction engine: a Problem with a Variant of how to compute it. Work is cut into tasks by
// sizes only, every task writes its own part of C, and the order of each sum depends on the kernel
// id alone, so the result does not depend on the number of threads or on the order of the tasks.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "backends/cpu/contract/problem.h"
#include "base/error.h"

namespace plait::cpu {

enum class Isa { kPortable, kAvx2, kAvx512, kAvx512Bf16, kAmx };

/// The best instruction set of this machine and its system;
/// PLAIT_CPU_ISA=portable|avx2|avx512|avx512bf16|amx lowers it (UserError on another word).
Isa detect_isa();
std::string_view name_of(Isa isa);

/// PLAIT_CPU_WINOGRAD=0 turns off convolutions with fewer products than their definition has.
bool has_winograd();

/// PLAIT_CPU_F32_TILES=0 keeps AMX from multiplying f32, each as three bf16 (tile_kernels.h).
bool has_f32_tiles();

/// Products of bf16 that AMX takes for one of the dtype (f32, bf16 or f16).
int tile_products(DType dtype);

/// A way to compute a Problem: what can be measured, and stored as text.
struct Variant {
  Isa isa = Isa::kPortable;
  int mr = 0, nr = 0;           // the tile held in registers: rows x columns
  std::int64_t kc = 0;          // summed in registers before it goes to the tile
  std::int64_t mc = 0, nc = 0;  // the tile a task finishes at a time, in cache
  bool swapped = false;         // n are the rows and m the columns
  bool inside = false;          // B is packed by the tasks that use it, each for itself
  bool winograd = false;        // 3x3 convolutions with fewer products: see winograd.h
  bool sliding = false;         // 3x3 convolutions that copy less: see sliding.h
  bool operator==(const Variant&) const = default;
};

/// Cycles of one thread that does everything: what all wait for first, and the rest; and into how
/// many tasks each is cut.
struct Cost {
  double pack = 0, run = 0;
  std::int64_t pack_tasks = 0, tasks = 0;
};

struct Ranked {
  Variant variant;
  Cost cost;
  double score = 0;  // by which they are compared
  bool accepted = false;
};

/// Every implementation up to `best`, best guess first; those that accepts() refuses come last.
/// With b_constant the packing of B is not counted, since it happens once for ever.
std::vector<Ranked> ranked_variants(const Problem& problem, Isa best, bool b_constant = false);
std::vector<Variant> variants(const Problem& problem, Isa best, bool b_constant = false);
Decision accepts(const Problem& problem, const Variant& variant);

std::string to_text(const Variant& variant);
Variant variant_from_text(std::string_view text);  // UserError when it is not one

/// A finished tile in f32: rows [m0, m1) x columns [n0, n1) of batch index `batch`, element
/// tile[(m - m0) * ld + (n - n0)]; writes the result itself. m, n and batch are the flattened
/// indices in the Problem's own order, whether or not the Variant swaps them.
using TileSink = void (*)(const void* context, std::int64_t batch, std::int64_t m0, std::int64_t m1,
                          std::int64_t n0, std::int64_t n1, const float* tile, std::int64_t ld);

/// Neighbours along m are neighbours in C, those along n are not.
bool lies_along_m(const Problem& problem);

struct Blocking;  // blocking.h
class Work;       // work.h

/// A Problem with its blocking decided. After construction it keeps nothing but whether what was
/// packed last is finite; pack and run allocate nothing and may be called from any thread, each
/// with its own scratch.
class Contract {
 public:
  Contract(const Problem& problem, const Variant& variant);
  explicit Contract(std::unique_ptr<const Work> work);
  ~Contract();
  Contract(Contract&&) noexcept;
  Contract& operator=(Contract&&) noexcept;

  /// Names the instructions and the order of the sum, e.g. "gemm.avx2.f32.6x16.kc256".
  const std::string& id() const;
  const Variant& variant() const;

  std::int64_t scratch_bytes() const;  // per thread, 64-byte aligned
  std::int64_t packed_bytes() const;   // what pack makes, 64-byte aligned; 0: nothing

  /// All pack tasks come before any run task. They put B into the kernel's order and may be skipped
  /// while B does not change, unless they read A too (Winograd's weight gradients).
  std::int64_t pack_tasks() const;
  void pack(std::int64_t task, const void* a, const void* b, void* packed, void* scratch) const;

  /// Without a sink the task rounds its part and stores it into c. A `transposed` sink gets its
  /// tile with n as the rows and m as the columns, and its ranges in that order; only where the
  /// result lies along m, or with a Variant that is swapped.
  std::int64_t tasks() const;
  void run(std::int64_t task, const void* a, const void* b, const void* packed, void* c,
           TileSink sink, const void* context, void* scratch, bool transposed = false) const;

 private:
  std::unique_ptr<const Work> work_;
};

}  // namespace plait::cpu
