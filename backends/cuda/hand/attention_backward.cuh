// The gradients of attention of halves: dk and dv by blocks of keys, dq by blocks of queries. Each
// computes the probabilities anew from the log-sum-exp, so that a block's sums stay in registers
// and are in a fixed order. While tiles of the other side are read, the next are on their way.
// Given besides attention_tile.cuh: the groups of a block of keys and of a block of queries, how
// many of the others come at a time. PL_APART: dk and dv are two kernels.

constexpr int kStages = 2;

/// p from a product; its power is that of the query. 0 where it is not seen.
template <bool WHOLE>
__device__ __forceinline__ float probability(float product, const Scorer& scorer,
                                             float power_of_row, Span sees, int i, int j) {
  if (!WHOLE && (j < sees.lo || j >= sees.hi)) return 0;
  if (kDirect) return power(multiplied(product, scorer.scale, -power_of_row));
  return power(scorer.score(product, i, j) - power_of_row);
}
/// Marks a p that is dropped.
struct Negative {
  __device__ __forceinline__ void operator()(float& x) const { x = -x; }
};
/// The gradient of a score, of p and the gradient of the undropped p.
__device__ __forceinline__ float score_gradient(float p, float dp, float delta, float kept_scale) {
  if (!kDropout) return p * (dp - delta);
  return p < 0 ? p * delta : p * (dp * kept_scale - delta);
}

// --- dk, dv ---

constexpr int kKvRows = kKvGroups * 64, kKvThreads = kKvGroups * 128;
constexpr int kKvQBytes = kKvQueries * kLineD, kKvTile = kKvQueries * (kLineD + kLineV);

/// A warp's keys. Where heads are large, dk and dv are two launches.
template <bool DK, bool DV>
struct KeyGradients {
  float dk[kDp / 8][4], dv[kVp / 8][4];
  Left<kDp, kKvRows, false> k;
  Left<kVp, kKvRows, false> v;
  int row, last_key, last_query;

  float p[kKvQueries / 8][4], dp[kKvQueries / 8][4];

  __device__ __forceinline__ void begin_scores(const unsigned char* tile) {
    k.products(p, tile);
    if constexpr (DK) v.products(dp, tile + kKvQBytes);
  }
  /// From scores to probabilities. numbers: powers, deltas, low, high of the queries.
  template <bool WHOLE>
  __device__ __forceinline__ void weigh(const unsigned char* numbers, int query, const Sight& sight,
                                        const Scorer& scorer, const Draws& draws) {
    const float* const powers = (const float*)numbers;
    const int *const low = (const int*)(powers + 2 * kKvQueries), *const high = low + kKvQueries;
    const int column = (threadIdx.x & 3) * 2;
#pragma unroll
    for (int n = 0; n < kKvQueries / 8; ++n) {
#pragma unroll
      for (int e = 0; e < 2; ++e) {
        const int near = n * 8 + column + e, i = query + near;
        const float row_power = powers[near];
        Span sees = {0, 0};
        if (!WHOLE && i <= last_query) {
          sees = sight.keys_of(i, kDocuments ? Span{low[near], high[near]} : Span{0, sight.keys});
        }
#pragma unroll
        for (int m = 0; m < 2; ++m) {
          const int j = row + m * 8;
          p[n][m * 2 + e] = probability<WHOLE>(p[n][m * 2 + e], scorer, row_power, sees, i,
                                               j < last_key ? j : last_key);
        }
      }
    }
    if (kDropout) each_draw_of_keys(draws, p, row >> 4, query >> 4, Negative());
  }
  __device__ __forceinline__ void pack_kept(uint32_t (&to)[kKvQueries / 16][4]) const {
    if (!kDropout) return pack_products(to, p);
    float kept[kKvQueries / 8][4];
#pragma unroll
    for (int i = 0; i < kKvQueries / 2; ++i) kept[i / 4][i % 4] = fmaxf(p[i / 4][i % 4], 0.0f);
    pack_products(to, kept);
  }
  /// From probabilities to gradients of scores.
  __device__ __forceinline__ void differentiate(const unsigned char* numbers, float kept_scale) {
    const float* const deltas = (const float*)numbers + kKvQueries;
    const int column = (threadIdx.x & 3) * 2;
#pragma unroll
    for (int n = 0; n < kKvQueries / 8; ++n) {
#pragma unroll
      for (int e = 0; e < 2; ++e) {
        const float delta = deltas[n * 8 + column + e];
#pragma unroll
        for (int m = e; m < 4; m += 2) {
          p[n][m] = score_gradient(p[n][m], dp[n][m], delta, kept_scale);
        }
      }
    }
  }
  /// tile: q, dy.
  template <bool WHOLE>
  __device__ __forceinline__ void add(const unsigned char* tile, const unsigned char* numbers,
                                      int query, const Sight& sight, const Scorer& scorer,
                                      const Draws& draws, float kept_scale) {
    uint32_t left[kKvQueries / 16][4], left_of_dk[kKvQueries / 16][4];
    begin_scores(tile);
    settle<DK ? 1 : 0>(p);
    weigh<WHOLE>(numbers, query, sight, scorer, draws);
    if constexpr (DV) {
      pack_kept(left);
      add_products<kVp, kKvQueries>(dv, left, tile + kKvQBytes);
    }
    if constexpr (DK) {
      settle<DV ? 1 : 0>(dp);
      differentiate(numbers, kept_scale);
      pack_products(left_of_dk, p);
      add_products<kDp, kKvQueries>(dk, left_of_dk, tile);
      settle<0>(dk);
    }
    if constexpr (DV) settle<0>(dv);
  }
};

/// Queries on their way, through the heads that share keys: block n of `count` each.
struct QueryBlocks {
  int begin, count, total, group;  // group: the first head
  __device__ __forceinline__ int head(int n) const { return group + n / count; }
  __device__ __forceinline__ int first(int n) const { return begin + n % count * kKvQueries; }
};

__device__ __forceinline__ void bring_queries(const Words& w, const QueryBlocks& b, int n,
                                              int batch, unsigned char* tiles,
                                              unsigned char* numbers) {
  if (n < b.total) {
    tiles += n % kStages * kKvTile;
    numbers += n % kStages * kKvQueries * 16;
    const int head = b.head(n), first = b.first(n), queries = number(w, queries_at);
    const int64_t row = ((int64_t)batch * number(w, heads_at) + head) * queries;
    bring<kKvQueries, kD, kKvThreads>(tiles, rows_of(w, q_at, q_strides, batch, head), first,
                                      queries);
    bring<kKvQueries, kDv, kKvThreads>(tiles + kKvQBytes,
                                       rows_of(w, dy_at, dy_strides, batch, head), first, queries);
    bring_words<kKvQueries, kKvThreads>(numbers, at<const float>(w.v[powers_at]) + row, first,
                                        queries);
    bring_words<kKvQueries, kKvThreads>(numbers + kKvQueries * 4,
                                        at<const float>(w.v[deltas_at]) + row, first, queries);
    if (kDocuments) {
      const int64_t step = batch * (int64_t)w.v[bounds_step_at];
      bring_words<kKvQueries, kKvThreads>(numbers + kKvQueries * 8,
                                          at<const int>(w.v[low_at]) + step, first, queries);
      bring_words<kKvQueries, kKvThreads>(numbers + kKvQueries * 12,
                                          at<const int>(w.v[high_at]) + step, first, queries);
    }
  }
  pl_copy_commit();
}

template <bool DK, bool DV>
__device__ __forceinline__ void sum_queries(const Words& w) {
  const int groups = number(w, groups_at), columns = number(w, batches_at) * groups;
  const int keys = number(w, keys_at), queries = number(w, queries_at);
  const int block = blockIdx.x / columns, index = blockIdx.x - block * columns;
  const int batch = index / groups, kv = index - batch * groups;
  const int first = block * kKvRows;
  const int last = first + kKvRows < keys ? first + kKvRows - 1 : keys - 1;
  const int shared = number(w, heads_at) / groups;  // heads of a group
  const Sight sight(w, batch);
  const float kept = kDropout ? (float)pl_from_bits_d(w.v[kept_scale_at]) : 1.0f;

  QueryBlocks blocks = {sight.queries_of(first).lo, 0, 0, kv * shared};
  const int end = sight.queries_of(last).hi;
  blocks.begin = (blocks.begin > 0 ? blocks.begin : 0) / kKvQueries * kKvQueries;
  if (end > blocks.begin) blocks.count = (end - blocks.begin + kKvQueries - 1) / kKvQueries;
  blocks.total = blocks.count * shared;

  unsigned char* const k_tile = shared_tiles();
  unsigned char* const v_tile = k_tile + kKvRows * kLineD;
  unsigned char* const tiles = v_tile + kKvRows * kLineV;
  unsigned char* const numbers = tiles + kStages * kKvTile;
  bring<kKvRows, kD, kKvThreads>(k_tile, rows_of(w, k_at, k_strides, batch, kv), first, keys);
  bring<kKvRows, kDv, kKvThreads>(v_tile, rows_of(w, v_at, v_strides, batch, kv), first, keys);
  bring_queries(w, blocks, 0, batch, tiles, numbers);

  KeyGradients<DK, DV> g;
  g.row = first + (threadIdx.x >> 5) * 16 + (threadIdx.x & 31) / 4;
  g.last_key = keys - 1;
  g.last_query = queries - 1;
  g.k.start(k_tile);
  g.v.start(v_tile);
  clear(g.dk);
  clear(g.dv);
  for (int n = 0; n < blocks.total; ++n) {
    meet();
    bring_queries(w, blocks, n + 1, batch, tiles, numbers);
    const unsigned char* const tile = tiles + n % kStages * kKvTile;
    const unsigned char* const own_numbers = numbers + n % kStages * kKvQueries * 16;
    const int head = blocks.head(n), query = blocks.first(n);
    const Head h = {batch, head, kv};
    const Scorer scorer(w, h);
    const Draws draws(w, batch * number(w, heads_at) + head);
    const bool is_whole = query + kKvQueries <= queries && sight.keys_of(query).hi > last &&
                          sight.keys_of(query + kKvQueries - 1).lo <= first;
    if (is_whole) {
      g.template add<true>(tile, own_numbers, query, sight, scorer, draws, kept);
    } else {
      g.template add<false>(tile, own_numbers, query, sight, scorer, draws, kept);
    }
  }
  const float scale = (float)pl_from_bits_d(w.v[scale_at]);
  const float scale_k[2] = {scale, scale}, scale_v[2] = {kept, kept};
  meet();
  if (DK && w.v[dk_at]) {
    put<kD, kKvRows, kLineD>(rows_of(w, dk_at, dk_strides, batch, kv), first, keys, g.dk, scale_k,
                             k_tile);
  }
  if (DV && w.v[dv_at]) {
    put<kDv, kKvRows, kLineV>(rows_of(w, dv_at, dv_strides, batch, kv), first, keys, g.dv, scale_v,
                              v_tile);
  }
}

#ifdef PL_APART
extern "C" __global__ void __launch_bounds__(kKvThreads, kKvBlocks) NAME_keys(const Words w) {
  sum_queries<true, false>(w);
}
extern "C" __global__ void __launch_bounds__(kKvThreads, kKvBlocks) NAME_values(const Words w) {
  sum_queries<false, true>(w);
}
#undef PL_APART
#else
extern "C" __global__ void __launch_bounds__(kKvThreads, kKvBlocks) NAME_keys(const Words w) {
  sum_queries<true, true>(w);
}
#endif

// --- dq ---

constexpr int kQRows = kQGroups * 64, kQThreads = kQGroups * 128;
constexpr int kQKeyBytes = kQKeys * kLineD, kQTile = kQKeys * (kLineD + kLineV);

/// A warp's queries.
struct QueryGradients {
  float dq[kDp / 8][4], powers[2], deltas[2];
  Span seen[2];
  Left<kDp, kQRows, (kDp <= 64)> q;
  Left<kVp, kQRows, (kVp <= 64)> dy;
  int row, last_query;

  float p[kQKeys / 8][4], dp[kQKeys / 8][4];

  __device__ __forceinline__ void begin_scores(const unsigned char* tile) {
    q.products(p, tile);
    dy.products(dp, tile + kQKeyBytes);
  }
  template <bool WHOLE>
  __device__ __forceinline__ void weigh(int key, const Scorer& scorer, const Draws& draws) {
    const int column = key + (threadIdx.x & 3) * 2;
#pragma unroll
    for (int x = 0; x < kQKeys / 2; ++x) {
      const int n = x / 4, e = x % 4, i = row + e / 2 * 8;
      p[n][e] = probability<WHOLE>(p[n][e], scorer, powers[e / 2], seen[e / 2],
                                   i < last_query ? i : last_query, column + n * 8 + e % 2);
    }
    if (kDropout) each_draw(draws, p, row >> 4, key >> 4, Negative());
  }
  __device__ __forceinline__ void differentiate(float kept_scale) {
#pragma unroll
    for (int x = 0; x < kQKeys / 2; ++x) {
      const int n = x / 4, e = x % 4;
      p[n][e] = score_gradient(p[n][e], dp[n][e], deltas[e / 2], kept_scale);
    }
  }
  /// tile: k, v.
  template <bool WHOLE>
  __device__ __forceinline__ void add(const unsigned char* tile, int key, const Scorer& scorer,
                                      const Draws& draws, float kept_scale) {
    uint32_t left[kQKeys / 16][4];
    begin_scores(tile);
    settle<1>(p);
    weigh<WHOLE>(key, scorer, draws);
    settle<0>(dp);
    differentiate(kept_scale);
    pack_products(left, p);
    add_products<kDp, kQKeys>(dq, left, tile);
    settle<0>(dq);
  }
};

extern "C" __global__ void __launch_bounds__(kQThreads, kQBlocks) NAME_queries(const Words w) {
  const int columns = number(w, batches_at) * number(w, heads_at);
  const int queries = number(w, queries_at), keys = number(w, keys_at);
  const int block = blockIdx.x / columns, index = blockIdx.x - block * columns;
  const int first = ((queries + kQRows - 1) / kQRows - 1 - block) * kQRows;
  const int last = first + kQRows < queries ? first + kQRows - 1 : queries - 1;
  const Head h = head_of(w, index);
  const Sight sight(w, h.batch);
  const Scorer scorer(w, h);
  const Draws draws(w, index);
  const float kept = kDropout ? (float)pl_from_bits_d(w.v[kept_scale_at]) : 1.0f;
  const Rows k = rows_of(w, k_at, k_strides, h.batch, h.kv);
  const Rows v = rows_of(w, v_at, v_strides, h.batch, h.kv);
  unsigned char* const q_tile = shared_tiles();
  unsigned char* const dy_tile = q_tile + kQRows * kLineD;
  unsigned char* const tiles = dy_tile + kQRows * kLineV;
  const Span early = sight.keys_of(first), late = sight.keys_of(last);
  const int begin = (early.lo > 0 ? early.lo : 0) / kQKeys * kQKeys;
  const int count = late.hi > begin ? (late.hi - begin + kQKeys - 1) / kQKeys : 0;
  const auto bring_keys = [&](int n) {
    if (n < count) {
      unsigned char* const tile = tiles + n % kStages * kQTile;
      bring<kQKeys, kD, kQThreads>(tile, k, begin + n * kQKeys, keys);
      bring<kQKeys, kDv, kQThreads>(tile + kQKeyBytes, v, begin + n * kQKeys, keys);
    }
    pl_copy_commit();
  };

  bring<kQRows, kD, kQThreads>(q_tile, rows_of(w, q_at, q_strides, h.batch, h.head), first,
                               queries);
  bring<kQRows, kDv, kQThreads>(dy_tile, rows_of(w, dy_at, dy_strides, h.batch, h.head), first,
                                queries);
  bring_keys(0);
  QueryGradients g;
  g.row = first + (threadIdx.x >> 5) * 16 + (threadIdx.x & 31) / 4;
  g.last_query = queries - 1;
  g.q.start(q_tile);
  g.dy.start(dy_tile);
  clear(g.dq);
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const int i = g.row + half * 8;
    const bool is_row = i < queries;
    g.seen[half] = sight.keys_of(is_row ? i : queries - 1);
    const int64_t row = (int64_t)index * queries + i;
    g.powers[half] = is_row ? at<const float>(w.v[powers_at])[row] : infinite();
    g.deltas[half] = is_row ? at<const float>(w.v[deltas_at])[row] : 0.0f;
  }
  for (int n = 0; n < count; ++n) {
    meet();
    if (n == 0) {
      g.q.hold();
      g.dy.hold();
    }
    bring_keys(n + 1);
    const unsigned char* const tile = tiles + n % kStages * kQTile;
    const int key = begin + n * kQKeys;
    const bool is_whole = key >= late.lo && key + kQKeys <= early.hi;
    if (is_whole) {
      g.add<true>(tile, key, scorer, draws, kept);
    } else {
      g.add<false>(tile, key, scorer, draws, kept);
    }
  }
  const float scale = (float)pl_from_bits_d(w.v[scale_at]);
  const float scales[2] = {scale, scale};
  meet();
  put<kD, kQRows, kLineD>(rows_of(w, dq_at, dq_strides, h.batch, h.head), first, queries, g.dq,
                          scales, q_tile);
}
