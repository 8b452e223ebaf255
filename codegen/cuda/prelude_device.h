// Prelude of CUDA units, last part: halves by instruction, index arithmetic in 32 bits, loads and
// stores of several elements, dynamic shared memory, many calls in one launch.
#pragma once

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

/// Every body shares a block's dynamic memory with those that run before and after it.
extern __shared__ __align__(16) unsigned char pl_dynamic[];

/// Of many calls in one launch: the one whose block this is.
__device__ __forceinline__ int64_t pl_which(const pl_word* w) {
  const int64_t* const firsts = (const int64_t*)w[1];
  int64_t low = 0, high = (int64_t)w[2];
  while (high - low > 1) {
    const int64_t middle = (low + high) / 2;
    if (firsts[middle] <= (int64_t)blockIdx.x) {
      low = middle;
    } else {
      high = middle;
    }
  }
  return low;
}
