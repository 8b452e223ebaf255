// Chunks of wkv's gradient in CUDA C++: forwards and backwards through one, and the scan over a
// segment's. What they compute: see wkv_backward_text.cpp.
#include "backends/cuda/hand/wkv_text.h"

namespace plait::cuda {

const char* const kWkvBackwardChunk = R"(
struct Shared {
  Chunks chunks;
  State carry[32], back[32];  // back: al, be, q
  W decay[32], excess[32], extra[32];
  int last[32][kWarps + 1];
  int target[32];  // the step that the excess goes to; -1: the o that all began with
};

/// The same as scan() from the end: from what each chunk adds to the gradient behind it.
__device__ __forceinline__ void scan_back(Chunks& x, State* carries, const W* decays,
                                          const Place& p, int segment) {
  const int end = begin_of(p, segment, p.warps), chunk = p.lane % kWarps;
  const int begin = begin_of(p, segment, chunk), next = begin_of(p, segment, chunk + 1);
  for (int j = p.warp * kSide + p.lane / kWarps; j < 32; j += p.warps * kSide) {
    State g = x.get(j, chunk < p.warps ? chunk : 0);
    const State carry = carries[j];
    const W decay = decays[j];
#pragma unroll
    for (int d = 1; d < kWarps; d *= 2) {
      const State late = {upper(g.a, d), upper(g.b, d), upper(g.o, d)};
      const int steps = begin_of(p, segment, chunk + d) - begin;
      if (chunk + d < p.warps) g = joined(late, g, (W)steps * decay);
    }
    const State behind = {upper(g.a, 1), upper(g.b, 1), upper(g.o, 1)};
    const bool last = chunk + 1 >= p.warps;
    const State at_end = last ? carry : joined(carry, behind, (W)(end - next) * decay);
    __syncwarp();
    if (chunk < p.warps) x.put(j, chunk, at_end);
    if (chunk == 0) carries[j] = joined(carry, g, (W)(end - segment) * decay);
  }
}

/// A chunk: its operands in shared memory, and what was read from the state before each step.
struct Chunk {
  const T *k, *v, *dy;
  W m[kSteps], top[kSteps], y[kSteps], now[kSteps];  // top: dy / mass; now: of v's own weight
  int begin, count;
  W decay, bonus;
};

/// Forwards from the state a chunk begins with; what it adds to the gradient behind it. slope: how
/// the state at its end changes with its own decays.
template <bool whole>
__device__ __forceinline__ State read(Chunk& c, State s, State& slope, W& dw, W& du) {
  State g = {(W)0, (W)0, (W)-1e38};
  W d = (W)0, e = (W)0;
#pragma unroll
  for (int i = 0; i < kSteps; ++i) {
    if (whole || i < c.count) {
      const W k = widen(c.k[i * 32]) * kUnit, v = widen(c.v[i * 32]);
      const Weights r = weigh(s.o, c.bonus + k);
      const W over = inverse(multiplied(r.first, s.b, r.second));
      const W y = multiplied(r.first, s.a, r.second * v) * over;
      c.m[i] = r.m;
      c.y[i] = y;
      c.top[i] = widen(c.dy[i * 32]) * over;
      c.now[i] = r.second * c.top[i];
      du = multiplied(c.now[i], v - y, du);
      dw = multiplied(r.first * c.top[i], multiplied(-e, y, d), dw);
      g.o = larger(g.o, multiplied((W)i, c.decay, -r.m));
      const Weights f = weigh(c.decay + s.o, k);
      d = f.first * (d + s.a);
      e = f.first * (e + s.b);
      s = advanced(s, f, v);
    }
  }
  slope = {d, e, s.o};
#pragma unroll
  for (int i = 0; i < kSteps; ++i) {
    if (whole || i < c.count) {
      const W part = power(multiplied((W)i, c.decay, -c.m[i]) - g.o) * c.top[i];
      g.a += part;
      g.b = multiplied(-part, c.y[i], g.b);
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
__device__ __forceinline__ void write(const Chunk& c, State g, const Rows& out) {
#pragma unroll
  for (int i = kSteps - 1; i >= 0; --i) {
    if (whole || i < c.count) {
      const W k = widen(c.k[i * 32]) * kUnit, v = widen(c.v[i * 32]);
      const W through = power(k + g.o);
      W dk = multiplied(c.now[i], v - c.y[i], through * multiplied(g.a, v, g.b));
      if (kFinal && c.begin + i == out.target) dk += out.excess;
      if (out.dk) out.dk[(int64_t)i * out.channels] = narrow(dk);
      if (out.dv) out.dv[(int64_t)i * out.channels] = narrow(multiplied(through, g.a, c.now[i]));
      const Weights f = weigh(c.decay + g.o, -c.m[i]);
      const W added = f.second * c.top[i];
      g = {multiplied(f.first, g.a, added), multiplied(f.first, g.b, -added * c.y[i]), f.m};
    }
  }
}
)";

}  // namespace plait::cuda
