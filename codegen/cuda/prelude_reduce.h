// Prelude: contractions without tensor cores: the core of multiply-adds, elements by themselves
// where there are few operations, and the second stage of those whose k is split over blocks.
#pragma once

__device__ __forceinline__ float pl_fma(float a, float b, float c) { return fmaf(a, b, c); }
__device__ __forceinline__ double pl_fma(double a, double b, double c) { return fma(a, b, c); }
__device__ __forceinline__ int64_t pl_fma(int64_t a, int64_t b, int64_t c) {
  return (int64_t)((uint64_t)a * (uint64_t)b + (uint64_t)c);
}
__device__ __forceinline__ float pl_plus(float a, float b) { return a + b; }
__device__ __forceinline__ double pl_plus(double a, double b) { return a + b; }
__device__ __forceinline__ int64_t pl_plus(int64_t a, int64_t b) {
  return (int64_t)((uint64_t)a + (uint64_t)b);
}

/// Sums by multiply-adds: 16 x 16 threads, each with BM / 16 x BN / 16 of the tile.
template <class P, class TA, class TB>
struct pl_fma_core {
  typedef typename P::ACC ACC;
  typedef typename P::A::T T;
  static constexpr int TM = P::BM / 16, TN = P::BN / 16, SIZE = sizeof(T);
  static constexpr int STORE_BYTES = 0, LAG = 0;
  static constexpr bool ASYNC = false;
  static constexpr int E = SIZE >= 4 ? 16 / SIZE : 1;  // elements read at once
  struct alignas(E* SIZE) Piece {
    T v[E];
  };
  ACC sum[TM][TN];

  __device__ __forceinline__ void start() {
#pragma unroll
    for (int i = 0; i < TM * TN; ++i) (&sum[0][0])[i] = 0;
  }
  /// The tile's row of a thread's i-th sum.
  template <bool ALONG_K>
  __device__ __forceinline__ static int place(int thread, int i) {
    return ALONG_K ? thread + 16 * i : thread * E + i % E + i / E * (16 * E);
  }
  template <class TILE, bool ALONG_K, int COUNT>
  __device__ __forceinline__ static void read(T (&to)[COUNT][E], const unsigned char* tile,
                                              int thread, int k) {
    if constexpr (ALONG_K) {
#pragma unroll
      for (int i = 0; i < COUNT; ++i) {
        const Piece p = *(const Piece*)(tile + TILE::at(place<true>(thread, i), k));
#pragma unroll
        for (int e = 0; e < E; ++e) to[i][e] = p.v[e];
      }
    } else {
#pragma unroll
      for (int i = 0; i < COUNT; i += E) {
#pragma unroll
        for (int q = 0; q < E; ++q) {
          const Piece p = *(const Piece*)(tile + TILE::at(place<false>(thread, i), k + q));
#pragma unroll
          for (int e = 0; e < E; ++e) to[i + e][q] = p.v[e];
        }
      }
    }
  }

  __device__ __forceinline__ void step(const unsigned char* a, const unsigned char* b) {
#pragma unroll 1
    for (int k = 0; k < P::RB / SIZE; k += E) {
      T x[TM][E], y[TN][E];
      read<TA, P::A::ALONG_K, TM>(x, a, threadIdx.x / 16, k);
      read<TB, P::B::ALONG_K, TN>(y, b, threadIdx.x % 16, k);
#pragma unroll
      for (int q = 0; q < E; ++q) {
#pragma unroll
        for (int i = 0; i < TM; ++i) {
#pragma unroll
          for (int j = 0; j < TN; ++j) {
            sum[i][j] = pl_fma(P::value(x[i][q]), P::value(y[j][q]), sum[i][j]);
          }
        }
      }
    }
  }

  __device__ __forceinline__ void finish(pl_target<P>& to, unsigned char*) {
#pragma unroll
    for (int i = 0; i < TM; ++i) {
#pragma unroll
      for (int j = 0; j < TN; ++j) {
        to.template put<1>(place<P::A::ALONG_K>(threadIdx.x / 16, i),
                           place<P::B::ALONG_K>(threadIdx.x % 16, j), &sum[i][j]);
      }
    }
  }
};

/// An element's number as batch, row and column; columns run fastest.
template <class P>
struct pl_element {
  typedef typename P::I I;
  int64_t batch;
  I m, n;
  __device__ __forceinline__ pl_element(const pl_word* w, int64_t number) {
    const int64_t row = number / P::columns(w);
    n = (I)(number - row * P::columns(w));
    batch = row / P::rows(w);
    m = (I)(row - batch * P::rows(w));
  }
};

/// LANES threads for each element; 256 threads.
template <class P, int LANES>
__device__ __forceinline__ void pl_product_simple(const pl_word* w, int64_t block) {
  typedef typename P::I I;
  typedef typename P::ACC ACC;
  const int64_t all = P::batches(w) * P::rows(w) * P::columns(w);
  const int64_t number = block * (256 / LANES) + threadIdx.x / LANES;
  const bool live = number < all;
  const pl_element<P> e(w, live ? number : 0);
  int h[2], c[2], h0, w0;
  I at[2];
  P::A::row(w, e.m, at[0], h[0], c[0]);
  const typename P::A::T* a = P::A::base(w) + P::A::origin(w, e.batch, h0, w0) + at[0];
  h[0] += h0;
  c[0] += w0;
  P::B::row(w, e.n, at[1], h[1], c[1]);
  const typename P::B::T* b = P::B::base(w) + P::B::origin(w, e.batch, h0, w0) + at[1];
  h[1] += h0;
  c[1] += w0;
  ACC sum = 0;
  typename P::K k;
  k.start(w, (I)(threadIdx.x % LANES));
#pragma unroll 4
  for (I i = threadIdx.x % LANES; i < P::depth(w); i += LANES) {
    bool take = live;
    if constexpr (P::A::GUARDED) {
      take = take && (uint32_t)(h[0] + P::A::h(w, k)) < (uint32_t)P::A::height(w) &&
             (uint32_t)(c[0] + P::A::w(w, k)) < (uint32_t)P::A::width(w);
    }
    if constexpr (P::B::GUARDED) {
      take = take && (uint32_t)(h[1] + P::B::h(w, k)) < (uint32_t)P::B::height(w) &&
             (uint32_t)(c[1] + P::B::w(w, k)) < (uint32_t)P::B::width(w);
    }
    if (take) {
      sum = pl_fma(P::value(a[P::A::offset(w, k)]), P::value(b[P::B::offset(w, k)]), sum);
    }
    k.template move<LANES>(w);
  }
#pragma unroll
  for (int d = LANES / 2; d > 0; d /= 2) {
    sum = pl_plus(sum, __shfl_xor_sync(0xffffffffu, sum, d));
  }
  int bad = 0;
  if (live && threadIdx.x % LANES == 0) P::put(w, e.batch, e.m, e.n, sum, bad);
  pl_report<P>(w, bad);
}

/// Adds the splits of 1024 elements, in their order; 256 threads.
template <class P>
__device__ __forceinline__ void pl_product_finish(const pl_word* w, int64_t block) {
  constexpr int V = P::PUT < P::PARTS ? P::PUT : P::PARTS;  // neighbours
  const int64_t all = P::batches(w) * P::rows(w) * P::columns(w);
  const typename P::ACC* partial = (const typename P::ACC*)w[P::SCRATCH];
  int bad = 0;
#pragma unroll
  for (int i = 0; i < 4 / V; ++i) {
    const int64_t number = block * 1024 + (i * 256 + threadIdx.x) * V;
    if (number >= all) break;
    alignas(16) typename P::ACC sums[V], more[V];
    pl_move<V>(sums, partial + number);
#pragma unroll
    for (int s = 1; s < P::SPLITS; ++s) {
      pl_move<V>(more, partial + s * all + number);
#pragma unroll
      for (int j = 0; j < V; ++j) sums[j] = pl_plus(sums[j], more[j]);
    }
    const pl_element<P> e(w, number);
    if constexpr (V > 1) {
      P::put_many(w, e.batch, e.m, e.n, sums, bad);
    } else {
      P::put(w, e.batch, e.m, e.n, sums[0], bad);
    }
  }
  pl_report<P>(w, bad);
}
