// Lab: c[m, n] = a[m, k] * b[k, n] in f32 on one thread, from three plain loops to the engine, in
// operations per second and as shares of the fma units' peak. lab_matmul [m n k]
#include "bench/contract_lab.h"

namespace plait::lab {
namespace {

void naive(std::int64_t m, std::int64_t n, std::int64_t k, const float* a, const float* b,
           float* c) {
  for (std::int64_t i = 0; i < m; ++i) {
    for (std::int64_t j = 0; j < n; ++j) {
      float sum = 0;
      for (std::int64_t p = 0; p < k; ++p) sum += a[i * k + p] * b[p * n + j];
      c[i * n + j] = sum;
    }
  }
}

/// Rows of b are read along memory, in blocks that stay in the cache.
void blocked(std::int64_t m, std::int64_t n, std::int64_t k, const float* a, const float* b,
             float* c) {
  constexpr std::int64_t kBlock = 128;
  std::fill_n(c, m * n, 0.0f);
  for (std::int64_t p0 = 0; p0 < k; p0 += kBlock) {
    for (std::int64_t j0 = 0; j0 < n; j0 += kBlock) {
      const std::int64_t p1 = std::min(p0 + kBlock, k), j1 = std::min(j0 + kBlock, n);
      for (std::int64_t i = 0; i < m; ++i) {
        for (std::int64_t p = p0; p < p1; ++p) {
          const float value = a[i * k + p];
          for (std::int64_t j = j0; j < j1; ++j) c[i * n + j] += value * b[p * n + j];
        }
      }
    }
  }
}

void lab(std::int64_t m, std::int64_t n, std::int64_t k) {
  const Floats a(m * k), b(k * n), c(m * n), packed(256 * 16);
  a.fill(m * k, 1);
  b.fill(k * n, 2);
  float *x = a.get(), *y = b.get(), *z = c.get();
  std::printf("matmul %ld x %ld x %ld: ", static_cast<long>(m), static_cast<long>(n),
              static_cast<long>(k));
  Table table(2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k));
  table.row("naive: dot products", z, m * n, [&] { naive(m, n, k, x, y, z); });
  table.row("blocked: rows of b", z, m * n, [&] { blocked(m, n, k, x, y, z); });
  table.row("vectorised: 6x16 in registers", z, m * n,
            [&] { matmul_vectorised(m, n, k, x, y, z); });
  table.row("packed: panels of b", z, m * n,
            [&] { matmul_packed(m, n, k, x, y, z, packed.get()); });
  cpu::Problem p;
  p.m = {{.extent = m, .a = k, .c = n}};
  p.n = {{.extent = n, .b = 1, .c = 1}};
  p.k = {{.extent = k, .a = 1, .b = n}};
  for (const cpu::Variant& v : cpu::variants(p, cpu::detect_isa())) {
    if (!cpu::accepts(p, v)) continue;
    const Engine engine(p, v);
    table.time_only("  pack, " + to_text(v), [&] { engine.pack(x, y); });
    table.row("engine " + to_text(v), z, m * n, [&] { engine.run(x, y, z); });
  }
}

}  // namespace
}  // namespace plait::lab

int main(int count, char** words) {
  const auto size = [&](int i, long otherwise) {
    return count > i ? std::strtol(words[i], nullptr, 10) : otherwise;
  };
  if (count > 1) {
    plait::lab::lab(size(1, 512), size(2, 512), size(3, 512));
    return 0;
  }
  plait::lab::lab(1024, 1024, 1024);
  plait::lab::lab(256, 128, 128);
  plait::lab::lab(32, 4096, 1024);
}
