// Attention of f32 and f64, forward and backward, without tensor cores: tiles of kTile rows in
// shared memory, kSide threads a row. Given besides attention.cuh: kTile.

constexpr int kThreads = 256, kSide = kThreads / kTile, kEach = kTile / kSide;
constexpr int kLineD = kD | 1, kLineV = kDv | 1, kLineP = kTile | 1;
constexpr int kOwnD = (kD + kSide - 1) / kSide, kOwnV = (kDv + kSide - 1) / kSide;

/// A tile of rows; zeros beyond `end`.
template <int N>
__device__ __forceinline__ void fetch(W* to, const Rows& r, int first, int end) {
  for (int i = threadIdx.x; i < kTile * N; i += kThreads) {
    const int row = i / N, column = i - row * N;
    to[row * (N | 1) + column] =
        first + row < end ? widen(r.data[(first + row) * r.step + column]) : (W)0;
  }
}
template <int N>
__device__ __forceinline__ W dot(const W* a, const W* b) {
  W sum = 0;
#pragma unroll 8
  for (int d = 0; d < N; ++d) sum = multiplied(a[d], b[d], sum);
  return sum;
}
/// own += p B: a thread has every kSide-th column.
template <int N>
__device__ __forceinline__ void add(W (&own)[(N + kSide - 1) / kSide], const W* p, const W* b) {
  const int side = threadIdx.x % kSide;
#pragma unroll 4
  for (int j = 0; j < kTile; ++j) {
    const W x = p[j];
#pragma unroll
    for (int c = 0; c < (N + kSide - 1) / kSide; ++c) {
      if (N % kSide == 0 || side + c * kSide < N) {
        own[c] = multiplied(x, b[j * (N | 1) + side + c * kSide], own[c]);
      }
    }
  }
}
template <int N>
__device__ __forceinline__ void put(const Rows& to, int row,
                                    const W (&own)[(N + kSide - 1) / kSide], W scale) {
  const int side = threadIdx.x % kSide;
#pragma unroll
  for (int c = 0; c < (N + kSide - 1) / kSide; ++c) {
    if (side + c * kSide < N) to.data[row * to.step + side + c * kSide] = narrow(own[c] * scale);
  }
}
/// Over the threads of a row.
__device__ __forceinline__ W largest(W x) {
#pragma unroll
  for (int d = 1; d < kSide; d *= 2) x = larger(x, __shfl_xor_sync(0xffffffffu, x, d));
  return x;
}
__device__ __forceinline__ W total(W x) {
#pragma unroll
  for (int d = 1; d < kSide; d *= 2) x += __shfl_xor_sync(0xffffffffu, x, d);
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

  const int row = threadIdx.x / kSide, side = threadIdx.x % kSide, i = first + row;
  const Span seen = i < queries ? sight.keys_of(i) : Span{0, 0};
  const int low = sight.keys_of(first).lo, end = sight.keys_of(last).hi;
  W o[kOwnV], most = -infinite(), sum = 0;
#pragma unroll
  for (int c = 0; c < kOwnV; ++c) o[c] = 0;
  fetch<kD>(qs, rows_of(w, q_at, q_strides, h.batch, h.head), first, queries);
  for (int key = low > 0 ? low : 0; key < end; key += kTile) {
    __syncthreads();
    fetch<kD>(ks, k, key, keys);
    fetch<kDv>(vs, v, key, keys);
    __syncthreads();
    W s[kEach], top = most;
#pragma unroll
    for (int e = 0; e < kEach; ++e) {
      const int j = key + side + e * kSide;
      s[e] = -infinite();
      if (j < seen.lo || j >= seen.hi) continue;
      s[e] = scorer.score(dot<kD>(qs + row * kLineD, ks + (side + e * kSide) * kLineD), i, j);
      top = larger(top, s[e]);
    }
    top = largest(top);
    const W base = top == -infinite() ? (W)0 : top, factor = power(most - base);
    most = top;
    sum *= factor;
#pragma unroll
    for (int c = 0; c < kOwnV; ++c) o[c] *= factor;
#pragma unroll
    for (int e = 0; e < kEach; ++e) {
      const W p = power(s[e] - base);
      const int j = side + e * kSide;
      sum += p;
      ps[row * kLineP + j] = kDropout && !draws.keeps(i, key + j) ? (W)0 : p;
    }
    __syncwarp();
    add<kDv>(o, ps + row * kLineP, vs);
  }
  sum = total(sum);
  if (i >= queries) return;
  const W kept = kDropout ? (W)pl_from_bits_d(w.v[kept_scale_at]) : (W)1;
  if (w.v[lse_at] && side == 0) {
    at<W>(w.v[lse_at])[(int64_t)index * queries + i] =
        sum == 0 ? -infinite() : most / kUnit + logarithm(sum);
  }
  if (w.v[y_at]) {
    put<kDv>(rows_of(w, y_at, y_strides, h.batch, h.head), i, o, keys > 0 ? kept / sum : (W)0);
  }
}

#else

/// p (undropped) and its gradient's mates, of a pair that may not be seen.
struct Pair {
  W p, kept, ds;
};
__device__ __forceinline__ Pair pair_of(const Scorer& scorer, const Draws& draws, const W* q,
                                        const W* k, const W* dy, const W* v, Span seen, int i,
                                        int j, W row_power, W delta, W kept_scale) {
  if (j < seen.lo || j >= seen.hi) return {0, 0, 0};
  const W p = power(scorer.score(dot<kD>(q, k), i, j) - row_power);
  const bool keeps = !kDropout || draws.keeps(i, j);
  const W dp = keeps ? dot<kDv>(dy, v) * kept_scale : (W)0;
  return {p, keeps ? p : (W)0, p * (dp - delta)};
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

  const int row = threadIdx.x / kSide, side = threadIdx.x % kSide, j = first + row;
  const int low = sight.queries_of(first).lo, end = sight.queries_of(last).hi;
  W dk[kOwnD], dv[kOwnV];
#pragma unroll
  for (int c = 0; c < kOwnD; ++c) dk[c] = 0;
#pragma unroll
  for (int c = 0; c < kOwnV; ++c) dv[c] = 0;
  fetch<kD>(ks, rows_of(w, k_at, k_strides, batch, kv), first, keys);
  fetch<kDv>(vs, rows_of(w, v_at, v_strides, batch, kv), first, keys);
  for (int head = kv * shared; head < (kv + 1) * shared; ++head) {
    const Head h = {batch, head, kv};
    const Scorer scorer(w, h);
    const Draws draws(w, batch * heads + head);
    const int64_t line = ((int64_t)batch * heads + head) * queries;
    const W *powers = at<const W>(w.v[powers_at]) + line,
            *deltas = at<const W>(w.v[deltas_at]) + line;
    for (int query = low > 0 ? low : 0; query < end; query += kTile) {
      __syncthreads();
      fetch<kD>(qs, rows_of(w, q_at, q_strides, batch, head), query, queries);
      fetch<kDv>(dys, rows_of(w, dy_at, dy_strides, batch, head), query, queries);
      __syncthreads();
#pragma unroll 1
      for (int e = 0; e < kEach; ++e) {
        const int near = side + e * kSide, i = query + near;
        Pair x = {0, 0, 0};
        if (i < queries && j < keys) {
          x = pair_of(scorer, draws, qs + near * kLineD, ks + row * kLineD, dys + near * kLineV,
                      vs + row * kLineV, sight.keys_of(i), i, j, powers[i], deltas[i], kept);
        }
        ps[row * kLineP + near] = x.kept;
        ds[row * kLineP + near] = x.ds;
      }
      __syncwarp();
      add<kDv>(dv, ps + row * kLineP, dys);
      add<kD>(dk, ds + row * kLineP, qs);
    }
  }
  if (j >= keys) return;
  const W scale = (W)pl_from_bits_d(w.v[scale_at]);
  if (w.v[dk_at]) put<kD>(rows_of(w, dk_at, dk_strides, batch, kv), j, dk, scale);
  if (w.v[dv_at]) put<kDv>(rows_of(w, dv_at, dv_strides, batch, kv), j, dv, kept);
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

  const int row = threadIdx.x / kSide, side = threadIdx.x % kSide, i = first + row;
  const Span seen = i < queries ? sight.keys_of(i) : Span{0, 0};
  const int low = sight.keys_of(first).lo, end = sight.keys_of(last).hi;
  const int64_t line = (int64_t)index * queries + (i < queries ? i : queries - 1);
  const W row_power = at<const W>(w.v[powers_at])[line], delta = at<const W>(w.v[deltas_at])[line];
  W dq[kOwnD];
#pragma unroll
  for (int c = 0; c < kOwnD; ++c) dq[c] = 0;
  fetch<kD>(qs, rows_of(w, q_at, q_strides, h.batch, h.head), first, queries);
  fetch<kDv>(dys, rows_of(w, dy_at, dy_strides, h.batch, h.head), first, queries);
  for (int key = low > 0 ? low : 0; key < end; key += kTile) {
    __syncthreads();
    fetch<kD>(ks, k, key, keys);
    fetch<kDv>(vs, v, key, keys);
    __syncthreads();
#pragma unroll 1
    for (int e = 0; e < kEach; ++e) {
      const int near = side + e * kSide;
      ds[row * kLineP + near] =
          pair_of(scorer, draws, qs + row * kLineD, ks + near * kLineD, dys + row * kLineV,
                  vs + near * kLineV, seen, i, key + near, row_power, delta, kept)
              .ds;
    }
    __syncwarp();
    add<kD>(dq, ds + row * kLineP, ks);
  }
  if (i >= queries) return;
  put<kD>(rows_of(w, dq_at, dq_strides, h.batch, h.head), i, dq, (W)pl_from_bits_d(w.v[scale_at]));
}

#endif
