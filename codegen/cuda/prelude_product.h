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
  __device__ __forceinline__ void put(int i, int j, const typename P::S* values) {
    const I m = row + i, n = column + j;
    if (m >= rows || n >= columns) return;
    if constexpr (P::SPLITS > 1) {
      pl_move<V>(partial + (int64_t)m * columns + n, values);
    } else if constexpr (V > 1) {
      P::put_many(w, batch, m, n, values, bad);
    } else {
      P::put(w, batch, m, n, values[0], bad);
    }
  }
  /// The same in U rows, every DOWN-th one.
  template <int V, int U, int DOWN>
  __device__ __forceinline__ void put_rows(int i, int j, const typename P::S (*values)[V]) {
    if constexpr (P::PUTS_PIECES) {
      if (column + j < columns) {
        P::put_pieces(w, batch, row + i, column + j, rows, DOWN, values, bad);
      }
    } else {
#pragma unroll
      for (int u = 0; u < U; ++u) put<V>(i + u * DOWN, j, values[u]);
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
  typedef P Problem;
  static constexpr int WM = P::BM / P::WARPS_M, WN = P::BN / P::WARPS_N;
  typedef typename P::S S;
  static constexpr int MI = WM / 16, NI = WN / 8, SIZE = sizeof(typename P::A::T);
  static constexpr bool PACKED = sizeof(S) == 2;  // sums are rounded before they are laid out
  static constexpr int LINE = WN + 8;             // of sums laid out
  static constexpr int WARPS = P::WARPS_M * P::WARPS_N, GROUP = WARPS * 32;
  static constexpr int STORE_BYTES = WARPS * WM * LINE * (int)sizeof(S), LAG = 0;
  static constexpr bool ASYNC = false;
  static_assert(WM % 16 == 0 && WN % 16 == 0, "warps");
  float sum[MI][NI][4];

  __device__ __forceinline__ void start() {
#pragma unroll
    for (int i = 0; i < MI * NI * 4; ++i) (&sum[0][0][0])[i] = 0;
  }
  __device__ __forceinline__ static int warp() { return (int)(threadIdx.x % GROUP / 32); }
  __device__ __forceinline__ static int row() { return warp() / P::WARPS_N * WM; }
  __device__ __forceinline__ static int column() { return warp() % P::WARPS_N * WN; }

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

  /// By way of shared memory, so that a warp's lanes have neighbouring columns and the sums'
  /// registers are free for what comes of them.
  __device__ __forceinline__ void finish(pl_target<P>& to, unsigned char* spare) {
    constexpr int V = P::SPLITS > 1 ? P::PARTS : P::PUT;  // neighbours stored at once
    constexpr int ACROSS = WN / V < 32 ? WN / V : 32, DOWN = 32 / ACROSS;  // lanes in a row, rows
    constexpr int U = P::PIECES;
    static_assert(WM % (DOWN * U) == 0 && WN % (ACROSS * V) == 0, "pieces");
    const int lane = threadIdx.x % 32, i = lane / ACROSS, j = lane % ACROSS * V;
    S* const sums = (S*)spare + warp() * (WM * LINE);
#pragma unroll
    for (int k = 0; k < MI; ++k) {
      lay_out(sums + (k * 16 + lane / 4) * LINE + lane % 4 * 2, sum[k]);
    }
    __syncwarp();
#pragma unroll 1
    for (int r = i; r < WM; r += DOWN * U) {
#pragma unroll 1
      for (int c = j; c < WN; c += ACROSS * V) {
        alignas(16) S values[U][V];
#pragma unroll
        for (int u = 0; u < U; ++u) pl_move<V>(values[u], sums + (r + u * DOWN) * LINE + c);
        to.template put_rows<V, U, DOWN>(row() + r, column() + c, values);
      }
    }
  }

  static __device__ __forceinline__ void lay_out(S* at, float (*sums)[4]) {
    bool odd = false;
#pragma unroll
    for (int j = 0; j < NI * 2; ++j) {
      const float low = sums[j / 2][j % 2 * 2], high = sums[j / 2][j % 2 * 2 + 1];
      S* const to = at + j / 2 * 8 + j % 2 * 8 * LINE;
      if constexpr (PACKED) {
        odd |= low != low || high != high;
        *(uint32_t*)to = P::pack(low, high);
      } else {
        to[0] = low;
        to[1] = high;
      }
    }
    if constexpr (PACKED) {
      if (!odd) return;
#pragma unroll
      for (int j = 0; j < NI * 4; ++j) {
        at[j / 4 * 8 + j % 4 / 2 * 8 * LINE + j % 2] = P::packed(sums[j / 4][j % 4]);
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
  static constexpr int SIZE = Base::SIZE;
  /// Where other groups of warps have products as well, this one may wait for its own.
  static constexpr int LAG = P::SLICES > 1 ? 0 : 1;
  static constexpr bool ASYNC = true;
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
    const int row = threadIdx.x % Base::GROUP / 128 * 64;
    pl_products_begin();
#pragma unroll
    for (int k = 0; k < P::RB / SIZE; k += 32 / SIZE) {
      const int at_a = TA::K_LINES ? row * P::RB + k * SIZE : row / 64 * TA::PANEL + k * 128;
      const int at_b = TB::K_LINES ? k * SIZE : k * 128;
      P::wgmma(&this->sum[0][0][0], pl_matrix(a + at_a, TA::PANEL), pl_matrix(b + at_b, TB::PANEL));
    }
    pl_products_commit();
  }
#endif
  static __device__ __forceinline__ void seen() { pl_copies_seen(); }
  /// All but the newest LAG tiles are summed.
  static __device__ __forceinline__ void settle() { pl_products_wait<LAG>(); }
  static __device__ __forceinline__ void drain() { pl_products_wait<0>(); }
};

/// Which tile and which part of k a block has: batches, their splits, then tiles, eight rows of
/// them at a time so that neighbours in time share operands.
template <class P>
struct pl_place {
  typedef typename P::I I;
  static constexpr int K = P::RB / (int)sizeof(typename P::A::T);
  int64_t batch;
  I m, n, from, steps;  // k in tiles
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
    const I all = (P::depth(w) + K - 1) / K, each = (all + P::SPLITS - 1) / P::SPLITS;
    from = split * each;
    steps = all - from < each ? all - from : each;
  }
  static __device__ __forceinline__ int64_t count(const pl_word* w) {
    const I down = (P::rows(w) + P::BM - 1) / P::BM, across = (P::columns(w) + P::BN - 1) / P::BN;
    return P::batches(w) * P::SPLITS * ((int64_t)down * across);
  }
  __device__ __forceinline__ pl_target<P> target(const pl_word* w) const {
    pl_target<P> to{w, batch, m, n, P::rows(w), P::columns(w), nullptr, 0};
    if constexpr (P::SPLITS > 1) {
      to.partial = (typename P::ACC*)w[P::SCRATCH] +
                   (split * P::batches(w) + batch) * (int64_t)to.rows * to.columns;
    }
    return to;
  }
};

/// A block has a tile, or one after the other. SLICES groups of its warps share the tile's part of
/// k, each with a pipe of its own, and add up in the end.
template <class P>
struct pl_product {
  typedef typename P::I I;
  static constexpr int GROUP = P::WARPS_M * P::WARPS_N * 32, SLICES = P::SLICES;
  typedef pl_loader<P, typename P::A, P::BM, P::RB, GROUP, SLICES> A;
  typedef pl_loader<P, typename P::B, P::BN, P::RB, GROUP, SLICES> B;
  typedef typename P::template CORE<P, typename A::Tile, typename B::Tile> Core;
  static constexpr int STAGE = A::Tile::BYTES + B::Tile::BYTES;
  static constexpr int PIPE = P::STAGES * STAGE;
  static constexpr int TABLES = A::TABLE_BYTES + B::TABLE_BYTES;
  static constexpr int NEEDED = SLICES * (PIPE + TABLES) + Core::ASYNC * 1024;
  static constexpr int AHEAD = P::STAGES - 1 - Core::LAG;  // stages that are on their way
  static constexpr int FIRST = P::STAGES - AHEAD;          // where those of a new tile lie
  static constexpr bool LATE = A::LATE || B::LATE;         // registers are placed in the next step
  static_assert(AHEAD > LATE, "stages");
  static_assert(SLICES == 1 || P::SPLITS == 1, "k is shared once");
  static_assert(NEEDED <= P::BLOCK_BYTES, "shared memory");
  static_assert(Core::STORE_BYTES + Core::ASYNC * 1024 <= P::BLOCK_BYTES, "shared memory");

  static __device__ __forceinline__ void run(const pl_word* w, int64_t block) {
    walk(w, block, block + 1, 1);
  }
  /// As many blocks as there are; each has every so many-th tile.
  static __device__ __forceinline__ void run_all(const pl_word* w, int64_t block) {
    static_assert(SLICES == 1 && Core::STORE_BYTES <= FIRST * STAGE && !LATE, "meanwhile");
    walk(w, block, pl_place<P>::count(w), gridDim.x);
  }

  /// Every step-th tile from `block` to `end`: a tile's first stages come while the sums of the one
  /// before are stored.
  static __device__ __forceinline__ void walk(const pl_word* w, int64_t block, int64_t end,
                                              int64_t step) {
    unsigned char* shared = pl_dynamic;
    if constexpr (Core::ASYNC) shared += -(uint32_t)(uint64_t)shared & 1023;
    const int slice = threadIdx.x / GROUP, thread = threadIdx.x % GROUP;
    pl_place<P> at(w, block);
    A a;
    B b;
    begin(w, shared, at, a, b, slice, thread);
    int bad = 0;
#pragma unroll 1
    while (true) {
      Core core;
      core.start();
      loop(w, shared + slice * PIPE, at, a, b, core, steps_of(at), slice);
      __syncthreads();
      if constexpr (SLICES > 1) {
        gather(core, (float*)shared, slice, thread);
        if (slice != 0) return;
      }
      pl_target<P> to = at.target(w);
      block += step;
      if (block < end) {
        at = pl_place<P>(w, block);
        begin(w, shared, at, a, b, slice, thread);
      }
      core.finish(to, shared);
      bad |= to.bad;
      if (block >= end) break;
    }
    pl_report<P>(w, bad);
  }

  /// Every slice has as many tiles of k; those behind the end are zeros.
  static __device__ __forceinline__ I steps_of(const pl_place<P>& at) {
    return (at.steps + SLICES - 1) / SLICES;
  }

  /// Places of a tile, and its first stages.
  static __device__ __forceinline__ void begin(const pl_word* w, unsigned char* shared,
                                               const pl_place<P>& at, A& a, B& b, int slice,
                                               int thread) {
    const I from = (at.from + slice) * A::Tile::K, steps = steps_of(at);
    unsigned char* const tables = shared + SLICES * PIPE + slice * TABLES;
    a.start(w, thread, 1 + slice, at.batch, at.m, P::rows(w), from, tables);
    b.start(w, thread, 1 + slice, at.batch, at.n, P::columns(w), from, tables + A::TABLE_BYTES);
    unsigned char* const first = shared + slice * PIPE + FIRST * STAGE;
#pragma unroll
    for (int s = 0; s < AHEAD; ++s) {
      if (s < steps) fetch(w, first + s * STAGE, a, b);
      if (s < steps && s < AHEAD - LATE) place(first + s * STAGE, a, b);
      pl_copy_commit();
    }
  }

  /// The first slice adds the others', in their order.
  static __device__ __forceinline__ void gather(Core& core, float* spare, int slice, int thread) {
    constexpr int COUNT = Core::MI * Core::NI * 4;
    static_assert((SLICES - 1) * GROUP * COUNT * 4 <= SLICES * PIPE, "shared memory");
    float* const sums = &core.sum[0][0][0];
    if (slice > 0) {
#pragma unroll
      for (int i = 0; i < COUNT; ++i) spare[((slice - 1) * COUNT + i) * GROUP + thread] = sums[i];
    }
    __syncthreads();
    if (slice == 0) {
#pragma unroll
      for (int s = 1; s < SLICES; ++s) {
#pragma unroll
        for (int i = 0; i < COUNT; ++i) sums[i] += spare[((s - 1) * COUNT + i) * GROUP + thread];
      }
      pl_meet<GROUP>(1);
    }
  }

  /// Tile i + AHEAD comes while tile i is summed; with a lag, the one before it still is.
  static __device__ __forceinline__ void loop(const pl_word* w, unsigned char* shared,
                                              const pl_place<P>& at, A& a, B& b, Core& core,
                                              I steps, int slice) {
    int now = FIRST, next = 0;
    const I asks = steps > P::AHEAD_STEPS ? steps - P::AHEAD_STEPS : 0;
#pragma unroll 1
    for (I i = 0; i < steps; ++i) {
      unsigned char* const tile = shared + now * STAGE;
      unsigned char* const to = shared + next * STAGE;
      const bool more = i + AHEAD < steps;
      pl_copy_wait<AHEAD - 1>();
      if constexpr (Core::ASYNC) core.seen();
      if constexpr (SLICES > 1) {
        pl_meet<GROUP>(1 + slice);
      } else {
        __syncthreads();
      }
      if constexpr (Core::ASYNC) core.step(tile, tile + A::Tile::BYTES);
      if constexpr (LATE) {
        if (i + AHEAD - 1 < steps) {
          place(shared + (next == 0 ? P::STAGES - 1 : next - 1) * STAGE, a, b);
        }
      }
      if (more) fetch(w, to, a, b);
      pl_copy_commit();
      if constexpr (P::AHEAD_ROWS > 0) {
        if (i == asks && slice == 0) ask(w, at);
      }
      if constexpr (Core::ASYNC) core.settle();
      if constexpr (!Core::ASYNC) core.step(tile, tile + A::Tile::BYTES);
      if (more && !LATE) place(to, a, b);
      now = now + 1 == P::STAGES ? 0 : now + 1;
      next = next + 1 == P::STAGES ? 0 : next + 1;
    }
    pl_copy_wait<0>();
    if constexpr (Core::ASYNC) core.drain();
  }
  /// For what the first rows of every warp will load, so that it is near by then.
  static __device__ __forceinline__ void ask(const pl_word* w, const pl_place<P>& at) {
    constexpr int COUNT = 32, ACROSS = P::BN / COUNT;
#pragma unroll 1
    for (int i = threadIdx.x % GROUP; i < P::BM * ACROSS; i += GROUP) {
      const I r = i / ACROSS, n = at.n + i % ACROSS * COUNT, left = P::columns(w) - n;
      if (r % Core::WM >= P::AHEAD_ROWS || at.m + r >= P::rows(w) || left <= 0) continue;
      P::ahead(w, at.batch, at.m + r, n, left < COUNT ? (int)left : COUNT);
    }
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
