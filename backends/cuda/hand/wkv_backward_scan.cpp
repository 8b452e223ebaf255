// The states of wkv's gradient in CUDA C++, and their scans over a segment's chunks. What they are:
// see wkv_backward_text.cpp.
#include "backends/cuda/hand/wkv_text.h"

namespace plait::cuda {

const char* const kWkvBackwardScan = R"(
struct State {
  W a, b, d, e, o;
  int last;  // the step whose k is o; -1: of the state that all began with
};

/// The state behind `right`, of so many steps, begun with `left`.
__device__ __forceinline__ State joined(const State& left, const State& right, int steps,
                                        W decay) {
  const W n = (W)steps, past = left.o + n * decay;
  const Weights p = weigh(past, right.o);
  return {p.first * left.a + p.second * right.a,
          p.first * left.b + p.second * right.b,
          p.first * (left.d + n * left.a) + p.second * right.d,
          p.first * (left.e + n * left.b) + p.second * right.e,
          p.m,
          past < right.o ? right.last : left.last};
}
__device__ __forceinline__ State advanced(const State& s, W k, W v, W decay, int step) {
  const W past = decay + s.o;
  const Weights p = weigh(past, k);
  return {p.first * s.a + p.second * v, p.first * s.b + p.second, p.first * (s.d + s.a),
          p.first * (s.e + s.b),        p.m,                      past < k ? step : s.last};
}

struct Back {
  W al, be, q;
};
/// The gradient before `early`, of so many steps, given the one behind it.
__device__ __forceinline__ Back joined(const Back& early, const Back& late, int steps,
                                       W decay) {
  const Weights p = weigh(late.q + (W)steps * decay, early.q);
  return {p.first * late.al + p.second * early.al, p.first * late.be + p.second * early.be, p.m};
}

struct Shared {
  W a[32][kWarps + 1], b[32][kWarps + 1], d[32][kWarps + 1];  // [channel][chunk]
  W e[32][kWarps + 1], o[32][kWarps + 1];
  int last[32][kWarps + 1];
  State carry[32];
  Back back[32];
  W decay[32], excess[32], extra[32];
  int target[32];  // the step that the excess goes to
};

__device__ __forceinline__ void put(Shared& x, int channel, int chunk, const State& s) {
  x.a[channel][chunk] = s.a;
  x.b[channel][chunk] = s.b;
  x.d[channel][chunk] = s.d;
  x.e[channel][chunk] = s.e;
  x.o[channel][chunk] = s.o;
  if (kFinal) x.last[channel][chunk] = s.last;
}
__device__ __forceinline__ State get(const Shared& x, int channel, int chunk) {
  return {x.a[channel][chunk], x.b[channel][chunk], x.d[channel][chunk],
          x.e[channel][chunk], x.o[channel][chunk], kFinal ? x.last[channel][chunk] : 0};
}
template <class X>
__device__ __forceinline__ X lower(X x, int by) {
  return __shfl_up_sync(0xffffffffu, x, by);
}
__device__ __forceinline__ State lower(const State& s, int by) {
  return {lower(s.a, by), lower(s.b, by), lower(s.d, by),
          lower(s.e, by), lower(s.o, by), kFinal ? lower(s.last, by) : 0};
}
__device__ __forceinline__ Back upper(const Back& g, int by) {
  return {__shfl_down_sync(0xffffffffu, g.al, by), __shfl_down_sync(0xffffffffu, g.be, by),
          __shfl_down_sync(0xffffffffu, g.q, by)};
}

/// From each chunk's own state to the one it begins with; the carry goes on to the next segment.
__device__ __forceinline__ void scan(Shared& x, const Place& p, int segment) {
  for (int j = p.warp; j < 32; j += p.warps) {
    State s = get(x, j, p.lane < p.warps ? p.lane : 0);
    const State carry = x.carry[j];
    const W decay = x.decay[j];
    for (int d = 1; d < p.warps; d *= 2) {
      const State left = lower(s, d);
      const int behind = begin_of(p, segment, p.lane + 1);
      if (p.lane >= d) s = joined(left, s, behind - begin_of(p, segment, p.lane + 1 - d), decay);
    }
    const State before = lower(s, 1);
    const int begin = begin_of(p, segment, p.lane);
    const State start = p.lane > 0 ? joined(carry, before, begin - segment, decay) : carry;
    __syncwarp();
    if (p.lane < p.warps) put(x, j, p.lane, start);
    if (p.lane == p.warps - 1) {
      x.carry[j] = joined(carry, s, begin_of(p, segment, p.warps) - segment, decay);
    }
  }
}

/// The same from the end: from what each chunk adds to the gradient behind it.
__device__ __forceinline__ void scan_back(Shared& x, const Place& p, int segment) {
  const int end = begin_of(p, segment, p.warps);
  for (int j = p.warp; j < 32; j += p.warps) {
    const int chunk = p.lane < p.warps ? p.lane : 0;
    Back g = {x.a[j][chunk], x.b[j][chunk], x.o[j][chunk]};
    const Back carry = x.back[j];
    const W decay = x.decay[j];
    const int begin = begin_of(p, segment, p.lane);
    for (int d = 1; d < p.warps; d *= 2) {
      const Back late = upper(g, d);
      if (p.lane + d < p.warps) {
        g = joined(g, late, begin_of(p, segment, p.lane + d) - begin, decay);
      }
    }
    const Back behind = upper(g, 1);
    const int next = begin_of(p, segment, p.lane + 1);
    const Back at_end = p.lane + 1 < p.warps ? joined(behind, carry, end - next, decay) : carry;
    __syncwarp();
    if (p.lane < p.warps) {
      x.a[j][p.lane] = at_end.al;
      x.b[j][p.lane] = at_end.be;
      x.o[j][p.lane] = at_end.q;
    }
    if (p.lane == 0) x.back[j] = joined(g, carry, end - segment, decay);
  }
}
)";

}  // namespace plait::cuda
