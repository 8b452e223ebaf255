// A contraction as a product of matrices in the form that cuBLAS knows: column-major operands, each
// possibly transposed, batches at a stride. No library is needed to find out.
#pragma once

#include <cstdint>
#include <vector>

#include "base/error.h"
#include "loop/contraction.h"

namespace plait::cuda {

using BoundAxis = loop::AxisOf<std::int64_t>;

/// One matrix as it lies in memory, elements: rows are next to each other.
struct Matrix {
  std::int64_t rows = 1, cols = 1, ld = 1;
  std::int64_t offset = 0;
  std::int64_t batch = 0, outer = 0;  // from one matrix to the next
  bool transposed = false;
};

/// D[rows, cols] = left[rows, depth] * right[depth, cols], `batch` times at a stride, all of it
/// `outer` times.
struct MatrixProduct {
  std::int64_t rows = 1, cols = 1, depth = 1, batch = 1, outer = 1;
  Matrix left, right, result;
  bool b_is_left = true;  // the contraction's n are the rows; else its m are
};

Decision find_product(const loop::BoundContraction& contraction, MatrixProduct& product);

/// The axes without those of one point, neighbours that lie one behind the other in all operands
/// joined.
std::vector<BoundAxis> joined(const std::vector<BoundAxis>& axes);

/// Points of a contraction's result, and of the sum behind each.
std::int64_t extent_of(const std::vector<BoundAxis>& axes);

}  // namespace plait::cuda
