// Prelude: copies into shared memory that go on by themselves, fragments of matrices, products of
// fragments on the tensor cores, and what threads of a block wait for. Fragments and products are a
// whole warp's. The emulator has the same in plain C++.
#pragma once

#ifdef PL_EMULATED

template <int BYTES>
__device__ __forceinline__ void pl_copy(unsigned char* to, const void* from, bool take) {
  if ((uintptr_t)to % BYTES != 0 || (take && (uintptr_t)from % BYTES != 0)) __builtin_trap();
  for (int i = 0; i < BYTES; ++i) to[i] = take ? ((const unsigned char*)from)[i] : 0;
}
__device__ __forceinline__ void pl_copy_commit() {}
template <int LEFT>
__device__ __forceinline__ void pl_copy_wait() {}

__device__ __forceinline__ uint32_t pl_emulated_word(const unsigned char* p) {
  return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

// Four 8x8 matrices of 16-bit elements; lane 8*j + i has the address of row i of matrix j.
__device__ __forceinline__ void pl_matrices(uint32_t* r, const unsigned char* from) {
  const int lane = threadIdx.x % 32;
  for (int j = 0; j < 4; ++j) {
    const pl_word row = __shfl_sync(0xffffffffu, (pl_word)from, j * 8 + lane / 4);
    r[j] = pl_emulated_word((const unsigned char*)row + lane % 4 * 4);
  }
}
__device__ __forceinline__ void pl_matrices_turned(uint32_t* r, const unsigned char* from) {
  const int lane = threadIdx.x % 32;
  for (int j = 0; j < 4; ++j) {
    uint32_t both = 0;
    for (int i = 0; i < 2; ++i) {
      const pl_word row = __shfl_sync(0xffffffffu, (pl_word)from, j * 8 + lane % 4 * 2 + i);
      const unsigned char* p = (const unsigned char*)row + lane / 4 * 2;
      both |= ((uint32_t)p[0] | (uint32_t)p[1] << 8) << (16 * i);
    }
    r[j] = both;
  }
}

// c[16x8] += a[16 x 32 bytes] * b[8 x 32 bytes]; MUL multiplies what two words hold.
template <class MUL>
__device__ __forceinline__ void pl_emulated_mma(float* c, const uint32_t* a, const uint32_t* b) {
  const int lane = threadIdx.x % 32;
  const pl_word a01 = a[0] | (pl_word)a[1] << 32, a23 = a[2] | (pl_word)a[3] << 32;
  const pl_word b01 = b[0] | (pl_word)b[1] << 32;
  for (int t = 0; t < 4; ++t) {
    const pl_word x01 = __shfl_sync(0xffffffffu, a01, lane / 4 * 4 + t);
    const pl_word x23 = __shfl_sync(0xffffffffu, a23, lane / 4 * 4 + t);
    for (int j = 0; j < 2; ++j) {
      const pl_word y = __shfl_sync(0xffffffffu, b01, (lane % 4 * 2 + j) * 4 + t);
      c[j] += MUL::of((uint32_t)x01, (uint32_t)y) + MUL::of((uint32_t)x23, (uint32_t)(y >> 32));
      c[2 + j] += MUL::of((uint32_t)(x01 >> 32), (uint32_t)y) +
                  MUL::of((uint32_t)(x23 >> 32), (uint32_t)(y >> 32));
    }
  }
}
struct pl_mul_f16 {
  static __device__ float of(uint32_t x, uint32_t y) {
    return pl_f16_to_f((uint16_t)x) * pl_f16_to_f((uint16_t)y) +
           pl_f16_to_f((uint16_t)(x >> 16)) * pl_f16_to_f((uint16_t)(y >> 16));
  }
};
struct pl_mul_bf16 {
  static __device__ float of(uint32_t x, uint32_t y) {
    return pl_bf16_to_f((uint16_t)x) * pl_bf16_to_f((uint16_t)y) +
           pl_bf16_to_f((uint16_t)(x >> 16)) * pl_bf16_to_f((uint16_t)(y >> 16));
  }
};
struct pl_mul_tf32 {
  static __device__ float of(uint32_t x, uint32_t y) {
    return pl_from_bits_f(x & 0xffffe000u) * pl_from_bits_f(y & 0xffffe000u);
  }
};
__device__ __forceinline__ void pl_mma_f16(float* c, const uint32_t* a, const uint32_t* b) {
  pl_emulated_mma<pl_mul_f16>(c, a, b);
}
__device__ __forceinline__ void pl_mma_bf16(float* c, const uint32_t* a, const uint32_t* b) {
  pl_emulated_mma<pl_mul_bf16>(c, a, b);
}
__device__ __forceinline__ void pl_mma_tf32(float* c, const uint32_t* a, const uint32_t* b) {
  pl_emulated_mma<pl_mul_tf32>(c, a, b);
}
// Nearest, ties away from zero; NaN and infinity stay.
__device__ __forceinline__ uint32_t pl_to_tf32(uint32_t x) {
  return (x & 0x7f800000u) == 0x7f800000u ? x : (x + 0x1000u) & 0xffffe000u;
}

__device__ __forceinline__ void pl_ahead(const void* from, int bytes) {
  (void)((const volatile char*)from)[0];
  (void)((const volatile char*)from)[bytes - 1];
}
__device__ __forceinline__ void pl_copies_seen() {}
__device__ __forceinline__ void pl_products_begin() {}
__device__ __forceinline__ void pl_products_commit() {}
template <int LEFT>
__device__ __forceinline__ void pl_products_wait() {}

/// COUNT threads meet; those of one `id` only.
template <int COUNT>
__device__ __forceinline__ void pl_meet(int) {
  __syncthreads();  // here a wait for the others' next wait
}
__device__ __forceinline__ uint32_t pl_pack_f16(float low, float high) {
  return (uint32_t)pl_f_to_f16(low) | (uint32_t)pl_f_to_f16(high) << 16;
}

#else

__device__ __forceinline__ uint32_t pl_shared(const void* p) {
  return (uint32_t)__cvta_generic_to_shared(p);
}

// Where it is not taken, zeros are written and nothing is read.
template <int BYTES>
__device__ __forceinline__ void pl_copy(unsigned char* to, const void* from, bool take) {
  if constexpr (BYTES == 16) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(pl_shared(to)), "l"(from),
                 "r"(take ? 16 : 0)
                 : "memory");
  } else {
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(pl_shared(to)), "l"(from),
                 "n"(BYTES), "r"(take ? BYTES : 0)
                 : "memory");
  }
}
__device__ __forceinline__ void pl_copy_commit() {
  asm volatile("cp.async.commit_group;" ::: "memory");
}
template <int LEFT>
__device__ __forceinline__ void pl_copy_wait() {
  asm volatile("cp.async.wait_group %0;" ::"n"(LEFT) : "memory");
}

__device__ __forceinline__ void pl_matrices(uint32_t* r, const unsigned char* from) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(pl_shared(from))
               : "memory");
}
__device__ __forceinline__ void pl_matrices_turned(uint32_t* r, const unsigned char* from) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(pl_shared(from))
               : "memory");
}

__device__ __forceinline__ void pl_mma_f16(float* c, const uint32_t* a, const uint32_t* b) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
      "{%8, %9}, {%0, %1, %2, %3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}
__device__ __forceinline__ void pl_mma_bf16(float* c, const uint32_t* a, const uint32_t* b) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
      "{%8, %9}, {%0, %1, %2, %3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}
__device__ __forceinline__ void pl_mma_tf32(float* c, const uint32_t* a, const uint32_t* b) {
  asm volatile(
      "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
      "{%8, %9}, {%0, %1, %2, %3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}
__device__ __forceinline__ uint32_t pl_to_tf32(uint32_t x) {
  uint32_t y;
  asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(y) : "f"(__uint_as_float(x)));
  return y;
}

/// Asks for up to 128 bytes from here on to be brought into the cache.
__device__ __forceinline__ void pl_ahead(const void* from, int bytes) {
#pragma unroll
  for (int i = 0; i < 128; i += 64) {
    if (i < bytes) asm volatile("prefetch.global.L2 [%0];" ::"l"((const char*)from + i));
  }
}

/// What this thread copied is seen by the products, once all threads have met.
__device__ __forceinline__ void pl_copies_seen() {
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}
__device__ __forceinline__ void pl_products_begin() {
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}
__device__ __forceinline__ void pl_products_commit() {
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}
template <int LEFT>
__device__ __forceinline__ void pl_products_wait() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(LEFT) : "memory");
}

template <int COUNT>
__device__ __forceinline__ void pl_meet(int id) {
  asm volatile("bar.sync %0, %1;" ::"r"(id), "n"(COUNT) : "memory");
}

/// Two halves in a word, for what is no NaN.
__device__ __forceinline__ uint32_t pl_pack_f16(float low, float high) {
  uint32_t both;
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(both) : "f"(high), "f"(low));
  return both;
}

/// A matrix in shared memory: lines of 128 bytes, 8 of them 1024 bytes on; `panel` to the next 64
/// rows where a line is a k.
__device__ __forceinline__ uint64_t pl_matrix(const unsigned char* at, int panel) {
  return (uint64_t)((pl_shared(at) & 0x3ffffu) >> 4) | (uint64_t)(panel >> 4) << 16 |
         (uint64_t)64 << 32 | (uint64_t)1 << 62;
}

#endif
