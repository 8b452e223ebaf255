// Prelude of CUDA units, last part: halves by instruction, index arithmetic in 32 bits, loads and
// stores of several elements, dynamic shared memory, many calls in one launch.
#pragma once

#undef pl_exp_f
#undef pl_f16_to_f
#undef pl_f_to_f16
#undef pl_f_to_bf16
#undef pl_round_f16
#undef pl_round_bf16

// A NaN stays one; its sign and payload are the chip's.
__device__ __forceinline__ float pl_f16_to_f(uint16_t h) {
#ifdef PL_EMULATED
  return pl_plain_f16_to_f(h);
#else
  float x;
  asm("cvt.f32.f16 %0, %1;" : "=f"(x) : "h"(h));
  return x;
#endif
}
__device__ __forceinline__ uint16_t pl_f_to_f16(float x) {
#ifdef PL_EMULATED
  return pl_plain_f_to_f16(x);
#else
  uint16_t h;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(h) : "f"(x));
  return h;
#endif
}
__device__ __forceinline__ uint16_t pl_f_to_bf16(float x) {
#ifdef PL_EMULATED
  return pl_plain_f_to_bf16(x);
#else
  uint16_t h;
  asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(h) : "f"(x));
  return h;
#endif
}
__device__ __forceinline__ float pl_round_f16(float x) {
#ifdef PL_EMULATED
  return pl_plain_round_f16(x);
#else
  uint16_t h;
  float y;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(h) : "f"(x));
  asm("cvt.f32.f16 %0, %1;" : "=f"(y) : "h"(h));
  return y;
#endif
}
__device__ __forceinline__ float pl_round_bf16(float x) {
#ifdef PL_EMULATED
  return pl_bf16_to_f(pl_f_to_bf16(x));
#else
  uint32_t bits;  // two halves: the upper one is the float's, the lower one a zero
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(bits) : "f"(x), "f"(0.0f));
  return pl_from_bits_f(bits);
#endif
}

/// The larger and the smaller one; NaN of either is passed on. Of two zeros it may be either.
__device__ __forceinline__ float pl_most_f(float a, float b) {
#ifdef PL_EMULATED
  return pl_max_f(a, b);
#else
  float x;
  asm("max.NaN.f32 %0, %1, %2;" : "=f"(x) : "f"(a), "f"(b));
  return x;
#endif
}
__device__ __forceinline__ float pl_least_f(float a, float b) {
#ifdef PL_EMULATED
  return pl_min_f(a, b);
#else
  float x;
  asm("min.NaN.f32 %0, %1, %2;" : "=f"(x) : "f"(a), "f"(b));
  return x;
#endif
}

/// The bits of pl_plain_exp_f. Beyond the limits all is 0 or infinite, and so are their powers.
__device__ __forceinline__ float pl_exp_f(float given) {
  const float x = pl_least_f(pl_most_f(given, -105.0f), 90.0f);
  const float t = x * 0x1.715476p+0f + (0x1.8p23f + 254.0f), n = t - (0x1.8p23f + 254.0f);
#ifdef PL_EMULATED
  const float high = x - n * 0x1.62e4p-1f;
#else
  const float high = fmaf(n, -0x1.62e4p-1f, x);  // the product is exact
#endif
  const float y = pl_exp_near_f(high - n * 0x1.7f7d1cp-20f);
  const uint32_t field = pl_bits_f(t), half = field >> 1;  // two steps, as 2^n may be out of range
  return y * pl_from_bits_f(half << 23) * pl_from_bits_f((field - half) << 23);
}

// Index arithmetic in the index's own width.
__device__ __forceinline__ int pl_fdiv_i(int a, int b) {
  return a / b - (int)((a % b != 0) & ((a < 0) != (b < 0)));
}
__device__ __forceinline__ int pl_mod_i(int a, int b) { return a - pl_fdiv_i(a, b) * b; }
__device__ __forceinline__ int pl_min_i(int a, int b) { return a < b ? a : b; }
__device__ __forceinline__ int pl_max_i(int a, int b) { return a > b ? a : b; }
__device__ __forceinline__ int64_t pl_fdiv_i(int64_t a, int b) { return pl_fdiv_i(a, (int64_t)b); }
__device__ __forceinline__ int64_t pl_mod_i(int64_t a, int b) { return pl_mod_i(a, (int64_t)b); }
__device__ __forceinline__ int64_t pl_min_i(int64_t a, int b) { return pl_min_i(a, (int64_t)b); }
__device__ __forceinline__ int64_t pl_max_i(int64_t a, int b) { return pl_max_i(a, (int64_t)b); }
__device__ __forceinline__ int64_t pl_fdiv_i(int a, int64_t b) { return pl_fdiv_i((int64_t)a, b); }
__device__ __forceinline__ int64_t pl_mod_i(int a, int64_t b) { return pl_mod_i((int64_t)a, b); }
__device__ __forceinline__ int64_t pl_min_i(int a, int64_t b) { return pl_min_i((int64_t)a, b); }
__device__ __forceinline__ int64_t pl_max_i(int a, int64_t b) { return pl_max_i((int64_t)a, b); }

/// What one load or store moves, by its bytes.
template <int Bytes>
struct pl_piece {};
template <>
struct pl_piece<1> {
  typedef uint8_t type;
};
template <>
struct pl_piece<2> {
  typedef uint16_t type;
};
template <>
struct pl_piece<4> {
  typedef uint32_t type;
};
template <>
struct pl_piece<8> {
  struct alignas(8) type {
    uint32_t x, y;
  };
};
template <>
struct pl_piece<16> {
  struct alignas(16) type {
    uint32_t x, y, z, w;
  };
};

/// V neighbouring elements, in pieces of up to 16 bytes; the address is a multiple of a piece, the
/// array lies on 16 bytes.
template <int V, class T>
__device__ __forceinline__ void pl_move(T* to, const T* from) {
  constexpr int bytes = V * (int)sizeof(T), piece = bytes < 16 ? bytes : 16;
#ifdef PL_EMULATED
  if ((uintptr_t)to % piece != 0 || (uintptr_t)from % piece != 0) __builtin_trap();
  for (int i = 0; i < V; ++i) to[i] = from[i];
#else
  typedef typename pl_piece<piece>::type P;
#pragma unroll
  for (int i = 0; i < bytes / piece; ++i) ((P*)to)[i] = ((const P*)from)[i];
#endif
}

/// A half of a vector in a register, by one instruction.
__device__ __forceinline__ float pl_lane_bf16(const uint16_t* from, int lane) {
#ifdef PL_EMULATED
  return pl_bf16_to_f(from[lane]);
#else
  const uint32_t both = ((const uint32_t*)from)[lane / 2];
  return pl_from_bits_f(lane % 2 ? both & 0xffff0000u : both << 16);
#endif
}

/// Two halves in a word, for what is no NaN.
__device__ __forceinline__ uint32_t pl_pack_bf16(float low, float high) {
#ifdef PL_EMULATED
  return (uint32_t)pl_f_to_bf16(low) | (uint32_t)pl_f_to_bf16(high) << 16;
#else
  uint32_t both;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(both) : "f"(high), "f"(low));
  return both;
#endif
}

/// V neighbouring halves from registers, rounded two at a time.
template <int V>
__device__ __forceinline__ void pl_put_bf16(uint16_t* to, const float* from) {
#ifdef PL_EMULATED
  alignas(16) uint16_t halves[V];
  for (int i = 0; i < V; ++i) halves[i] = pl_f_to_bf16(from[i]);
  pl_move<V>(to, halves);
#else
  alignas(16) uint32_t both[V / 2];
#pragma unroll
  for (int i = 0; i < V / 2; ++i) both[i] = pl_pack_bf16(from[2 * i], from[2 * i + 1]);
  pl_move<V / 2>((uint32_t*)to, both);
#endif
}

/// The same for what needs no rounding, a NaN's bits included.
template <int V>
__device__ __forceinline__ void pl_put_exact_bf16(uint16_t* to, const float* from) {
#ifdef PL_EMULATED
  alignas(16) uint16_t halves[V];
  for (int i = 0; i < V; ++i) halves[i] = (uint16_t)(pl_bits_f(from[i]) >> 16);
  pl_move<V>(to, halves);
#else
  alignas(16) uint32_t both[V / 2];
#pragma unroll
  for (int i = 0; i < V / 2; ++i) {
    both[i] = __byte_perm(pl_bits_f(from[2 * i]), pl_bits_f(from[2 * i + 1]), 0x7632);
  }
  pl_move<V / 2>((uint32_t*)to, both);
#endif
}

/// A kernel may begin before the one that was launched before it has ended: here it waits for that
/// one, and lets the next begin. Every generated kernel does so first.
#ifdef PL_EMULATED
__device__ __forceinline__ void pl_begin() {}
#else
__device__ __forceinline__ void pl_begin() {
  asm volatile("griddepcontrol.wait;\ngriddepcontrol.launch_dependents;" ::: "memory");
}
#endif

/// Every body shares a block's dynamic memory with those that run before and after it.
extern __shared__ __align__(16) unsigned char pl_dynamic[];

/// Of many calls in one launch: the one whose block this is. A warp looks at 32 of them at once.
__device__ __forceinline__ int64_t pl_which(const pl_word* w) {
  const int64_t* const firsts = (const int64_t*)w[1];
  __builtin_assume(__isGlobal(firsts));
  const int64_t count = (int64_t)w[2];
  int64_t low = 0, step = 1;
  while (step * 32 < count) step *= 32;
  for (; step > 0; step /= 32) {
    const int64_t i = low + threadIdx.x % 32 * step;
    const bool begun = i < count && firsts[i] <= (int64_t)blockIdx.x;
    low += (__popc(__ballot_sync(0xffffffffu, begun)) - 1) * step;
  }
  return low;
}
