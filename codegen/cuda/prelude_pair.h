// Prelude: a contraction by pairs of blocks. One thread of a block brings tiles by the copy engine,
// those of the columns for both blocks of the pair; two groups of four warps take turns: while one
// multiplies a tile, the other stores what became of its own. Only where there is a GPU: the
// emulator has no copy engine and no pairs.
#pragma once

#ifndef PL_EMULATED

/// How an operand lies in memory, for the copy engine: made by the driver.
struct __align__(64) pl_map {
  pl_word v[16];
};
template <int MAPS, int K>
struct pl_mapped {
  pl_map maps[MAPS];
  pl_word v[K];
};

/// What threads of the pair wait for: arrivals, and bytes that were announced.
struct pl_gate {
  pl_word state;

  __device__ __forceinline__ void start(int count) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(pl_shared(this)), "r"(count)
                 : "memory");
  }
  __device__ __forceinline__ void expect(int bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(pl_shared(this)),
                 "r"(bytes)
                 : "memory");
  }
  /// At the same gate of block `rank` of the pair.
  __device__ __forceinline__ void arrive(int rank) {
    asm volatile(
        "{\n.reg .b32 there;\nmapa.shared::cluster.u32 there, %0, %1;\n"
        "mbarrier.arrive.shared::cluster.b64 _, [there];\n}\n" ::"r"(pl_shared(this)),
        "r"(rank)
        : "memory");
  }
  __device__ __forceinline__ void wait(int parity) {
    uint32_t done;
    do {
      asm volatile(
          "{\n.reg .pred p;\nmbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\n"
          "selp.u32 %0, 1, 0, p;\n}\n"
          : "=r"(done)
          : "r"(pl_shared(this)), "r"(parity)
          : "memory");
    } while (done == 0);
  }
};

/// 64 lines of 128 bytes from line y, element x on; with `both`, for both blocks of the pair, at
/// the same place and gate. What is outside the operand is zero.
__device__ __forceinline__ void pl_bring(unsigned char* to, const pl_map* map, int x, int y,
                                         pl_gate* gate, bool both) {
  if (both) {
    asm volatile(
        "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes"
        ".multicast::cluster [%0], [%1, {%2, %3}], [%4], %5;" ::"r"(pl_shared(to)),
        "l"(map), "r"(x), "r"(y), "r"(pl_shared(gate)), "h"((unsigned short)3)
        : "memory");
  } else {
    asm volatile(
        "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes"
        " [%0], [%1, {%2, %3}], [%4];" ::"r"(pl_shared(to)),
        "l"(map), "r"(x), "r"(y), "r"(pl_shared(gate))
        : "memory");
  }
}

__device__ __forceinline__ void pl_pair_meets() {
  asm volatile("barrier.cluster.arrive;\nbarrier.cluster.wait;" ::: "memory");
}
/// Of `id`: half of COUNT threads come to wait, the others only arrive.
template <int COUNT>
__device__ __forceinline__ void pl_pass(int id) {
  asm volatile("bar.arrive %0, %1;" ::"r"(id), "n"(COUNT) : "memory");
}

/// Of one call, or of several that differ by their operands: `table` has a row for each, its maps
/// and then its words.
template <class P, bool MANY>
struct pl_pair {
  typedef typename P::I I;
  typedef pl_tile<2, P::BM, P::RB, P::A::ALONG_K> TA;
  typedef pl_tile<2, P::BN, P::RB, P::B::ALONG_K> TB;
  typedef pl_mma_core<P, TA, TB> Core;
  static constexpr int STAGE = TA::BYTES + TB::BYTES, K = TA::K, STAGES = P::STAGES;
  static constexpr int GATES = STAGES * STAGE + Core::STORE_BYTES;    // where they lie
  static constexpr int WORDS = 2 * sizeof(pl_map) / sizeof(pl_word);  // before a call's own
  static_assert(P::BM == 128 && P::BN == 128 && P::RB == 128 && Core::WM == 16, "tile");
  static_assert(GATES + STAGES * 16 + 1024 <= P::BLOCK_BYTES, "shared memory");

  unsigned char* shared;
  pl_gate* full;
  pl_gate* empty;
  int rank;
  int64_t tiles, all;  // of a call, of all
  const pl_word* table;
  int64_t row;  // words of the table

  __device__ __forceinline__ const pl_word* call_of(int64_t tile) const {
    return MANY ? table + tile / tiles * row : table;
  }

  /// Pairs of tiles, one above the other; eight of them at a time, so that neighbours in time share
  /// operands.
  static __device__ __forceinline__ int64_t count(const pl_word* w) {
    return (int64_t)((P::rows(w) + 2 * P::BM - 1) / (2 * P::BM)) *
           ((P::columns(w) + P::BN - 1) / P::BN);
  }
  __device__ __forceinline__ void place(const pl_word* w, int64_t tile, I& m, I& n) const {
    const I down = (P::rows(w) + 2 * P::BM - 1) / (2 * P::BM);
    const I across = (P::columns(w) + P::BN - 1) / P::BN;
    const I at = (I)(MANY ? tile % tiles : tile), band = at / (8 * across),
            inside = at - band * 8 * across;
    const I high = down - band * 8 < 8 ? down - band * 8 : 8;
    m = ((band * 8 + inside % high) * 2 + rank) * P::BM;
    n = inside / high * P::BN;
  }

  static __device__ __forceinline__ void run(const pl_word* table, int64_t calls, int64_t row) {
    pl_pair p;
    p.table = table;
    p.row = row;
    p.tiles = count(table + WORDS);
    p.all = calls * p.tiles;
    p.shared = pl_dynamic + (-(uint32_t)(uint64_t)pl_shared(pl_dynamic) & 1023);
    p.full = (pl_gate*)(p.shared + GATES);
    p.empty = p.full + STAGES;
    p.rank = blockIdx.x & 1;
    if (threadIdx.x == 0) {
      for (int s = 0; s < STAGES; ++s) {
        p.full[s].start(1);
        p.empty[s].start(8);  // the warps of a group, in both blocks
      }
      asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    pl_pair_meets();
    if (threadIdx.x < 128) {
      asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
      if (threadIdx.x < 32) p.bring();
    } else {
      asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
      p.multiply();
    }
    pl_pair_meets();  // none is gone while the other still writes to it
  }

  /// By one warp; its lanes stay together, or the one that works would wait for those that are
  /// done.
  __device__ __forceinline__ void bring() {
    const I depth = P::depth(table + WORDS);
    int stage = 0, parity = 1;
#pragma unroll 1
    for (int64_t tile = blockIdx.x / 2; tile < all; tile += gridDim.x / 2) {
      const pl_word* const call = call_of(tile);
      const pl_map* const maps = (const pl_map*)call;
      I m, n;
      place(call + WORDS, tile, m, n);
#pragma unroll 1
      for (I k = 0; k < depth; k += K) {
        empty[stage].wait(parity);
        if (threadIdx.x == 0) bring_stage(maps, stage, (int)m, (int)n, (int)k);
        __syncwarp();
        if (++stage == STAGES) {
          stage = 0;
          parity ^= 1;
        }
      }
    }
  }

  __device__ __forceinline__ void bring_stage(const pl_map* maps, int stage, int m, int n, int k) {
    full[stage].expect(STAGE);
    unsigned char* const a = shared + stage * STAGE;
    unsigned char* const b = a + TA::BYTES + rank * (TB::BYTES / 2);
    n += rank * 64;
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const int row = m + i * 64;
      pl_bring(a + i * (TA::BYTES / 2), maps, P::A::ALONG_K ? k : row, P::A::ALONG_K ? row : k,
               full + stage, false);
    }
    pl_bring(b, maps + 1, P::B::ALONG_K ? k : n, P::B::ALONG_K ? n : k, full + stage, true);
  }

  /// Every other tile of the block; the groups' loops over k come one after the other.
  __device__ __forceinline__ void multiply() {
    const int group = threadIdx.x / 128 - 1;
    const int64_t step = gridDim.x / 2;
    const I steps = (P::depth(table + WORDS) + K - 1) / K;
    int64_t gone = group * (int64_t)steps;  // steps of the tiles before
    if (group == 1) pl_pass<256>(2);        // the first turn is the other's
#pragma unroll 1
    for (int64_t tile = blockIdx.x / 2 + group * step; tile < all; tile += 2 * step) {
      const pl_word* const w = call_of(tile) + WORDS;
      I m, n;
      place(w, tile, m, n);
      Core low, high;
      low.start();
      high.start();
      pl_meet<256>(2 + group);
      loop(w, m, n, steps, (int)(gone % STAGES), (int)(gone / STAGES & 1), low, high);
      gone += 2 * (int64_t)steps;
      // Rows of a warp are counted over both groups.
      const I first = m - (I)(Core::warp() / 4 * 64);
      pl_target<P> to{w, 0, first, n, P::rows(w), P::columns(w), nullptr, 0};
      low.finish(to, shared + STAGES * STAGE);
      __syncwarp();
      to.row = first + 64;
      high.finish(to, shared + STAGES * STAGE);
      __syncwarp();
      pl_report<P>(w, to.bad);
    }
  }

  __device__ __forceinline__ void loop(const pl_word* w, I m, I n, I steps, int stage, int parity,
                                       Core& low, Core& high) {
    const I asks = steps > P::AHEAD_STEPS ? steps - P::AHEAD_STEPS : 0;
    int before = 0;
#pragma unroll 1
    for (I i = 0; i < steps; ++i) {
      unsigned char* const a = shared + stage * STAGE;
      unsigned char* const b = a + TA::BYTES;
      full[stage].wait(parity);
      pl_products_begin();
#pragma unroll
      for (int k = 0; k < K; k += 16) {
        const int at_a = TA::K_LINES ? k * 2 : k * 128, at_b = TB::K_LINES ? k * 2 : k * 128;
        const uint64_t right = pl_matrix(b + at_b, TB::PANEL);
        P::wgmma(&low.sum[0][0][0], pl_matrix(a + at_a, TA::PANEL), right);
        P::wgmma(&high.sum[0][0][0], pl_matrix(a + TA::BYTES / 2 + at_a, TA::PANEL), right);
      }
      pl_products_commit();
      if constexpr (P::AHEAD_ROWS > 0) {
        if (i == asks) ask(w, m, n);
      }
      pl_products_wait<1>();
      if (i > 0) leave(before);
      before = stage;
      if (++stage == STAGES) {
        stage = 0;
        parity ^= 1;
      }
    }
    pl_pass<256>(3 - (threadIdx.x / 128 - 1));  // the other's turn, beside the last products
    pl_products_wait<0>();
    leave(before);
  }

  /// This warp has read a stage.
  __device__ __forceinline__ void leave(int stage) {
    if (threadIdx.x % 32 < 2) empty[stage].arrive(threadIdx.x % 32);
  }

  /// For what the first rows of every warp will load, so that it is near by then.
  static __device__ __forceinline__ void ask(const pl_word* w, I m, I n) {
    constexpr int COUNT = 32, ACROSS = P::BN / COUNT;
#pragma unroll 1
    for (int i = threadIdx.x % 128; i < P::BM * ACROSS; i += 128) {
      const I r = i / ACROSS, at = n + i % ACROSS * COUNT, left = P::columns(w) - at;
      if (r % Core::WM >= P::AHEAD_ROWS || m + r >= P::rows(w) || left <= 0) continue;
      P::ahead(w, 0, m + r, at, left < COUNT ? (int)left : COUNT);
    }
  }
};

#endif
