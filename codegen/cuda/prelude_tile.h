// Prelude: how the tile of an operand lies in shared memory, and how it comes there. An operand X
// is printed per contraction (see product.cpp); rows are its m or its n.
#pragma once

/// 16-byte pieces of lines of W bytes change places so that 8 lines' same piece is in 8 banks.
template <int W>
__device__ __forceinline__ int pl_swizzle(int line, int byte) {
  if constexpr (W >= 128) return byte ^ (line & 7) << 4;
  if constexpr (W == 64) return byte ^ (line >> 1 & 3) << 4;
  return byte;
}

/// ROWS x K elements of SIZE bytes. ALONG_K: a line is a row, RB bytes of it; else a line is a k,
/// in panels of at most 128 bytes.
template <int SIZE, int ROWS, int RB, bool ALONG_K>
struct pl_tile {
  static constexpr int K = RB / SIZE, BYTES = ROWS * RB;
  static constexpr int LINE = ALONG_K ? RB : (ROWS * SIZE < 128 ? ROWS * SIZE : 128);
  static constexpr int PANEL = ALONG_K ? BYTES : K * LINE;  // bytes
  static constexpr bool K_LINES = ALONG_K;

  static __device__ __forceinline__ int at(int row, int k) {
    if constexpr (ALONG_K) return row * RB + pl_swizzle<RB>(row, k * SIZE);
    const int byte = row * SIZE;
    // Words are read one by one, four lines and eight rows at once.
    const int line = SIZE == 4 ? k << 1 : k;
    return byte / LINE * PANEL + k * LINE + pl_swizzle<LINE>(line, byte % LINE);
  }
};

/// Whether words that lie along rows are turned on their way: the tensor cores that read shared
/// memory themselves want them along k.
template <class P, class X>
struct pl_turns {
  static constexpr bool value =
      sizeof(typename X::T) == 4 && !X::ALONG_K && P::template CORE<P, int, int>::ASYNC;
};

/// Brings tiles of X, every EACH-th one along k, by THREADS threads. Accesses of X::V elements;
/// those of less than 4 bytes go through registers. More than 8 rows of a thread stand in a table.
template <class P, class X, int ROWS, int RB, int THREADS, int EACH = 1,
          bool TURNED = pl_turns<P, X>::value>
struct pl_loader {
  typedef typename P::I I;
  typedef typename P::K K;
  typedef typename X::T T;
  static constexpr int SIZE = sizeof(T), V = X::V, BYTES = V * SIZE;
  typedef pl_tile<SIZE, ROWS, RB, X::ALONG_K> Tile;
  static constexpr int SIDE = (X::ALONG_K ? Tile::K : ROWS) / V;  // accesses of a line
  static constexpr int PASSES = ROWS * Tile::K / V / THREADS;
  static constexpr int STEP = THREADS / SIDE;  // lines between two passes, along k
  static constexpr bool ASYNC = BYTES >= 4, LATE = false;
  static constexpr bool LINEAR = X::ALONG_K && X::LINEAR;             // rows are equally far apart
  static constexpr bool LINES = !X::ALONG_K && X::LINEAR_K;           // and so are lines
  static constexpr bool TABLE = X::ALONG_K && !LINEAR && PASSES > 8;  // in shared memory
  static constexpr int KEPT = !X::ALONG_K || LINEAR || TABLE ? 1 : PASSES;
  static constexpr int TABLE_BYTES = TABLE ? ROWS * (X::GUARDED ? 16 : 8) : 0;
  /// Bytes of the tile from one pass to the next; 0: not always the same.
  static constexpr int EVEN = (LINEAR || LINES) && STEP % 8 == 0 ? STEP * Tile::LINE : 0;
  static_assert(THREADS % SIDE == 0 && PASSES > 0 && ROWS * Tile::K % (V * THREADS) == 0, "tile");

  const T* base;
  int64_t* table;
  int line, side;
  I left;  // rows from this thread's first on
  K k;
  I at[KEPT];
  int h[KEPT], w[KEPT];
  T held[ASYNC ? 1 : PASSES];

  /// `thread` of those that share the work; they meet at `id`.
  __device__ __forceinline__ void start(const pl_word* p, int thread, int id, int64_t batch,
                                        I first, I rows, I from, unsigned char* spare) {
    int h0, w0;
    base = X::base(p) + X::origin(p, batch, h0, w0);
    line = thread / SIDE;
    side = thread % SIDE * V;
    left = rows - first - line;
    if constexpr (!X::ALONG_K) {
      row_at(p, first + side, rows - V, h0, w0, 0);
      k.start(p, from + line * (LINES ? 1 : PASSES));
      return;
    }
    k.start(p, from + side);
    table = (int64_t*)spare;
    if constexpr (LINEAR) {
      X::row(p, first + line, at[0], h[0], w[0]);
    } else if constexpr (TABLE) {
      for (int i = thread; i < ROWS; i += THREADS) {
        row_at(p, first + i, rows - 1, h0, w0, 0);
        table[i] = at[0];
        if constexpr (X::GUARDED) {
          ((int*)(table + ROWS))[2 * i] = h[0];
          ((int*)(table + ROWS))[2 * i + 1] = w[0];
        }
      }
      pl_meet<THREADS>(id);
    } else {
#pragma unroll
      for (int i = 0; i < PASSES; ++i) row_at(p, first + line + i * STEP, rows - 1, h0, w0, i);
    }
  }

  /// Rows past the end are the last one again: nobody stores what comes of them.
  __device__ __forceinline__ void row_at(const pl_word* p, I row, I last, int h0, int w0, int i) {
    X::row(p, row < last ? row : last, at[i], h[i], w[i]);
    h[i] += h0;
    w[i] += w0;
  }

  __device__ __forceinline__ bool is_inside(const pl_word* p, int row_h, int row_w) const {
    if constexpr (X::GUARDED) {
      return (uint32_t)(row_h + X::h(p, k)) < (uint32_t)X::height(p) &&
             (uint32_t)(row_w + X::w(p, k)) < (uint32_t)X::width(p);
    } else {
      return true;
    }
  }

  /// Of a thread's i-th access in the tile.
  __device__ __forceinline__ int place_of(int i) const {
    if constexpr (X::ALONG_K) return Tile::at(line + i * STEP, side);
    return Tile::at(side, LINES ? line + i * STEP : line * PASSES + i);
  }

  template <bool WHOLE>
  __device__ __forceinline__ void one(const pl_word* p, unsigned char* to, int i, I row, int row_h,
                                      int row_w) {
    bool take = true;
    if constexpr (!LINES) take = k.inside(p) && is_inside(p, row_h, row_w);
    if constexpr (LINES && !WHOLE) take = k.inside(p, i * STEP);
    if constexpr (LINEAR && !WHOLE) take = take && i * STEP < left;
    const T* from = base + (row + X::offset(p, k));
    if constexpr (LINEAR) from += (int64_t)(i * STEP) * X::step(p);
    if constexpr (LINES) from += (int64_t)(i * STEP) * X::step_k(p);
    if constexpr (ASYNC) {
      pl_copy<BYTES>(to + place_of(EVEN ? 0 : i) + i * EVEN, from, take);
    } else {
      held[i] = take ? *from : T(0);
    }
  }

  /// Begins to bring the next tile.
  __device__ __forceinline__ void fetch(const pl_word* p, unsigned char* to) {
    bool whole = LINEAR && left > (PASSES - 1) * STEP;
    if constexpr (LINES) whole = k.inside(p, (PASSES - 1) * STEP);
    if (whole) {  // so for most tiles
      passes<true>(p, to);
    } else {
      passes<false>(p, to);
    }
    k.template move<EACH * Tile::K - (X::ALONG_K || LINES ? 0 : PASSES)>(p);
  }
  template <bool WHOLE>
  __device__ __forceinline__ void passes(const pl_word* p, unsigned char* to) {
#pragma unroll
    for (int i = 0; i < PASSES; ++i) {
      if constexpr (TABLE) {
        const int row = line + i * STEP;
        const int* coordinates = (const int*)(table + ROWS) + 2 * row;
        one<WHOLE>(p, to, i, (I)table[row], X::GUARDED ? coordinates[0] : 0,
                   X::GUARDED ? coordinates[1] : 0);
      } else {
        const int j = KEPT > 1 ? i : 0;
        one<WHOLE>(p, to, i, at[j], h[j], w[j]);
      }
      if constexpr (!X::ALONG_K && !LINES) k.template move<1>(p);
    }
  }

  /// What fetch() left in registers.
  __device__ __forceinline__ void place(unsigned char* to) {
    if constexpr (!ASYNC) {
#pragma unroll
      for (int i = 0; i < PASSES; ++i) {
        *(T*)(to + place_of(i)) = held[i];
      }
    }
  }
};

/// The same for words that are turned: a thread has squares of 4 x 4 of them in registers, brought
/// 4 rows at a time and placed 4 along k. Of a warp's lanes, eight have what lies next to each
/// other in memory, and eight that store at once are in different banks. LATE: placed a step after
/// it was asked for.
template <class P, class X, int ROWS, int RB, int THREADS, int EACH>
struct pl_loader<P, X, ROWS, RB, THREADS, EACH, true> {
  typedef typename P::I I;
  typedef typename P::K K;
  typedef typename X::T T;
  typedef pl_tile<4, ROWS, RB, true> Tile;
  static constexpr int PASSES = ROWS * Tile::K / 16 / THREADS, TABLE_BYTES = 0;
  static constexpr bool LATE = true;
  static_assert(X::V == 4 && RB == 128 && THREADS % 64 == 0, "squares");
  static_assert(PASSES > 0 && ROWS * Tile::K % (16 * THREADS) == 0, "tile");

  const T* base;
  int row, along;  // of the first square; the next is THREADS / 16 rows on
  K k;
  I at[PASSES];
  int h[PASSES], w[PASSES];
  alignas(16) T held[PASSES][4][4];  // [.][k][row]

  __device__ __forceinline__ void start(const pl_word* p, int thread, int, int64_t batch, I first,
                                        I rows, I from, unsigned char*) {
    int h0, w0;
    base = X::base(p) + X::origin(p, batch, h0, w0);
    const int lane = thread % 32, warp = thread / 32;
    row = ((lane & 1) | lane >> 3 << 1 | warp >> 1 << 3) * 4;
    along = ((lane >> 1 & 3) | (warp & 1) << 2) * 4;
    k.start(p, from + along);
#pragma unroll
    for (int i = 0; i < PASSES; ++i) {
      const I mine = first + row + i * (THREADS / 2);
      X::row(p, mine < rows - 4 ? mine : rows - 4, at[i], h[i], w[i]);
      h[i] += h0;
      w[i] += w0;
    }
  }

  __device__ __forceinline__ bool is_inside(const pl_word* p, int i) const {
    if constexpr (X::GUARDED) {
      return (uint32_t)(h[i] + X::h(p, k)) < (uint32_t)X::height(p) &&
             (uint32_t)(w[i] + X::w(p, k)) < (uint32_t)X::width(p);
    } else {
      return true;
    }
  }

  __device__ __forceinline__ void fetch(const pl_word* p, unsigned char*) {
#pragma unroll
    for (int j = 0; j < 4; ++j) {
#pragma unroll
      for (int i = 0; i < PASSES; ++i) {
        if (k.inside(p) && is_inside(p, i)) {
          pl_move<4>(held[i][j], base + (at[i] + X::offset(p, k)));
        } else {
          held[i][j][0] = held[i][j][1] = held[i][j][2] = held[i][j][3] = 0;
        }
      }
      k.template move<1>(p);
    }
    k.template move<EACH * Tile::K - 4>(p);
  }

  __device__ __forceinline__ void place(unsigned char* to) {
#pragma unroll
    for (int i = 0; i < PASSES; ++i) {
#pragma unroll
      for (int r = 0; r < 4; ++r) {
        alignas(16) T line[4];
#pragma unroll
        for (int j = 0; j < 4; ++j) line[j] = held[i][j][r];
        pl_move<4>((T*)(to + Tile::at(row + i * (THREADS / 2) + r, along)), line);
      }
    }
  }
};
