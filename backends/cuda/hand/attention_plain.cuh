// Attention of f32 and f64, forward and backward, without tensor cores: tiles of kTile rows in
// shared memory; of a tile's products each of 16 x 16 threads has every 16th row and column.
// Given besides attention.cuh: kTile.

constexpr int kThreads = 256, kEach = kTile / 16;
constexpr int kPiece = 16 / sizeof(W);
/// Elements of a row in shared memory: an odd number of 16 bytes, so that eight rows' same 16 bytes
/// are in different banks.
__device__ constexpr int line(int n) { return ((n + kPiece - 1) / kPiece | 1) * kPiece; }
constexpr int kLineD = line(kD), kLineV = line(kDv), kLineP = line(kTile);

/// A tile of rows of N columns; zeros beyond `end` and in the rest of a piece.
template <int N>
__device__ __forceinline__ void fetch(W* to, const Rows& r, int first, int end) {
  constexpr int PIECES = (N + kPiece - 1) / kPiece;
  const bool whole = N % kPiece == 0 && r.aligned;
  for (int i = threadIdx.x; i < kTile * PIECES; i += kThreads) {
    const int row = i / PIECES, column = i % PIECES * kPiece;
    const T* from = r.data + (first + row) * r.step + column;
    W* const own = to + row * line(N) + column;
    const bool take = first + row < end;
    if (whole) {
      pl_copy<16>((unsigned char*)own, from, take);
      continue;
    }
#pragma unroll
    for (int e = 0; e < kPiece; ++e) own[e] = take && column + e < N ? widen(from[e]) : (W)0;
  }
}
/// All that was fetched is there for all threads.
__device__ __forceinline__ void meet() {
  pl_copy_commit();
  pl_copy_wait<0>();
  __syncthreads();
}

struct Place {
  int x = threadIdx.x % 16, y = threadIdx.x / 16;
};

/// The products of rows: own[i][j] is of a's row y + 16 i and b's row x + 16 j.
template <int N>
__device__ __forceinline__ void multiply(W (&own)[kEach][kEach], const W* a, const W* b) {
  const Place t;
#pragma unroll
  for (int i = 0; i < kEach * kEach; ++i) own[i / kEach][i % kEach] = 0;
#pragma unroll 2
  for (int d = 0; d < N; d += kPiece) {
    alignas(16) W left[kEach][kPiece], right[kEach][kPiece];
#pragma unroll
    for (int i = 0; i < kEach; ++i) {
      pl_move<kPiece>(left[i], a + (t.y + 16 * i) * line(N) + d);
      pl_move<kPiece>(right[i], b + (t.x + 16 * i) * line(N) + d);
    }
#pragma unroll
    for (int e = 0; e < kPiece; ++e) {
#pragma unroll
      for (int i = 0; i < kEach; ++i) {
#pragma unroll
        for (int j = 0; j < kEach; ++j) {
          own[i][j] = multiplied(left[i][e], right[j][e], own[i][j]);
        }
      }
    }
  }
}

/// Sums of N columns: a thread has rows y + 16 i and `count` columns of each.
template <int N>
struct Sums {
  static constexpr int kWide = N % (16 * kPiece) == 0 ? kPiece : 1, kCount = (N + 15) / 16;
  W own[kEach][kCount];

  static __device__ __forceinline__ int column(int c) {
    return (c / kWide * 16 + Place().x) * kWide + c % kWide;
  }
  __device__ __forceinline__ void clear() {
#pragma unroll
    for (int i = 0; i < kEach * kCount; ++i) own[i / kCount][i % kCount] = 0;
  }
  /// += p b, over the columns of p.
  __device__ __forceinline__ void add(const W* p, const W* b) {
    const int y = Place().y;
#pragma unroll 1
    for (int k = 0; k < kTile; k += kPiece) {
      alignas(16) W left[kEach][kPiece];
#pragma unroll
      for (int i = 0; i < kEach; ++i) pl_move<kPiece>(left[i], p + (y + 16 * i) * kLineP + k);
#pragma unroll
      for (int e = 0; e < kPiece; ++e) {
        const W* const row = b + (k + e) * line(N);
#pragma unroll
        for (int c = 0; c < kCount; c += kWide) {
          alignas(16) W right[kWide];
          if (N % 16 != 0 && column(c) >= N) continue;
          pl_move<kWide>(right, row + column(c));
#pragma unroll
          for (int i = 0; i < kEach; ++i) {
#pragma unroll
            for (int v = 0; v < kWide; ++v) {
              own[i][c + v] = multiplied(left[i][e], right[v], own[i][c + v]);
            }
          }
        }
      }
    }
  }
  __device__ __forceinline__ void put(const Rows& to, int row, int i, W scale) const {
#pragma unroll
    for (int c = 0; c < kCount; ++c) {
      if (column(c) < N) to.data[row * to.step + column(c)] = narrow(own[i][c] * scale);
    }
  }
};

/// Over the threads of a row.
__device__ __forceinline__ W largest(W x) {
#pragma unroll
  for (int d = 1; d < 16; d *= 2) x = larger(x, __shfl_xor_sync(0xffffffffu, x, d));
  return x;
}
__device__ __forceinline__ W total(W x) {
#pragma unroll
  for (int d = 1; d < 16; d *= 2) x += __shfl_xor_sync(0xffffffffu, x, d);
  return x;
}

#ifndef PL_OP_attention_backward

extern "C" __global__ void __launch_bounds__(kThreads) NAME(const Words w) {
  const int columns = number(w, batches_at) * number(w, heads_at);
  const int queries = number(w, queries_at), keys = number(w, keys_at);
  const int block = blockIdx.x / columns, index = blockIdx.x - block * columns;
  const int first = ((queries + kTile - 1) / kTile - 1 - block) * kTile;
  const int last = first + kTile < queries ? first + kTile - 1 : queries - 1;
  const Head h = head_of(w, index);
  const Sight sight(w, h.batch);
  const Scorer scorer(w, h);
  const Draws draws(w, index);
  const Rows k = rows_of(w, k_at, k_strides, h.batch, h.kv);
  const Rows v = rows_of(w, v_at, v_strides, h.batch, h.kv);
  W* const qs = (W*)pl_dynamic;
  W *const ks = qs + kTile * kLineD, *const vs = ks + kTile * kLineD;
  W* const ps = vs + kTile * kLineV;

  const Place t;
  Span seen[kEach];
  W most[kEach], sum[kEach];
#pragma unroll
  for (int r = 0; r < kEach; ++r) {
    const int i = first + t.y + 16 * r;
    seen[r] = i < queries ? sight.keys_of(i) : Span{0, 0};
    most[r] = -infinite();
    sum[r] = 0;
  }
  const int low = sight.keys_of(first).lo, end = sight.keys_of(last).hi;
  Sums<kDv> o;
  o.clear();
  fetch<kD>(qs, rows_of(w, q_at, q_strides, h.batch, h.head), first, queries);
  for (int key = low > 0 ? low : 0; key < end; key += kTile) {
    __syncthreads();
    fetch<kD>(ks, k, key, keys);
    fetch<kDv>(vs, v, key, keys);
    meet();
    W s[kEach][kEach];
    multiply<kD>(s, qs, ks);
#pragma unroll
    for (int r = 0; r < kEach; ++r) {
      const int i = first + t.y + 16 * r;
      W top = most[r];
#pragma unroll
      for (int e = 0; e < kEach; ++e) {
        const int j = key + t.x + 16 * e;
        s[r][e] = j >= seen[r].lo && j < seen[r].hi ? scorer.score(s[r][e], i, j) : -infinite();
        top = larger(top, s[r][e]);
      }
      top = largest(top);
      const W base = top == -infinite() ? (W)0 : top, factor = power(most[r] - base);
      most[r] = top;
      sum[r] *= factor;
#pragma unroll
      for (int c = 0; c < Sums<kDv>::kCount; ++c) o.own[r][c] *= factor;
#pragma unroll
      for (int e = 0; e < kEach; ++e) {
        const W p = power(s[r][e] - base);
        const int j = key + t.x + 16 * e;
        sum[r] += p;
        ps[(t.y + 16 * r) * kLineP + t.x + 16 * e] = kDropout && !draws.keeps(i, j) ? (W)0 : p;
      }
    }
    __syncwarp();  // a warp has whole rows of p
    o.add(ps, vs);
  }
  const W kept = kDropout ? (W)pl_from_bits_d(w.v[kept_scale_at]) : (W)1;
#pragma unroll
  for (int r = 0; r < kEach; ++r) {
    const W all = total(sum[r]);
    const int i = first + t.y + 16 * r;
    if (i >= queries) continue;
    if (w.v[lse_at] && t.x == 0) {
      at<W>(w.v[lse_at])[(int64_t)index * queries + i] =
          all == 0 ? -infinite() : most[r] / kUnit + logarithm(all);
    }
    if (w.v[y_at]) {
      o.put(rows_of(w, y_at, y_strides, h.batch, h.head), i, r, keys > 0 ? kept / all : (W)0);
    }
  }
}

#else

/// p after dropout, and the gradient of the score, of a pair; zeros where it is not seen.
struct Pair {
  W kept, ds;
};
__device__ __forceinline__ Pair pair_of(const Scorer& scorer, const Draws& draws, W product, W dp,
                                        Span seen, int i, int j, W row_power, W delta,
                                        W kept_scale) {
  if (j < seen.lo || j >= seen.hi) return {0, 0};
  const W p = power(scorer.score(product, i, j) - row_power);
  const bool keeps = !kDropout || draws.keeps(i, j);
  return {keeps ? p : (W)0, p * ((keeps ? dp * kept_scale : (W)0) - delta)};
}

extern "C" __global__ void __launch_bounds__(kThreads) NAME_keys(const Words w) {
  const int groups = number(w, groups_at), columns = number(w, batches_at) * groups;
  const int keys = number(w, keys_at), queries = number(w, queries_at);
  const int block = blockIdx.x / columns, index = blockIdx.x - block * columns;
  const int batch = index / groups, kv = index - batch * groups, first = block * kTile;
  const int last = first + kTile < keys ? first + kTile - 1 : keys - 1;
  const int heads = number(w, heads_at), shared = heads / groups;
  const Sight sight(w, batch);
  const W kept = kDropout ? (W)pl_from_bits_d(w.v[kept_scale_at]) : (W)1;
  W* const ks = (W*)pl_dynamic;
  W *const qs = ks + kTile * kLineD, *const vs = qs + kTile * kLineD;
  W *const dys = vs + kTile * kLineV, *const ps = dys + kTile * kLineV;
  W* const ds = ps + kTile * kLineP;

  const Place t;
  const int low = sight.queries_of(first).lo, end = sight.queries_of(last).hi;
  Sums<kD> dk;
  Sums<kDv> dv;
  dk.clear();
  dv.clear();
  fetch<kD>(ks, rows_of(w, k_at, k_strides, batch, kv), first, keys);
  fetch<kDv>(vs, rows_of(w, v_at, v_strides, batch, kv), first, keys);
  for (int head = kv * shared; head < (kv + 1) * shared; ++head) {
    const Head h = {batch, head, kv};
    const Scorer scorer(w, h);
    const Draws draws(w, batch * heads + head);
    const int64_t row = ((int64_t)batch * heads + head) * queries;
    const W* const powers = at<const W>(w.v[powers_at]) + row;
    const W* const deltas = at<const W>(w.v[deltas_at]) + row;
    for (int query = low > 0 ? low : 0; query < end; query += kTile) {
      __syncthreads();
      fetch<kD>(qs, rows_of(w, q_at, q_strides, batch, head), query, queries);
      fetch<kDv>(dys, rows_of(w, dy_at, dy_strides, batch, head), query, queries);
      meet();
      W s[kEach][kEach], dp[kEach][kEach];
      multiply<kD>(s, ks, qs);
      multiply<kDv>(dp, vs, dys);
#pragma unroll
      for (int e = 0; e < kEach; ++e) {
        const int near = t.x + 16 * e, i = query + near, own = i < queries ? i : queries - 1;
        const Span seen = i < queries ? sight.keys_of(i) : Span{0, 0};
        const W row_power = powers[own], delta = deltas[own];
#pragma unroll
        for (int r = 0; r < kEach; ++r) {
          const int far = t.y + 16 * r;
          const Pair x = pair_of(scorer, draws, s[r][e], dp[r][e], seen, i, first + far, row_power,
                                 delta, kept);
          ps[far * kLineP + near] = x.kept;
          ds[far * kLineP + near] = x.ds;
        }
      }
      __syncwarp();
      dv.add(ps, dys);
      dk.add(ds, qs);
    }
  }
  const W scale = (W)pl_from_bits_d(w.v[scale_at]);
#pragma unroll
  for (int r = 0; r < kEach; ++r) {
    const int j = first + t.y + 16 * r;
    if (j >= keys) continue;
    if (w.v[dk_at]) dk.put(rows_of(w, dk_at, dk_strides, batch, kv), j, r, scale);
    if (w.v[dv_at]) dv.put(rows_of(w, dv_at, dv_strides, batch, kv), j, r, kept);
  }
}

extern "C" __global__ void __launch_bounds__(kThreads) NAME_queries(const Words w) {
  const int columns = number(w, batches_at) * number(w, heads_at);
  const int queries = number(w, queries_at), keys = number(w, keys_at);
  const int block = blockIdx.x / columns, index = blockIdx.x - block * columns;
  const int first = ((queries + kTile - 1) / kTile - 1 - block) * kTile;
  const int last = first + kTile < queries ? first + kTile - 1 : queries - 1;
  const Head h = head_of(w, index);
  const Sight sight(w, h.batch);
  const Scorer scorer(w, h);
  const Draws draws(w, index);
  const W kept = kDropout ? (W)pl_from_bits_d(w.v[kept_scale_at]) : (W)1;
  const Rows k = rows_of(w, k_at, k_strides, h.batch, h.kv);
  const Rows v = rows_of(w, v_at, v_strides, h.batch, h.kv);
  W* const ks = (W*)pl_dynamic;
  W *const qs = ks + kTile * kLineD, *const vs = qs + kTile * kLineD;
  W *const dys = vs + kTile * kLineV, *const ds = dys + kTile * kLineV;

  const Place t;
  const int low = sight.keys_of(first).lo, end = sight.keys_of(last).hi;
  Span seen[kEach];
  W powers[kEach], deltas[kEach];
#pragma unroll
  for (int r = 0; r < kEach; ++r) {
    const int i = first + t.y + 16 * r, own = i < queries ? i : queries - 1;
    seen[r] = i < queries ? sight.keys_of(i) : Span{0, 0};
    powers[r] = at<const W>(w.v[powers_at])[(int64_t)index * queries + own];
    deltas[r] = at<const W>(w.v[deltas_at])[(int64_t)index * queries + own];
  }
  Sums<kD> dq;
  dq.clear();
  fetch<kD>(qs, rows_of(w, q_at, q_strides, h.batch, h.head), first, queries);
  fetch<kDv>(dys, rows_of(w, dy_at, dy_strides, h.batch, h.head), first, queries);
  for (int key = low > 0 ? low : 0; key < end; key += kTile) {
    __syncthreads();
    fetch<kD>(ks, k, key, keys);
    fetch<kDv>(vs, v, key, keys);
    meet();
    W s[kEach][kEach], dp[kEach][kEach];
    multiply<kD>(s, qs, ks);
    multiply<kDv>(dp, dys, vs);
#pragma unroll
    for (int i = 0; i < kEach * kEach; ++i) {
      const int r = i / kEach, near = t.x + i % kEach * 16, own = t.y + 16 * r;
      ds[own * kLineP + near] = pair_of(scorer, draws, s[r][i % kEach], dp[r][i % kEach], seen[r],
                                        first + own, key + near, powers[r], deltas[r], kept)
                                    .ds;
    }
    __syncwarp();
    dq.add(ds, ks);
  }
  const W scale = (W)pl_from_bits_d(w.v[scale_at]);
#pragma unroll
  for (int r = 0; r < kEach; ++r) {
    const int i = first + t.y + 16 * r;
    if (i < queries) dq.put(rows_of(w, dq_at, dq_strides, h.batch, h.head), i, r, scale);
  }
}

#endif
