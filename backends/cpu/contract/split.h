// Splitting f32 (or f16 widened to it) into bf16 whose sum it is, in the order tiles read, for a
// vector type V. Of every 32 of k, the 16 pairs are (0, 16), (1, 17), .. in both operands: a word
// of a pair is then made of the same lane of two vectors.
#pragma once

#include "backends/cpu/contract/kernels.h"

namespace plait::cpu {
namespace {

/// Sixteen words of each part: `low` in their lower halves. Each part but the last is the nearest
/// bf16 of what is left, which is exact; the last holds the rest. `seen` stays 0 until something is
/// not finite, or rounds to what is not.
template <class V, int kParts>
[[gnu::always_inline]] inline typename V::Reg split_pairs(typename V::Reg low, typename V::Reg high,
                                                          std::uint16_t* dest,
                                                          std::int64_t part_step,
                                                          typename V::Reg seen) {
  for (int part = 1; part < kParts; ++part, dest += part_step) {
    const typename V::Reg low_part = V::nearest_bf16(low), high_part = V::nearest_bf16(high);
    V::store_pairs(dest, low_part, high_part);
    low = V::sub(low, low_part);
    high = V::sub(high, high_part);
  }
  V::store_pairs(dest, low, high);
  return V::fma(low, V::zero(), V::fma(high, V::zero(), seen));
}

template <class V, int kParts>
bool split_rows_into(const SplitArgs& args) {
  constexpr std::int64_t kHalf = V::kLanes;
  static_assert(2 * kHalf == kPairDepth);
  typename V::Reg seen = V::zero();
  for (std::int64_t row = 0; row < args.rows; ++row) {
    const float* source = args.source + row * args.ld;
    std::uint16_t* dest = args.dest + row * args.dest_ld;
    std::int64_t k = 0;
    for (; k + kPairDepth <= args.cols; k += kPairDepth) {
      seen = split_pairs<V, kParts>(V::load(source + k), V::load(source + k + kHalf), dest + k,
                                    args.part_step, seen);
    }
    if (k == args.cols) continue;
    float last[kPairDepth] = {};
    __builtin_memcpy(last, source + k, static_cast<std::size_t>(args.cols - k) * sizeof(float));
    seen = split_pairs<V, kParts>(V::load(last), V::load(last + kHalf), dest + k, args.part_step,
                                  seen);
  }
  return V::is_zero(seen);
}

/// Rows that are not there are zeros.
template <class V, int kParts>
bool split_panel_into(const SplitArgs& args) {
  constexpr std::int64_t kHalf = V::kLanes;
  typename V::Reg seen = V::zero();
  std::uint16_t* dest = args.dest;
  for (std::int64_t k = 0; k < args.rows; k += kPairDepth) {
    for (std::int64_t j = k; j < k + kHalf; ++j, dest += 2 * args.cols) {
      const float *low = args.source + j * args.ld, *high = low + kHalf * args.ld;
      for (std::int64_t c = 0; c < args.cols; c += kHalf) {
        seen = split_pairs<V, kParts>(j < args.rows ? V::load(low + c) : V::zero(),
                                      j + kHalf < args.rows ? V::load(high + c) : V::zero(),
                                      dest + 2 * c, args.part_step, seen);
      }
    }
  }
  return V::is_zero(seen);
}

template <class V>
bool split_rows(const SplitArgs& args) {
  return args.parts == 2 ? split_rows_into<V, 2>(args) : split_rows_into<V, 3>(args);
}

template <class V>
bool split_panel(const SplitArgs& args) {
  return args.parts == 2 ? split_panel_into<V, 2>(args) : split_panel_into<V, 3>(args);
}

}  // namespace
}  // namespace plait::cpu
