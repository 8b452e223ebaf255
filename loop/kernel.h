// A loop kernel: what a group of nodes becomes. Rows run in parallel; in each row, stages follow
// each other, every one a loop over the inner indices whose reductions later stages read. Data for
// printers and for the interpreter; how it came to be grouped is the plan's business.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/dim.h"
#include "base/dtype.h"
#include "loop/expr.h"
#include "loop/nest.h"

namespace plait::loop {

/// An index of the kernel; as a Dim it is the symbol of that name ("$r0", "$i0").
struct KernelIndex {
  std::string symbol;
  Dim extent;
};
/// As a Dim, in [0, extent).
Dim symbol_of(const KernelIndex& index);

/// What a value of this dtype is computed in where nothing else takes part: f64, f32 or i64.
constexpr DType compute_type(DType t) {
  return t == DType::f64 ? DType::f64 : is_float(t) ? DType::f32 : DType::i64;
}

constexpr std::string_view name_of(Reduce r) {
  constexpr std::string_view names[] = {"none", "sum", "max", "min", "prod"};
  return names[static_cast<std::size_t>(r)];
}

/// One element of a buffer, at an offset in elements over the kernel's indices. Where a guard
/// fails nothing is read and the value is `otherwise`.
struct KernelLoad {
  int buffer = 0;
  Dim offset;
};

/// What a statement reads: an earlier statement's value, an element of memory, the element of the
/// contraction's tile, or a number.
struct KernelOperand {
  enum Kind { kLet, kLoad, kTile, kNumber } kind = kNumber;
  int let = 0;
  KernelLoad load{};
  double number = 0;
  std::vector<Guard> guards{};
  double otherwise = 0;
};

/// Where a statement stands: once per call, once per row, or for each inner index.
enum class Level { kCall, kRow, kInner };
constexpr std::string_view name_of(Level level) {
  constexpr std::string_view names[] = {"call", "row", "inner"};
  return names[static_cast<std::size_t>(level)];
}

/// value = body(operands), rounded to dtype. A reduction over the inner indices ends in a value of
/// the row; one over the rows (`column`) ends after all rows and can only be stored.
struct Let {
  DType dtype = DType::f32;
  DType compute = DType::f32;  // f32, f64 or i64: what body runs in
  Expr body;                   // loads are operands
  std::vector<KernelOperand> operands;
  Reduce reduce = Reduce::kNone;
  bool column = false;
  Expr finish{};  // of a reduction, over acc() and operands that are not inner
  Level level = Level::kInner;
  int stage = 0;
  bool kept = false;     // in a row's scratch, for a later stage
  std::string index{};   // this value is an index ("$g0"): it must lie in [0, extent)
  Dim index_extent = 0;  // of `index`
};

/// buffer[offset] = let. For column reductions the offset is over the inner indices alone.
struct KernelStore {
  int let = 0;
  int buffer = 0;
  Dim offset;
};

struct KernelBuffer {
  DType dtype = DType::f32;
  bool written = false;
};

struct Kernel {
  std::vector<KernelIndex> rows, inner;  // outermost first
  std::vector<KernelBuffer> buffers;
  std::vector<Let> lets;  // in an order in which each reads earlier ones
  std::vector<KernelStore> stores;
  int stages = 1;
  bool epilogue = false;  // runs on tiles of a contraction: rows are its batch and m, inner its n
  int batch_rows = 0;     // of an epilogue: how many of `rows` are the contraction's batch
  bool open = false;      // its sizes are numbers of the call: calls of other sizes share its text

  bool has_columns() const;
};

/// Points of the rows, and of the inner indices.
Dim row_count(const Kernel& kernel);
Dim inner_count(const Kernel& kernel);

/// Whether it is no epilogue and reduces nothing.
bool is_pointwise(const Kernel& kernel);
/// `pointwise`, `row`, `column` or `epilogue`.
std::string schedule_name(const Kernel& kernel);

/// Drops indices of extent 1, merges neighbours that every access walks as one, and settles the
/// level of every statement.
void collapse(Kernel& kernel);

/// The kernel with the level of every statement settled anew.
Kernel settled(Kernel kernel);

/// Splits a collapsed kernel's inner index in two where its accesses take quotients and remainders
/// of it by one number, so that they walk in steps instead: what reads a reshaped value does.
void unfold(Kernel& kernel);

/// Where an expression over the kernel's indices (and loaded indices) is known.
Level level_of(const Kernel& kernel, const Dim& d);

/// The coefficient of a symbol in a sum; nullopt when the symbol stands inside a quotient,
/// remainder, minimum or maximum, or in a power.
struct Linear {
  bool is_linear = true;
  Dim coefficient = 0;
};
Linear coefficient_of(const Dim& d, const std::string& symbol);
bool mentions(const Dim& d, const std::string& symbol);

}  // namespace plait::loop
