// The passes of attention over a tile of scores, compiled once per instruction set. A tile has keys
// as rows and `width` queries as columns, a multiple of the lanes.
#pragma once

#include <cstdint>

#include "base/dtype.h"

namespace plait::cpu {

/// scores = scores * scale + mask - slope * |distance|, where a column's distance from row r is
/// |first_distance + column - r|.
struct BiasArgs {
  float* scores;  // [rows, width]
  std::int64_t rows, width;
  float scale;
  const float* mask;  // [rows, width], or null
  float slope, first_distance;
};

/// -infinity where the column's query does not see the row's key, of rows first_key ...
struct UnseenArgs {
  float* scores;  // [rows, width]
  std::int64_t rows, width;
  std::int32_t first_key;
  const std::int32_t *lo, *hi;  // [width]
};

/// scores become 2^((scores - maximum) factor), and are added to sums. `maximum` follows the true
/// one of a column only where it is left far behind, so that few blocks rescale what came before.
struct SoftmaxArgs {
  float* scores;  // [rows, width], replaced unless there are pairs
  std::int64_t rows, width;
  float factor;
  bool difference_first;  // is taken before it is multiplied by factor
  float *maximum, *sum;   // [width], of all rows so far
  float* shrink;          // [width]: what came before is to be multiplied by it
  const float* keep;      // [rows, width]: 0 or 1 / (1 - p); null: no dropout
  std::uint16_t* pairs;   // bf16 [rows / 2, width, 2], zeros up to padded_rows; null: none
  std::int64_t padded_rows;
};

/// p = 2^((scores - lse) factor), ds = p (dp keep - delta), p keep. scores become ds.
struct ScoreGradArgs {
  float* scores;    // [rows, width]
  const float* dp;  // [rows, width]
  std::int64_t rows, width;
  float factor;
  bool difference_first;
  const float *lse, *delta;  // [width]
  const float* keep;         // [rows, width], or null
  void *p, *ds;              // [rows, ld] f32, or bf16 where there are pairs
  std::int64_t ld;
  std::uint16_t* pairs;  // of ds, as above; null: none
  std::int64_t padded_rows;
};

/// Of the 16 x 16 pairs of a draw (pair_bits): `kept` or 0 for each of 16 keys and those queries of
/// [first_half, end_half) x 8 that lie in the tile.
struct KeepArgs {
  const std::uint32_t* words;  // [4, 32]
  std::uint32_t threshold;
  float kept;
  int first_half, end_half;
  float* to;  // of the first key and query, were it there; rows of width
  std::int64_t width;
};

struct AttentionLanes {
  void (*bias)(const BiasArgs&);
  void (*unseen)(const UnseenArgs&);
  /// False: shrink is 1 everywhere.
  bool (*softmax)(const SoftmaxArgs&);
  void (*score_grads)(const ScoreGradArgs&);
  /// rows [count, width] *= by [width].
  void (*multiply_rows)(float* rows, std::int64_t count, std::int64_t width, const float* by);
  void (*keep)(const KeepArgs&);
  float (*dot)(const void* x, const void* y, std::int64_t count, DType dtype);
};

const AttentionLanes& attention_lanes_portable();
const AttentionLanes& attention_lanes_avx2();
const AttentionLanes& attention_lanes_avx512();
const AttentionLanes& attention_lanes_avx512bf16();

}  // namespace plait::cpu
