// A contraction as data: sums of products of two operands at affine offsets, one of them possibly
// guarded like a padded image. Matrix products, convolutions and their gradients are all this; what
// rides behind one (bias, activation, residual) is a Kernel of its own.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/dim.h"
#include "base/dtype.h"

namespace plait::loop {

/// One index: its extent, how far one step moves in each operand (elements; 0: not there), and in
/// the guarded operand's image coordinates.
template <class N>
struct AxisOf {
  N extent = 1;
  N a = 0, b = 0, c = 0;
  N h = 0, w = 0;
};

/// C[batch, m, n] = sum over k of A[batch, m, k] * B[batch, n, k]. Axes stand outermost first; an
/// empty list has one point.
template <class N>
struct ContractionOf {
  DType dtype = DType::f32;  // of A, B and C
  std::vector<AxisOf<N>> batch, m, n, k;
  N a0 = 0, b0 = 0, c0 = 0;  // offsets of the origin, elements; a0 may be negative where guarded
  // A's element is 0 unless 0 <= h < height and 0 <= w < width, where
  // (h, w) = (h0, w0) + sum of index * (axis.h, axis.w).
  bool guarded = false;
  N h0 = 0, w0 = 0, height = 0, width = 0;
};

/// Sizes may be symbolic.
using Contraction = ContractionOf<Dim>;
/// Sizes are numbers.
using BoundContraction = ContractionOf<std::int64_t>;

/// UserError naming a symbol that the bindings leave open.
BoundContraction bind(const Contraction& c, const DimBindings& bindings);

/// 2 per multiply-add.
Dim operations(const Contraction& c);

}  // namespace plait::loop
