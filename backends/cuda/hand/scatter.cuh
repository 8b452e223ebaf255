// Scatters without float atomics, in an order that the updates alone decide. Along an axis: updates
// are sorted by where they go, those of one place in their own order, and each place is added up by
// one thread. Rows and columns: for every place a list of the updates that go to it, in their order
// (order, and where each place's begin in it), then each element of the result written once. Up to
// kListed updates are listed by blocks that each take a range of places; more are sorted before.
// Given before it: T, W, widen, narrow (parts.cpp), I (an index); NAME is the kernel's own.

// --- sorting: keys differ, so that any sort gives the same order; tiles are sorted in shared
// memory, then merged 32 at a time by rank ---

constexpr int kTile = 2048, kRuns = 32;
constexpr int64_t kPiece = 64;  // neighbouring keys whose updates are added up ahead

/// How many of the keys from[0 .. count), in order, are below a key.
__device__ __forceinline__ int64_t count_below(const pl_word* from, int64_t count, pl_word key) {
  int64_t low = 0;
  while (low < count) {
    const int64_t middle = (low + count) >> 1;
    if (from[middle] < key) {
      low = middle + 1;
    } else {
      count = middle;
    }
  }
  return low;
}

// A tile of keys, in order. A key is the place an update goes to, then the update's number; places
// are (update / (count * inners) * size + index) * inners + update % inners. Updates with a bad
// index come behind all others.
// Words: indices; keys; error bits; updates; count; size; inners; places; bits of a number; tile.
extern "C" __global__ void __launch_bounds__(kTile / 2) NAME_sort(const pl_words<10> w) {
  __shared__ pl_word keys[kTile];
  const int64_t updates = (int64_t)w.v[3], size = (int64_t)w.v[5], inners = (int64_t)w.v[6];
  const int bits = (int)w.v[8], tile = (int)w.v[9];
  const int64_t first = (int64_t)blockIdx.x * tile;
  for (int i = threadIdx.x; i < tile; i += blockDim.x) {
    const int64_t update = first + i;
    pl_word key = ~(pl_word)0;
    if (update < updates) {
      const int64_t index = (int64_t)at<const I>(w.v[0])[update];
      const Parted p = part(update, (int64_t)w.v[4] * inners);
      int64_t place = (p.quotient * size + index) * inners + part(p.rest, inners).rest;
      if (index < 0 || index >= size) {
        place = (int64_t)w.v[7];
        atomicOr(at<int>(w.v[2]), 1);
      }
      key = (pl_word)place << bits | (pl_word)update;
    }
    keys[i] = key;
  }
  __syncthreads();
  for (int run = 2; run <= tile; run *= 2) {
    for (int step = run / 2; step > 0; step /= 2) {
      for (int n = threadIdx.x; n < tile / 2; n += blockDim.x) {
        const int i = ((n & ~(step - 1)) << 1) | (n & (step - 1));
        const pl_word one = keys[i], two = keys[i + step];
        if ((one > two) == ((i & run) == 0)) {
          keys[i] = two;
          keys[i + step] = one;
        }
      }
      __syncthreads();
    }
  }
  for (int i = threadIdx.x; i < tile; i += blockDim.x) {
    if (first + i < updates) at<pl_word>(w.v[1])[first + i] = keys[i];
  }
}

// kRuns runs of keys, each in order, become one. Words: from; to; keys; keys of a run.
extern "C" __global__ void NAME_merge(const pl_words<4> w) {
  const int64_t count = (int64_t)w.v[2], run = (int64_t)w.v[3], i = item();
  if (i >= count) return;
  const pl_word* from = at<const pl_word>(w.v[0]);
  const pl_word key = from[i];
  const int64_t own = part(i, run).quotient, first = own / kRuns * kRuns;
  int64_t rank = i - own * run;
  for (int64_t other = first; other < first + kRuns && other * run < count; ++other) {
    const int64_t rest = count - other * run;
    if (other != own) rank += count_below(from + other * run, rest < run ? rest : run, key);
  }
  at<pl_word>(w.v[1])[first * run + rank] = key;
}

struct __align__(16) Sixteen {
  pl_word a, b;
};

// out = x, or zeros. Words: x; out; bytes. A thread takes 64 bytes.
extern "C" __global__ void NAME_fill(const pl_words<3> w) {
  const int64_t bytes = (int64_t)w.v[2];
  if (((w.v[0] | w.v[1]) & 15) == 0) {
    const Sixteen* x = at<const Sixteen>(w.v[0]);
    const int64_t vectors = bytes / 16, first = (int64_t)blockIdx.x * 4 * blockDim.x + threadIdx.x;
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      const int64_t i = first + j * (int64_t)blockDim.x;
      if (i < vectors) at<Sixteen>(w.v[1])[i] = x ? x[i] : Sixteen{0, 0};
    }
    const int64_t i = vectors * 16 + item();
    if (i < bytes) at<uint8_t>(w.v[1])[i] = x ? at<const uint8_t>(w.v[0])[i] : 0;
  } else {
    for (int64_t i = item(); i < bytes; i += (int64_t)gridDim.x * blockDim.x) {
      at<uint8_t>(w.v[1])[i] = w.v[0] ? at<const uint8_t>(w.v[0])[i] : 0;
    }
  }
}

#ifdef PL_OP_scatter_add_along
// --- adding what is sorted ---

/// The updates behind sorted keys: [outers, updates, inners], one element of an update each.
struct Updates {
  const pl_word* keys;
  const T* from;  // of this outer and inner
  int64_t count, inners;
  int bits;
  __device__ __forceinline__ pl_word place(int64_t i) const { return keys[i] >> bits; }
  __device__ __forceinline__ T at(pl_word key) const {
    return from[(int64_t)(key & (((pl_word)1 << bits) - 1)) * inners];
  }
};

/// Adds the updates from i on that go to a place and lie before `end`; moves i.
__device__ __forceinline__ W added(W sum, const Updates& u, pl_word place, int64_t& i,
                                   int64_t end) {
  constexpr int kAhead = 8;
  while (i < end) {
    pl_word keys[kAhead];
    T values[kAhead];
    int taken = 0;
#pragma unroll
    for (int j = 0; j < kAhead; ++j) keys[j] = i + j < end ? u.keys[i + j] : ~(pl_word)0;
#pragma unroll
    for (int j = 0; j < kAhead; ++j) {
      if ((keys[j] >> u.bits) == place) {
        values[j] = u.at(keys[j]);
        ++taken;
      }
    }
#pragma unroll
    for (int j = 0; j < kAhead; ++j) {
      if (j < taken) sum += widen(values[j]);
    }
    i += taken;
    if (taken < kAhead) break;
  }
  return sum;
}

// Sums of pieces whose updates all go to one place. Words: keys; updates; sums [pieces, outers,
// inners]; keys; bits; outers; inners; places.
extern "C" __global__ void NAME_pieces(const pl_words<8> w) {
  const int64_t count = (int64_t)w.v[3], outers = (int64_t)w.v[5], inners = (int64_t)w.v[6];
  const Parted lane = part(item(), inners), n = part(lane.quotient, outers);
  if ((n.quotient + 1) * kPiece > count) return;
  const Updates u = {at<const pl_word>(w.v[0]),
                     at<const T>(w.v[1]) + n.rest * count * inners + lane.rest, count, inners,
                     (int)w.v[4]};
  int64_t i = n.quotient * kPiece;
  const pl_word place = u.place(i);
  if (place == w.v[7] || place != u.place(i + kPiece - 1)) return;
  at<W>(w.v[2])[item()] = added((W)0, u, place, i, i + kPiece);
}

// The first update of a place adds them all to out [outers, size, inners], pieces as they are.
// Words: keys; updates; sums; out; keys; bits; outers; inners; places; size.
extern "C" __global__ void NAME_add(const pl_words<10> w) {
  const int64_t count = (int64_t)w.v[4], outers = (int64_t)w.v[6], inners = (int64_t)w.v[7];
  const Parted lane = part(item(), inners), n = part(lane.quotient, outers);
  int64_t i = n.quotient;
  if (i >= count) return;
  const Updates u = {at<const pl_word>(w.v[0]),
                     at<const T>(w.v[1]) + n.rest * count * inners + lane.rest, count, inners,
                     (int)w.v[5]};
  const pl_word place = u.place(i);
  if (place == w.v[8] || (i > 0 && u.place(i - 1) == place)) return;
  T* out = at<T>(w.v[3]) + (n.rest * (int64_t)w.v[9] + (int64_t)place) * inners + lane.rest;
  W sum = widen(*out);
  const int64_t whole = (i + kPiece - 1) / kPiece * kPiece;  // where pieces begin to count
  sum = added(sum, u, place, i, whole < count ? whole : count);
  if (i == whole) {
    const W* sums = at<const W>(w.v[2]) + n.rest * inners + lane.rest;
    while (i + kPiece <= count && u.place(i + kPiece - 1) == place) {
      sum += sums[i / kPiece * outers * inners];
      i += kPiece;
    }
    sum = added(sum, u, place, i, count);
  }
  *out = narrow(sum);
}

// One update per line: out [outers, size, inners] has x already. Words: indices, updates
// [outers, 1, inners]; out; error bits; lines; size; inners.
extern "C" __global__ void NAME_single(const pl_words<7> w) {
  const int64_t i = item(), size = (int64_t)w.v[5], inners = (int64_t)w.v[6];
  if (i >= (int64_t)w.v[4]) return;
  const int64_t index = (int64_t)at<const I>(w.v[0])[i];
  if (index < 0 || index >= size) {
    atomicOr(at<int>(w.v[3]), 1);
    return;
  }
  const Parted lane = part(i, inners);
  T* out = at<T>(w.v[2]) + (lane.quotient * size + index) * inners + lane.rest;
  *out = narrow(widen(*out) + widen(at<const T>(w.v[1])[i]));
}

#else
// --- lists ---

constexpr int kListed = 8192, kListedBits = 13;

/// Keys in order, a power of two of them.
__device__ __forceinline__ void sort_block(unsigned* keys, int width) {
  for (int run = 2; run <= width; run *= 2) {
    for (int step = run / 2; step > 0; step /= 2) {
      for (int n = threadIdx.x; n < width / 2; n += blockDim.x) {
        const int i = ((n & ~(step - 1)) << 1) | (n & (step - 1));
        const unsigned one = keys[i], two = keys[i + step];
        if ((one > two) == ((i & run) == 0)) {
          keys[i] = two;
          keys[i + step] = one;
        }
      }
      __syncthreads();
    }
  }
}
__device__ __forceinline__ int count_keys_below(const unsigned* keys, int count, unsigned key) {
  int low = 0;
  while (low < count) {
    const int middle = (low + count) >> 1;
    if (keys[middle] < key) {
      low = middle + 1;
    } else {
      count = middle;
    }
  }
  return low;
}

// A block lists the updates of a range of places of a group. Where in the list they are sorted does
// not depend on the order they come in. Words: indices [groups,count]; order [groups,count] and
// begins [groups,stride], int32; error bits; count; size; stride; ranges; places of a range.
extern "C" __global__ void __launch_bounds__(512) NAME_lists(const pl_words<9> w) {
  __shared__ unsigned keys[kListed];
  __shared__ int below, taken;
  const int count = (int)w.v[4], stride = (int)w.v[6];
  const int64_t size = (int64_t)w.v[5];
  const Parted p = part((int64_t)blockIdx.x, (int64_t)w.v[7]);
  const int64_t low = p.rest * (int64_t)w.v[8], range = size - low;
  const int64_t high = range < (int64_t)w.v[8] ? size : low + (int64_t)w.v[8];
  const I* indices = at<const I>(w.v[0]) + p.quotient * count;
  if (threadIdx.x == 0) below = taken = 0;
  __syncthreads();
  int less = 0;
#pragma unroll 8
  for (int i = threadIdx.x; i < count; i += blockDim.x) {
    const int64_t index = (int64_t)indices[i];
    if (index < 0 || index >= size) {
      if (low == 0) atomicOr(at<int>(w.v[3]), 1);
    } else if (index < low) {
      ++less;
    } else if (index < high) {
      keys[atomicAdd(&taken, 1)] = (unsigned)(index - low) << kListedBits | (unsigned)i;
    }
  }
  for (int d = 16; d > 0; d /= 2) less += __shfl_xor_sync(0xffffffffu, less, d);
  if ((threadIdx.x & 31) == 0 && less > 0) atomicAdd(&below, less);
  __syncthreads();
  const int listed = taken, first = (int)p.quotient * count + below;
  int width = 1;
  while (width < listed) width *= 2;
  for (int i = listed + threadIdx.x; i < width; i += blockDim.x) keys[i] = ~0u;
  __syncthreads();
  sort_block(keys, width);
  for (int i = threadIdx.x; i < listed; i += blockDim.x) {
    at<int32_t>(w.v[1])[first + i] = (int32_t)(keys[i] & (kListed - 1));
  }
  int32_t* begins = at<int32_t>(w.v[2]) + p.quotient * stride;
  const int64_t end = high == size ? (int64_t)stride : high;
  for (int64_t i = low + threadIdx.x; i < end; i += blockDim.x) {
    const unsigned key = (unsigned)(i - low) << kListedBits;
    begins[i] = first + (i < high ? count_keys_below(keys, listed, key) : listed);
  }
}

// The same lists from sorted keys. Words: keys; order; begins; updates; bits; groups; count; size;
// stride.
extern "C" __global__ void NAME_begins(const pl_words<9> w) {
  const int64_t i = item(), updates = (int64_t)w.v[3], size = (int64_t)w.v[7];
  const pl_word* keys = at<const pl_word>(w.v[0]);
  const int bits = (int)w.v[4];
  if (i < updates) {
    const int64_t update = (int64_t)(keys[i] & (((pl_word)1 << bits) - 1));
    at<int32_t>(w.v[1])[i] = (int32_t)part(update, (int64_t)w.v[6]).rest;
  }
  const Parted p = part(i, (int64_t)w.v[8]);
  if (p.quotient >= (int64_t)w.v[5]) return;
  const pl_word place = (pl_word)(p.quotient * size + (p.rest < size ? p.rest : size));
  at<int32_t>(w.v[2])[i] = (int32_t)count_below(keys, updates, place << bits);
}

/// V neighbouring elements, read and written at once.
template <class X, int V>
struct __align__(V * sizeof(X) < 16 ? V * sizeof(X) : 16) Some {
  X v[V];
};
constexpr int kVector = 16 / sizeof(T);

#ifdef PL_OP_scatter_add
// --- rows by their lists ---

constexpr int kRun = 32;  // neighbouring updates in order that are added up ahead

/// Adds updates order[i .. end) to sums. from: of this part of a row; vectors: parts of a row.
template <int kAhead, int V>
__device__ __forceinline__ void add_listed(W (&sums)[V], const Some<T, V>* from, int64_t vectors,
                                           const int32_t* order, int i, int end) {
  for (; i < end; i += kAhead) {
    Some<T, V> values[kAhead];
#pragma unroll
    for (int j = 0; j < kAhead; ++j) {
      if (i + j < end) values[j] = from[order[i + j] * vectors];
    }
#pragma unroll
    for (int j = 0; j < kAhead; ++j) {
      if (i + j < end) {
#pragma unroll
        for (int e = 0; e < V; ++e) sums[e] += widen(values[j].v[e]);
      }
    }
  }
}

/// Sums of runs of kRun updates that all go to one place: [runs, outers, inners].
template <int V>
__device__ __forceinline__ void sum_runs(const pl_words<10>& w) {
  const int64_t vectors = (int64_t)w.v[8], outers = (int64_t)w.v[9];
  const Parted lane = part(item(), vectors), n = part(lane.quotient, outers);
  const int64_t first = n.quotient * kRun;
  if (first + kRun > (int64_t)at<const int32_t>(w.v[1])[(int64_t)w.v[7]]) return;
  const int32_t* order = at<const int32_t>(w.v[0]);
  const I* indices = at<const I>(w.v[4]);
  if (indices[order[first]] != indices[order[first + kRun - 1]]) return;
  const Some<T, V>* from = at<const Some<T, V>>(w.v[2]) + n.rest * (int64_t)w.v[6] * vectors;
  W sums[V];
#pragma unroll
  for (int e = 0; e < V; ++e) sums[e] = (W)0;
  add_listed<8>(sums, from + lane.rest, vectors, order, (int)first, (int)first + kRun);
#pragma unroll
  for (int e = 0; e < V; ++e) at<W>(w.v[3])[item() * V + e] = sums[e];
}

/// out [outers,size,inners] = x, or zeros, and the updates [outers,count,inners] of each row.
template <int V>
__device__ __forceinline__ void add_rows(const pl_words<10>& w) {
  const int64_t size = (int64_t)w.v[7], vectors = (int64_t)w.v[8], outers = (int64_t)w.v[9];
  const Parted lane = part(item(), vectors), n = part(lane.quotient, size);
  if (n.quotient >= outers) return;
  const int32_t *order = at<const int32_t>(w.v[0]), *begins = at<const int32_t>(w.v[1]) + n.rest;
  int i = begins[0];
  const int end = begins[1];
  Some<T, V> row = {};
  if (w.v[4]) row = at<const Some<T, V>>(w.v[4])[item()];
  if (i < end) {
    const Some<T, V>* from =
        at<const Some<T, V>>(w.v[2]) + n.quotient * (int64_t)w.v[6] * vectors + lane.rest;
    W sums[V];
#pragma unroll
    for (int e = 0; e < V; ++e) sums[e] = widen(row.v[e]);
    const int whole = (i + kRun - 1) / kRun * kRun;  // where runs begin to count
    add_listed<4>(sums, from, vectors, order, i, whole < end ? whole : end);
    for (i = whole; i + kRun <= end; i += kRun) {
      const W* run = at<const W>(w.v[3]) +
                     (((int64_t)(i / kRun) * outers + n.quotient) * vectors + lane.rest) * V;
#pragma unroll
      for (int e = 0; e < V; ++e) sums[e] += run[e];
    }
    add_listed<4>(sums, from, vectors, order, i, end);
#pragma unroll
    for (int e = 0; e < V; ++e) row.v[e] = narrow(sums[e]);
  }
  at<Some<T, V>>(w.v[5])[item()] = row;
}

// Words: order; begins; updates; sums; x (runs: indices); out; count; size; parts of a row; outers.
// A part is an element or, where rows allow it, 16 bytes.
extern "C" __global__ void NAME_runs(const pl_words<10> w) { sum_runs<1>(w); }
extern "C" __global__ void NAME_runs_wide(const pl_words<10> w) { sum_runs<kVector>(w); }
extern "C" __global__ void __launch_bounds__(256) NAME_rows(const pl_words<10> w) {
  add_rows<1>(w);
}
extern "C" __global__ void __launch_bounds__(256, sizeof(T) < 4 ? 3 : 5)
    NAME_rows_wide(const pl_words<10> w) {
  add_rows<kVector>(w);
}

#else
// --- columns by their lists ---

constexpr int kRows = 4;
typedef Some<T, kRows> Column;  // a column's elements of a block's rows

__device__ __forceinline__ Column column_of(const T* from, int64_t columns, int64_t j, int rows) {
  Column c;
#pragma unroll
  for (int r = 0; r < kRows; ++r) c.v[r] = r < rows ? from[r * columns + j] : (T)0;
  return c;
}

/// The sums of the columns order[i .. end), in each row.
__device__ __forceinline__ Column sum_of(const Column* staged, const T* from, int64_t columns,
                                         int rows, const int32_t* order, int i, int end) {
  W sums[kRows];
#pragma unroll
  for (int r = 0; r < kRows; ++r) sums[r] = (W)0;
#pragma unroll 2
  for (; i < end; ++i) {
    const int j = order[i];
    const Column c = staged ? staged[j] : column_of(from, columns, j, rows);
#pragma unroll
    for (int r = 0; r < kRows; ++r) sums[r] += widen(c.v[r]);
  }
  Column out;
#pragma unroll
  for (int r = 0; r < kRows; ++r) out.v[r] = narrow(sums[r]);
  return out;
}

// out [B,T,depth] from c [B,T,J]: a block takes kRows rows, which it stages where they fit. Words:
// order; begins; c; out; T; J; depth; stride; blocks of a batch; whether to stage.
extern "C" __global__ void __launch_bounds__(256) NAME_columns(const pl_words<10> w) {
  const int64_t height = (int64_t)w.v[4], columns = (int64_t)w.v[5], depth = (int64_t)w.v[6];
  const Parted p = part((int64_t)blockIdx.x, (int64_t)w.v[8]);
  const int64_t row = p.rest * kRows;
  const int rows = height - row < kRows ? (int)(height - row) : kRows;
  const T* from = at<const T>(w.v[2]) + (p.quotient * height + row) * columns;
  Column* staged = w.v[9] ? (Column*)pl_dynamic : nullptr;
  if (staged) {
#pragma unroll 4
    for (int64_t j = threadIdx.x; j < columns; j += blockDim.x) {
      staged[j] = column_of(from, columns, j, rows);
    }
  }
  __syncthreads();
  const int32_t* order = at<const int32_t>(w.v[0]);
  const int32_t* begins = at<const int32_t>(w.v[1]) + p.quotient * (int64_t)w.v[7];
  T* out = at<T>(w.v[3]) + (p.quotient * height + row) * depth;
  const bool wide = depth % kVector == 0;
  for (int64_t n = threadIdx.x; n * kVector < depth; n += blockDim.x) {
    const Some<int32_t, kVector> first = ((const Some<int32_t, kVector>*)begins)[n];
    const int end = begins[(n + 1) * kVector];
    Some<T, kVector> sums[kRows] = {};
#pragma unroll
    for (int e = 0; e < kVector; ++e) {
      const int last = e + 1 < kVector ? first.v[(e + 1) % kVector] : end;
      if (first.v[e] < last) {
        const Column c = sum_of(staged, from, columns, rows, order, first.v[e], last);
#pragma unroll
        for (int r = 0; r < kRows; ++r) sums[r].v[e] = c.v[r];
      }
    }
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
      if (r < rows && wide) ((Some<T, kVector>*)(out + r * depth))[n] = sums[r];
#pragma unroll
      for (int e = 0; e < kVector; ++e) {
        const int64_t at_column = n * kVector + e;
        if (r < rows && !wide && at_column < depth) out[r * depth + at_column] = sums[r].v[e];
      }
    }
  }
}
#endif
#endif
