// Moving an operand into the order the tiles read, for any vector type V: whole segments at a time,
// zeros where the image ends, 16-bit elements widened or copied on the way.
#pragma once

#include "backends/cpu/contract/kernels.h"

namespace plait::cpu {
namespace {

/// Zeros in steps of 16 bytes, the last ones overlapping.
template <class D>
[[gnu::always_inline]] inline void zero_run(D* d, std::int64_t count) {
  constexpr std::int64_t kStep = 16 / sizeof(D);
  if (count < kStep) {
    for (std::int64_t i = 0; i < count; ++i) d[i] = 0;
    return;
  }
  for (std::int64_t i = 0; i + kStep < count; i += kStep) {
    __builtin_memset(d + i, 0, 16);
  }
  __builtin_memset(d + count - kStep, 0, 16);
}

/// Runs too short for a vector, one after the other.
template <class C>
struct OneByOne {
  template <class S, class D>
  static void few(const S* s, D* d, std::int64_t count) {
    for (std::int64_t i = 0; i < count; ++i) d[i] = C::one(s[i]);
  }
};

/// How elements change on the way: one of them, kStep at once, or fewer than kStep.
template <class V>
struct CopyF32 : OneByOne<CopyF32<V>> {
  using Source = float;
  using Dest = float;
  static constexpr int kStep = V::kLanes;
  static void many(const float* s, float* d) { V::store(d, V::load(s)); }
  static float one(float s) { return s; }
  static void few(const float* s, float* d, std::int64_t count) { V::copy_few(s, d, count); }
};

template <class V>
struct WidenBf16 : OneByOne<WidenBf16<V>> {
  using Source = std::uint16_t;
  using Dest = float;
  static constexpr int kStep = V::kLanes;
  static void many(const Source* s, float* d) { V::store(d, V::widen_bf16(s)); }
  static float one(Source s) {
    return __builtin_bit_cast(float, static_cast<std::uint32_t>(s) << 16);
  }
};

template <class V>
struct WidenF16 : OneByOne<WidenF16<V>> {
  using Source = std::uint16_t;
  using Dest = float;
  static constexpr int kStep = V::kLanes;
  static void many(const Source* s, float* d) { V::store(d, V::widen_f16(s)); }
  static float one(Source s) { return V::widen_f16_one(s); }
};

struct CopyBf16 : OneByOne<CopyBf16> {
  using Source = std::uint16_t;
  using Dest = std::uint16_t;
  static constexpr int kStep = 32;
  static void many(const Source* s, Dest* d) { __builtin_memcpy(d, s, 64); }
  static Dest one(Source s) { return s; }
  /// Runs of an image with few channels are shorter than a line: both ends, which overlap.
  static void few(const Source* s, Dest* d, std::int64_t count) {
    if (count >= 16) return ends<16>(s, d, count);
    if (count >= 8) return ends<8>(s, d, count);
    if (count >= 4) return ends<4>(s, d, count);
    for (std::int64_t i = 0; i < count; ++i) d[i] = s[i];
  }
  template <int N>
  static void ends(const Source* s, Dest* d, std::int64_t count) {
    __builtin_memcpy(d, s, 2 * N);
    __builtin_memcpy(d + count - N, s + count - N, 2 * N);
  }
};

template <class C>
[[gnu::always_inline]] inline void copy_run(const typename C::Source* s, typename C::Dest* d,
                                            std::int64_t count) {
  std::int64_t i = 0;
  for (; i + C::kStep <= count; i += C::kStep) C::many(s + i, d + i);
  if (i == count) return;
  if (count >= C::kStep) {
    C::many(s + count - C::kStep, d + count - C::kStep);  // the last ones overlap: the same values
    return;
  }
  C::few(s, d, count);
}

/// Cuts [lo, hi) of a segment down to where start + ((phase + i) / every) * step is in [0, limit).
inline void clip(std::int64_t start, std::int64_t step, std::int64_t phase, std::int64_t every,
                 std::int64_t limit, std::int64_t& lo, std::int64_t& hi) {
  if (step == 0) {
    if (start < 0 || start >= limit) lo = hi = 0;
    return;
  }
  if (step < 0) {  // seen from the other end
    start = limit - 1 - start;
    step = -step;
  }
  std::int64_t first = start >= 0 ? 0 : -start;  // steps to the first inside
  std::int64_t last = start >= limit ? 0 : limit - start;
  if (step != 1) {
    first = (first + step - 1) / step;
    last = (last + step - 1) / step;
  }
  const std::int64_t from = first * every - phase, to = last * every - phase;
  if (from > lo) lo = from;
  if (to < hi) hi = to;
  if (hi <= lo) lo = hi = 0;
}

/// A segment that reaches over the border, in whole or in part.
template <class C>
[[gnu::noinline]] void gather_clipped(const GatherArgs& args, const Point& point,
                                      const Segment& segment, const typename C::Source* source,
                                      typename C::Dest* dest) {
  std::int64_t lo = 0, hi = segment.count;
  clip(point.h + segment.h, args.h, segment.phase, args.every, args.height, lo, hi);
  clip(point.w + segment.w, args.w, segment.phase, args.every, args.width, lo, hi);
  zero_run(dest, lo);
  zero_run(dest + hi, segment.count - hi);
  if (args.step == 1) {
    copy_run<C>(source + lo, dest + lo, hi - lo);
  } else {
    for (std::int64_t i = lo; i < hi; ++i) dest[i] = C::one(source[i * args.step]);
  }
}

/// Both ends of the segment are inside the image, and so is all between them.
inline bool is_inside(const GatherArgs& args, const Point& point, const Segment& segment) {
  const auto in = [](std::int64_t x, std::int64_t limit) {
    return static_cast<std::uint64_t>(x) < static_cast<std::uint64_t>(limit);
  };
  return in(point.h + segment.h, args.height) && in(point.w + segment.w, args.width) &&
         in(point.h + segment.last_h, args.height) && in(point.w + segment.last_w, args.width);
}

constexpr std::int64_t kAhead = 4;  // points: what is far apart in memory is asked for early

template <class C, bool kGuarded>
void gather_as(const GatherArgs& given) {
  const GatherArgs args = given;  // a copy: stores to dest cannot change it
  typename C::Dest* dest = static_cast<typename C::Dest*>(args.dest);
  for (std::int64_t p = 0; p < args.point_count; ++p, dest += args.ld) {
    const Point point = args.points[p];
    const typename C::Source* source =
        static_cast<const typename C::Source*>(args.source) + point.offset;
    const std::int64_t ahead =
        p + kAhead < args.point_count ? args.points[p + kAhead].offset - point.offset : 0;
    for (std::int64_t s = 0; s < args.segment_count; ++s) {
      const Segment& segment = args.segments[s];
      const typename C::Source* from = source + segment.offset;
      typename C::Dest* to = dest + segment.dest;
      __builtin_prefetch(from + ahead);
      if (kGuarded && !is_inside(args, point, segment)) {
        gather_clipped<C>(args, point, segment, from, to);
      } else if (args.step == 1) {
        copy_run<C>(from, to, segment.count);
      } else {
        for (std::int64_t i = 0; i < segment.count; ++i) to[i] = C::one(from[i * args.step]);
      }
    }
  }
}

template <class C>
void gather(const GatherArgs& args) {
  if (args.guarded) {
    gather_as<C, true>(args);
  } else {
    gather_as<C, false>(args);
  }
}

}  // namespace
}  // namespace plait::cpu
