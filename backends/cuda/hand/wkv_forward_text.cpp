// RWKV-4's recurrence in CUDA C++: the kernel. How it is cut: see wkv_text.cpp.
#include "backends/cuda/hand/wkv_text.h"

namespace plait::cuda {

const char* const kWkvForward = R"(
constexpr int kStages = 3;

struct Shared {
  Chunks chunks;
  State carry[32];
  W decay[32];
};

/// A chunk's results, from the state it begins with. row: of its first step.
template <bool whole>
__device__ __forceinline__ void read(State s, const T* ks, const T* vs, int count, W decay, W bonus,
                                     T* row, int channels, bool live) {
#pragma unroll
  for (int i = 0; i < kSteps; ++i) {
    if (whole || i < count) {
      const W k = widen(ks[i * 32]) * kUnit, v = widen(vs[i * 32]);
      const Weights r = weigh(s.o, bonus + k);
      const W mass = multiplied(r.first, s.b, r.second);
      const W y = multiplied(r.first, s.a, r.second * v) * inverse(mass);
      if (live) row[(int64_t)i * channels] = narrow(y);
      s = advanced(s, weigh(decay + s.o, k), v);
    }
  }
}

__device__ __forceinline__ void fetch_segment(const pl_words<14>& w, const Place& p, int n) {
  const int begin = (n * p.warps + p.warp) * kSteps;
  __syncwarp();
  if (begin < p.time) {
    fetch(w.v[0], p, begin, own(p, n % kStages, 0));
    fetch(w.v[1], p, begin, own(p, n % kStages, 1));
  }
  commit();
}

// Words: k, v [B,T,C]; w, u [C]; a0, b0, o0 [B,C]; y [B,T,C]; a, b, o [B,C]; T; C; C / 32 rounded
// up.
extern "C" __global__ void __launch_bounds__(kWarps * 32, 1) NAME(const pl_words<14> w) {
  __shared__ Shared x;
  const Place p = place_of((int64_t)w.v[11], (int64_t)w.v[12], (int64_t)w.v[13]);
  const int64_t lane = p.batch * p.channels + p.channel;
  const int span = p.warps * kSteps, segments = (p.time + span - 1) / span;
  for (int n = 0; n < kStages - 1; ++n) fetch_segment(w, p, n);
  const W decay = widen_s(at<const S>(w.v[2])[p.channel]) * kUnit;
  const W bonus = widen_s(at<const S>(w.v[3])[p.channel]) * kUnit;
  if (p.warp == 0) {
    x.decay[p.lane] = decay;
    x.carry[p.lane] = {optional(w.v[4], lane, (W)0), optional(w.v[5], lane, (W)0),
                       optional(w.v[6], lane, (W)-1e38) * kUnit};
  }
  const bool stored = w.v[7] && p.live;
  for (int n = 0; n < segments; ++n) {
    const int begin = (n * p.warps + p.warp) * kSteps, count = p.time - begin;
    const T *ks = own(p, n % kStages, 0), *vs = own(p, n % kStages, 1);
    T* row = at<T>(w.v[7]) + p.first + (int64_t)begin * p.channels;
    const bool whole = count >= kSteps;
    fetch_segment(w, p, n + kStages - 1);
    arrived<kStages - 1>();
    x.chunks.put(p.lane, p.warp, whole ? chunk_state<true>(ks, vs, count, decay)
                                       : chunk_state<false>(ks, vs, count, decay));
    __syncthreads();
    scan(x.chunks, x.carry, x.decay, p, n * span);
    __syncthreads();
    const State s = x.chunks.get(p.lane, p.warp);
    if (whole) {
      read<true>(s, ks, vs, count, decay, bonus, row, p.channels, stored);
    } else {
      read<false>(s, ks, vs, count, decay, bonus, row, p.channels, stored);
    }
  }
  __syncthreads();
  if (p.warp == 0) {
    store(w.v[8], lane, x.carry[p.lane].a, p.live);
    store(w.v[9], lane, x.carry[p.lane].b, p.live);
    store(w.v[10], lane, x.carry[p.lane].o * (1 / kUnit), p.live);
  }
}
)";

}  // namespace plait::cuda
