// A contraction as data: what is summed over what, and where every element lies. Matmuls, linear
// layers, convolutions and the gradients of these are all of this form; how it is computed is not
// said here (contract.h).
#pragma once

#include <cstdint>
#include <vector>

#include "base/dtype.h"

namespace plait::cpu {

/// One index of a contraction: its extent and how far one step moves in each operand (elements,
/// 0 = not there), and in the guarded operand's image coordinates.
struct Axis {
  std::int64_t extent = 1;
  std::int64_t a = 0, b = 0, c = 0;
  std::int32_t h = 0, w = 0;
  bool operator==(const Axis&) const = default;
};

/// C[batch, m, n] = sum over k of A[batch, m, k] * B[batch, n, k]. Axes outermost first; each list
/// may be empty (= extent 1).
struct Problem {
  DType dtype = DType::f32;  // of A, B and C: f32, bf16 or f16; accumulated in f32, rounded once
  std::vector<Axis> batch, m, n, k;
  std::int64_t a0 = 0, b0 = 0, c0 = 0;  // offsets of the origin, elements; a0 may be negative where
                                        // guarded
  bool guarded = false;  // A's element is 0 unless 0 <= h < height and 0 <= w < width,
  std::int64_t h0 = 0, w0 = 0, height = 0, width = 0;  // where (h, w) = (h0, w0) + sum of
                                                       // index * (axis.h, axis.w)
  bool operator==(const Problem&) const = default;
};

}  // namespace plait::cpu
