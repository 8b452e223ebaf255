// RWKV-4's recurrence in CUDA C++. A block takes 32 neighbouring channels (its lanes) of one batch;
// its warps take neighbouring chunks of kSteps steps. What the warps take together is a segment.
// A chunk's effect on the state is computed from an empty state, all in registers; a scan over the
// chunks gives each the state it begins with; then the results. Segments follow each other.
#include "backends/cuda/hand/wkv_text.h"

namespace plait::cuda {

const char* const kWkvShared = R"(
constexpr int kSteps = 16;

/// e^x for x that is not positive; the float one within 2^-22, and 0 where it is below 2^-126.
__device__ __forceinline__ float exp_below(float x) {
#ifdef PL_EMULATED
  return pl_exp_f(x);
#else
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x * 1.442695041f));
  return y;
#endif
}
__device__ __forceinline__ double exp_below(double x) { return pl_exp_d(x); }

/// Within one unit in the last place.
__device__ __forceinline__ float inverse(float x) {
#ifdef PL_EMULATED
  return 1.0f / x;
#else
  float y;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
#endif
}
__device__ __forceinline__ double inverse(double x) { return 1.0 / x; }

/// e^(x-m) and e^(y-m) with m = max(x, y). One of them is e^(m-m): 1, or NaN where m is infinite.
struct Weights {
  W first, second, m;
};
__device__ __forceinline__ Weights weigh(W x, W y) {
  const bool less = x < y;
  const W m = less ? y : x;
  const W e = exp_below(less ? x - y : y - x), one = (W)1 + (m - m);
  return {less ? e : one, less ? one : e, m};
}

/// Where a thread works: its lane is a channel, its warp a chunk; and the other way round in scans.
struct Place {
  int lane, warp, warps, time, channels;
  int64_t batch, channel, first;  // first: element of step 0 in [B,T,C]
  bool live;
};
__device__ __forceinline__ Place place_of(int64_t time, int64_t channels, int64_t groups) {
  Place p;
  p.lane = threadIdx.x & 31;
  p.warp = threadIdx.x >> 5;
  p.warps = blockDim.x >> 5;
  p.time = (int)time;
  p.channels = (int)channels;
  p.batch = blockIdx.x / groups;
  const int64_t channel = (blockIdx.x - p.batch * groups) * 32 + p.lane;
  p.live = channel < channels;
  p.channel = p.live ? channel : channels - 1;
  p.first = p.batch * time * channels + p.channel;
  return p;
}

/// The first step of a chunk, or the end of all steps.
__device__ __forceinline__ int begin_of(const Place& p, int segment, int chunk) {
  const int t = segment + chunk * kSteps;
  return t < p.time ? t : p.time;
}

/// A chunk's elements; zeros behind the last step.
__device__ __forceinline__ void load(pl_word from, const Place& p, int begin, T (&to)[kSteps]) {
  const T* row = at<const T>(from) + p.first + (int64_t)begin * p.channels;
  const int count = from ? p.time - begin : 0;
#pragma unroll
  for (int i = 0; i < kSteps; ++i) to[i] = i < count ? row[i * p.channels] : (T)0;
}
__device__ __forceinline__ W optional(pl_word address, int64_t i, W otherwise) {
  return address ? widen(at<const T>(address)[i]) : otherwise;
}
__device__ __forceinline__ void store(pl_word address, int64_t i, W value, bool live) {
  if (address && live) at<T>(address)[i] = narrow(value);
}
)";

const char* const kWkvForward = R"(
struct State {
  W a, b, o;
};

/// The state behind `right`, whose steps together shift exponents by `shift`, begun with `left`.
__device__ __forceinline__ State joined(const State& left, const State& right, W shift) {
  const Weights p = weigh(left.o + shift, right.o);
  return {p.first * left.a + p.second * right.a, p.first * left.b + p.second * right.b, p.m};
}
__device__ __forceinline__ State advanced(const State& s, W k, W v, W decay) {
  const Weights p = weigh(decay + s.o, k);
  return {p.first * s.a + p.second * v, p.first * s.b + p.second, p.m};
}

struct Shared {
  W a[32][kWarps + 1], b[32][kWarps + 1], o[32][kWarps + 1];  // [channel][chunk]
  W carry_a[32], carry_b[32], carry_o[32], decay[32];
};

/// From each chunk's own state to the one it begins with; the carry goes on to the next segment.
__device__ __forceinline__ void scan(Shared& x, const Place& p, int segment) {
  for (int j = p.warp; j < 32; j += p.warps) {
    const int chunk = p.lane < p.warps ? p.lane : 0;
    State s = {x.a[j][chunk], x.b[j][chunk], x.o[j][chunk]};
    const State carry = {x.carry_a[j], x.carry_b[j], x.carry_o[j]};
    const W decay = x.decay[j];
    for (int d = 1; d < p.warps; d *= 2) {
      const State left = {__shfl_up_sync(0xffffffffu, s.a, d), __shfl_up_sync(0xffffffffu, s.b, d),
                          __shfl_up_sync(0xffffffffu, s.o, d)};
      if (p.lane >= d) {
        const int steps = begin_of(p, segment, p.lane + 1) - begin_of(p, segment, p.lane + 1 - d);
        s = joined(left, s, (W)steps * decay);
      }
    }
    const State whole = {__shfl_sync(0xffffffffu, s.a, p.warps - 1),
                         __shfl_sync(0xffffffffu, s.b, p.warps - 1),
                         __shfl_sync(0xffffffffu, s.o, p.warps - 1)};
    const State before = {__shfl_up_sync(0xffffffffu, s.a, 1), __shfl_up_sync(0xffffffffu, s.b, 1),
                          __shfl_up_sync(0xffffffffu, s.o, 1)};
    s = carry;
    if (p.lane > 0) s = joined(carry, before, (W)(begin_of(p, segment, p.lane) - segment) * decay);
    if (p.lane < p.warps) {
      x.a[j][p.lane] = s.a;
      x.b[j][p.lane] = s.b;
      x.o[j][p.lane] = s.o;
    }
    __syncwarp();
    if (p.lane == 0) {
      const State next = joined(carry, whole, (W)(begin_of(p, segment, p.warps) - segment) * decay);
      x.carry_a[j] = next.a;
      x.carry_b[j] = next.b;
      x.carry_o[j] = next.o;
    }
  }
}

/// What a chunk makes of an empty state. whole: it has all its steps, and no branch between them.
template <bool whole>
__device__ __forceinline__ State chunk_state(const T (&ks)[kSteps], const T (&vs)[kSteps],
                                             int count, W decay) {
  State s = {(W)0, (W)0, (W)-1e38};
#pragma unroll
  for (int i = 0; i < kSteps; ++i) {
    if (whole || i < count) s = advanced(s, widen(ks[i]), widen(vs[i]), decay);
  }
  return s;
}

/// A chunk's results, from the state it begins with. row: of its first step.
template <bool whole>
__device__ __forceinline__ void read(State s, const T (&ks)[kSteps], const T (&vs)[kSteps],
                                     int count, W decay, W bonus, T* row, int channels, bool live) {
#pragma unroll
  for (int i = 0; i < kSteps; ++i) {
    if (whole || i < count) {
      const W k = widen(ks[i]), v = widen(vs[i]);
      const Weights r = weigh(s.o, bonus + k);
      const W y = (r.first * s.a + r.second * v) * inverse(r.first * s.b + r.second);
      if (live) row[i * channels] = narrow(y);
      s = advanced(s, k, v, decay);
    }
  }
}

// Words: k, v [B,T,C]; w, u [C]; a0, b0, o0 [B,C]; y [B,T,C]; a, b, o [B,C]; T; C; C / 32 rounded
// up.
extern "C" __global__ void __launch_bounds__(kWarps * 32) NAME(const pl_words<14> w) {
  __shared__ Shared x;
  const Place p = place_of((int64_t)w.v[11], (int64_t)w.v[12], (int64_t)w.v[13]);
  const int64_t lane = p.batch * p.channels + p.channel;
  const W decay = widen(at<const T>(w.v[2])[p.channel]);
  const W bonus = widen(at<const T>(w.v[3])[p.channel]);
  if (p.warp == 0) {
    x.decay[p.lane] = decay;
    x.carry_a[p.lane] = optional(w.v[4], lane, (W)0);
    x.carry_b[p.lane] = optional(w.v[5], lane, (W)0);
    x.carry_o[p.lane] = optional(w.v[6], lane, (W)-1e38);
  }
  const bool stored = w.v[7] && p.live;
  for (int segment = 0; segment < p.time; segment += p.warps * kSteps) {
    const int begin = segment + p.warp * kSteps, count = p.time - begin;
    T* row = at<T>(w.v[7]) + p.first + (int64_t)begin * p.channels;
    T ks[kSteps], vs[kSteps];
    load(w.v[0], p, begin, ks);
    load(w.v[1], p, begin, vs);
    const bool whole = count >= kSteps;
    State s = whole ? chunk_state<true>(ks, vs, count, decay)
                    : chunk_state<false>(ks, vs, count, decay);
    x.a[p.lane][p.warp] = s.a;
    x.b[p.lane][p.warp] = s.b;
    x.o[p.lane][p.warp] = s.o;
    __syncthreads();
    scan(x, p, segment);
    __syncthreads();
    s = {x.a[p.lane][p.warp], x.b[p.lane][p.warp], x.o[p.lane][p.warp]};
    if (whole) {
      read<true>(s, ks, vs, count, decay, bonus, row, p.channels, stored);
    } else {
      read<false>(s, ks, vs, count, decay, bonus, row, p.channels, stored);
    }
  }
  __syncthreads();
  if (p.warp == 0) {
    store(w.v[8], lane, x.carry_a[p.lane], p.live);
    store(w.v[9], lane, x.carry_b[p.lane], p.live);
    store(w.v[10], lane, x.carry_o[p.lane], p.live);
  }
}
)";

}  // namespace plait::cuda
