// Attention of halves, forward: a block has kRows queries of a head, each group of four warps 64 of
// them; kKeys keys at a time, the next ones on their way. Softmax goes on from block to block of
// keys; while it does, the products of the block before are summed.
// Given besides attention_tile.cuh: kGroups, kKeys.

constexpr int kRows = kGroups * 64, kThreads = kGroups * 128;
constexpr int kKeyBytes = kKeys * kLineD, kValueBytes = kKeys * kLineV;

struct Zero {
  __device__ __forceinline__ void operator()(float& x) const { x = 0; }
};

/// A warp's queries so far. Sums are of the lane's own columns.
struct Reader {
  float s[kKeys / 8][4], o[kVp / 8][4], most[2], sum[2], factor[2];
  uint32_t p[kKeys / 16][4];
  Span seen[2];
  Left<kDp, kRows, false> q;
  int row, queries;  // the lane's first one; all

  /// From scores to probabilities, by the largest score so far; `factor` takes what was summed
  /// before to it. WHOLE: every query sees every key.
  template <bool WHOLE>
  __device__ __forceinline__ void soften(int key, const Scorer& scorer, const Draws& draws) {
    const int column = key + (threadIdx.x & 3) * 2;
    if (!kDirect || !WHOLE) {
#pragma unroll
      for (int i = 0; i < kKeys / 2; ++i) {
        const int n = i / 4, e = i % 4, line = row + e / 2 * 8, j = column + n * 8 + e % 2;
        const Span& sees = seen[e / 2];
        float& x = s[n][e];
        if (WHOLE || (j >= sees.lo && j < sees.hi)) {
          if (!kDirect) x = scorer.score(x, line < queries ? line : queries - 1, j);
        } else {
          x = -infinite();
        }
      }
    }
    const float unit = kDirect ? scorer.scale : 1.0f;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      float top = most[half];
#pragma unroll
      for (int n = 0; n < kKeys / 8; ++n) {
        top = fmaxf(top, fmaxf(s[n][half * 2], s[n][half * 2 + 1]));
      }
      top = fmaxf(top, __shfl_xor_sync(0xffffffffu, top, 1));
      top = fmaxf(top, __shfl_xor_sync(0xffffffffu, top, 2));
      const float base = top == -infinite() ? 0.0f : top * unit;
      factor[half] = power(multiplied(most[half], unit, -base));
      most[half] = top;
      float total = sum[half] * factor[half];
#pragma unroll
      for (int n = 0; n < kKeys / 8; ++n) {
#pragma unroll
        for (int e = half * 2; e < half * 2 + 2; ++e) {
          s[n][e] = power(multiplied(s[n][e], unit, -base));
          total += s[n][e];
        }
      }
      sum[half] = total;
    }
    if (kDropout) each_draw(draws, s, row >> 4, key >> 4, Zero());
  }
  __device__ __forceinline__ void rescale() {
#pragma unroll
    for (int n = 0; n < kVp / 8; ++n) {
#pragma unroll
      for (int e = 0; e < 4; ++e) o[n][e] *= factor[e / 2];
    }
  }
  /// Sums what stands in p, and puts the probabilities of the next keys there.
  template <bool WHOLE>
  __device__ __forceinline__ void advance(const unsigned char* k, const unsigned char* v, int key,
                                          const Scorer& scorer, const Draws& draws) {
    q.products(s, k);
    add_products<kVp, kKeys>(o, p, v);
    settle<1>(s);
    soften<WHOLE>(key, scorer, draws);
    settle<0>(o);
    rescale();
    pack_products(p, s);
  }
};

extern "C" __global__ void __launch_bounds__(kThreads, kBlocks) NAME(const Words w) {
  const int columns = number(w, batches_at) * number(w, heads_at);
  const int queries = number(w, queries_at), keys = number(w, keys_at);
  // The last queries come first: where it is causal, they see most.
  const int block = blockIdx.x / columns, index = blockIdx.x - block * columns;
  const int first = ((queries + kRows - 1) / kRows - 1 - block) * kRows;
  const int last = first + kRows < queries ? first + kRows - 1 : queries - 1;
  const Head h = head_of(w, index);
  const Sight sight(w, h.batch);
  const Scorer scorer(w, h);
  const Draws draws(w, index);
  const Rows k = rows_of(w, k_at, k_strides, h.batch, h.kv);
  const Rows v = rows_of(w, v_at, v_strides, h.batch, h.kv);
  unsigned char* const q_tile = shared_tiles();
  unsigned char* const k_tiles = q_tile + kRows * kLineD;
  unsigned char* const v_tiles = k_tiles + 2 * kKeyBytes;
  const Span early = sight.keys_of(first), late = sight.keys_of(last);
  const int begin = (early.lo > 0 ? early.lo : 0) / kKeys * kKeys;
  const int count = late.hi > begin ? (late.hi - begin + kKeys - 1) / kKeys : 0;
  const auto bring_keys = [&](int n) {
    bring<kKeys, kD, kThreads>(k_tiles + (n & 1) * kKeyBytes, k, begin + n * kKeys, keys);
  };
  const auto bring_values = [&](int n) {
    bring<kKeys, kDv, kThreads>(v_tiles + (n & 1) * kValueBytes, v, begin + n * kKeys, keys);
  };

  const int lane = threadIdx.x & 31;
  Reader r;
  r.row = first + (threadIdx.x >> 5) * 16 + lane / 4;
  r.queries = queries;
  clear(r.o);
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const int i = r.row + half * 8;
    r.most[half] = -infinite();
    r.sum[half] = 0;
    r.seen[half] = sight.keys_of(i < queries ? i : queries - 1);
  }
  r.q.start(q_tile);
  const auto sees_all = [&](int n) {
    const int key = begin + n * kKeys;
    return key >= late.lo && key + kKeys <= early.hi;
  };

  if (count > 0) {
    bring<kRows, kD, kThreads>(q_tile, rows_of(w, q_at, q_strides, h.batch, h.head), first,
                               queries);
    bring_keys(0);
    pl_copy_commit();
    meet();
    bring_values(0);
    if (count > 1) bring_keys(1);
    pl_copy_commit();
    r.q.products(r.s, k_tiles);
    settle<0>(r.s);
    if (sees_all(0)) {
      r.soften<true>(begin, scorer, draws);
    } else {
      r.soften<false>(begin, scorer, draws);
    }
    pack_products(r.p, r.s);
  }
  for (int n = 0; n + 1 < count; ++n) {
    meet();  // keys n + 1 and values n are there; nobody reads keys n and values n - 1 any more
    bring_values(n + 1);
    if (n + 2 < count) bring_keys(n + 2);
    pl_copy_commit();
    const unsigned char* const next = k_tiles + (n + 1 & 1) * kKeyBytes;
    const unsigned char* const v_tile = v_tiles + (n & 1) * kValueBytes;
    const int key = begin + (n + 1) * kKeys;
    if (sees_all(n + 1)) {
      r.advance<true>(next, v_tile, key, scorer, draws);
    } else {
      r.advance<false>(next, v_tile, key, scorer, draws);
    }
  }
  if (count > 0) {
    meet();
    add_products<kVp, kKeys>(r.o, r.p, v_tiles + (count - 1 & 1) * kValueBytes);
    settle<0>(r.o);
  }

  const float kept = kDropout ? (float)pl_from_bits_d(w.v[kept_scale_at]) : 1.0f;
  float scale[2];
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    float sum = r.sum[half];
    sum += __shfl_xor_sync(0xffffffffu, sum, 1);
    sum += __shfl_xor_sync(0xffffffffu, sum, 2);
    scale[half] = keys > 0 ? kept / sum : 0;
    const int i = r.row + half * 8;
    const float most = r.most[half] * ((kDirect ? scorer.scale : 1.0f) / kUnit);
    if (w.v[lse_at] && (lane & 3) == 0 && i < queries) {
      at<float>(w.v[lse_at])[(int64_t)index * queries + i] =
          sum == 0 ? -infinite() : most + logarithm(sum);
    }
  }
  if (w.v[y_at]) {
    meet();
    put<kDv, kRows, kLineD>(rows_of(w, y_at, y_strides, h.batch, h.head), first, queries, r.o,
                            scale, q_tile);
  }
}
