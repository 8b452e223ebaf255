// Attention of halves on the tensor cores, what forward and backward share: rows come to shared
// memory, products straight from there, results. Four warps are a group with 64 rows.
// Given besides: Wide<N>, the products of N columns, and pack (attention.cpp).

__device__ constexpr int whole(int n) { return (n + 15) / 16 * 16; }
__device__ constexpr int panels(int n) { return (n + 63) / 64; }
constexpr int kDp = whole(kD), kVp = whole(kDv);
/// Bytes of a row in shared memory. Rows lie in panels of 64 columns, lines of 128 bytes, whose
/// 16-byte pieces change places: pl_swizzle.
constexpr int kLineD = panels(kD) * 128, kLineV = panels(kDv) * 128;

/// Areas that products read begin on 1024 bytes.
__device__ __forceinline__ unsigned char* shared_tiles() {
#ifdef PL_EMULATED
  return pl_dynamic;
#else
  return pl_dynamic + (-pl_shared(pl_dynamic) & 1023);
#endif
}

/// Rows from `first` on, N columns of them; zeros beyond `end` and up to whole(N).
template <int ROWS, int N, int THREADS>
__device__ __forceinline__ void bring(unsigned char* to, const Rows& r, int first, int end) {
  constexpr int PIECES = whole(N) / 8, PANEL = ROWS * 128;
  if (N % 8 == 0 && r.aligned) {
    if constexpr (THREADS % PIECES == 0 && THREADS / PIECES % 8 == 0 &&
                  ROWS % (THREADS / PIECES) == 0) {
      const int row = threadIdx.x / PIECES, piece = threadIdx.x % PIECES;
      const T* from = r.data + (first + row) * r.step + piece * 8;
      to += piece / 8 * PANEL + row * 128 + pl_swizzle<128>(row, piece % 8 * 16);
#pragma unroll
      for (int i = 0; i < ROWS; i += THREADS / PIECES) {
        pl_copy<16>(to + i * 128, from + i * r.step, first + row + i < end && piece * 8 < N);
      }
    } else {
      for (int i = threadIdx.x; i < ROWS * PIECES; i += THREADS) {
        const int row = i / PIECES, piece = i % PIECES;
        pl_copy<16>(to + piece / 8 * PANEL + row * 128 + pl_swizzle<128>(row, piece % 8 * 16),
                    r.data + (first + row) * r.step + piece * 8,
                    first + row < end && piece * 8 < N);
      }
    }
    return;
  }
  for (int i = threadIdx.x; i < ROWS * PIECES * 8; i += THREADS) {
    const int row = i / (PIECES * 8), column = i % (PIECES * 8);
    const bool take = first + row < end && column < N;
    *(T*)(to + column / 64 * PANEL + row * 128 + pl_swizzle<128>(row, column % 64 * 2)) =
        take ? r.data[(first + row) * r.step + column] : (T)0;
  }
}

/// Words of `count` rows from `first` on; zeros beyond `end`.
template <int COUNT, int THREADS>
__device__ __forceinline__ void bring_words(void* to, const void* from, int first, int end) {
  for (int i = threadIdx.x; i < COUNT; i += THREADS) {
    pl_copy<4>((unsigned char*)to + i * 4, (const unsigned char*)from + (int64_t)(first + i) * 4,
               first + i < end);
  }
}

/// All that was asked for is there for all threads' products.
__device__ __forceinline__ void meet() {
  pl_copy_wait<0>();
  pl_copies_seen();
  __syncthreads();
}

template <int N>
__device__ __forceinline__ void clear(float (&c)[N][4]) {
#pragma unroll
  for (int n = 0; n < N; ++n) c[n][0] = c[n][1] = c[n][2] = c[n][3] = 0;
}

#ifdef PL_EMULATED
__device__ inline uint32_t emulated_pair(const unsigned char* tile, int rows, int row, int column) {
  const unsigned char* p =
      tile + column / 64 * rows * 128 + row * 128 + pl_swizzle<128>(row, column % 64 * 2);
  return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}
__device__ inline uint32_t emulated_half(const unsigned char* tile, int rows, int row, int column) {
  return emulated_pair(tile, rows, row, column / 2 * 2) >> column % 2 * 16 & 0xffff;
}
#endif

/// The group's 64 rows of a tile of ROWS, K columns of them, as the left operand, which
/// is in registers where it is HELD.
template <int K, int ROWS, bool HELD>
struct Left {
  uint32_t held[HELD ? K / 16 : 1][4];
  const unsigned char* tile;

  __device__ __forceinline__ void start(const unsigned char* of) {
    tile = of + (threadIdx.x >> 7) * 64 * 128;
  }
  /// Once the rows are there.
  __device__ __forceinline__ void hold() {
    if constexpr (!HELD) return;
    const int lane = threadIdx.x & 31, row = (threadIdx.x >> 5 & 3) * 16 + (lane & 15);
#pragma unroll
    for (int k = 0; k < K; k += 16) {
      pl_matrices(held[k / 16], tile + k / 64 * ROWS * 128 + row * 128 +
                                    pl_swizzle<128>(row, k % 64 * 2 + (lane >> 4) * 16));
    }
  }
  /// Begins c = a b^T; b: a tile of N rows.
  template <int N>
  __device__ __forceinline__ void products(float (&c)[N][4], const unsigned char* b) const {
#ifdef PL_EMULATED
    const int lane = threadIdx.x & 31, row = (threadIdx.x >> 5 & 3) * 16 + lane / 4;
    clear(c);
    for (int k = lane % 4 * 2; k < K; k += 16) {
      uint32_t left[4], right[2];
      for (int i = 0; i < 4; ++i) {
        left[i] =
            HELD ? held[k / 16][i] : emulated_pair(tile, ROWS, row + i % 2 * 8, k + i / 2 * 8);
      }
      for (int n = 0; n < N; ++n) {
        for (int i = 0; i < 2; ++i) right[i] = emulated_pair(b, N * 8, n * 8 + lane / 4, k + i * 8);
        mma(c[n], left, right);
      }
    }
#else
    pl_products_begin();
#pragma unroll
    for (int k = 0; k < K; k += 16) {
      const uint64_t right = pl_matrix(b + k / 64 * N * 8 * 128 + k % 64 * 2, 0);
      if constexpr (HELD) {
        Wide<N * 8>::held(&c[0][0], held[k / 16], right, k > 0);
      } else {
        Wide<N * 8>::rows(&c[0][0], pl_matrix(tile + k / 64 * ROWS * 128 + k % 64 * 2, 0), right,
                          k > 0);
      }
    }
    pl_products_commit();
#endif
  }
};

/// Begins c += p b: p is packed products, b a tile of K rows.
template <int N, int K>
__device__ __forceinline__ void add_products(float (&c)[N / 8][4], const uint32_t (&p)[K / 16][4],
                                             const unsigned char* b) {
#ifdef PL_EMULATED
  const int lane = threadIdx.x & 31;
  for (int k = 0; k < K; k += 16) {
    for (int n = 0; n < N / 8; ++n) {
      uint32_t right[2];
      for (int i = 0; i < 2; ++i) {
        const int row = k + lane % 4 * 2 + i * 8, column = n * 8 + lane / 4;
        right[i] = emulated_half(b, K, row, column) | emulated_half(b, K, row + 1, column) << 16;
      }
      mma(c[n], p[k / 16], right);
    }
  }
#else
  pl_products_begin();
#pragma unroll
  for (int k = 0; k < K; k += 16) {
    Wide<N>::columns(&c[0][0], p[k / 16], pl_matrix(b + k * 128, K * 128), true);
  }
  pl_products_commit();
#endif
}

/// All but the newest LEFT products are there, c among them.
template <int LEFT, int N>
__device__ __forceinline__ void settle(float (&c)[N][4]) {
#ifndef PL_EMULATED
  pl_products_wait<LEFT>();
#pragma unroll
  for (int n = 0; n < N * 4; ++n) asm volatile("" : "+f"((&c[0][0])[n])::"memory");
#endif
}

/// Products as the left operand of the next.
template <int N>
__device__ __forceinline__ void pack_products(uint32_t (&to)[N / 2][4], const float (&c)[N][4]) {
#pragma unroll
  for (int n = 0; n < N; ++n) {
    to[n / 2][n % 2 * 2] = pack(c[n][0], c[n][1]);
    to[n / 2][n % 2 * 2 + 1] = pack(c[n][2], c[n][3]);
  }
}

/// Results of N columns, each row multiplied by its scale: rows of the block's own ROWS, from
/// `first` on and below `end`. By way of a tile that nobody reads any more, where it has `ROOM`
/// bytes a row: 16 bytes at a time.
template <int N, int ROWS, int ROOM>
__device__ __forceinline__ void put(const Rows& to, int first, int end,
                                    const float (&c)[whole(N) / 8][4], const float (&scale)[2],
                                    unsigned char* tile) {
  const int lane = threadIdx.x & 31, warp = (threadIdx.x >> 5) * 16, column = (lane & 3) * 2;
  const bool staged = N % 8 == 0 && panels(N) * 128 <= ROOM && to.aligned;
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const int own = warp + lane / 4 + half * 8, row = first + own;
    if (!staged && row >= end) continue;
    T* const line = to.data + row * to.step + column;
#pragma unroll
    for (int n = 0; n < whole(N); n += 8) {
      const float low = c[n / 8][half * 2] * scale[half];
      const float high = c[n / 8][half * 2 + 1] * scale[half];
      if (staged) {
        *(uint32_t*)(tile + n / 64 * ROWS * 128 + own * 128 +
                     pl_swizzle<128>(own, (n % 64 + column) * 2)) = pack(low, high);
      } else {
        if (n + column < N) line[n] = narrow(low);
        if (n + column + 1 < N) line[n + 1] = narrow(high);
      }
    }
  }
  if (!staged) return;
  __syncwarp();
  constexpr int PIECES = N < 8 ? 1 : N / 8;
  for (int i = lane; i < 16 * PIECES; i += 32) {
    const int own = warp + i / PIECES, piece = i % PIECES;
    if (first + own >= end) continue;
    pl_move<8>(to.data + (first + own) * to.step + piece * 8,
               (const T*)(tile + piece / 8 * ROWS * 128 + own * 128 +
                          pl_swizzle<128>(own, piece % 8 * 16)));
  }
}

/// A half of each word, by __byte_perm: 0x5410 the lower ones, 0x7632 the upper ones.
__device__ __forceinline__ uint32_t halves_of(uint32_t low, uint32_t high, uint32_t which) {
#ifdef PL_EMULATED
  return which == 0x5410 ? (low & 0xffff) | high << 16 : low >> 16 | (high & 0xffff0000u);
#else
  return __byte_perm(low, high, which);
#endif
}

/// f(x) for all that is dropped; rows of c are queries.
template <int N, class F>
__device__ __forceinline__ void each_draw(const Draws& draws, float (&c)[N][4], int row_tile,
                                          int column_tile, F f) {
#pragma unroll
  for (int n = 0; n < N; n += 2) {
    const pl_philox_t x = draws.tile(row_tile, column_tile + n / 2, threadIdx.x & 31);
    const uint32_t words[4] = {x.a, x.b, x.c, x.d};
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      if (!Draws::keeps_half(words[i / 2], i % 2)) f(c[n + i / 4][i / 2 % 2 * 2 + i % 2]);
    }
  }
}
/// The same where rows of c are keys. Two lanes with neighbouring keys share two draws.
template <int N, class F>
__device__ __forceinline__ void each_draw_of_keys(const Draws& draws, float (&c)[N][4],
                                                  int row_tile, int column_tile, F f) {
  const int lane = threadIdx.x & 31, odd = lane >> 2 & 1;
  const int place = ((lane & 3) * 2 + odd) * 4 + (lane >> 3);
  const uint32_t own_halves = odd ? 0x7632 : 0x5410, other_halves = odd ? 0x5410 : 0x7632;
#pragma unroll
  for (int n = 0; n < N; n += 2) {
    const pl_philox_t x = draws.tile(column_tile + n / 2, row_tile, place);
#pragma unroll
    for (int k = 0; k < 2; ++k) {  // keys 8 on
      const uint32_t first = k ? x.c : x.a, second = k ? x.d : x.b;
      const uint32_t own = halves_of(first, second, own_halves);
      const uint32_t other =
          __shfl_xor_sync(0xffffffffu, halves_of(first, second, other_halves), 4);
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const uint32_t word = i % 2 == odd ? own : other;
        if (!Draws::keeps_half(word, i / 2)) f(c[n + i / 2][k * 2 + i % 2]);
      }
    }
  }
}
