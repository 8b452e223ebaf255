// Attention, what all its kernels share: operands, the keys that a query sees, scores and draws.
// Given before it (attention.cpp): T (as stored), W (as computed), widen, narrow; kD and kDv, the
// sizes of a head; kCausal, kWindow, kDocuments, kMask (1: bool, 2: W, 3: T), kAlibi; kDropout, and
// kThreshold of 2^16, below which a pair is dropped; kDirect: scores are products times a positive
// scale; what is stored as T; kAxes, the axes before the queries; NAME is the kernels' own.

/// The words that every kernel takes. *_strides: (batch, head, row), in elements.
enum Operand {
  q_at,
  k_at,
  v_at,
  mask_at,
  slopes_at,
  offsets_at,
  key_at,
  y_at,
  lse_at,
  dy_at,
  dlse_at,
  dq_at,
  dk_at,
  dv_at,
  low_at,
  high_at,
  powers_at,
  deltas_at,
  batches_at,
  heads_at,
  groups_at,
  queries_at,
  keys_at,
  scale_at,
  offset_at,
  window_at,
  kept_scale_at,
  stream_at,
  bounds_step_at,
  offsets_step_at,
  offsets_count_at,
  q_strides,
  k_strides = q_strides + 3,
  v_strides = k_strides + 3,
  y_strides = v_strides + 3,
  dy_strides = y_strides + 3,
  dq_strides = dy_strides + 3,
  dk_strides = dq_strides + 3,
  dv_strides = dk_strides + 3,
  mask_row_at = dv_strides + 3,
  mask_column_at,
  mask_axes_at,  // (size, stride) of each axis
  words_end = mask_axes_at + 2 * kAxes
};
typedef pl_words<words_end> Words;

/// Exponents are in units of 1 / kUnit: for floats those of ex2.approx.
constexpr W kUnit = sizeof(W) == 8 ? (W)1 : (W)1.4426950408889634;
__device__ __forceinline__ float power(float x) {
#ifdef PL_EMULATED
  return pl_exp_f(x * 0.6931471805599453f);
#else
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
#endif
}
__device__ __forceinline__ double power(double x) { return pl_exp_d(x); }
__device__ __forceinline__ float logarithm(float x) { return pl_log_f(x); }
__device__ __forceinline__ double logarithm(double x) { return pl_log_d(x); }
__device__ __forceinline__ float multiplied(float x, float y, float z) { return fmaf(x, y, z); }
__device__ __forceinline__ double multiplied(double x, double y, double z) { return fma(x, y, z); }
__device__ __forceinline__ float larger(float x, float y) { return fmaxf(x, y); }
__device__ __forceinline__ double larger(double x, double y) { return fmax(x, y); }
__device__ __forceinline__ W infinite() { return (W)__builtin_inff(); }

__device__ __forceinline__ int number(const Words& w, int which) { return (int)w.v[which]; }

/// A number that is as stored, or else as computed.
template <bool AS_STORED>
__device__ __forceinline__ W stored(pl_word address, int64_t i) {
  if constexpr (AS_STORED) return widen(at<const T>(address)[i]);
  return at<const W>(address)[i];
}

/// A head of a batch; kv: the head of keys and values that it reads.
struct Head {
  int batch, head, kv;
};
__device__ __forceinline__ Head head_of(const Words& w, int index) {
  const int heads = number(w, heads_at), batch = index / heads, head = index - batch * heads;
  return {batch, head, head / (heads / number(w, groups_at))};
}

/// Rows of a head. aligned: 16-byte copies are possible.
struct Rows {
  T* data;
  int64_t step;
  bool aligned;
};
__device__ __forceinline__ Rows rows_of(const Words& w, int address, int strides, int batch,
                                        int head) {
  Rows r;
  r.step = (int64_t)w.v[strides + 2];
  r.data = at<T>(w.v[address]) + batch * (int64_t)w.v[strides] + head * (int64_t)w.v[strides + 1];
  r.aligned = (((pl_word)r.data | (pl_word)(r.step * (int64_t)sizeof(T))) & 15) == 0;
  return r;
}

/// Numbers from `lo` on, below `hi`.
struct Span {
  int lo, hi;
};

/// What a query sees: an interval of keys. Both its ends never fall from a query to the next.
struct Sight {
  int queries, keys, offset, window;
  const int *low, *high;  // of the batch's documents
  __device__ __forceinline__ Sight(const Words& w, int batch)
      : queries(number(w, queries_at)),
        keys(number(w, keys_at)),
        offset(number(w, offset_at)),
        window(number(w, window_at)),
        low(at<const int>(w.v[low_at]) + batch * (int64_t)w.v[bounds_step_at]),
        high(at<const int>(w.v[high_at]) + batch * (int64_t)w.v[bounds_step_at]) {}

  __device__ __forceinline__ Span keys_of(int i) const {
    return keys_of(i, kDocuments ? Span{low[i], high[i]} : Span{0, keys});
  }
  __device__ __forceinline__ Span keys_of(int i, Span s) const {
    const int middle = i + offset;
    if (kCausal && s.hi > middle + 1) s.hi = middle + 1;
    if (kWindow && s.lo < middle - window + 1) s.lo = middle - window + 1;
    if (kWindow && !kCausal && s.hi > middle + window) s.hi = middle + window;
    return s;
  }
  /// The queries that see a key.
  __device__ __forceinline__ Span queries_of(int j) const {
    Span s = kDocuments ? Span{low[j], high[j]} : Span{0, queries};
    const int middle = j - offset;
    if (kCausal && s.lo < middle) s.lo = middle;
    if (kWindow && !kCausal && s.lo < middle - window + 1) s.lo = middle - window + 1;
    if (kWindow && s.hi > middle + window) s.hi = middle + window;
    return s;
  }
};

/// What makes a score of a dot product, in units of 1 / kUnit.
struct Scorer {
  W scale, slope;
  int offset;
  int64_t mask_row, mask_column;
  pl_word mask;
  __device__ __forceinline__ Scorer(const Words& w, Head h)
      : scale((W)pl_from_bits_d(w.v[scale_at]) * kUnit),
        slope(0),
        offset(number(w, offset_at)),
        mask_row((int64_t)w.v[mask_row_at]),
        mask_column((int64_t)w.v[mask_column_at]),
        mask(0) {
    if (kAlibi) slope = stored<kSlopesStored>(w.v[slopes_at], h.head) * kUnit;
    if (kMask == 0) return;
    int64_t rest = (int64_t)h.batch * number(w, heads_at) + h.head, place = 0;
#pragma unroll
    for (int i = kAxes - 1; i >= 0; --i) {
      const Parted p = part(rest, (int64_t)w.v[mask_axes_at + 2 * i]);
      place += p.rest * (int64_t)w.v[mask_axes_at + 2 * i + 1];
      rest = p.quotient;
    }
    mask = w.v[mask_at] + place * (kMask == 1 ? 1 : kMask == 2 ? (int)sizeof(W) : (int)sizeof(T));
  }
  __device__ __forceinline__ W score(W product, int i, int j) const {
    W x = product * scale;
    if (kAlibi) {
      const int far = i + offset - j;
      x = multiplied(-slope, (W)(far < 0 ? -far : far), x);
    }
    if (kMask == 0) return x;
    const int64_t place = i * mask_row + j * mask_column;
    if (kMask == 1) return at<const uint8_t>(mask)[place] ? x : -infinite();
    return multiplied(stored<kMask == 3>(mask, place), kUnit, x);
  }
};

/// The draws of a head's dropout: pair_bits of base/philox.h.
struct Draws {
  uint64_t seed, step;
  int64_t row;  // of tiles, the head's first
  int across;   // tiles of a row
  uint32_t stream;
  __device__ __forceinline__ Draws(const Words& w, int head) {
    if (!kDropout) return;
    const int64_t* key = at<const int64_t>(w.v[key_at]);
    seed = (uint64_t)key[0];
    step = (uint64_t)key[1];
    stream = (uint32_t)w.v[stream_at];
    row = (int64_t)head * ((number(w, queries_at) + 15) / 16);
    across = (number(w, keys_at) + 15) / 16;
  }
  /// Word 2 * (key / 8 % 2) + query / 8 % 2 has the bits of two keys. place: the query's % 8 * 4
  /// and the key's % 8 / 2.
  __device__ __forceinline__ pl_philox_t tile(int query_tile, int key_tile, int place) const {
    const int64_t index = (row + query_tile) * across + key_tile;
    return pl_random_bits(seed, step, stream, (uint64_t)(index * 32 + place));
  }
  __device__ __forceinline__ bool keeps(int i, int j) const {
    const pl_philox_t x = tile(i / 16, j / 16, i % 8 * 4 + j % 8 / 2);
    const uint32_t low = i / 8 % 2 ? x.b : x.a, high = i / 8 % 2 ? x.d : x.c;
    return keeps_half(j / 8 % 2 ? high : low, j % 2);
  }
  static __device__ __forceinline__ bool keeps_half(uint32_t word, int half) {
    return kThreshold < 65536 && (half ? word : word << 16) >= (uint32_t)kThreshold << 16;
  }
};

#ifdef PL_OP_attention_backward
// For every query kUnit times its log-sum-exp, and the sum of y dy without the gradient of that
// logarithm: kRowLanes threads each. A query that sees no key gets such as leave all gradients
// zero.
extern "C" __global__ void NAME_rows(const Words w) {
  constexpr int kPiece = 16 / sizeof(T);
  const int queries = number(w, queries_at), heads = number(w, heads_at);
  const int64_t rows = (int64_t)number(w, batches_at) * heads * queries;
  const int64_t given = item() / kRowLanes, row = given < rows ? given : rows - 1;
  const int lane = threadIdx.x % kRowLanes;
  const Parted p = part(row, queries);
  const int batch = (int)(p.quotient / heads), head = (int)(p.quotient - (int64_t)batch * heads);
  const Rows y = rows_of(w, y_at, y_strides, batch, head);
  const Rows dy = rows_of(w, dy_at, dy_strides, batch, head);
  const T *y_row = y.data + p.rest * y.step, *dy_row = dy.data + p.rest * dy.step;
  W sum = 0;
  if (kDv % kPiece == 0 && y.aligned && dy.aligned) {
    for (int d = lane * kPiece; d < kDv; d += kRowLanes * kPiece) {
      alignas(16) T a[kPiece], b[kPiece];
      pl_move<kPiece>(a, y_row + d);
      pl_move<kPiece>(b, dy_row + d);
#pragma unroll
      for (int i = 0; i < kPiece; ++i) sum = multiplied(widen(a[i]), widen(b[i]), sum);
    }
  } else {
    for (int d = lane; d < kDv; d += kRowLanes) {
      sum = multiplied(widen(y_row[d]), widen(dy_row[d]), sum);
    }
  }
#pragma unroll
  for (int d = 1; d < kRowLanes; d *= 2) sum += __shfl_xor_sync(0xffffffffu, sum, d);
  if (lane > 0 || given >= rows) return;
  const W lse = stored<kLseStored>(w.v[lse_at], row);
  if (w.v[dlse_at]) sum -= stored<kDlseStored>(w.v[dlse_at], row);
  const bool blind = lse == -infinite();
  at<W>(w.v[powers_at])[row] = blind ? infinite() : lse * kUnit;
  at<W>(w.v[deltas_at])[row] = blind ? (W)0 : sum;
}
#endif
