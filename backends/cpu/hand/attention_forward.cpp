// Attention forward: a task is a block of queries of one head, whose keys pass by a block at a
// time. y stands transposed [value_depth, width] for each panel of queries until it is whole.
#include <algorithm>
#include <cmath>
#include <limits>

#include "backends/cpu/contract/sizes.h"
#include "backends/cpu/hand/attention_lanes.h"
#include "backends/cpu/hand/attention_tiles.h"

namespace plait::cpu {
namespace {

struct ForwardParts {
  Packed q, keys, values;       // q: in columns
  Packed turned;                // values transposed, where there are pairs
  float* y;                     // [panels, value_depth, width]
  float *scores, *mask, *keep;  // [key_block, width]
  float* spare;
  Packed pairs;                   // of the weights, [key_block, width]
  float *maximum, *sum, *shrink;  // [query_block]
  std::int32_t *lo, *hi;
  std::int64_t bytes;

  ForwardParts(const AttentionBlocking& b, void* scratch) {
    const AttentionShape& s = b.shape;
    ScratchParts parts(scratch);
    const std::int64_t tile = b.key_block * b.width;
    const auto staged = [&](std::int64_t depth, std::int64_t padded) {
      return multiplied_in_place(b, depth, padded) ? 0 : b.key_block * padded;
    };
    q = take_packed(b, parts, b.query_block * b.depth);
    keys = take_packed(b, parts, staged(s.depth, b.depth));
    values = take_packed(b, parts, b.pairs ? 0 : staged(s.value_depth, b.value_depth));
    turned = take_packed(b, parts, b.pairs ? b.key_block * s.value_depth : 0);
    y = parts.take<float>(b.query_block * b.value_depth);
    scores = parts.take<float>(tile);
    mask = parts.take<float>(s.mask.present ? tile : 0);
    keep = parts.take<float>(s.dropout > 0 ? tile : 0);
    spare = parts.take<float>(spare_elements(b));
    pairs = take_packed(b, parts, b.pairs ? tile : 0);
    maximum = parts.take<float>(b.query_block);
    sum = parts.take<float>(b.query_block);
    shrink = parts.take<float>(b.width);
    lo = parts.take<std::int32_t>(b.query_block);
    hi = parts.take<std::int32_t>(b.query_block);
    bytes = parts.bytes();
  }
};

/// A block of keys as it is multiplied.
struct Keys {
  std::int64_t first, count;
  Left k, v;  // v: transposed where there are pairs
};

class ForwardTask {
 public:
  ForwardTask(const AttentionBlocking& b, const AttentionOperands& operands, std::int64_t task,
              void* scratch)
      : b_(b), s_(b.shape), in_(operands), parts_(b, scratch) {
    const std::int64_t blocks = b.query_blocks(), row = task / blocks;
    batch_ = row / s_.heads;
    head_ = row % s_.heads;
    first_ = task % blocks * b.query_block;
    count_ = std::min(b.query_block, s_.queries - first_);
    panels_ = ceil_div(count_, b.width);
  }

  bool run() {
    begin();
    const std::int64_t kv_head = head_ / (s_.heads / s_.kv_heads);
    const std::int64_t from = parts_.lo[0] / kPairDepth * kPairDepth;
    const std::int64_t to = parts_.hi[panels_ * b_.width - 1];
    for (std::int64_t key = from; key < to && finite_; key += b_.key_block) {
      const Keys keys = keys_at(kv_head, key, std::min(b_.key_block, to - key));
      for (std::int64_t p = 0; p < panels_; ++p) add(p, keys);
    }
    for (std::int64_t p = 0; p < panels_ && finite_; ++p) finish(p);
    return finite_;
  }

 private:
  void begin() {
    block_bounds(b_, in_, batch_, first_, count_, parts_.lo, parts_.hi);
    const Rows q{rows_at(s_, in_.q, s_.q, batch_, head_, first_), s_.q.row};
    finite_ = pack_columns(b_, q, count_, s_.depth, b_.depth, parts_.spare, parts_.q);
    const std::int64_t all = panels_ * b_.width;
    // Columns without a query are not multiplied: they stay finite.
    if (count_ < all) clear_tile(b_, parts_.scores);
    std::fill_n(parts_.y, all * b_.value_depth, 0.0f);
    std::fill_n(parts_.maximum, all, -std::numeric_limits<float>::infinity());
    std::fill_n(parts_.sum, all, 0.0f);
  }

  Keys keys_at(std::int64_t kv_head, std::int64_t key, std::int64_t count) {
    Keys keys{key, count, {}, {}};
    const Rows k{rows_at(s_, in_.k, s_.k, batch_, kv_head, key), s_.k.row};
    const Rows v{rows_at(s_, in_.v, s_.v, batch_, kv_head, key), s_.v.row};
    finite_ &= multiplied_rows(b_, k, count, s_.depth, b_.depth, parts_.spare, parts_.keys, keys.k);
    if (b_.pairs) {
      finite_ &=
          transpose_rows(b_, v, count, s_.value_depth, parts_.spare, parts_.turned, b_.key_block);
      keys.v = {parts_.turned.at, b_.key_block, parts_.turned.part};
    } else {
      multiplied_rows(b_, v, count, s_.value_depth, b_.value_depth, parts_.spare, parts_.values,
                      keys.v);
    }
    return keys;
  }

  /// A block of keys for a panel of queries.
  void add(std::int64_t panel, const Keys& keys) {
    const std::int64_t at = panel * b_.width;
    const std::int32_t *lo = parts_.lo + at, *hi = parts_.hi + at;
    const KeyRange seen = seen_by_panel(b_, lo, hi, keys.first, keys.count);
    if (seen.count == 0) return;
    const std::int64_t skipped = seen.first - keys.first;
    const std::int64_t queries = std::min(b_.width, count_ - at);
    multiply(b_, {.rows = seen.count,
                  .cols = queries,
                  .k = b_.depth,
                  .a = at_element(keys.k.at, skipped * keys.k.ld),
                  .a_row = keys.k.ld,
                  .a_k = 1,
                  .a_part = keys.k.part,
                  .b = at_element(parts_.q.at, at * b_.depth),
                  .panel_step = 0,
                  .b_part = parts_.q.part,
                  .c = parts_.scores,
                  .ldc = b_.width,
                  .add = false,
                  .next = panel == 0 ? ahead(in_.v, s_.v, s_.value_depth, keys.first) : Ahead{}});
    const ScoreTile place{batch_, head_, first_ + at, queries, seen.first, seen.count};
    finish_scores(b_, in_, place, lo, hi, parts_.scores, parts_.mask, parts_.spare);
    if (s_.dropout > 0) keep_tile(b_, in_, place, parts_.keep);
    const std::int64_t k = b_.pairs ? round_up(seen.count, kPairDepth) : seen.count;
    float* y = parts_.y + at * b_.value_depth;
    if (b_.lanes->softmax({.scores = parts_.scores,
                           .rows = seen.count,
                           .width = b_.width,
                           .factor = b_.factor,
                           .difference_first = b_.biased,
                           .maximum = parts_.maximum + at,
                           .sum = parts_.sum + at,
                           .shrink = parts_.shrink,
                           .keep = s_.dropout > 0 ? parts_.keep : nullptr,
                           .pairs = b_.pairs && b_.parts == 1
                                        ? static_cast<std::uint16_t*>(parts_.pairs.at)
                                        : nullptr,
                           .padded_rows = k})) {
      b_.lanes->multiply_rows(y, s_.value_depth, b_.width, parts_.shrink);
    }
    if (b_.parts > 1) finite_ &= split_tile(b_, parts_.scores, seen.count, parts_.pairs);
    multiply(b_,
             {.rows = s_.value_depth,
              .cols = queries,
              .k = k,
              .a = at_element(keys.v.at, b_.pairs ? skipped : skipped * keys.v.ld),
              .a_row = b_.pairs ? keys.v.ld : 1,
              .a_k = b_.pairs ? 1 : keys.v.ld,
              .a_part = keys.v.part,
              .b = b_.pairs ? parts_.pairs.at : parts_.scores,
              .panel_step = 0,
              .b_part = parts_.pairs.part,
              .c = y,
              .ldc = b_.width,
              .add = true,
              .next = panel + 1 == panels_ ? ahead(in_.k, s_.k, s_.depth, keys.first + b_.key_block)
                                           : Ahead{}});
  }

  /// A block of keys or values.
  Ahead ahead(const void* base, const RowStrides& strides, std::int64_t depth,
              std::int64_t key) const {
    if (key >= s_.keys) return {};
    const auto bytes = static_cast<std::int64_t>(size_of(s_.dtype));
    const std::int64_t kv_head = head_ / (s_.heads / s_.kv_heads);
    return {rows_at(s_, base, strides, batch_, kv_head, key), std::min(b_.key_block, s_.keys - key),
            strides.row * bytes, ceil_div(depth * bytes, 64)};
  }

  void finish(std::int64_t panel) {
    const std::int64_t at = panel * b_.width, queries = std::min(b_.width, count_ - at);
    float *maximum = parts_.maximum + at, *sum = parts_.sum + at;
    if (in_.lse_out) {
      float* lse =
          static_cast<float*>(in_.lse_out) + (batch_ * s_.heads + head_) * s_.queries + first_ + at;
      for (std::int64_t i = 0; i < queries; ++i) {
        lse[i] = maximum[i] * b_.to_scores + std::log(sum[i]);
      }
    }
    if (!in_.y_out) return;
    if (s_.keys == 0) std::fill_n(sum, b_.width, 1.0f);  // the product over no keys is 0
    for (std::int64_t i = 0; i < b_.width; ++i) sum[i] = 1 / sum[i];
    store_columns(b_, parts_.y + at * b_.value_depth, s_.value_depth, queries, sum, parts_.spare,
                  rows_at(s_, in_.y_out, s_.y, batch_, head_, first_ + at), s_.y.row);
  }

  const void* at_element(const void* base, std::int64_t elements) const {
    return static_cast<const std::byte*>(base) + elements * b_.element_bytes;
  }

  const AttentionBlocking& b_;
  const AttentionShape& s_;
  const AttentionOperands& in_;
  ForwardParts parts_;
  std::int64_t batch_, head_, first_, count_, panels_;
  bool finite_ = true;  // or nothing is split
};

}  // namespace

std::int64_t AttentionForward::tasks() const {
  return b_.shape.batch * b_.shape.heads * b_.query_blocks();
}

std::int64_t AttentionForward::scratch_bytes() const { return ForwardParts(b_, nullptr).bytes; }

bool AttentionForward::run(std::int64_t task, const AttentionOperands& operands,
                           void* scratch) const noexcept {
  b_.kernels->begin();
  const bool done = ForwardTask(b_, operands, task, scratch).run();
  b_.kernels->end();
  return done;
}

}  // namespace plait::cpu
