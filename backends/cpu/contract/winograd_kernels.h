// Winograd's transforms F(4x4, 3x3) for any vector type V, along the channels: a tile of 6x6 pixels
// and the 3x3 taps become 36 numbers each, whose products are summed over the channels, and 4x4
// results come back. The points are 0, 1, -1, 2, -2 and infinity. The weight gradient is the same
// with 4x4 taps and 3x3 results.
#pragma once

#include "backends/cpu/contract/kernels.h"
#include "backends/cpu/contract/micro.h"

namespace plait::cpu {
namespace {

template <class V>
struct Transforms {
  using Reg = typename V::Reg;

  [[gnu::always_inline]] static Reg scaled(float by, Reg x, Reg plus) {
    return V::fma(V::broadcast(&by), x, plus);
  }
  [[gnu::always_inline]] static Reg times(float by, Reg x) { return scaled(by, x, V::zero()); }

  /// Six pixels, each `step` registers from the next.
  [[gnu::always_inline]] static void pixels(Reg* d, int step) {
    const Reg d0 = d[0], d1 = d[step], d2 = d[2 * step], d3 = d[3 * step], d4 = d[4 * step],
              d5 = d[5 * step];
    const Reg a = scaled(-4, d2, d4), b = scaled(-4, d1, d3);
    const Reg c = V::sub(d4, d2), e = V::sub(d3, d1);
    d[0] = scaled(4, d0, scaled(-5, d2, d4));
    d[step] = V::add(a, b);
    d[2 * step] = V::sub(a, b);
    d[3 * step] = scaled(2, e, c);
    d[4 * step] = scaled(-2, e, c);
    d[5 * step] = scaled(4, d1, scaled(-5, d3, d5));
  }

  /// One of the six only, from a column of pixels.
  template <int I>
  [[gnu::always_inline]] static Reg pixel(const Reg* d, int step) {
    const auto at = [&](int i) __attribute__((always_inline)) { return d[i * step]; };
    if constexpr (I == 0) return scaled(4, at(0), scaled(-5, at(2), at(4)));
    if constexpr (I == 1) return V::add(scaled(-4, at(2), at(4)), scaled(-4, at(1), at(3)));
    if constexpr (I == 2) return V::sub(scaled(-4, at(2), at(4)), scaled(-4, at(1), at(3)));
    if constexpr (I == 3) return scaled(2, V::sub(at(3), at(1)), V::sub(at(4), at(2)));
    if constexpr (I == 4) return scaled(-2, V::sub(at(3), at(1)), V::sub(at(4), at(2)));
    if constexpr (I == 5) return scaled(4, at(1), scaled(-5, at(3), at(5)));
  }

  /// Three taps to six.
  [[gnu::always_inline]] static void taps3(const Reg* g, int step, Reg* out, int out_step) {
    const Reg g0 = g[0], g1 = g[step], g2 = g[2 * step];
    const Reg one = V::add(g0, g2), two = scaled(4, g2, g0);
    out[0] = times(0.25f, g0);
    out[out_step] = times(-1.0f / 6, V::add(one, g1));
    out[2 * out_step] = times(-1.0f / 6, V::sub(one, g1));
    out[3 * out_step] = times(1.0f / 24, scaled(2, g1, two));
    out[4 * out_step] = times(1.0f / 24, scaled(-2, g1, two));
    out[5 * out_step] = g2;
  }

  /// Four taps to six: all of them, or one.
  [[gnu::always_inline]] static void taps4(const Reg* g, Reg* out) {
    const Reg one = V::add(g[0], g[2]), two = scaled(4, g[2], g[0]);
    const Reg odd = V::add(g[1], g[3]), twice = scaled(4, g[3], g[1]);
    out[0] = times(0.25f, g[0]);
    out[1] = times(-1.0f / 6, V::add(one, odd));
    out[2] = times(-1.0f / 6, V::sub(one, odd));
    out[3] = times(1.0f / 24, scaled(2, twice, two));
    out[4] = times(1.0f / 24, scaled(-2, twice, two));
    out[5] = g[3];
  }
  template <int I>
  [[gnu::always_inline]] static Reg tap4(const Reg* g, int step) {
    const auto at = [&](int i) __attribute__((always_inline)) { return g[i * step]; };
    if constexpr (I == 0) return times(0.25f, at(0));
    if constexpr (I == 1)
      return times(-1.0f / 6, V::add(V::add(at(0), at(2)), V::add(at(1), at(3))));
    if constexpr (I == 2)
      return times(-1.0f / 6, V::sub(V::add(at(0), at(2)), V::add(at(1), at(3))));
    if constexpr (I == 3)
      return times(1.0f / 24, scaled(2, scaled(4, at(3), at(1)), scaled(4, at(2), at(0))));
    if constexpr (I == 4)
      return times(1.0f / 24, scaled(-2, scaled(4, at(3), at(1)), scaled(4, at(2), at(0))));
    if constexpr (I == 5) return at(3);
  }

  /// Six sums to N results.
  template <int N>
  [[gnu::always_inline]] static void results(const Reg* m, int step, Reg* out, int out_step) {
    const Reg m0 = m[0], m5 = m[5 * step];
    const Reg s = V::add(m[step], m[2 * step]), d = V::sub(m[step], m[2 * step]);
    const Reg t = V::add(m[3 * step], m[4 * step]), u = V::sub(m[3 * step], m[4 * step]);
    out[0] = V::add(V::add(m0, s), t);
    out[out_step] = scaled(2, u, d);
    if constexpr (N == 4) {
      out[2 * out_step] = scaled(4, t, s);
      out[3 * out_step] = V::add(scaled(8, u, d), m5);
    } else {
      out[2 * out_step] = V::add(scaled(4, t, s), m5);
    }
  }
};

/// All 36 numbers of a tile, for every channel.
template <class V>
void winograd_pixels(const PixelArgs& args) {
  using T = Transforms<V>;
  for (std::int64_t c = 0; c < args.channels; c += V::kLanes) {
    typename V::Reg d[36];
    each<6>([&](auto col) __attribute__((always_inline)) {
      each<6>([&](auto row) __attribute__((always_inline)) {
        d[row * 6 + col] = V::load(args.pixels[row * 6 + col] + c);
      });
      T::pixels(d + col, 6);
    });
    each<6>([&](auto row) __attribute__((always_inline)) {
      T::pixels(d + row * 6, 1);
      each<6>([&](auto col) __attribute__((always_inline)) {
        V::store(args.dest + (row * 6 + col) * args.plane + c, d[row * 6 + col]);
      });
    });
  }
}

/// Six of the 36 numbers, those of row I, into panels of `panel` channels.
template <class V, int I>
void winograd_pixel_row(const PixelArgs& args) {
  using T = Transforms<V>;
  for (std::int64_t c = 0; c < args.channels; c += V::kLanes) {
    typename V::Reg d[36], out[6];
    each<6>([&](auto col) __attribute__((always_inline)) {
      each<6>([&](auto row) __attribute__((always_inline)) {
        d[row * 6 + col] = V::load(args.pixels[row * 6 + col] + c);
      });
      out[col] = T::template pixel<I>(d + col, 6);
    });
    T::pixels(out, 1);
    float* dest = args.dest + c / args.panel * args.panel_step + c % args.panel;
    each<6>([&](auto col)
                __attribute__((always_inline)) { V::store(dest + col * args.plane, out[col]); });
  }
}

/// The same of a tile of 4x4 taps, which lie next to each other per channel.
template <class V, int I>
void winograd_tap_row(const PixelArgs& args) {
  using T = Transforms<V>;
  for (std::int64_t c = 0; c < args.channels; c += V::kLanes) {
    typename V::Reg g[16], row[4], out[6];
    each<4>([&](auto col) __attribute__((always_inline)) {
      each<4>([&](auto r) __attribute__((always_inline)) {
        g[r * 4 + col] = V::load(args.pixels[r * 4 + col] + c);
      });
      row[col] = T::template tap4<I>(g + col, 4);
    });
    T::taps4(row, out);
    each<6>([&](auto col) __attribute__((always_inline)) {
      V::store(args.dest + col * args.plane + c, out[col]);
    });
  }
}

/// 3x3 taps, each of `channels` numbers in a row, to 36.
template <class V>
void winograd_taps(const PixelArgs& args) {
  using T = Transforms<V>;
  for (std::int64_t c = 0; c < args.channels; c += V::kLanes) {
    typename V::Reg g[9], half[18], out[6];
    each<9>([&](auto i) __attribute__((always_inline)) { g[i] = V::load(args.pixels[i] + c); });
    each<3>([&](auto col) __attribute__((always_inline)) { T::taps3(g + col, 3, half + col, 3); });
    each<6>([&](auto row) __attribute__((always_inline)) {
      T::taps3(half + row * 3, 1, out, 1);
      each<6>([&](auto col) __attribute__((always_inline)) {
        V::store(args.dest + (row * 6 + col) * args.plane + c, out[col]);
      });
    });
  }
}

/// 36 sums of every column to NxN results.
template <class V, int N>
void winograd_results(const ResultArgs& args) {
  using T = Transforms<V>;
  for (std::int64_t c = 0; c < args.cols; c += V::kLanes) {
    typename V::Reg m[36], half[N * 6], out[N];
    each<6>([&](auto col) __attribute__((always_inline)) {
      each<6>([&](auto row) __attribute__((always_inline)) {
        m[row * 6 + col] = V::load(args.sums + (row * 6 + col) * args.plane + c);
      });
      T::template results<N>(m + col, 6, half + col, 6);
    });
    each<N>([&](auto row) __attribute__((always_inline)) {
      if (row >= args.rows) return;
      T::template results<N>(half + row * 6, 1, out, 1);
      each<N>([&](auto col) __attribute__((always_inline)) {
        if (col < args.wide)
          V::store(args.dest + row * args.row_step + col * args.step + c, out[col]);
      });
    });
  }
}

template <class V>
constexpr WinogradKernels winograd_kernels() {
  return {.lanes = V::kLanes,
          .pixels = &winograd_pixels<V>,
          .taps = &winograd_taps<V>,
          .results = &winograd_results<V, 4>,
          .pixel_row = {&winograd_pixel_row<V, 0>, &winograd_pixel_row<V, 1>,
                        &winograd_pixel_row<V, 2>, &winograd_pixel_row<V, 3>,
                        &winograd_pixel_row<V, 4>, &winograd_pixel_row<V, 5>},
          .tap_row = {&winograd_tap_row<V, 0>, &winograd_tap_row<V, 1>, &winograd_tap_row<V, 2>,
                      &winograd_tap_row<V, 3>, &winograd_tap_row<V, 4>, &winograd_tap_row<V, 5>},
          .weight_results = &winograd_results<V, 3>};
}

}  // namespace
}  // namespace plait::cpu
