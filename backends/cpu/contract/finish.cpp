// What becomes of a finished tile: handed to the sink as it is, or rounded once and stored.
#include <algorithm>

#include "backends/cpu/contract/blocking.h"

namespace plait::cpu {
namespace {

constexpr std::int64_t kRows = 64, kRuns = 256;  // of one step: on the stack

/// tile [rows, cols] into c, whose rows and columns are walked as given.
void store(const Blocking& b, const Walk& c_rows, const Walk& c_cols, std::int64_t row0,
           std::int64_t rows, std::int64_t col0, std::int64_t cols, std::int64_t offset,
           const float* tile, std::int64_t ld, void* c) {
  const std::int64_t bytes = static_cast<std::int64_t>(size_of(b.dtype));
  const StoreRow store_row = b.dtype == DType::f32    ? b.kernels->store_f32
                             : b.dtype == DType::bf16 ? b.kernels->store_bf16
                                                      : b.kernels->store_f16;
  Point at[kRows];
  Segment runs[kRuns];
  for (std::int64_t j = 0; j < cols; j += kRuns) {
    const std::int64_t count = segments(c_cols, col0 + j, std::min(kRuns, cols - j), 0, 0, runs);
    for (std::int64_t i = 0; i < rows; i += kRows) {
      const std::int64_t height = std::min(kRows, rows - i);
      points(c_rows, row0 + i, height, {offset, 0, 0}, at);
      for (std::int64_t r = 0; r < height; ++r) {
        for (std::int64_t s = 0; s < count; ++s) {
          store_row(tile + (i + r) * ld + j + runs[s].dest, runs[s].count,
                    static_cast<std::byte*>(c) + (at[r].offset + runs[s].offset) * bytes,
                    c_cols.inner().step);
        }
      }
    }
  }
}

}  // namespace

void finish_tile(const Blocking& b, const TilePlace& t, const float* tile, float* transposed,
                 void* c, TileSink sink, const void* context, bool turned_sink) {
  const bool turn = sink != nullptr ? b.variant.swapped != turned_sink : b.store_turned;
  if (turn)
    b.kernels->transpose32(tile, b.tile_ld, t.rows, t.cols, transposed, b.turned_ld, t.rows);
  if (sink != nullptr) {
    if (turn) {
      sink(context, t.batch, t.col0, t.col0 + t.cols, t.row0, t.row0 + t.rows, transposed,
           b.turned_ld);
    } else {
      sink(context, t.batch, t.row0, t.row0 + t.rows, t.col0, t.col0 + t.cols, tile, b.tile_ld);
    }
    return;
  }
  const std::int64_t offset = b.c0 + b.c_batch.offset(t.batch);
  if (turn) {
    store(b, b.c_cols, b.c_rows, t.col0, t.cols, t.row0, t.rows, offset, transposed, b.turned_ld,
          c);
  } else {
    store(b, b.c_rows, b.c_cols, t.row0, t.rows, t.col0, t.cols, offset, tile, b.tile_ld, c);
  }
}

}  // namespace plait::cpu
