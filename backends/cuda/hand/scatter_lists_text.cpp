// Scatters by lists in CUDA C++: for every place the updates that go to it, in their order (order,
// and where each place's begin in it), then each element of the result written once. Up to kListed
// updates are listed by blocks that each take a range of places; more are sorted before.
#include "backends/cuda/hand/scatter_text.h"

namespace plait::cuda {

const char* const kScatterLists = R"(
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

)";

const char* const kScatterRows = R"(
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
extern "C" __global__ void __launch_bounds__(256) NAME_rows(const pl_words<10> w) { add_rows<1>(w); }
extern "C" __global__ void __launch_bounds__(256, sizeof(T) < 4 ? 3 : 5)
    NAME_rows_wide(const pl_words<10> w) {
  add_rows<kVector>(w);
}
)";

const char* const kScatterColumns = R"(
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
)";

}  // namespace plait::cuda
