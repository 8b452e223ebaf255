// RWKV-4's recurrence and its gradient on a block of neighbouring channels (the innermost axis).
// The same formulas as ops/wkv.cpp, in f32 for all but f64; of the two exponentials that share a
// maximum one is e^0, so that each pair takes one. T: of the rows; S: of all else, T or f32. Only
// for the lanes_*.cpp files.
#pragma once

#include "backends/cpu/hand/lane_math.h"
#include "backends/cpu/hand/lanes.h"

namespace plait::cpu {
namespace {

constexpr std::int64_t kAhead = 8;  // steps to prefetch: rows lie in different pages

template <class T>
using WideOf = decltype(widen(T{}));

/// `count` of N lanes that lie together in memory.
template <int N, class T>
void load(const T* from, int count, WideOf<T>* to, WideOf<T> otherwise = 0) {
  for (int j = 0; j < N; ++j) to[j] = otherwise;
  for (int j = 0; from && j < count; ++j) to[j] = widen(from[j]);
}
template <class T>
void store(const WideOf<T>* from, int count, T* to) {
  for (int j = 0; to && j < count; ++j) narrow(from[j], to[j]);
}

/// A row's N lanes, in place or, where the block is cut short, copied with zeros behind.
template <int N, bool whole, class T>
const T* row_in(const T* row, int count, T* copy) {
  if constexpr (whole) return row;
  for (int j = 0; j < N; ++j) copy[j] = j < count ? row[j] : T{};
  return copy;
}
template <bool whole, class T>
void row_out(const T* copy, int count, T* row) {
  if constexpr (!whole) {
    for (int j = 0; row && j < count; ++j) row[j] = copy[j];
  }
}

inline float gap(float x, float y) { return -__builtin_fabsf(x - y); }
inline double gap(double x, double y) { return -__builtin_fabs(x - y); }

template <class W>
W larger(W x, W y) {
  return x < y ? y : x;
}

/// e^(x-m) and e^(y-m) with m = max(x, y), given e = e^-|x-y| and e^(m-m).
template <class W>
struct Pair {
  W first, second;
  Pair(W x, W y, W e, W one) : first(x < y ? e : one), second(x < y ? one : e) {}
};

/// e^(m-m) and e^(n-n): 1, or NaN where one of them is infinite.
template <class W>
W one_of(W m, W n) {
  const W sum = m + n;
  return W(1) + (sum - sum);
}

/// Where a block's lanes begin.
struct Block {
  std::int64_t first, rows, lane;  // of the channels; of [B,T,C]; of [B,C]
  int count;
  Block(const WkvSizes& s, std::int64_t n, std::int64_t block, std::int64_t lanes)
      : first(block * lanes),
        rows(n * s.time * s.channels + first),
        lane(n * s.channels + first),
        count(static_cast<int>(s.channels - first < lanes ? s.channels - first : lanes)) {}
};

template <class T>
const T* part(const void* const* in, int i, std::int64_t from) {
  return in[i] ? static_cast<const T*>(in[i]) + from : nullptr;
}
template <class T>
T* part(void* const* out, int i, std::int64_t from) {
  return out[i] ? static_cast<T*>(out[i]) + from : nullptr;
}

template <class W, int N>
struct Lanes {
  alignas(64) W a[N], b[N], o[N], w[N], u[N];
  template <class S>
  void begin(const void* const* in, const Block& at) {
    load<N>(part<S>(in, 2, at.first), at.count, w);
    load<N>(part<S>(in, 3, at.first), at.count, u);
    load<N>(part<S>(in, 4, at.lane), at.count, a);
    load<N>(part<S>(in, 5, at.lane), at.count, b);
    load<N>(part<S>(in, 6, at.lane), at.count, o, W(-1e38));
  }
};

template <class T, class S, bool whole>
void scan(const WkvSizes& s, const Block& at, const void* const* in, void* const* out) {
  constexpr int N = WkvSizes::kForward;
  using W = WideOf<T>;
  Lanes<W, N> x;
  x.template begin<S>(in, at);
  const T *k = part<T>(in, 0, at.rows), *v = part<T>(in, 1, at.rows);
  T* y = part<T>(out, 0, at.rows);
  alignas(64) T k_copy[N], v_copy[N], y_copy[N];
  for (std::int64_t t = 0; t < s.time; ++t) {
    const std::int64_t row = t * s.channels;
    const std::int64_t ahead = (t + kAhead < s.time ? kAhead : 0) * s.channels + row;
    __builtin_prefetch(k + ahead);
    __builtin_prefetch(v + ahead);
    const T* kt = row_in<N, whole>(k + row, at.count, k_copy);
    const T* vt = row_in<N, whole>(v + row, at.count, v_copy);
    T* yt = whole && y ? y + row : y_copy;
#pragma omp simd
    for (int j = 0; j < N; ++j) {
      const W kj = widen(kt[j]), vj = widen(vt[j]);
      const W now = x.u[j] + kj, past = x.w[j] + x.o[j], next_o = larger(past, kj);
      const W one = one_of(larger(x.o[j], now), next_o);
      const Pair<W> read(x.o[j], now, exp_below(gap(x.o[j], now)), one);
      const W top = read.first * x.a[j] + read.second * vj;
      narrow(top / (read.first * x.b[j] + read.second), yt[j]);
      const Pair<W> next(past, kj, exp_below(gap(past, kj)), one);
      x.a[j] = next.first * x.a[j] + next.second * vj;
      x.b[j] = next.first * x.b[j] + next.second;
      x.o[j] = next_o;
    }
    row_out<whole>(y_copy, at.count, y ? y + row : nullptr);
  }
  store(x.a, at.count, part<S>(out, 1, at.lane));
  store(x.b, at.count, part<S>(out, 2, at.lane));
  store(x.o, at.count, part<S>(out, 3, at.lane));
}

template <class T, class S = T>
void wkv_forward(const WkvSizes& s, std::int64_t task, const void* const* in, void* const* out) {
  const Block at(s, task / s.forward_blocks(), task % s.forward_blocks(), WkvSizes::kForward);
  at.count == WkvSizes::kForward ? scan<T, S, true>(s, at, in, out)
                                 : scan<T, S, false>(s, at, in, out);
}

/// Forwards without y: keeps what every step began with.
template <class T, bool whole, class W>
void keep_states(const WkvSizes& s, const Block& at, const void* const* in,
                 Lanes<W, WkvSizes::kBackward>& x, W* kept) {
  constexpr int N = WkvSizes::kBackward;
  const T *k = part<T>(in, 0, at.rows), *v = part<T>(in, 1, at.rows);
  alignas(64) T k_copy[N], v_copy[N];
  for (std::int64_t t = 0; t < s.time; ++t, kept += 4 * N) {
    const std::int64_t row = t * s.channels;
    const std::int64_t ahead = (t + kAhead < s.time ? kAhead : 0) * s.channels + row;
    __builtin_prefetch(k + ahead);
    __builtin_prefetch(v + ahead);
    const T* kt = row_in<N, whole>(k + row, at.count, k_copy);
    const T* vt = row_in<N, whole>(v + row, at.count, v_copy);
#pragma omp simd
    for (int j = 0; j < N; ++j) {
      const W kj = widen(kt[j]), vj = widen(vt[j]);
      const W past = x.w[j] + x.o[j], next_o = larger(past, kj);
      const W e = exp_below(gap(past, kj));
      const Pair<W> next(past, kj, e, one_of(next_o, next_o));
      kept[j] = x.a[j];
      kept[N + j] = x.b[j];
      kept[2 * N + j] = x.o[j];
      kept[3 * N + j] = e;
      x.a[j] = next.first * x.a[j] + next.second * vj;
      x.b[j] = next.first * x.b[j] + next.second;
      x.o[j] = next_o;
    }
  }
}

/// Gradients on their way back through a block: of the state, and summed over steps.
template <class W>
struct Back {
  alignas(64) W a[WkvSizes::kBackward], b[WkvSizes::kBackward], o[WkvSizes::kBackward];
  alignas(64) W w[WkvSizes::kBackward], u[WkvSizes::kBackward];
};

/// One step back, on one lane; dk and dv are those of the step.
template <class W>
inline void step_back(Back<W>& g, int j, const W* kept, W w, W u, W k, W v, W dy, W& dk, W& dv) {
  constexpr int N = WkvSizes::kBackward;
  const W a = kept[j], b = kept[N + j], o = kept[2 * N + j];
  const W past = w + o, now = u + k;
  const W one = one_of(larger(past, k), larger(o, now));
  const Pair<W> f(past, k, kept[3 * N + j], one);
  const W to_past = f.first * (g.a[j] * a + g.b[j] * b);
  const W to_now = f.second * (g.a[j] * v + g.b[j]);
  const W through = past < k ? to_past : g.o[j] - to_now;  // of w + o; the maximum takes the rest
  const Pair<W> r(o, now, exp_below(gap(o, now)), one);
  const W mass = r.first * b + r.second;
  const W top = dy / mass, bottom = -top * ((r.first * a + r.second * v) / mass);
  const W read_now = r.second * (top * v + bottom);
  dk = (past < k ? g.o[j] - to_past : to_now) + read_now;
  dv = f.second * g.a[j] + r.second * top;
  g.a[j] = f.first * g.a[j] + r.first * top;
  g.b[j] = f.first * g.b[j] + r.first * bottom;
  g.o[j] = through + r.first * (top * a + bottom * b);
  g.w[j] += through;
  g.u[j] += read_now;
}

template <class T, bool whole, class W>
void scan_back(const WkvSizes& s, const Block& at, const void* const* in, void* const* out,
               const Lanes<W, WkvSizes::kBackward>& x, const W* kept, Back<W>& g) {
  constexpr int N = WkvSizes::kBackward;
  const T *k = part<T>(in, 0, at.rows), *v = part<T>(in, 1, at.rows), *dy = part<T>(in, 7, at.rows);
  T *dk = part<T>(out, 0, at.rows), *dv = part<T>(out, 1, at.rows);
  alignas(64) T k_copy[N], v_copy[N], dy_copy[N] = {}, dk_copy[N], dv_copy[N];
  for (std::int64_t t = s.time; t-- > 0;) {
    const std::int64_t row = t * s.channels;
    const std::int64_t ahead = row - (t >= kAhead ? kAhead : 0) * s.channels;
    __builtin_prefetch(k + ahead);
    __builtin_prefetch(v + ahead);
    if (dy) __builtin_prefetch(dy + ahead);
    const T* kt = row_in<N, whole>(k + row, at.count, k_copy);
    const T* vt = row_in<N, whole>(v + row, at.count, v_copy);
    const T* dyt = dy ? row_in<N, whole>(dy + row, at.count, dy_copy) : dy_copy;
    T *dkt = whole && dk ? dk + row : dk_copy, *dvt = whole && dv ? dv + row : dv_copy;
    const W* step = kept + t * 4 * N;
#pragma omp simd
    for (int j = 0; j < N; ++j) {
      W to_k, to_v;
      step_back(g, j, step, x.w[j], x.u[j], widen(kt[j]), widen(vt[j]), widen(dyt[j]), to_k, to_v);
      narrow(to_k, dkt[j]);
      narrow(to_v, dvt[j]);
    }
    row_out<whole>(dk_copy, at.count, dk ? dk + row : nullptr);
    row_out<whole>(dv_copy, at.count, dv ? dv + row : nullptr);
  }
}

template <class T, class S = T>
void wkv_backward(const WkvSizes& s, std::int64_t task, const void* const* in, void* const* out,
                  void* scratch) {
  constexpr int N = WkvSizes::kBackward;
  using W = WideOf<T>;
  W* kept = static_cast<W*>(scratch);
  Back<W> g;
  Lanes<W, N> x;
  W dw[N] = {}, du[N] = {};
  for (std::int64_t n = 0; n < s.batch; ++n) {
    const Block at(s, n, task, N);
    const bool whole = at.count == N;
    x.template begin<S>(in, at);
    whole ? keep_states<T, true>(s, at, in, x, kept) : keep_states<T, false>(s, at, in, x, kept);
    load<N>(part<S>(in, 8, at.lane), at.count, g.a);
    load<N>(part<S>(in, 9, at.lane), at.count, g.b);
    load<N>(part<S>(in, 10, at.lane), at.count, g.o);
    for (int j = 0; j < N; ++j) g.w[j] = g.u[j] = 0;
    whole ? scan_back<T, true>(s, at, in, out, x, kept, g)
          : scan_back<T, false>(s, at, in, out, x, kept, g);
    for (int j = 0; j < N; ++j) {
      dw[j] += g.w[j];
      du[j] += g.u[j];
    }
    store(g.a, at.count, part<S>(out, 4, at.lane));
    store(g.b, at.count, part<S>(out, 5, at.lane));
    store(g.o, at.count, part<S>(out, 6, at.lane));
  }
  const Block at(s, 0, task, N);
  store(dw, at.count, part<S>(out, 2, at.first));
  store(du, at.count, part<S>(out, 3, at.first));
}

constexpr std::array<WkvForward, 6> kWkvForward = {
    wkv_forward<double>, wkv_forward<float>,      wkv_forward<f16>,
    wkv_forward<bf16>,   wkv_forward<f16, float>, wkv_forward<bf16, float>};
constexpr std::array<WkvBackward, 6> kWkvBackward = {
    wkv_backward<double>, wkv_backward<float>,      wkv_backward<f16>,
    wkv_backward<bf16>,   wkv_backward<f16, float>, wkv_backward<bf16, float>};

}  // namespace
}  // namespace plait::cpu
