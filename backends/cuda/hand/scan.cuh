// cumsum, cumprod and linear_scan: each thread walks a chunk of a line. Given before it: T, W,
// widen, narrow (parts.cpp), kExclusive; NAME is the kernel's own.

// What elements come to, one behind the other: joined(left, right).
#if defined(PL_OP_cumsum)
struct State {
  W value;
};
__device__ __forceinline__ State nothing() { return {(W)0}; }
__device__ __forceinline__ State joined(const State& left, const State& right) {
  return {left.value + right.value};
}
#elif defined(PL_OP_cumprod)
struct State {
  W value;
};
__device__ __forceinline__ State nothing() { return {(W)1}; }
__device__ __forceinline__ State joined(const State& left, const State& right) {
  return {left.value * right.value};
}
#else
struct State {
  W value, factor;  // y = factor * (y before) + value
};
__device__ __forceinline__ State nothing() { return {(W)0, (W)1}; }
__device__ __forceinline__ State joined(const State& left, const State& right) {
  return {right.factor * left.value + right.value, left.factor * right.factor};
}
#endif

#ifdef PL_OP_linear_scan
__device__ __forceinline__ State element(pl_word a, pl_word b, int64_t i) {
  return {widen(at<const T>(b)[i]), widen(at<const T>(a)[i])};
}
#else
__device__ __forceinline__ State element(pl_word x, pl_word, int64_t i) {
  return {widen(at<const T>(x)[i])};
}
#endif

/// A thread's chunk: neighbouring threads are neighbouring inners, then chunks, then outers.
struct Chunk {
  int64_t first, step;  // elements of x
  int64_t count;        // 0: nothing to do
};
// Words 0 to 3 are the kernel's own, then outers; size; inners; chunks; length; reverse.
__device__ __forceinline__ Chunk chunk_of(const pl_words<10>& w) {
  const int64_t outers = (int64_t)w.v[4], size = (int64_t)w.v[5], inners = (int64_t)w.v[6];
  const int64_t chunks = (int64_t)w.v[7], length = (int64_t)w.v[8];
  const Parted inner = part(item(), inners), n = part(inner.quotient, chunks);
  if (n.quotient >= outers) return {0, 0, 0};
  const int64_t begin = n.rest * length, rest = size - begin;
  const int64_t place = w.v[9] ? size - 1 - begin : begin;
  return {(n.quotient * size + place) * inners + inner.rest, w.v[9] ? -inners : inners,
          rest < length ? rest : length};
}

// What each chunk comes to. Words: operands; states [outers, chunks, inners]; none; as above.
extern "C" __global__ void NAME_chunks(const pl_words<10> w) {
  const Chunk c = chunk_of(w);
  if (c.count <= 0) return;
  State s = nothing();
#pragma unroll 8
  for (int64_t i = 0; i < c.count; ++i) {
    s = joined(s, element(w.v[0], w.v[1], c.first + i * c.step));
  }
  at<State>(w.v[2])[item()] = s;
}

// What comes before each chunk of a line, which is a block's. Words: states; lines; inners; chunks.
extern "C" __global__ void __launch_bounds__(256) NAME_carry(const pl_words<4> w) {
  __shared__ State shared[256];
  const int64_t inners = (int64_t)w.v[2], chunks = (int64_t)w.v[3];
  const Parted line = part((int64_t)blockIdx.x, inners);
  State* states = at<State>(w.v[0]) + line.quotient * chunks * inners + line.rest;
  const int64_t each = (chunks + 255) / 256, begin = threadIdx.x * each;
  const int64_t end = begin + each < chunks ? begin + each : chunks;
  State s = nothing();
  for (int64_t i = begin; i < end; ++i) s = joined(s, states[i * inners]);
  shared[threadIdx.x] = s;
  __syncthreads();
  for (int d = 1; d < 256; d *= 2) {
    const State left = threadIdx.x >= d ? shared[threadIdx.x - d] : nothing();
    __syncthreads();
    if (threadIdx.x >= d) shared[threadIdx.x] = s = joined(left, s);
    __syncthreads();
  }
  s = threadIdx.x > 0 ? shared[threadIdx.x - 1] : nothing();
  for (int64_t i = begin; i < end; ++i) {
    const State own = states[i * inners];
    states[i * inners] = s;
    s = joined(s, own);
  }
}

// Words: operands; states or 0; out; as above.
extern "C" __global__ void NAME(const pl_words<10> w) {
  const Chunk c = chunk_of(w);
  if (c.count <= 0) return;
  State s = w.v[2] ? at<const State>(w.v[2])[item()] : nothing();
  T* out = at<T>(w.v[3]);
#pragma unroll 8
  for (int64_t i = 0; i < c.count; ++i) {
    const State next = joined(s, element(w.v[0], w.v[1], c.first + i * c.step));
    out[c.first + i * c.step] = narrow(kExclusive ? s.value : next.value);
    s = next;
  }
}
