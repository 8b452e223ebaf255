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
  typedef P Problem;
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

/// Whether P says LONG: its sums are of very many terms.
template <class P, class = const bool>
struct pl_is_long {
  static constexpr bool value = false;
};
template <class P>
struct pl_is_long<P, decltype(P::LONG)> {
  static constexpr bool value = P::LONG;
};

/// A core whose sums are of very many terms: those of every 16 tiles of k are added to totals in
/// f64.
template <class Core>
struct pl_long_core : Core {
  static constexpr int COUNT = sizeof(Core::sum) / sizeof(float), TILES = 16;
  double total[COUNT];
  int tiles;

  __device__ __forceinline__ void start() {
    Core::start();
#pragma unroll
    for (int i = 0; i < COUNT; ++i) total[i] = 0;
    tiles = 0;
  }
  __device__ __forceinline__ void step(const unsigned char* a, const unsigned char* b) {
    Core::step(a, b);
    if (++tiles == TILES) add_up();
  }
  __device__ __forceinline__ void add_up() {
    float* const sums = (float*)&this->sum;
#pragma unroll
    for (int i = 0; i < COUNT; ++i) {
      total[i] += sums[i];
      sums[i] = 0;
    }
    tiles = 0;
  }
  __device__ __forceinline__ void finish(pl_target<typename Core::Problem>& to,
                                         unsigned char* spare) {
    add_up();
    float* const sums = (float*)&this->sum;
#pragma unroll
    for (int i = 0; i < COUNT; ++i) sums[i] = (float)total[i];
    Core::finish(to, spare);
  }
};

/// An element's number as batch, row and column; columns run fastest.
template <class P>
struct pl_element {
  typedef typename P::I I;
  int64_t batch;
  I m, n;
  template <class N>
  __device__ __forceinline__ pl_element(const pl_word* w, N number) {
    const N columns = (N)P::columns(w), rows = (N)P::rows(w), row = number / columns;
    n = (I)(number - row * columns);
    batch = row / rows;
    m = (I)(row - (N)batch * rows);
  }
};

/// E elements of an operand that follow each other along k.
template <class O, int E, class K>
__device__ __forceinline__ void pl_along_k(typename O::T* to, const typename O::T* from,
                                           const pl_word* w, K k) {
  if constexpr (O::ALONG_K && O::V >= E) {
    pl_move<E>(to, from + O::offset(w, k));
  } else {
#pragma unroll
    for (int e = 0; e < E; ++e) {
      to[e] = from[O::offset(w, k)];
      k.template move<1>(w);
    }
  }
}

/// The sum of an element that LANES threads would make, in their order, by the R threads of it that
/// there are; all of them have it then. `lane`: of the R.
template <class P, int LANES, int R>
__device__ __forceinline__ typename P::ACC pl_product_sum(const pl_word* w, const pl_element<P>& e,
                                                          int lane) {
  typedef typename P::I I;
  typedef typename P::A A;
  typedef typename P::B B;
  constexpr int COUNT = LANES / R;
  int h[2], c[2], h0, w0;
  I at[2];
  A::row(w, e.m, at[0], h[0], c[0]);
  const typename A::T* a = A::base(w) + A::origin(w, e.batch, h0, w0) + at[0];
  h[0] += h0;
  c[0] += w0;
  B::row(w, e.n, at[1], h[1], c[1]);
  const typename B::T* b = B::base(w) + B::origin(w, e.batch, h0, w0) + at[1];
  h[1] += h0;
  c[1] += w0;
  constexpr bool LONG = pl_is_long<P>::value;
  typename P::ACC sums[COUNT];
  double totals[LONG ? COUNT : 1];  // of every 512 terms of a sum
#pragma unroll
  for (int q = 0; q < COUNT; ++q) sums[q] = 0;
  if constexpr (LONG) {
#pragma unroll
    for (int q = 0; q < COUNT; ++q) totals[q] = 0;
  }
  typename P::K k;
  k.start(w, (I)lane);
  constexpr int E = A::ALONG_K ? A::V : B::ALONG_K ? B::V : 1;  // elements at once
  if (!LONG && R == 1 && E > 1 && E % LANES == 0 && !A::GUARDED && !B::GUARDED &&
      P::depth(w) % E == 0) {
#pragma unroll 2
    for (I i = 0; i < P::depth(w); i += E) {
      alignas(16) typename A::T x[E];
      alignas(16) typename B::T y[E];
      pl_along_k<A, E>(x, a, w, k);
      pl_along_k<B, E>(y, b, w, k);
#pragma unroll
      for (int q = 0; q < E; ++q) {
        sums[q % COUNT] = pl_fma(P::value(x[q]), P::value(y[q]), sums[q % COUNT]);
      }
      k.template move<E>(w);
    }
  } else {
    const bool even = P::depth(w) % LANES == 0;
#pragma unroll 4
    for (I i = 0; i < P::depth(w); i += LANES) {
#pragma unroll
      for (int q = 0; q < COUNT; ++q) {
        bool take = even || i + q * R + lane < P::depth(w);
        if constexpr (A::GUARDED) {
          take = take && (uint32_t)(h[0] + A::h(w, k)) < (uint32_t)A::height(w) &&
                 (uint32_t)(c[0] + A::w(w, k)) < (uint32_t)A::width(w);
        }
        if constexpr (B::GUARDED) {
          take = take && (uint32_t)(h[1] + B::h(w, k)) < (uint32_t)B::height(w) &&
                 (uint32_t)(c[1] + B::w(w, k)) < (uint32_t)B::width(w);
        }
        if (take) {
          sums[q] = pl_fma(P::value(a[A::offset(w, k)]), P::value(b[B::offset(w, k)]), sums[q]);
        }
        k.template move<R>(w);
      }
      if constexpr (LONG) {
        if (i / LANES % 512 == 511) {
#pragma unroll
          for (int q = 0; q < COUNT; ++q) {
            totals[q] += sums[q];
            sums[q] = 0;
          }
        }
      }
    }
  }
  if constexpr (LONG) {
#pragma unroll
    for (int q = 0; q < COUNT; ++q) sums[q] = (float)(totals[q] + sums[q]);
  }
#pragma unroll
  for (int d = COUNT / 2; d > 0; d /= 2) {
#pragma unroll
    for (int q = 0; q < d; ++q) sums[q] = pl_plus(sums[q], sums[q + d]);
  }
#pragma unroll
  for (int d = R / 2; d > 0; d /= 2) {
    sums[0] = pl_plus(sums[0], __shfl_xor_sync(0xffffffffu, sums[0], d));
  }
  return sums[0];
}

/// LANES threads for each element; 256 threads.
template <class P, int LANES>
__device__ __forceinline__ void pl_product_simple(const pl_word* w, int64_t block) {
  const int64_t all = P::batches(w) * P::rows(w) * P::columns(w);
  const int64_t number = block * (256 / LANES) + threadIdx.x / LANES;
  const bool live = number < all;
  const pl_element<P> e(w, live ? number : 0);
  const typename P::ACC sum = pl_product_sum<P, LANES, LANES>(w, e, threadIdx.x % LANES);
  int bad = 0;
  if (live && threadIdx.x % LANES == 0) P::put(w, e.batch, e.m, e.n, sum, bad);
  pl_report<P>(w, bad);
}

/// The same elements, all of them, by `threads` threads: as many for each as there are, R or more.
template <class P, int LANES, int R = 1>
__device__ __forceinline__ void pl_product_whole(const pl_word* w, int thread, int threads) {
  const uint32_t all = (uint32_t)(P::batches(w) * P::rows(w) * P::columns(w));
  if constexpr (R < LANES) {
    if (all * (2 * R) <= (uint32_t)threads) {
      return pl_product_whole<P, LANES, 2 * R>(w, thread, threads);
    }
  }
  int bad = 0;
  for (uint32_t first = 0; first < all; first += threads / R) {
    if (first + (uint32_t)(thread / 32 * 32) / R >= all) break;  // the warp
    const uint32_t number = first + (uint32_t)thread / R;
    const bool live = number < all;
    const pl_element<P> e(w, live ? number : 0u);
    const typename P::ACC sum = pl_product_sum<P, LANES, R>(w, e, thread % R);
    if (live && thread % R == 0) P::put(w, e.batch, e.m, e.n, sum, bad);
  }
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
