// What attention's forward and backward share: operands in the order the contraction engine's tiles
// read, products of them, and tiles of what is added to scores or dropped.
#pragma once

#include "backends/cpu/hand/attention.h"

namespace plait::cpu {

/// Parts of a thread's scratch, one behind the other; from null it counts.
class ScratchParts {
 public:
  explicit ScratchParts(void* from) : at_(static_cast<std::byte*>(from)) {}
  template <class T>
  T* take(std::int64_t count) {
    T* part = reinterpret_cast<T*>(at_ + bytes_);
    bytes_ += (count * static_cast<std::int64_t>(sizeof(T)) + 63) / 64 * 64;
    return at_ ? part : nullptr;
  }
  void* take_bytes(std::int64_t bytes) { return take<std::byte>(bytes); }
  std::int64_t bytes() const { return bytes_; }

 private:
  std::byte* at_;
  std::int64_t bytes_ = 0;
};

/// Rows of an operand, `ld` elements from one to the next.
struct Rows {
  const void* at;
  std::int64_t ld;
};

/// An operand in scratch, its parts (where an element is split) `part` elements apart.
struct Packed {
  void* at;
  std::int64_t part;
};
Packed take_packed(const AttentionBlocking& b, ScratchParts& parts, std::int64_t elements);

/// A left operand: rows of `ld` elements.
struct Left {
  const void* at;
  std::int64_t ld, part;
};

// What packs operands returns false where an element that is split is not finite: its parts say
// nothing then. `spare` is spare_elements(b) numbers.

/// Rows as the kernels multiply them: where they lie, or converted to `to`, [count, padded] with
/// zeros behind the first `depth`.
bool multiplied_in_place(const AttentionBlocking& b, std::int64_t depth, std::int64_t padded);
bool multiplied_rows(const AttentionBlocking& b, Rows from, std::int64_t count, std::int64_t depth,
                     std::int64_t padded, float* spare, Packed to, Left& left);

/// [panel, padded, width] (in pairs along depth): the rows as columns, zeros for those that are not
/// there.
bool pack_columns(const AttentionBlocking& b, Rows from, std::int64_t count, std::int64_t depth,
                  std::int64_t padded, float* spare, Packed to);

/// [columns / width, padded_count, width] (in pairs along the rows): panels of the rows' elements,
/// zeros for what is not there. `weaving`: as large, where there are pairs of bf16.
bool pack_rows(const AttentionBlocking& b, Rows from, std::int64_t count, std::int64_t padded_count,
               std::int64_t depth, void* weaving, float* spare, Packed to);

/// [depth, ld]: rows transposed as a left operand, where there are pairs; zeros behind `count`, at
/// most a block of keys.
bool transpose_rows(const AttentionBlocking& b, Rows from, std::int64_t count, std::int64_t depth,
                    float* spare, Packed to, std::int64_t ld);

/// A tile [rows, width] of f32 that is split: as a panel of a right operand; as rows of a left one,
/// `ld` elements from one to the next.
bool split_tile(const AttentionBlocking& b, const float* tile, std::int64_t rows, Packed to);
bool split_tile_rows(const AttentionBlocking& b, const float* tile, std::int64_t rows, Packed to,
                     std::int64_t ld);

std::int64_t spare_elements(const AttentionBlocking& b);

/// c [rows, cols] (+)= a [rows, k] b, with a in steps of elements and b in panels. Where there are
/// pairs k is a multiple of kPairDepth and a's step along it is 1.
struct Product {
  std::int64_t rows, cols, k;
  const void* a;
  std::int64_t a_row, a_k, a_part;
  const void* b;
  std::int64_t panel_step, b_part;
  float* c;
  std::int64_t ldc;
  bool add;
  Ahead next = {};  // what is read after it
};
void multiply(const AttentionBlocking& b, const Product& product);

/// Zeros for a tile's rows, as many as there are keys.
void clear_tile(const AttentionBlocking& b, float* tile);

/// Some queries (at most a panel) of one head by some keys.
struct ScoreTile {
  std::int64_t batch, head, query, queries, key, keys;
};
/// [keys, width] of what the mask adds; `spare`: [width, keys].
void mask_tile(const AttentionBlocking& b, const AttentionOperands& operands,
               const ScoreTile& place, float* spare, float* to);
/// [keys to a multiple of 16, width]: 0 where a weight is dropped, else 1 / (1 - p). The first key
/// is a multiple of 16.
void keep_tile(const AttentionBlocking& b, const AttentionOperands& operands,
               const ScoreTile& place, float* to);

/// A tile's raw products become scores: bias, mask, and -infinity where unseen. `lo` and `hi` are
/// those of the panel's queries.
void finish_scores(const AttentionBlocking& b, const AttentionOperands& operands,
                   const ScoreTile& place, const std::int32_t* lo, const std::int32_t* hi,
                   float* scores, float* mask, float* spare);

/// What the panel's queries see of keys [key, key + keys), none: count 0. Begins at a multiple of
/// kPairDepth behind `key` where there are pairs or draws.
struct KeyRange {
  std::int64_t first, count;
};
KeyRange seen_by_panel(const AttentionBlocking& b, const std::int32_t* lo, const std::int32_t* hi,
                       std::int64_t key, std::int64_t keys);

/// seen_keys of a block of queries, with the last one's repeated to the end of its panel.
void block_bounds(const AttentionBlocking& b, const AttentionOperands& operands, std::int64_t batch,
                  std::int64_t query, std::int64_t queries, std::int32_t* lo, std::int32_t* hi);

/// columns [depth, width] times `by` go to `count` rows of dtype.
void store_columns(const AttentionBlocking& b, float* columns, std::int64_t depth,
                   std::int64_t count, const float* by, float* spare, void* to, std::int64_t row);
/// As many rows of `ld` numbers, rounded to dtype.
void store_rows(const AttentionBlocking& b, const float* from, std::int64_t ld, std::int64_t count,
                std::int64_t depth, void* to, std::int64_t row);

/// Where a batch's and head's rows begin.
inline const void* rows_at(const AttentionShape& s, const void* base, const RowStrides& strides,
                           std::int64_t batch, std::int64_t head, std::int64_t row) {
  const std::int64_t offset = batch * strides.batch + head * strides.head + row * strides.row;
  return static_cast<const std::byte*>(base) + offset * static_cast<std::int64_t>(size_of(s.dtype));
}
inline void* rows_at(const AttentionShape& s, void* base, const RowStrides& strides,
                     std::int64_t batch, std::int64_t head, std::int64_t row) {
  return const_cast<void*>(rows_at(s, const_cast<const void*>(base), strides, batch, head, row));
}

}  // namespace plait::cpu
