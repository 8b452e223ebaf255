// What RWKV-4's recurrence and its gradient (wkv.cuh) share. A block takes 32 neighbouring channels
// (its lanes) of one batch; its warps take neighbouring chunks of kSteps steps. What the warps take
// together is a segment. A chunk's effect on the state is computed from an empty state; a scan over
// the chunks gives each the state it begins with; then the results. Segments follow each other, and
// while one is computed the next are on their way to shared memory, where each warp finds what it
// fetched itself.
// Given before it: T (rows), S (all else), W (computed), conversions, kWarps, kSteps, kOperands and
// kFinal (wkv.cpp); NAME is the kernel's own.

// Exponents are in units of 1 / kUnit: for floats those of ex2.approx, whose error of 2^-22 (and 0
// for results below 2^-126) is that of a few roundings: the tolerance of wkv has 16 and more.
__device__ __forceinline__ float multiplied(float x, float y, float z) { return fmaf(x, y, z); }
__device__ __forceinline__ double multiplied(double x, double y, double z) { return fma(x, y, z); }
constexpr W kUnit = sizeof(W) == 8 ? (W)1 : (W)1.4426950408889634;
__device__ __forceinline__ float power(float x) {
#ifdef PL_EMULATED
  return pl_exp_f(x * 0.6931471805599453f);
#else
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
#endif
}
__device__ __forceinline__ double power(double x) { return pl_exp_d(x); }
__device__ __forceinline__ float larger(float x, float y) { return fmaxf(x, y); }
__device__ __forceinline__ double larger(double x, double y) { return fmax(x, y); }

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
  const W m = less ? y : x, d = x - y;
  const W e = power(less ? d : -d), one = multiplied(m, (W)0, (W)1);
  return {less ? e : one, less ? one : e, m};
}

/// Where a thread works: its lane is a channel, its warp a chunk; and the other way round in scans.
struct Place {
  int lane, warp, warps, time, channels;
  int64_t batch, channel, first;  // first: element of step 0 in [B,T,C]
  int64_t origin;                 // the same of lane 0
  int width;                      // channels from lane 0 on
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
  const int64_t group = (blockIdx.x - p.batch * groups) * 32;
  p.width = (int)(channels - group);
  p.live = p.lane < p.width;
  p.channel = p.live ? group + p.lane : channels - 1;
  p.first = p.batch * time * channels + p.channel;
  p.origin = p.batch * time * channels + group;
  return p;
}

/// The first step of a chunk, or the end of all steps.
__device__ __forceinline__ int begin_of(const Place& p, int segment, int chunk) {
  const int t = segment + chunk * kSteps;
  return t < p.time ? t : p.time;
}

/// A thread's part of an operand's segment in shared memory: element i lies at [i * 32].
__device__ __forceinline__ T* own(const Place& p, int stage, int operand) {
  const int area = stage * kOperands + operand;
  return (T*)pl_dynamic + (area * p.warps + p.warp) * kSteps * 32 + p.lane;
}

constexpr int kPiece = 16 / sizeof(T), kAcross = 32 / kPiece;  // channels of 16 bytes; of a row
__device__ __forceinline__ void copy_piece(T* to, const T* from) {
#ifdef PL_EMULATED
  for (int i = 0; i < kPiece; ++i) to[i] = from[i];
#else
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(
                   (unsigned)__cvta_generic_to_shared(to)),
               "l"(from)
               : "memory");
#endif
}

/// Sends a chunk's elements to shared memory, from `begin` on as far as there are steps; zeros for
/// an operand that is left out. `to`: own part. They are there when arrived<n>() returns and at
/// most n commit()s came after.
__device__ __forceinline__ void fetch(pl_word from, const Place& p, int begin, T* to) {
  const int count = p.time - begin;
  if (from && p.channels % kPiece == 0 && from % 16 == 0) {
    const int row = p.lane / kAcross, column = p.lane % kAcross * kPiece;
    const T* piece =
        at<const T>(from) + p.origin + (int64_t)(begin + row) * p.channels + column;
    if (column >= p.width) return;
#pragma unroll
    for (int i = 0; i < kSteps; i += 32 / kAcross) {
      if (row + i >= count) continue;
      copy_piece(to - p.lane + (row + i) * 32 + column, piece + (int64_t)i * p.channels);
    }
    return;
  }
  const T* own_row = at<const T>(from) + p.first + (int64_t)begin * p.channels;
#pragma unroll 4
  for (int i = 0; i < kSteps; ++i) {
    if (i < count) to[i * 32] = from ? own_row[(int64_t)i * p.channels] : (T)0;
  }
}
__device__ __forceinline__ void commit() {
#ifndef PL_EMULATED
  asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}
template <int n>
__device__ __forceinline__ void arrived() {
#ifndef PL_EMULATED
  asm volatile("cp.async.wait_group %0;" ::"n"(n) : "memory");
#endif
  __syncwarp();
}

__device__ __forceinline__ W optional(pl_word address, int64_t i, W otherwise) {
  return address ? widen_s(at<const S>(address)[i]) : otherwise;
}
__device__ __forceinline__ void store(pl_word address, int64_t i, W value, bool live) {
  if (address && live) at<S>(address)[i] = narrow_s(value);
}

struct State {
  W a, b, o;
};

/// The state behind `right`, whose steps together shift exponents by `shift`, begun with `left`.
__device__ __forceinline__ State joined(const State& left, const State& right, W shift) {
  const Weights p = weigh(left.o + shift, right.o);
  return {multiplied(p.first, left.a, p.second * right.a),
          multiplied(p.first, left.b, p.second * right.b), p.m};
}
/// The state behind a step; p: weigh(decay + s.o, k).
__device__ __forceinline__ State advanced(const State& s, const Weights& p, W v) {
  return {multiplied(p.first, s.a, p.second * v), multiplied(p.first, s.b, p.second), p.m};
}

/// What a chunk makes of an empty state. whole: it has all its steps, and no branch between them.
template <bool whole>
__device__ __forceinline__ State chunk_state(const T* ks, const T* vs, int count, W decay) {
  if (!whole && count <= 0) return {(W)0, (W)0, (W)-1e38};
  State s = {(W)0, (W)0, (W)-1e38};
  W far[kSteps];
  const int last = whole ? kSteps - 1 : count - 1;
#pragma unroll
  for (int i = 0; i < kSteps; ++i) {
    if (whole || i < count) {
      far[i] = multiplied(widen(ks[i * 32]), kUnit, (W)(last - i) * decay);
      s.o = larger(s.o, far[i]);
    }
  }
#pragma unroll
  for (int i = 0; i < kSteps; ++i) {
    if (whole || i < count) {
      const W e = power(far[i] - s.o);
      s.a = multiplied(e, widen(vs[i * 32]), s.a);
      s.b += e;
    }
  }
  return s;
}

template <class X>
__device__ __forceinline__ X lower(X x, int by) {
  return __shfl_up_sync(0xffffffffu, x, by);
}
template <class X>
__device__ __forceinline__ X upper(X x, int by) {
  return __shfl_down_sync(0xffffffffu, x, by);
}

/// Chunks' states, or gradients, for a scan: [channel][chunk]. A warp scans kSide channels at once.
constexpr int kSide = 32 / kWarps;
struct Chunks {
  W a[32][kWarps + 1], b[32][kWarps + 1], o[32][kWarps + 1];
  __device__ __forceinline__ void put(int channel, int chunk, const State& s) {
    a[channel][chunk] = s.a;
    b[channel][chunk] = s.b;
    o[channel][chunk] = s.o;
  }
  __device__ __forceinline__ State get(int channel, int chunk) const {
    return {a[channel][chunk], b[channel][chunk], o[channel][chunk]};
  }
};

/// From each chunk's own state to the one it begins with; the carry goes on to the next segment.
__device__ __forceinline__ void scan(Chunks& x, State* carries, const W* decays, const Place& p,
                                     int segment) {
  const int chunk = p.lane % kWarps, begin = begin_of(p, segment, chunk);
  const int behind = begin_of(p, segment, chunk + 1);
  for (int j = p.warp * kSide + p.lane / kWarps; j < 32; j += p.warps * kSide) {
    State s = x.get(j, chunk < p.warps ? chunk : 0);
    const State carry = carries[j];
    const W decay = decays[j];
#pragma unroll
    for (int d = 1; d < kWarps; d *= 2) {
      const State left = {lower(s.a, d), lower(s.b, d), lower(s.o, d)};
      const int steps = behind - begin_of(p, segment, chunk + 1 - d);
      if (chunk >= d) s = joined(left, s, (W)steps * decay);
    }
    const State before = {lower(s.a, 1), lower(s.b, 1), lower(s.o, 1)};
    const State start = chunk > 0 ? joined(carry, before, (W)(begin - segment) * decay) : carry;
    __syncwarp();
    if (chunk < p.warps) x.put(j, chunk, start);
    if (chunk == p.warps - 1) carries[j] = joined(carry, s, (W)(behind - segment) * decay);
  }
}
