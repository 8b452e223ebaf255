// attention_lanes.h for a vector type V. Only for the attention_*.cpp files of an instruction set:
// all of it has internal linkage.
#pragma once

#include "backends/cpu/hand/attention_lanes.h"

namespace plait::cpu {
namespace {

constexpr float kNone = -__builtin_inff();
constexpr float kMargin = 8;  // weights are up to 2^8

/// 2^x, for -infinity 0: to 8e-8, or 3e-6 where nothing but a bf16 comes of the result.
template <class V, bool kRough>
[[gnu::always_inline]] inline typename V::Reg power_of_2(typename V::Reg x) {
  const typename V::Reg r = V::above_whole(x);  // from 0 to 1
  typename V::Reg y;
  if constexpr (kRough) {
    y = V::fma(V::set(0x1.bb7cd4p-7f), r, V::set(0x1.aa13f0p-5f));
    y = V::fma(y, r, V::set(0x1.ee798ap-3f));
    y = V::fma(y, r, V::set(0x1.62d166p-1f));
    y = V::fma(y, r, V::set(0x1.00002cp+0f));
  } else {
    y = V::fma(V::set(0x1.ec320ap-10f), r, V::set(0x1.26900cp-7f));
    y = V::fma(y, r, V::set(0x1.c95446p-5f));
    y = V::fma(y, r, V::set(0x1.ebd5a8p-3f));
    y = V::fma(y, r, V::set(0x1.62e4f6p-1f));
    y = V::fma(y, r, V::set(0x1.fffffep-1f));
  }
  return V::times_power(y, x);
}

/// 2^((score - from) factor), where `minus_from` is from with the sign changed, and times factor
/// unless the difference is taken first: from a mask scores may be so large that their product with
/// factor is infinite.
template <class V, bool kRough, bool kFirst>
[[gnu::always_inline]] inline typename V::Reg weight_of(typename V::Reg score,
                                                        typename V::Reg minus_from,
                                                        typename V::Reg factor) {
  if constexpr (kFirst) return power_of_2<V, kRough>(V::mul(V::add(score, minus_from), factor));
  return power_of_2<V, kRough>(V::fma(score, factor, minus_from));
}

template <class V>
void bias(const BiasArgs& a) {
  using Reg = typename V::Reg;
  float column_numbers[V::kLanes];
  for (int i = 0; i < V::kLanes; ++i) column_numbers[i] = static_cast<float>(i);
  const Reg scale = V::set(a.scale), slope = V::set(-a.slope);
  for (std::int64_t r = 0; r < a.rows; ++r) {
    for (std::int64_t c = 0; c < a.width; c += V::kLanes) {
      float* at = a.scores + r * a.width + c;
      Reg s = V::mul(V::load(at), scale);
      if (a.mask) s = V::add(s, V::load(a.mask + r * a.width + c));
      if (a.slope != 0) {
        const float first = a.first_distance + static_cast<float>(c - r);
        const Reg distance = V::add(V::load(column_numbers), V::set(first));
        s = V::fma(slope, V::max(distance, V::sub(V::zero(), distance)), s);
      }
      V::store(at, s);
    }
  }
}

template <class V>
void unseen(const UnseenArgs& a) {
  for (std::int64_t c = 0; c < a.width; c += V::kLanes) {
    const auto lo = V::load_whole(a.lo + c), hi = V::load_whole(a.hi + c);
    for (std::int64_t r = 0; r < a.rows; ++r) {
      float* at = a.scores + r * a.width + c;
      V::store(at, V::between(V::load(at), a.first_key + static_cast<std::int32_t>(r), lo, hi,
                              V::set(kNone)));
    }
  }
}

/// The larger of `top` and a column of the tile.
template <class V>
[[gnu::always_inline]] inline typename V::Reg column_maximum(const float* from, std::int64_t rows,
                                                             std::int64_t width,
                                                             typename V::Reg top) {
  typename V::Reg two = top, three = top, four = top;
  std::int64_t r = 0;
  for (; r + 4 <= rows; r += 4, from += 4 * width) {
    top = V::max(V::load(from), top);
    two = V::max(V::load(from + width), two);
    three = V::max(V::load(from + 2 * width), three);
    four = V::max(V::load(from + 3 * width), four);
  }
  for (; r < rows; ++r, from += width) top = V::max(V::load(from), top);
  return V::max(V::max(top, two), V::max(three, four));
}

/// A pass for each of pairs or not, dropout or not, and differences taken first or not.
template <class Args, class Pass>
struct ByFlags {
  void (*of[8])(const Args&) = {
      &Pass::template run<false, false, false>, &Pass::template run<true, false, false>,
      &Pass::template run<false, true, false>,  &Pass::template run<true, true, false>,
      &Pass::template run<false, false, true>,  &Pass::template run<true, false, true>,
      &Pass::template run<false, true, true>,   &Pass::template run<true, true, true>};
};
template <class Args>
unsigned flags_of(const Args& a) {
  return (a.pairs ? 1u : 0u) + (a.keep ? 2u : 0u) + (a.difference_first ? 4u : 0u);
}

inline void zero_pairs(std::uint16_t* pairs, std::int64_t rows, std::int64_t padded_rows,
                       std::int64_t width) {
  const std::int64_t from = (rows + 1) / 2, to = padded_rows / 2;
  if (to > from) {
    __builtin_memset(pairs + from * width * 2, 0,
                     static_cast<std::size_t>((to - from) * width) * 4);
  }
}

template <class V, bool kPairs, bool kKeep, bool kFirst>
void softmax_columns(const SoftmaxArgs& given) {
  const SoftmaxArgs a = given;  // a copy: stores cannot change it
  using Reg = typename V::Reg;
  const Reg factor = V::set(a.factor);
  for (std::int64_t c = 0; c < a.width; c += V::kLanes) {
    Reg from = V::sub(V::zero(), V::zero_if_none(V::load(a.maximum + c)));
    if constexpr (!kFirst) from = V::mul(from, factor);
    Reg sum = V::load(a.sum + c), other = V::zero();
    const auto at = [&](std::int64_t r) __attribute__((always_inline)) {
      return weight_of<V, false, kFirst>(V::load(a.scores + r * a.width + c), from, factor);
    };
    const auto kept = [&](Reg p, std::int64_t r) __attribute__((always_inline)) {
      return kKeep ? V::mul(p, V::load(a.keep + r * a.width + c)) : p;
    };
    std::int64_t r = 0;
    for (; r + 2 <= a.rows; r += 2) {
      const Reg low = at(r), high = at(r + 1);
      sum = V::add(sum, low);
      other = V::add(other, high);
      if constexpr (kPairs) {
        V::store_words(a.pairs + r * a.width + 2 * c, kept(low, r), kept(high, r + 1));
      } else {
        V::store(a.scores + r * a.width + c, kept(low, r));
        V::store(a.scores + (r + 1) * a.width + c, kept(high, r + 1));
      }
    }
    if (r < a.rows) {
      const Reg low = at(r);
      sum = V::add(sum, low);
      if constexpr (kPairs) {
        V::store_words(a.pairs + r * a.width + 2 * c, kept(low, r), V::zero());
      } else {
        V::store(a.scores + r * a.width + c, kept(low, r));
      }
    }
    V::store(a.sum + c, V::add(sum, other));
  }
  if constexpr (kPairs) zero_pairs(a.pairs, a.rows, a.padded_rows, a.width);
}

template <class V>
struct Softmax {
  template <bool kPairs, bool kKeep, bool kFirst>
  static void run(const SoftmaxArgs& a) {
    softmax_columns<V, kPairs, kKeep, kFirst>(a);
  }
};

template <class V>
bool softmax(const SoftmaxArgs& a) {
  using Reg = typename V::Reg;
  bool changed = false;
  const Reg margin = V::set(kMargin / a.factor);
  for (std::int64_t c = 0; c < a.width; c += V::kLanes) {
    const Reg before = V::load(a.maximum + c);
    const Reg top = column_maximum<V>(a.scores + c, a.rows, a.width, before);
    const Reg now = V::larger_or(top, V::add(before, margin), before);
    if (!V::differ(now, before)) continue;
    V::store(a.maximum + c, now);
    const Reg shrink =
        power_of_2<V, false>(V::mul(V::sub(before, V::zero_if_none(now)), V::set(a.factor)));
    if (!changed) {
      for (std::int64_t i = 0; i < a.width; i += V::kLanes) V::store(a.shrink + i, V::set(1.0f));
    }
    changed = true;
    V::store(a.shrink + c, shrink);
    V::store(a.sum + c, V::mul(V::load(a.sum + c), shrink));
  }
  static constexpr ByFlags<SoftmaxArgs, Softmax<V>> columns;
  columns.of[flags_of(a)](a);
  return changed;
}

template <class V>
struct ScoreGrad {
  typename V::Reg p, ds;  // p as it is multiplied with dy
};

template <class V, bool kPairs, bool kKeep, bool kFirst>
void score_grad_columns(const ScoreGradArgs& given) {
  const ScoreGradArgs a = given;  // a copy: stores cannot change it
  using Reg = typename V::Reg;
  const Reg factor = V::set(a.factor);
  for (std::int64_t c = 0; c < a.width; c += V::kLanes) {
    Reg from = V::sub(V::zero(), V::load(a.lse + c));
    if constexpr (!kFirst) from = V::mul(from, factor);
    const Reg delta = V::load(a.delta + c);
    const auto at = [&](std::int64_t r) __attribute__((always_inline)) {
      const std::int64_t i = r * a.width + c;
      const Reg p = weight_of<V, kPairs, kFirst>(V::load(a.scores + i), from, factor);
      Reg dp = V::load(a.dp + i), kept = p;
      if constexpr (kKeep) {
        const Reg keep = V::load(a.keep + i);
        dp = V::mul(dp, keep);
        kept = V::mul(p, keep);
      }
      return ScoreGrad<V>{kept, V::mul(p, V::sub(dp, delta))};
    };
    const auto put = [&](const ScoreGrad<V>& x, std::int64_t r) __attribute__((always_inline)) {
      if constexpr (kPairs) {
        V::narrow_bf16(static_cast<std::uint16_t*>(a.p) + r * a.ld + c, x.p);
        V::narrow_bf16(static_cast<std::uint16_t*>(a.ds) + r * a.ld + c, x.ds);
      } else {
        V::store(static_cast<float*>(a.p) + r * a.ld + c, x.p);
        V::store(static_cast<float*>(a.ds) + r * a.ld + c, x.ds);
        V::store(a.scores + r * a.width + c, x.ds);
      }
    };
    std::int64_t r = 0;
    for (; r + 2 <= a.rows; r += 2) {
      const ScoreGrad<V> low = at(r), high = at(r + 1);
      put(low, r);
      put(high, r + 1);
      if constexpr (kPairs) V::store_words(a.pairs + r * a.width + 2 * c, low.ds, high.ds);
    }
    if (r < a.rows) {
      const ScoreGrad<V> low = at(r);
      put(low, r);
      if constexpr (kPairs) V::store_words(a.pairs + r * a.width + 2 * c, low.ds, V::zero());
    }
  }
  if constexpr (kPairs) zero_pairs(a.pairs, a.rows, a.padded_rows, a.width);
}

template <class V>
struct ScoreGrads {
  template <bool kPairs, bool kKeep, bool kFirst>
  static void run(const ScoreGradArgs& a) {
    score_grad_columns<V, kPairs, kKeep, kFirst>(a);
  }
};

template <class V>
void score_grads(const ScoreGradArgs& a) {
  static constexpr ByFlags<ScoreGradArgs, ScoreGrads<V>> columns;
  columns.of[flags_of(a)](a);
}

template <class V>
void multiply_rows(float* rows, std::int64_t count, std::int64_t width, const float* by) {
  for (std::int64_t c = 0; c < width; c += V::kLanes) {
    const auto factor = V::load(by + c);
    for (std::int64_t r = 0; r < count; ++r) {
      float* at = rows + r * width + c;
      V::store(at, V::mul(V::load(at), factor));
    }
  }
}

using EightWords = std::uint32_t __attribute__((vector_size(32)));
using HalfDraws = std::uint32_t __attribute__((vector_size(64)));

/// A row of weights kept, of eight queries: 0 where a draw is below the threshold.
[[gnu::always_inline]] inline void keep_row(EightWords draws, const KeepArgs& a, float* to) {
  const EightWords kept = EightWords{} + __builtin_bit_cast(std::uint32_t, a.kept);
  const EightWords row = kept & (draws >= EightWords{} + a.threshold);
  __builtin_memcpy(to, &row, sizeof row);
}

/// The words at `pair` of every four, each two keys.
template <int pair>
[[gnu::always_inline]] inline void keep_rows(HalfDraws low, HalfDraws high, const KeepArgs& a,
                                             float* to) {
  const EightWords words = __builtin_shufflevector(low, high, pair, pair + 4, pair + 8, pair + 12,
                                                   pair + 16, pair + 20, pair + 24, pair + 28);
  keep_row(words & 0xffff, a, to + 2 * pair * a.width);
  keep_row(words >> 16, a, to + (2 * pair + 1) * a.width);
}

template <class V>
void keep(const KeepArgs& a) {
  constexpr int kDraws = 32, kHalf = 8;
  for (int word = 0; word < 4; ++word) {
    const int half = word % 2;
    if (half < a.first_half || half >= a.end_half) continue;
    HalfDraws low, high;
    __builtin_memcpy(&low, a.words + word * kDraws, sizeof low);
    __builtin_memcpy(&high, a.words + word * kDraws + 16, sizeof high);
    float* to = a.to + word / 2 * kHalf * a.width + half * kHalf;
    keep_rows<0>(low, high, a, to);
    keep_rows<1>(low, high, a, to);
    keep_rows<2>(low, high, a, to);
    keep_rows<3>(low, high, a, to);
  }
}

template <class V, class T, class Load, class One>
[[gnu::always_inline]] inline float dot_of(const void* x, const void* y, std::int64_t count,
                                           Load load, One one) {
  const T *a = static_cast<const T*>(x), *b = static_cast<const T*>(y);
  typename V::Reg sum = V::zero();
  std::int64_t i = 0;
  for (; i + V::kLanes <= count; i += V::kLanes) sum = V::fma(load(a + i), load(b + i), sum);
  float lanes[V::kLanes], total = 0;
  V::store(lanes, sum);
  for (int j = 0; j < V::kLanes; ++j) total += lanes[j];
  for (; i < count; ++i) total += one(a[i]) * one(b[i]);
  return total;
}

template <class V>
float dot(const void* x, const void* y, std::int64_t count, DType dtype) {
  using Bits = std::uint16_t;
  const auto wide = [](Bits s) {
    return __builtin_bit_cast(float, static_cast<std::uint32_t>(s) << 16);
  };
  switch (dtype) {
    case DType::f32:
      return dot_of<V, float>(
          x, y, count, [](const float* p) { return V::load(p); }, [](float v) { return v; });
    case DType::f16:
      return dot_of<V, Bits>(
          x, y, count, [](const Bits* p) { return V::widen_f16(p); }, V::widen_f16_one);
    default:
      return dot_of<V, Bits>(
          x, y, count, [](const Bits* p) { return V::widen_bf16(p); }, wide);
  }
}

template <class V>
inline constexpr AttentionLanes kAttentionLanes{.bias = &bias<V>,
                                                .unseen = &unseen<V>,
                                                .softmax = &softmax<V>,
                                                .score_grads = &score_grads<V>,
                                                .multiply_rows = &multiply_rows<V>,
                                                .keep = &keep<V>,
                                                .dot = &dot<V>};

}  // namespace
}  // namespace plait::cpu
