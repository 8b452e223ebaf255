// Runs kernels and contractions on host memory by definition, one point after the other: what the
// generated code of both dialects is held to. Every statement computes in its compute type and is
// rounded to its dtype; every load and store is checked against the size of its buffer.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "loop/contraction.h"
#include "loop/kernel.h"

namespace plait::loop {

/// The scalar operations of a run. Generated code has its own exp, tanh.., a rounding or two from
/// those of loop/scalar.h: who compares bits gives them.
struct ScalarFunctions {
  float (*f32)(ScalarOp, float, float, float) = apply_real<float>;
  double (*f64)(ScalarOp, double, double, double) = apply_real<double>;
};

/// A reduction of floats before it is finished: for those who ask how far another order of its
/// terms may lead.
struct Reduced {
  int let;  // kTileSum: an element of the contraction
  double value;
  std::int64_t terms;
  double size;  // the sum of the terms' sizes
};
inline constexpr int kTileSum = -1;

struct KernelRun {
  /// A whole number of elements each; they may overlap, as a result that takes an operand's place.
  std::vector<std::span<std::byte>> buffers{};
  DimBindings sizes{};          // of the program's symbols
  std::string name = "kernel";  // in messages
  ScalarFunctions scalars{};
  /// What a reduction is taken to be instead, and what a float is taken to be before it is rounded
  /// to its dtype, by the number of its statement. Left empty, they are what they are.
  std::function<double(const Reduced&)> reduced = nullptr;
  std::function<double(int let, double value)> rounded = nullptr;
};

/// What generated code reports, and goes on behind: an index out of range is 0 then, a quotient or
/// remainder by zero 0.
struct Faults {
  bool index = false, division = false;
  friend bool operator==(const Faults&, const Faults&) = default;
};

/// Sums of columns are added row by row, in the blocks of loop/sum_blocks.h: the bits of generated
/// C that runs as one task. Sums of a row are added in the order of its points, in such blocks;
/// generated code adds the terms of a block in lanes. Bug naming kernel, statement, element and
/// indices when memory beside a buffer is touched. Not of an epilogue.
Faults interpret(const Kernel& kernel, const KernelRun& run);

/// `buffers`: a, b, then c, or where there is an epilogue, its buffers. Terms are added in the
/// order of k, in f32 (f64, i64), those that are guarded away left out: the bits of generated C.
Faults interpret(const Contraction& contraction, const Kernel* epilogue, const KernelRun& run);

}  // namespace plait::loop
