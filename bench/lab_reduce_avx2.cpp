// Rows in vectors of eight; compiled for AVX2 with FMA. Four running sums hide the latency of
// addition; they are added in one order, whoever calls.
#include <immintrin.h>

#include <cmath>

#include "bench/lab_reduce.h"

namespace plait::lab {
namespace {

constexpr int kLanes = 8, kSums = 4;

float sum_of(const __m256 (&sums)[kSums]) {
  const __m256 all =
      _mm256_add_ps(_mm256_add_ps(sums[0], sums[1]), _mm256_add_ps(sums[2], sums[3]));
  __m128 half = _mm_add_ps(_mm256_castps256_ps128(all), _mm256_extractf128_ps(all, 1));
  half = _mm_add_ps(half, _mm_movehl_ps(half, half));
  return _mm_cvtss_f32(_mm_add_ss(half, _mm_movehdup_ps(half)));
}

float mean_of(const float* x, std::int64_t n) {
  __m256 sums[kSums] = {};
  for (std::int64_t i = 0; i < n; i += kSums * kLanes) {
#pragma GCC unroll 4
    for (int k = 0; k < kSums; ++k) {
      sums[k] = _mm256_add_ps(sums[k], _mm256_loadu_ps(x + i + k * kLanes));
    }
  }
  return sum_of(sums) / static_cast<float>(n);
}

float variance_of(const float* x, std::int64_t n, float mean) {
  const __m256 means = _mm256_set1_ps(mean);
  __m256 sums[kSums] = {};
  for (std::int64_t i = 0; i < n; i += kSums * kLanes) {
#pragma GCC unroll 4
    for (int k = 0; k < kSums; ++k) {
      const __m256 d = _mm256_sub_ps(_mm256_loadu_ps(x + i + k * kLanes), means);
      sums[k] = _mm256_fmadd_ps(d, d, sums[k]);
    }
  }
  return sum_of(sums) / static_cast<float>(n);
}

template <bool kStream>
void rows(const LayerNorm& n, std::int64_t first, std::int64_t last) {
  for (std::int64_t r = first; r < last; ++r) {
    const float* x = n.x + r * n.columns;
    float* y = n.y + r * n.columns;
    const float mean = mean_of(x, n.columns);
    const float scale = 1 / std::sqrt(variance_of(x, n.columns, mean) + kEpsilon);
    const __m256 means = _mm256_set1_ps(mean), scales = _mm256_set1_ps(scale);
    for (std::int64_t i = 0; i < n.columns; i += kLanes) {
      const __m256 d = _mm256_mul_ps(_mm256_sub_ps(_mm256_loadu_ps(x + i), means), scales);
      const __m256 out =
          _mm256_fmadd_ps(d, _mm256_loadu_ps(n.gain + i), _mm256_loadu_ps(n.shift + i));
      if constexpr (kStream) {
        _mm256_stream_ps(y + i, out);
      } else {
        _mm256_store_ps(y + i, out);
      }
    }
  }
  if constexpr (kStream) _mm_sfence();
}

}  // namespace

void rows_by_vectors(const LayerNorm& n, std::int64_t first, std::int64_t last) {
  rows<false>(n, first, last);
}

void rows_streamed(const LayerNorm& n, std::int64_t first, std::int64_t last) {
  rows<true>(n, first, last);
}

}  // namespace plait::lab
