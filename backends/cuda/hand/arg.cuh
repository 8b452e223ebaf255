// The first extremal element of each line, NaN before all numbers: argmax where kLargest, else
// argmin. Given before it: T, W, widen (parts.cpp), kLargest; NAME is the kernel's own.
struct Best {
  W value;
  int64_t where;  // in its line; -1: nothing yet
};
__device__ __forceinline__ bool beats(W rival, W best) {
  const bool beyond = kLargest ? rival > best : rival < best;
  return beyond || ((rival != rival) && (best == best));
}
__device__ __forceinline__ Best better(const Best& a, const Best& b) {
  if (a.where < 0 || b.where < 0) return a.where < 0 ? b : a;
  if (beats(a.value, b.value)) return a;
  if (beats(b.value, a.value)) return b;
  return a.where < b.where ? a : b;
}

/// Elements begin, begin + step... before end of the line at x.
__device__ __forceinline__ Best best_of(const T* x, int64_t inners, int64_t begin, int64_t end,
                                        int64_t step) {
  if (begin >= end) return {(W)0, -1};
  Best best = {widen(x[begin * inners]), begin};
#pragma unroll 8
  for (int64_t i = begin + step; i < end; i += step) {
    const W rival = widen(x[i * inners]);
    if (beats(rival, best.value)) best = {rival, i};
  }
  return best;
}

// A thread per chunk of a line. Words: x; out [outers, chunks, inners]; outers; size; inners;
// chunks; length.
extern "C" __global__ void NAME_threads(const pl_words<7> w) {
  const int64_t size = (int64_t)w.v[3], inners = (int64_t)w.v[4], length = (int64_t)w.v[6];
  const Parted inner = part(item(), inners), n = part(inner.quotient, (int64_t)w.v[5]);
  if (n.quotient >= (int64_t)w.v[2]) return;
  const int64_t begin = n.rest * length, end = begin + length < size ? begin + length : size;
  const T* x = at<const T>(w.v[0]) + n.quotient * size * inners + inner.rest;
  at<int64_t>(w.v[1])[item()] = best_of(x, inners, begin, end, 1).where;
}

// A block per chunk of a line; inners is 1. Words as above.
extern "C" __global__ void __launch_bounds__(256) NAME_blocks(const pl_words<7> w) {
  __shared__ W values[8];
  __shared__ int64_t wheres[8];
  const int64_t size = (int64_t)w.v[3], length = (int64_t)w.v[6];
  const Parted n = part((int64_t)blockIdx.x, (int64_t)w.v[5]);
  const int64_t begin = n.rest * length, end = begin + length < size ? begin + length : size;
  const T* x = at<const T>(w.v[0]) + n.quotient * size;
  Best best = best_of(x, 1, begin + threadIdx.x, end, blockDim.x);
  for (int d = 16; d > 0; d /= 2) {
    best = better(best, {__shfl_xor_sync(0xffffffffu, best.value, d),
                         __shfl_xor_sync(0xffffffffu, best.where, d)});
  }
  if (threadIdx.x % 32 == 0) {
    values[threadIdx.x / 32] = best.value;
    wheres[threadIdx.x / 32] = best.where;
  }
  __syncthreads();
  if (threadIdx.x != 0) return;
  for (int i = 1; i < blockDim.x / 32; ++i) best = better(best, {values[i], wheres[i]});
  at<int64_t>(w.v[1])[blockIdx.x] = best.where;
}

// The best of a line's chunks. Words: x; theirs [outers, chunks, inners]; out; outers; size;
// inners; chunks.
extern "C" __global__ void NAME_join(const pl_words<7> w) {
  const int64_t size = (int64_t)w.v[4], inners = (int64_t)w.v[5], chunks = (int64_t)w.v[6];
  const Parted n = part(item(), inners);
  if (n.quotient >= (int64_t)w.v[3]) return;
  const T* x = at<const T>(w.v[0]) + n.quotient * size * inners + n.rest;
  const int64_t* theirs = at<const int64_t>(w.v[1]) + n.quotient * chunks * inners + n.rest;
  Best best = {(W)0, -1};
#pragma unroll 4
  for (int64_t i = 0; i < chunks; ++i) {
    const int64_t where = theirs[i * inners];
    best = better(best, {widen(x[where * inners]), where});
  }
  at<int64_t>(w.v[2])[item()] = best.where;
}
