// Prelude: a contraction by tiles. P is printed per contraction: its operands, sizes, tile and what
// becomes of an element. A core has a tile's sums in registers; here are those of the tensor cores.
#pragma once

/// Where a block's sums go: to the epilogue, or to the scratch area of its split.
template <class P>
struct pl_target {
  typedef typename P::I I;
  const pl_word* w;
  int64_t batch;
  I row, column, rows, columns;  // of the tile's origin, of the problem
  typename P::ACC* partial;      // [rows, columns] of this split and batch
  int bad;

  /// V neighbouring columns; all of them or none are there.
  template <int V>
  __device__ __forceinline__ void put(int i, int j, const typename P::ACC* values) {
    const I m = row + i, n = column + j;
    if (m >= rows || n >= columns) return;
    if constexpr (P::SPLITS > 1) {
      pl_move<V>(partial + (int64_t)m * columns + n, values);
    } else if constexpr (V > 1) {
      P::put_many(w, batch, m, n, values);
    } else {
      P::put(w, batch, m, n, values[0], bad);
    }
  }
};

template <class P>
__device__ __forceinline__ void pl_report(const pl_word* w, int bad) {
  if (bad != 0) atomicOr((int*)w[P::ERRORS], bad);
}

/// Fragments for the tensor cores: 16 rows, 32 bytes along k. Of the first operand (4 words of one
/// 16 x 32 matrix) or of the second (2 and 2 words of two 8 x 32 ones).
template <class TILE, int SIZE, bool ALONG_K, bool FIRST>
__device__ __forceinline__ void pl_fragment(uint32_t* r, const unsigned char* tile, int row,
                                            int k) {
  const int lane = threadIdx.x % 32;
  const int low = lane >> 3 & 1, high = lane >> 4;
  if constexpr (ALONG_K) {
    row += (FIRST ? low : high) * 8 + lane % 8;
    k += (FIRST ? high : low) * (16 / SIZE);
    pl_matrices(r, tile + TILE::at(row, k));
  } else if constexpr (SIZE == 2) {
    row += (FIRST ? low : high) * 8;
    k += (FIRST ? high : low) * 8 + lane % 8;
    pl_matrices_turned(r, tile + TILE::at(row, k));
  } else {
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      const int down = FIRST ? j & 1 : j >> 1, right = FIRST ? j >> 1 : j & 1;
      r[j] =
          *(const uint32_t*)(tile + TILE::at(row + lane / 4 + down * 8, k + lane % 4 + right * 4));
    }
  }
  if constexpr (SIZE == 4) {
#pragma unroll
    for (int j = 0; j < 4; ++j) r[j] = pl_to_tf32(r[j]);
  }
}

/// Sums by the tensor cores: warps side by side, each with WM x WN of the tile.
template <class P, class TA, class TB>
struct pl_mma_core {
  static constexpr int WM = P::BM / P::WARPS_M, WN = P::BN / P::WARPS_N;
  static constexpr int MI = WM / 16, NI = WN / 8, SIZE = sizeof(typename P::A::T);
  static constexpr int LINE = WN + 8;  // of the store's strip, in floats
  static constexpr int STORE_BYTES = P::WARPS_M * P::WARPS_N * 16 * LINE * 4, LAG = 0;
  static_assert(WM % 16 == 0 && WN % 16 == 0, "warps");
  float sum[MI][NI][4];

  __device__ __forceinline__ void start() {
#pragma unroll
    for (int i = 0; i < MI * NI * 4; ++i) (&sum[0][0][0])[i] = 0;
  }
  __device__ __forceinline__ static int row() { return (int)(threadIdx.x / 32) / P::WARPS_N * WM; }
  __device__ __forceinline__ static int column() {
    return (int)(threadIdx.x / 32) % P::WARPS_N * WN;
  }

  __device__ __forceinline__ void step(const unsigned char* a, const unsigned char* b) {
#pragma unroll
    for (int k = 0; k < P::RB / SIZE; k += 32 / SIZE) {
      uint32_t x[MI][4], y[NI / 2][4];
#pragma unroll
      for (int i = 0; i < MI; ++i) {
        pl_fragment<TA, SIZE, P::A::ALONG_K, true>(x[i], a, row() + i * 16, k);
      }
#pragma unroll
      for (int j = 0; j < NI / 2; ++j) {
        pl_fragment<TB, SIZE, P::B::ALONG_K, false>(y[j], b, column() + j * 16, k);
      }
#pragma unroll
      for (int i = 0; i < MI; ++i) {
#pragma unroll
        for (int j = 0; j < NI; ++j) P::mma(sum[i][j], x[i], y[j / 2] + j % 2 * 2);
      }
    }
  }

  /// By way of shared memory, so that a warp's lanes have neighbouring columns.
  __device__ __forceinline__ void finish(pl_target<P>& to, unsigned char* spare) {
    constexpr int V = P::SPLITS > 1 ? P::PARTS : P::PUT;  // neighbours stored at once
    const int lane = threadIdx.x % 32;
    float* strip = (float*)spare + threadIdx.x / 32 * (16 * LINE);
#pragma unroll
    for (int i = 0; i < MI; ++i) {
      __syncwarp();
#pragma unroll
      for (int j = 0; j < NI; ++j) {
        float* at = strip + lane / 4 * LINE + j * 8 + lane % 4 * 2;
        at[0] = sum[i][j][0];
        at[1] = sum[i][j][1];
        at[8 * LINE] = sum[i][j][2];
        at[8 * LINE + 1] = sum[i][j][3];
      }
      __syncwarp();
#pragma unroll 4
      for (int e = lane * V; e < 16 * WN; e += 32 * V) {
        alignas(16) float values[V];
        pl_move<V>(values, strip + e / WN * LINE + e % WN);
        to.template put<V>(row() + i * 16 + e / WN, column() + e % WN, values);
      }
    }
  }
};

/// The same straight from shared memory: four warps have 64 rows of the tile and all its columns;
/// the products of one tile go on while the next is asked for. Tiles lie on 1024 bytes, in lines of
/// 128.
template <class P, class TA, class TB>
struct pl_wgmma_core : pl_mma_core<P, TA, TB> {
  typedef pl_mma_core<P, TA, TB> Base;
  static constexpr int SIZE = Base::SIZE, LAG = 1;
  static_assert(P::WARPS_N == 1 && Base::MI == 1 && P::RB == 128, "warps");

#ifdef PL_EMULATED
  static __device__ float value(const unsigned char* at) {
    if constexpr (SIZE == 2) {
      return P::value(*(const uint16_t*)at);
    } else {
      return pl_from_bits_f(*(const uint32_t*)at & 0xffffe000u);
    }
  }
  __device__ __forceinline__ void step(const unsigned char* a, const unsigned char* b) {
    const int lane = threadIdx.x % 32;
    if ((uintptr_t)a % 1024 != 0 || (uintptr_t)b % 1024 != 0) __builtin_trap();
    for (int k = 0; k < P::RB / SIZE; ++k) {
      for (int i = 0; i < Base::NI * 4; ++i) {
        const int row = Base::row() + lane / 4 + i / 2 % 2 * 8;
        const int column = i / 4 * 8 + lane % 4 * 2 + i % 2;
        (&this->sum[0][0][0])[i] += value(a + TA::at(row, k)) * value(b + TB::at(column, k));
      }
    }
  }
#else
  __device__ __forceinline__ void step(const unsigned char* a, const unsigned char* b) {
    const int row = threadIdx.x / 128 * 64;
    pl_products_begin();
#pragma unroll
    for (int k = 0; k < P::RB / SIZE; k += 32 / SIZE) {
      const int at_a = P::A::ALONG_K ? row * P::RB + k * SIZE : row / 64 * TA::PANEL + k * 128;
      const int at_b = P::B::ALONG_K ? k * SIZE : k * 128;
      P::wgmma(&this->sum[0][0][0], pl_matrix(a + at_a, TA::PANEL), pl_matrix(b + at_b, TB::PANEL));
    }
    pl_products_commit();
  }
#endif
  static __device__ __forceinline__ void seen() { pl_copies_seen(); }
  /// All but the newest tile are summed.
  static __device__ __forceinline__ void settle() { pl_products_wait<1>(); }
  static __device__ __forceinline__ void drain() { pl_products_wait<0>(); }
};

/// Which tile and which part of k a block has: batches, their splits, then tiles, eight rows of
/// them at a time so that neighbours in time share operands.
template <class P>
struct pl_place {
  typedef typename P::I I;
  int64_t batch;
  I m, n;
  int split;
  __device__ __forceinline__ pl_place(const pl_word* w, int64_t block) {
    const I down = (P::rows(w) + P::BM - 1) / P::BM, across = (P::columns(w) + P::BN - 1) / P::BN;
    const int64_t which = block / ((int64_t)down * across);
    const I rest = (I)(block - which * ((int64_t)down * across));
    batch = which / P::SPLITS;
    split = (int)(which % P::SPLITS);
    const I band = rest / (8 * across), inside = rest - band * 8 * across;
    const I high = down - band * 8 < 8 ? down - band * 8 : 8;
    m = (band * 8 + inside % high) * P::BM;
    n = inside / high * P::BN;
  }
};

template <class P>
struct pl_product {
  typedef typename P::I I;
  static constexpr int THREADS = P::WARPS_M * P::WARPS_N * 32;
  typedef pl_loader<P, typename P::A, P::BM, P::RB, THREADS> A;
  typedef pl_loader<P, typename P::B, P::BN, P::RB, THREADS> B;
  typedef typename P::template CORE<P, typename A::Tile, typename B::Tile> Core;
  static constexpr int STAGE = A::Tile::BYTES + B::Tile::BYTES;
  static constexpr int PIPE = P::STAGES * STAGE;
  static constexpr int NEEDED = PIPE + A::TABLE_BYTES + B::TABLE_BYTES + Core::LAG * 1024;
  static_assert(NEEDED <= P::BLOCK_BYTES && Core::STORE_BYTES <= P::BLOCK_BYTES, "shared memory");

  static __device__ __forceinline__ void run(const pl_word* w, int64_t block) {
    unsigned char* shared = pl_dynamic;
    if constexpr (Core::LAG > 0) shared += -(uint32_t)(uint64_t)shared & 1023;
    const pl_place<P> at(w, block);
    const I depth = P::depth(w), all = (depth + A::Tile::K - 1) / A::Tile::K;
    const I each = (all + P::SPLITS - 1) / P::SPLITS, from = at.split * each;
    const I steps = all - from < each ? all - from : each;
    A a;
    B b;
    a.start(w, at.batch, at.m, P::rows(w), from * A::Tile::K, shared + PIPE);
    b.start(w, at.batch, at.n, P::columns(w), from * A::Tile::K, shared + PIPE + A::TABLE_BYTES);
    Core core;
    core.start();
    loop(w, shared, a, b, core, steps);
    pl_target<P> to{w, at.batch, at.m, at.n, P::rows(w), P::columns(w), nullptr, 0};
    if constexpr (P::SPLITS > 1) {
      to.partial = (typename P::ACC*)w[P::SCRATCH] +
                   (at.split * P::batches(w) + at.batch) * (int64_t)to.rows * to.columns;
    }
    core.finish(to, shared);
    pl_report<P>(w, to.bad);
  }

  /// Tile i + AHEAD comes while tile i is summed; with a lag, the one before it still is.
  static __device__ __forceinline__ void loop(const pl_word* w, unsigned char* shared, A& a, B& b,
                                              Core& core, I steps) {
    constexpr int AHEAD = P::STAGES - 1 - Core::LAG;
    static_assert(AHEAD > 0, "stages");
#pragma unroll
    for (int s = 0; s < AHEAD; ++s) {
      if (s < steps) fetch(w, shared + s * STAGE, a, b);
      if (s < steps) place(shared + s * STAGE, a, b);
      pl_copy_commit();
    }
    int now = 0, next = AHEAD;
#pragma unroll 1
    for (I i = 0; i < steps; ++i) {
      unsigned char* const tile = shared + now * STAGE;
      unsigned char* const to = shared + next * STAGE;
      const bool more = i + AHEAD < steps;
      pl_copy_wait<AHEAD - 1>();
      if constexpr (Core::LAG > 0) core.seen();
      __syncthreads();
      if constexpr (Core::LAG > 0) core.step(tile, tile + A::Tile::BYTES);
      if (more) fetch(w, to, a, b);
      pl_copy_commit();
      if constexpr (Core::LAG > 0) core.settle();
      if constexpr (Core::LAG == 0) core.step(tile, tile + A::Tile::BYTES);
      if (more) place(to, a, b);
      now = now + 1 == P::STAGES ? 0 : now + 1;
      next = next + 1 == P::STAGES ? 0 : next + 1;
    }
    pl_copy_wait<0>();
    if constexpr (Core::LAG > 0) core.drain();
    __syncthreads();
  }
  static __device__ __forceinline__ void fetch(const pl_word* w, unsigned char* to, A& a, B& b) {
    a.fetch(w, to);
    b.fetch(w, to + A::Tile::BYTES);
  }
  static __device__ __forceinline__ void place(unsigned char* to, A& a, B& b) {
    a.place(to);
    b.place(to + A::Tile::BYTES);
  }
};
