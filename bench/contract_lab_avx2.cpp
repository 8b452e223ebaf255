// The peak of one thread's 256-bit fma units, and two steps on the way to the engine: the result's
// tile in registers, and then b packed in the order in which it is read.
#include <immintrin.h>

#include "backends/cpu/contract/micro.h"
#include "bench/contract_lab.h"

namespace plait::lab {
namespace {

constexpr std::int64_t kRows = 6, kCols = 16, kDepth = 256;

/// c[6, 16] += a[6, k] * b[k, 16]
void tile(std::int64_t k, const float* a, std::int64_t lda, const float* b, std::int64_t ldb,
          float* c, std::int64_t ldc) {
  __m256 acc[kRows][2];
  cpu::each<kRows>([&](auto r) __attribute__((always_inline)) {
    acc[r][0] = _mm256_loadu_ps(c + r * ldc);
    acc[r][1] = _mm256_loadu_ps(c + r * ldc + 8);
  });
  for (std::int64_t i = 0; i < k; ++i, b += ldb) {
    const __m256 left = _mm256_loadu_ps(b), right = _mm256_loadu_ps(b + 8);
    cpu::each<kRows>([&](auto r) __attribute__((always_inline)) {
      const __m256 value = _mm256_broadcast_ss(a + r * lda + i);
      acc[r][0] = _mm256_fmadd_ps(value, left, acc[r][0]);
      acc[r][1] = _mm256_fmadd_ps(value, right, acc[r][1]);
    });
  }
  cpu::each<kRows>([&](auto r) __attribute__((always_inline)) {
    _mm256_storeu_ps(c + r * ldc, acc[r][0]);
    _mm256_storeu_ps(c + r * ldc + 8, acc[r][1]);
  });
}

/// What is left over at the edges, c += a * b.
void edge(std::int64_t m, std::int64_t n, std::int64_t k, const float* a, std::int64_t lda,
          const float* b, std::int64_t ldb, float* c, std::int64_t ldc) {
  for (std::int64_t i = 0; i < m; ++i) {
    for (std::int64_t p = 0; p < k; ++p) {
      for (std::int64_t j = 0; j < n; ++j) c[i * ldc + j] += a[i * lda + p] * b[p * ldb + j];
    }
  }
}

}  // namespace

double peak_avx2() {
  constexpr int kSteps = 50'000;
  const __m256 factor = _mm256_set1_ps(0.999f), term = _mm256_set1_ps(1e-3f);
  __m256 a = _mm256_set1_ps(1), b = _mm256_set1_ps(2), c = _mm256_set1_ps(3);
  __m256 d = _mm256_set1_ps(4), e = _mm256_set1_ps(5), f = _mm256_set1_ps(6);
  __m256 g = _mm256_set1_ps(7), h = _mm256_set1_ps(8), i = _mm256_set1_ps(9);
  __m256 j = _mm256_set1_ps(10);
  const double start = thread_seconds();
  for (int step = 0; step < kSteps; ++step) {  // ten chains hide the latency
    a = _mm256_fmadd_ps(a, factor, term);
    b = _mm256_fmadd_ps(b, factor, term);
    c = _mm256_fmadd_ps(c, factor, term);
    d = _mm256_fmadd_ps(d, factor, term);
    e = _mm256_fmadd_ps(e, factor, term);
    f = _mm256_fmadd_ps(f, factor, term);
    g = _mm256_fmadd_ps(g, factor, term);
    h = _mm256_fmadd_ps(h, factor, term);
    i = _mm256_fmadd_ps(i, factor, term);
    j = _mm256_fmadd_ps(j, factor, term);
  }
  const double seconds = thread_seconds() - start;
  float kept[8];
  _mm256_storeu_ps(kept, a + b + c + d + e + f + g + h + i + j);
  volatile float keep = kept[0];
  (void)keep;
  return 2.0 * 8 * 10 * kSteps / seconds;
}

void matmul_vectorised(std::int64_t m, std::int64_t n, std::int64_t k, const float* a,
                       const float* b, float* c) {
  std::fill_n(c, m * n, 0.0f);
  const std::int64_t rows = m / kRows * kRows, cols = n / kCols * kCols;
  for (std::int64_t i = 0; i < rows; i += kRows) {
    for (std::int64_t j = 0; j < cols; j += kCols) {
      tile(k, a + i * k, k, b + j, n, c + i * n + j, n);
    }
    edge(kRows, n - cols, k, a + i * k, k, b + cols, n, c + i * n + cols, n);
  }
  edge(m - rows, n, k, a + rows * k, k, b, n, c + rows * n, n);
}

void matmul_packed(std::int64_t m, std::int64_t n, std::int64_t k, const float* a, const float* b,
                   float* c, float* packed) {
  std::fill_n(c, m * n, 0.0f);
  const std::int64_t rows = m / kRows * kRows, cols = n / kCols * kCols;
  for (std::int64_t p = 0; p < k; p += kDepth) {
    const std::int64_t depth = std::min(kDepth, k - p);
    for (std::int64_t j = 0; j < cols; j += kCols) {
      for (std::int64_t i = 0; i < depth; ++i) {
        std::copy_n(b + (p + i) * n + j, kCols, packed + i * kCols);
      }
      for (std::int64_t i = 0; i < rows; i += kRows) {
        tile(depth, a + i * k + p, k, packed, kCols, c + i * n + j, n);
      }
    }
  }
  edge(rows, n - cols, k, a, k, b + cols, n, c + cols, n);
  edge(m - rows, n, k, a + rows * k, k, b, n, c + rows * n, n);
}

}  // namespace plait::lab
