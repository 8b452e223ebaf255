// Transposes of 32-bit and 16-bit elements, and the rounding of finished rows, for any vector type.
#pragma once

#include "backends/cpu/contract/kernels.h"

namespace plait::cpu {
namespace {

using Words = std::uint32_t __attribute__((vector_size(16)));
using Shorts = std::uint16_t __attribute__((vector_size(16)));

template <class R, class T>
[[gnu::always_inline]] inline R load_as(const T* p) {
  R r;
  __builtin_memcpy(&r, p, sizeof r);
  return r;
}

/// Four rows of four.
inline void transpose4(const std::uint32_t* source, std::int64_t ld, std::uint32_t* dest,
                       std::int64_t dest_ld) {
  const Words a = load_as<Words>(source), b = load_as<Words>(source + ld);
  const Words c = load_as<Words>(source + 2 * ld), d = load_as<Words>(source + 3 * ld);
  const Words ab_low = __builtin_shufflevector(a, b, 0, 4, 1, 5);
  const Words ab_high = __builtin_shufflevector(a, b, 2, 6, 3, 7);
  const Words cd_low = __builtin_shufflevector(c, d, 0, 4, 1, 5);
  const Words cd_high = __builtin_shufflevector(c, d, 2, 6, 3, 7);
  const Words out[4] = {__builtin_shufflevector(ab_low, cd_low, 0, 1, 4, 5),
                        __builtin_shufflevector(ab_low, cd_low, 2, 3, 6, 7),
                        __builtin_shufflevector(ab_high, cd_high, 0, 1, 4, 5),
                        __builtin_shufflevector(ab_high, cd_high, 2, 3, 6, 7)};
  for (int i = 0; i < 4; ++i) __builtin_memcpy(dest + i * dest_ld, &out[i], sizeof(Words));
}

/// A number less itself is 0; infinity is not, nor NaN.
inline bool all_finite(const float* numbers, std::int64_t rows, std::int64_t cols,
                       std::int64_t ld) {
  int found = 0;
  for (std::int64_t row = 0; row < rows; ++row, numbers += ld) {
    for (std::int64_t i = 0; i < cols; ++i) found |= numbers[i] - numbers[i] != 0;
  }
  return found == 0;
}

inline void transpose32(const void* from, std::int64_t ld, std::int64_t rows, std::int64_t cols,
                        void* to, std::int64_t dest_ld, std::int64_t fill) {
  const std::uint32_t* source = static_cast<const std::uint32_t*>(from);
  std::uint32_t* dest = static_cast<std::uint32_t*>(to);
  const std::int64_t whole_rows = rows / 4 * 4, whole_cols = cols / 4 * 4;
  constexpr std::int64_t kRun = 16;  // of a row at a time: a line of the source is used up
  for (std::int64_t c0 = 0; c0 < whole_cols; c0 += kRun) {
    const std::int64_t end = c0 + kRun < whole_cols ? c0 + kRun : whole_cols;
    for (std::int64_t r = 0; r < whole_rows; r += 4) {
      for (std::int64_t c = c0; c < end; c += 4) {
        transpose4(source + r * ld + c, ld, dest + c * dest_ld + r, dest_ld);
      }
    }
  }
  if (whole_cols == cols && whole_rows == rows && rows == fill) return;
  for (std::int64_t c = 0; c < cols; ++c) {
    std::int64_t r = c < whole_cols ? whole_rows : 0;
    for (; r < rows; ++r) dest[c * dest_ld + r] = source[r * ld + c];
    for (; r < fill; ++r) dest[c * dest_ld + r] = 0;
  }
}

/// Eight rows of eight 16-bit elements.
inline void transpose8(const std::uint16_t* source, std::int64_t source_ld, std::uint16_t* dest,
                       std::int64_t ld) {
  Shorts in[8], mid[8];
  for (int i = 0; i < 8; ++i) in[i] = load_as<Shorts>(source + i * source_ld);
  for (int round = 0; round < 3; ++round) {  // a perfect shuffle of the rows, three times
    for (int i = 0; i < 4; ++i) {
      mid[2 * i] = __builtin_shufflevector(in[i], in[i + 4], 0, 8, 1, 9, 2, 10, 3, 11);
      mid[2 * i + 1] = __builtin_shufflevector(in[i], in[i + 4], 4, 12, 5, 13, 6, 14, 7, 15);
    }
    for (int i = 0; i < 8; ++i) in[i] = mid[i];
  }
  for (int i = 0; i < 8; ++i) __builtin_memcpy(dest + i * ld, &in[i], sizeof(Shorts));
}

inline void transpose16(const void* from, std::int64_t source_ld, std::int64_t rows,
                        std::int64_t cols, void* to, std::int64_t ld) {
  const std::uint16_t* source = static_cast<const std::uint16_t*>(from);
  std::uint16_t* dest = static_cast<std::uint16_t*>(to);
  const std::int64_t whole_rows = rows / 8 * 8, whole_cols = cols / 8 * 8;
  for (std::int64_t c = 0; c < whole_cols; c += 8) {
    for (std::int64_t r = 0; r < whole_rows; r += 8) {
      transpose8(source + c * source_ld + r, source_ld, dest + r * ld + c, ld);
    }
  }
  for (std::int64_t c = 0; c < cols; ++c) {
    for (std::int64_t r = c < whole_cols ? whole_rows : 0; r < rows; ++r) {
      dest[r * ld + c] = source[c * source_ld + r];
    }
  }
}

/// dest[k / 2][col][k % 2] = source[k][col]; cols is a multiple of 8, k of 2.
inline void weave16(const void* from, std::int64_t k, std::int64_t cols, void* to) {
  const std::uint16_t* source = static_cast<const std::uint16_t*>(from);
  std::uint16_t* dest = static_cast<std::uint16_t*>(to);
  for (std::int64_t i = 0; i < k; i += 2, source += 2 * cols) {
    for (std::int64_t c = 0; c < cols; c += 8, dest += 16) {
      const Shorts even = load_as<Shorts>(source + c), odd = load_as<Shorts>(source + cols + c);
      const Shorts low = __builtin_shufflevector(even, odd, 0, 8, 1, 9, 2, 10, 3, 11);
      const Shorts high = __builtin_shufflevector(even, odd, 4, 12, 5, 13, 6, 14, 7, 15);
      __builtin_memcpy(dest, &low, sizeof low);
      __builtin_memcpy(dest + 8, &high, sizeof high);
    }
  }
}

inline void store_row_f32(const float* tile, std::int64_t count, void* to, std::int64_t step) {
  float* dest = static_cast<float*>(to);
  if (step == 1) {
    __builtin_memcpy(dest, tile, static_cast<std::size_t>(count) * sizeof(float));
    return;
  }
  for (std::int64_t i = 0; i < count; ++i) dest[i * step] = tile[i];
}

/// Rounds with `narrow`, a vector at a time; the last part by way of a padded copy.
template <class V, void (*narrow)(std::uint16_t*, typename V::Reg)>
void store_row_half(const float* tile, std::int64_t count, void* to, std::int64_t step) {
  std::uint16_t* dest = static_cast<std::uint16_t*>(to);
  for (std::int64_t i = 0; i < count; i += V::kLanes) {
    const std::int64_t part = count - i < V::kLanes ? count - i : V::kLanes;
    if (part == V::kLanes && step == 1) {
      narrow(dest + i, V::load(tile + i));
      continue;
    }
    float wide[V::kLanes] = {};
    std::uint16_t bits[V::kLanes];
    __builtin_memcpy(wide, tile + i, static_cast<std::size_t>(part) * sizeof(float));
    narrow(bits, V::load(wide));
    for (std::int64_t j = 0; j < part; ++j) dest[(i + j) * step] = bits[j];
  }
}

}  // namespace
}  // namespace plait::cpu
