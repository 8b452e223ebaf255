// The layer norm of the reduction lab: y = (x - mean) / sqrt(variance + epsilon) * gain + shift, by
// row. Kernels take a range of rows, so that threads can share the work.
#pragma once

#include <cstdint>

namespace plait::lab {

struct LayerNorm {
  const float* x;        // [rows, columns]
  const float* gain;     // [columns]
  const float* shift;    // [columns]
  float* y;              // [rows, columns], aligned to 32 bytes
  std::int64_t columns;  // a multiple of 32
};

inline constexpr float kEpsilon = 1e-5f;

using RowsKernel = void (*)(const LayerNorm& n, std::int64_t first, std::int64_t last);

// Only for a processor with AVX2 and FMA.
void rows_by_vectors(const LayerNorm& n, std::int64_t first, std::int64_t last);
/// The same numbers; results go past the caches.
void rows_streamed(const LayerNorm& n, std::int64_t first, std::int64_t last);

}  // namespace plait::lab
