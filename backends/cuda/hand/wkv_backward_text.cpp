// The gradient of wkv in CUDA C++, cut as in wkv_text.cpp. Once forwards over the segments to know
// the state each begins with (kept), then backwards over them; in a segment forwards through the
// chunks (readings, and the gradients of w and u), a scan over the chunks from the end, and
// backwards (the gradients of k and v).
//
// The state stands for A = a e^o and B = b e^o. d and e, times e^o, are the derivatives of A and B
// by w. Of the gradients of A and B, al e^q and be e^q, each step adds e^-m dy / mass and -y times
// that. A gradient of the last o beyond that of A and B goes to the k that is the maximum, and to w
// once for each step behind it.
#include "backends/cuda/hand/wkv_text.h"

namespace plait::cuda {

const char* const kWkvBackward = R"(
// The carry of each segment: [segments][5][B*C].
__device__ __forceinline__ W* kept_at(pl_word kept, int64_t which, int64_t lanes, int64_t lane) {
  return at<W>(kept) + which * 5 * lanes + lane;
}
__device__ __forceinline__ void keep(W* to, int64_t lanes, const State& s) {
  to[0] = s.a;
  to[lanes] = s.b;
  to[2 * lanes] = s.d;
  to[3 * lanes] = s.e;
  to[4 * lanes] = s.o;
}
__device__ __forceinline__ State kept_state(const W* from, int64_t lanes) {
  return {from[0], from[lanes], from[2 * lanes], from[3 * lanes], from[4 * lanes], 0};
}

/// A chunk's operands and what was read from the state before each step.
struct Chunk {
  T k[kSteps], v[kSteps], dy[kSteps];
  W m[kSteps], top[kSteps], y[kSteps];  // top: dy / mass
  int begin, count;
  W decay, bonus;
};

/// What a chunk makes of an empty state. whole: it has all its steps, and no branch between them.
template <bool whole>
__device__ __forceinline__ State chunk_state(const Chunk& c) {
  State s = {(W)0, (W)0, (W)0, (W)0, (W)-1e38, -1};
#pragma unroll
  for (int i = 0; i < kSteps; ++i) {
    if (whole || i < c.count) {
      s = advanced(s, widen(c.k[i]), widen(c.v[i]), c.decay, c.begin + i);
    }
  }
  return s;
}

/// Forwards from the state a chunk begins with; what it adds to the gradient behind it.
template <bool whole>
__device__ __forceinline__ Back read(Chunk& c, State s, W& dw, W& du) {
  Back g = {(W)0, (W)0, (W)-1e38};
#pragma unroll
  for (int i = 0; i < kSteps; ++i) {
    if (whole || i < c.count) {
      const W k = widen(c.k[i]), v = widen(c.v[i]);
      const Weights r = weigh(s.o, c.bonus + k);
      const W over = inverse(r.first * s.b + r.second);
      const W top = widen(c.dy[i]) * over, y = (r.first * s.a + r.second * v) * over;
      dw += r.first * top * (s.d - s.e * y);
      du += r.second * top * (v - y);
      const Weights f = weigh(g.q, (W)i * c.decay - r.m);
      g = {f.first * g.al + f.second * top, f.first * g.be - f.second * top * y, f.m};
      c.m[i] = r.m;
      c.top[i] = top;
      c.y[i] = y;
      s = advanced(s, k, v, c.decay, 0);
    }
  }
  return g;
}

/// Where dk and dv of a chunk go; null where nobody reads them.
struct Rows {
  T *dk, *dv;
  int channels, target;  // target: the step that the excess goes to
  W excess;
};

/// Backwards from the gradient behind a chunk.
template <bool whole>
__device__ __forceinline__ void write(const Chunk& c, Back g, const Rows& out) {
#pragma unroll
  for (int i = kSteps - 1; i >= 0; --i) {
    if (whole || i < c.count) {
      const W k = widen(c.k[i]), v = widen(c.v[i]), top = c.top[i], y = c.y[i];
      const W through = exp_below(k + g.q), now = exp_below(c.bonus + k - c.m[i]) * top;
      W dk = through * (g.al * v + g.be) + now * (v - y);
      if (kFinal && c.begin + i == out.target) dk += out.excess;
      if (out.dk) out.dk[i * out.channels] = narrow(dk);
      if (out.dv) out.dv[i * out.channels] = narrow(through * g.al + now);
      const Weights f = weigh(c.decay + g.q, -c.m[i]);
      g = {f.first * g.al + f.second * top, f.first * g.be - f.second * top * y, f.m};
    }
  }
}

/// The segments but the last forwards, all of them where the last state is wanted; keeps what each
/// begins with.
__device__ __forceinline__ void run_forwards(Shared& x, const Place& p, const pl_words<22>& w,
                                             Chunk& c, int segments, int64_t lane, int64_t lanes) {
  for (int n = 0; n < segments; ++n) {
    if (p.warp == 0 && p.live) keep(kept_at(w.v[16], n, lanes, lane), lanes, x.carry[p.lane]);
    if (!kFinal && n + 1 == segments) break;
    const int first = n * p.warps * kSteps;
    c.begin = first + p.warp * kSteps;
    c.count = p.time - c.begin;
    load(w.v[0], p, c.begin, c.k);
    load(w.v[1], p, c.begin, c.v);
    put(x, p.lane, p.warp, c.count >= kSteps ? chunk_state<true>(c) : chunk_state<false>(c));
    __syncthreads();
    scan(x, p, first);
    __syncthreads();
  }
}

/// A segment backwards.
__device__ __forceinline__ void run_back(Shared& x, const Place& p, const pl_words<22>& w, Chunk& c,
                                         int first, W& dw, W& du) {
  c.begin = first + p.warp * kSteps;
  c.count = p.time - c.begin;
  const bool whole = c.count >= kSteps;
  load(w.v[0], p, c.begin, c.k);
  load(w.v[1], p, c.begin, c.v);
  load(w.v[7], p, c.begin, c.dy);
  put(x, p.lane, p.warp, whole ? chunk_state<true>(c) : chunk_state<false>(c));
  __syncthreads();
  scan(x, p, first);
  __syncthreads();
  const State s = get(x, p.lane, p.warp);
  Back g = whole ? read<true>(c, s, dw, du) : read<false>(c, s, dw, du);
  x.a[p.lane][p.warp] = g.al;
  x.b[p.lane][p.warp] = g.be;
  x.o[p.lane][p.warp] = g.q;
  __syncthreads();
  scan_back(x, p, first);
  __syncthreads();
  g = {x.a[p.lane][p.warp], x.b[p.lane][p.warp], x.o[p.lane][p.warp]};
  const int64_t row = p.first + (int64_t)c.begin * p.channels;
  const Rows out = {w.v[11] && p.live ? at<T>(w.v[11]) + row : nullptr,
                    w.v[12] && p.live ? at<T>(w.v[12]) + row : nullptr, p.channels,
                    x.target[p.lane], x.excess[p.lane]};
  whole ? write<true>(c, g, out) : write<false>(c, g, out);
}

/// What the last state's gradients (words 8 to 10) come to, with the carry behind all steps.
__device__ __forceinline__ void begin_back(Shared& x, const Place& p, const pl_words<22>& w,
                                           int64_t lane) {
  x.back[p.lane] = {(W)0, (W)0, (W)-1e38};
  x.excess[p.lane] = x.extra[p.lane] = (W)0;
  x.target[p.lane] = -2;
  if (!kFinal) return;
  const W da = optional(w.v[8], lane, (W)0), db = optional(w.v[9], lane, (W)0);
  const State s = x.carry[p.lane];
  const W excess = optional(w.v[10], lane, (W)0) - (da * s.a + db * s.b);
  x.back[p.lane] = {da, db, -s.o};
  x.excess[p.lane] = excess;
  x.target[p.lane] = s.last;
  x.extra[p.lane] = da * s.d + db * s.e + excess * (W)(p.time - 1 - s.last);
}

/// The state that all began with.
__device__ __forceinline__ State initial(const pl_words<22>& w, int64_t lane) {
  return {optional(w.v[4], lane, (W)0), optional(w.v[5], lane, (W)0),
          (W)0, (W)0, optional(w.v[6], lane, (W)-1e38), -1};
}

// Words: k, v [B,T,C]; w, u [C]; a0, b0, o0 [B,C]; dy [B,T,C]; da, db, do [B,C]; dk, dv [B,T,C];
// da0, db0, do0 [B,C]; kept; sums [2,B,C] of dw and du; T; C; C / 32 rounded up; B.
extern "C" __global__ void __launch_bounds__(kWarps * 32) NAME(const pl_words<22> w) {
  __shared__ Shared x;
  const Place p = place_of((int64_t)w.v[18], (int64_t)w.v[19], (int64_t)w.v[20]);
  const int64_t lane = p.batch * p.channels + p.channel, lanes = (int64_t)w.v[21] * p.channels;
  const int span = p.warps * kSteps, segments = (p.time + span - 1) / span;
  Chunk c;
  c.decay = widen(at<const T>(w.v[2])[p.channel]);
  c.bonus = widen(at<const T>(w.v[3])[p.channel]);
  if (p.warp == 0) {
    x.decay[p.lane] = c.decay;
    x.carry[p.lane] = initial(w, lane);
  }
  run_forwards(x, p, w, c, segments, lane, lanes);
  if (p.warp == 0) begin_back(x, p, w, lane);
  __syncthreads();
  W dw = (W)0, du = (W)0;
  for (int n = segments - 1; n >= 0; --n) {
    if (p.warp == 0) x.carry[p.lane] = kept_state(kept_at(w.v[16], n, lanes, lane), lanes);
    run_back(x, p, w, c, n * span, dw, du);
  }
  __syncthreads();
  x.a[p.lane][p.warp] = dw;
  x.b[p.lane][p.warp] = du;
  __syncthreads();
  if (p.warp != 0 || !p.live) return;
  dw = x.extra[p.lane];
  du = (W)0;
  for (int i = 0; i < p.warps; ++i) {
    dw += x.a[p.lane][i];
    du += x.b[p.lane][i];
  }
  at<W>(w.v[17])[lane] = dw;
  at<W>(w.v[17])[lanes + lane] = du;
  const State begun = initial(w, lane);
  const Back g = x.back[p.lane];
  const W through = exp_below(g.q + begun.o), da0 = g.al * through, db0 = g.be * through;
  const W rest = kFinal && x.target[p.lane] == -1 ? x.excess[p.lane] : (W)0;
  store(w.v[13], lane, da0, true);
  store(w.v[14], lane, db0, true);
  store(w.v[15], lane, da0 * begun.a + db0 * begun.b + rest, true);
}

// Words: sums [2,B,C]; dw, du [C]; B; C.
extern "C" __global__ void NAME_sum(const pl_words<5> w) {
  const int64_t batches = (int64_t)w.v[3], channels = (int64_t)w.v[4];
  const Parted p = part(item(), channels);
  const pl_word out = p.quotient == 0 ? w.v[1] : p.quotient == 1 ? w.v[2] : 0;
  if (!out) return;
  const W* sums = at<const W>(w.v[0]) + p.quotient * batches * channels + p.rest;
  W sum = (W)0;
  for (int64_t b = 0; b < batches; ++b) sum += sums[b * channels];
  at<T>(out)[p.rest] = narrow(sum);
}
)";

}  // namespace plait::cuda
