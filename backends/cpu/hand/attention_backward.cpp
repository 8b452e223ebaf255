// Attention backward: a task is a chunk of the keys of one head with all queries that read them, so
// that every sum has one order. Blocks of queries pass outside, blocks of the chunk's keys inside;
// dk and dv of the chunk are summed in scratch. dq is whole behind the keys where there is one
// chunk; otherwise each chunk leaves its part in shared memory.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "backends/cpu/contract/sizes.h"
#include "backends/cpu/hand/attention_lanes.h"
#include "backends/cpu/hand/attention_tiles.h"

namespace plait::cpu {
namespace {

struct BackwardParts {
  Packed keys, values, turned;  // of the chunk, as they are multiplied; turned: blocks of K^T
  float *dk, *dv;               // [chunk, dk_ld], [chunk, dv_ld]
  std::int64_t dk_ld, dv_ld;
  Packed q_columns, dy_columns, q_rows, dy_rows;  // of a block of queries
  void* weaving;
  float *lse, *delta, *scale, *dq;  // dq: [panels, depth, width]
  float *scores, *dp, *weights;     // [key_block, width]; weights: where they are split
  float *mask, *keep, *spare;
  Packed pairs;  // of ds, [key_block, width]
  Packed p, ds;  // [key_block, query_block]
  std::int32_t *lo, *hi;
  std::int64_t bytes;

  BackwardParts(const AttentionBlocking& b, void* scratch) {
    const AttentionShape& s = b.shape;
    ScratchParts parts(scratch);
    const std::int64_t tile = b.key_block * b.width;
    const auto staged = [&](std::int64_t depth, std::int64_t padded) {
      return multiplied_in_place(b, depth, padded) ? 0 : b.chunk * padded;
    };
    dk_ld = round_up(s.depth, b.width);
    dv_ld = round_up(s.value_depth, b.width);
    keys = take_packed(b, parts, staged(s.depth, b.depth));
    values = take_packed(b, parts, staged(s.value_depth, b.value_depth));
    turned = take_packed(b, parts, b.pairs ? round_up(b.chunk, b.key_block) * s.depth : 0);
    dk = parts.take<float>(b.chunk * dk_ld);
    dv = parts.take<float>(b.chunk * dv_ld);
    q_columns = take_packed(b, parts, b.query_block * b.depth);
    dy_columns = take_packed(b, parts, b.query_block * b.value_depth);
    q_rows = take_packed(b, parts, b.query_block * dk_ld);
    dy_rows = take_packed(b, parts, b.query_block * dv_ld);
    weaving = parts.take_bytes(b.pairs ? b.query_block * std::max(dk_ld, dv_ld) * 2 : 0);
    lse = parts.take<float>(b.query_block);
    delta = parts.take<float>(b.query_block);
    scale = parts.take<float>(b.width);
    dq = parts.take<float>(b.query_block * s.depth);
    scores = parts.take<float>(tile);
    dp = parts.take<float>(tile);
    mask = parts.take<float>(s.mask.present ? tile : 0);
    keep = parts.take<float>(s.dropout > 0 ? tile : 0);
    weights = parts.take<float>(b.parts > 1 ? tile : 0);
    spare = parts.take<float>(spare_elements(b));
    pairs = take_packed(b, parts, b.pairs ? tile : 0);
    p = take_packed(b, parts, b.key_block * b.query_block);
    ds = take_packed(b, parts, b.key_block * b.query_block);
    lo = parts.take<std::int32_t>(b.query_block);
    hi = parts.take<std::int32_t>(b.query_block);
    bytes = parts.bytes();
  }
};

constexpr std::int64_t kRows = 32;  // of p and ds that are multiplied apart from others at least

/// A chunk's part of dq [chunks, batch, heads, queries, depth] from a query on.
float* dq_part(const AttentionBlocking& b, float* parts, std::int64_t chunk, std::int64_t batch,
               std::int64_t head, std::int64_t query) {
  const AttentionShape& s = b.shape;
  const std::int64_t row = ((chunk * s.batch + batch) * s.heads + head) * s.queries + query;
  return parts + row * s.depth;
}

class BackwardTask {
 public:
  BackwardTask(const AttentionBlocking& b, const AttentionOperands& operands, std::int64_t task,
               void* scratch, void* shared)
      : b_(b),
        s_(b.shape),
        in_(operands),
        parts_(b, scratch),
        chunk_(task % b.chunks()),
        batch_(task / b.chunks() / s_.kv_heads),
        kv_head_(task / b.chunks() % s_.kv_heads),
        begin_(chunk_ * b.chunk),
        end_(std::min(s_.keys, begin_ + b.chunk)),
        dq_parts_(static_cast<float*>(shared)) {}

  bool run() {
    stage_keys();
    const std::int64_t group = s_.heads / s_.kv_heads;
    for (head_ = kv_head_ * group; head_ < (kv_head_ + 1) * group; ++head_) {
      for (first_ = 0; first_ < s_.queries; first_ += b_.query_block) add_queries();
    }
    if (!finite_) return false;
    for (std::int64_t i = 0; i < (end_ - begin_) * parts_.dk_ld; ++i) {
      parts_.dk[i] *= static_cast<float>(s_.scale);
    }
    if (in_.dk) {
      store_rows(b_, parts_.dk, parts_.dk_ld, end_ - begin_, s_.depth,
                 rows_at(s_, in_.dk, s_.dk, batch_, kv_head_, begin_), s_.dk.row);
    }
    if (in_.dv) {
      store_rows(b_, parts_.dv, parts_.dv_ld, end_ - begin_, s_.value_depth,
                 rows_at(s_, in_.dv, s_.dv, batch_, kv_head_, begin_), s_.dv.row);
    }
    return true;
  }

 private:
  void stage_keys() {
    const std::int64_t count = end_ - begin_;
    const Rows k{rows_at(s_, in_.k, s_.k, batch_, kv_head_, begin_), s_.k.row};
    const Rows v{rows_at(s_, in_.v, s_.v, batch_, kv_head_, begin_), s_.v.row};
    finite_ = multiplied_rows(b_, k, count, s_.depth, b_.depth, parts_.spare, parts_.keys, k_) &
              multiplied_rows(b_, v, count, s_.value_depth, b_.value_depth, parts_.spare,
                              parts_.values, v_);
    for (std::int64_t key = 0; b_.pairs && key < count; key += b_.key_block) {
      const Rows block{rows_at(s_, in_.k, s_.k, batch_, kv_head_, begin_ + key), s_.k.row};
      finite_ &= transpose_rows(
          b_, block, std::min(b_.key_block, count - key), s_.depth, parts_.spare,
          {at_element(parts_.turned.at, key * s_.depth), parts_.turned.part}, b_.key_block);
    }
    std::fill_n(parts_.dk, count * parts_.dk_ld, 0.0f);
    std::fill_n(parts_.dv, count * parts_.dv_ld, 0.0f);
    // Columns without a query are not multiplied: they stay finite.
    clear_tile(b_, parts_.scores);
    clear_tile(b_, parts_.dp);
    std::fill_n(parts_.scale, b_.width, static_cast<float>(s_.scale));
  }

  /// What a block of queries adds to every gradient.
  void add_queries() {
    if (!finite_) return;
    count_ = std::min(b_.query_block, s_.queries - first_);
    panels_ = ceil_div(count_, b_.width);
    block_bounds(b_, in_, batch_, first_, count_, parts_.lo, parts_.hi);
    std::fill_n(parts_.dq, panels_ * b_.width * s_.depth, 0.0f);
    const std::int64_t from = std::max<std::int64_t>(parts_.lo[0], begin_) / b_.key_block;
    const std::int64_t to = std::min<std::int64_t>(parts_.hi[panels_ * b_.width - 1], end_);
    if (from * b_.key_block < to) pack_queries();
    for (std::int64_t key = from * b_.key_block; key < to; key += b_.key_block) {
      add_keys(key, std::min(b_.key_block, end_ - key));
    }
    for (std::int64_t p = 0; in_.dq && p < panels_; ++p) store_dq(p * b_.width);
  }

  void store_dq(std::int64_t at) {
    const std::int64_t count = std::min(b_.width, count_ - at);
    float* columns = parts_.dq + at * s_.depth;
    if (dq_parts_) {
      b_.kernels->transpose32(columns, b_.width, s_.depth, count,
                              dq_part(b_, dq_parts_, chunk_, batch_, head_, first_ + at), s_.depth,
                              s_.depth);
    } else {
      store_columns(b_, columns, s_.depth, count, parts_.scale, parts_.spare,
                    rows_at(s_, in_.dq, s_.dq, batch_, head_, first_ + at), s_.dq.row);
    }
  }

  void pack_queries() {
    const Rows q{rows_at(s_, in_.q, s_.q, batch_, head_, first_), s_.q.row};
    const Rows dy{rows_at(s_, in_.dy, s_.dy, batch_, head_, first_), s_.dy.row};
    const std::int64_t padded = panels_ * b_.width;
    finite_ &= pack_columns(b_, q, count_, s_.depth, b_.depth, parts_.spare, parts_.q_columns);
    finite_ &= pack_columns(b_, dy, count_, s_.value_depth, b_.value_depth, parts_.spare,
                            parts_.dy_columns);
    finite_ &=
        pack_rows(b_, q, count_, padded, s_.depth, parts_.weaving, parts_.spare, parts_.q_rows);
    finite_ &= pack_rows(b_, dy, count_, padded, s_.value_depth, parts_.weaving, parts_.spare,
                         parts_.dy_rows);
    constexpr float kInfinity = std::numeric_limits<float>::infinity();
    const std::int64_t row = (batch_ * s_.heads + head_) * s_.queries + first_;
    for (std::int64_t i = 0; i < padded; ++i) {
      // Neither one that sees no key nor one that is not there has probabilities.
      parts_.lse[i] = kInfinity;
      parts_.delta[i] = 0;
      if (i >= count_) continue;
      const auto lse = static_cast<float>(number_at(in_.lse, s_.lse_dtype, row + i));
      if (lse == -kInfinity) continue;
      parts_.lse[i] = lse / b_.to_scores;
      parts_.delta[i] = b_.lanes->dot(rows_at(s_, in_.y, s_.y, batch_, head_, first_ + i),
                                      rows_at(s_, in_.dy, s_.dy, batch_, head_, first_ + i),
                                      s_.value_depth, s_.dtype);
      if (in_.dlse) {
        parts_.delta[i] -= static_cast<float>(number_at(in_.dlse, s_.dlse_dtype, row + i));
      }
    }
  }

  /// A block of keys for the block of queries.
  void add_keys(std::int64_t key, std::int64_t keys) {
    for (std::int64_t p = 0; p < panels_; ++p) {
      const KeyRange seen = seen_of(p, key, keys);
      const std::int64_t from = seen.first - key, to = from + seen.count;
      if (seen.count > 0) add_panel(p, key, seen);
      clear(p, 0, seen.count > 0 ? from : keys);
      if (seen.count > 0) clear(p, to, keys);
    }
    // Neighbouring rows that the same panels see are multiplied together.
    for (std::int64_t row = 0, next; row < keys; row = next) {
      const PanelRange all = panels_of(key + row, std::min(kRows, keys - row));
      for (next = row + kRows; next < keys; next += kRows) {
        if (panels_of(key + next, std::min(kRows, keys - next)) != all) break;
      }
      if (all.first >= all.end) continue;
      const std::int64_t end = std::min(next, keys);
      add_rows(parts_.p, parts_.dy_rows, s_.value_depth, key, row, end, all, parts_.dv,
               parts_.dv_ld);
      add_rows(parts_.ds, parts_.q_rows, s_.depth, key, row, end, all, parts_.dk, parts_.dk_ld);
    }
  }

  KeyRange seen_of(std::int64_t panel, std::int64_t key, std::int64_t keys) const {
    const std::int64_t at = panel * b_.width;
    return seen_by_panel(b_, parts_.lo + at, parts_.hi + at, key, keys);
  }

  struct PanelRange {
    std::int64_t first, end;
    bool operator==(const PanelRange&) const = default;
  };
  /// All between the first and the last panel that sees one of the keys.
  PanelRange panels_of(std::int64_t key, std::int64_t keys) const {
    PanelRange range{panels_, 0};
    for (std::int64_t p = 0; p < panels_; ++p) {
      if (seen_of(p, key, keys).count == 0) continue;
      range = {std::min(range.first, p), p + 1};
    }
    return range;
  }

  /// Rows [row, end) of p or ds by the queries of the panels.
  void add_rows(const Packed& left, const Packed& right, std::int64_t depth, std::int64_t key,
                std::int64_t row, std::int64_t end, const PanelRange& panels, float* to,
                std::int64_t ld) {
    const std::int64_t query = panels.first * b_.width;
    multiply(b_,
             {.rows = end - row,
              .cols = depth,
              .k = std::min(panels.end * b_.width, b_.pairs ? panels_ * b_.width : count_) - query,
              .a = at_element(left.at, row * b_.query_block + query),
              .a_row = b_.query_block,
              .a_k = 1,
              .a_part = left.part,
              .b = at_element(right.at, query * b_.width),
              .panel_step = panels_ * b_.width * b_.width,
              .b_part = right.part,
              .c = to + (key - begin_ + row) * ld,
              .ldc = ld,
              .add = true});
  }

  /// p and ds of keys that no query of the panel sees.
  void clear(std::int64_t panel, std::int64_t from, std::int64_t to) {
    const auto bytes = static_cast<std::size_t>(b_.width * b_.element_bytes);
    for (int part = 0; part < b_.parts; ++part) {
      for (std::int64_t r = from; r < to; ++r) {
        const std::int64_t at = part * parts_.p.part + r * b_.query_block + panel * b_.width;
        std::memset(at_element(parts_.p.at, at), 0, bytes);
        std::memset(at_element(parts_.ds.at, at), 0, bytes);
      }
    }
  }

  /// p and ds of a panel's queries, and what they add to dq.
  void add_panel(std::int64_t panel, std::int64_t key, const KeyRange& seen) {
    const std::int64_t at = panel * b_.width, skipped = seen.first - key;
    const std::int64_t queries = std::min(b_.width, count_ - at);
    products(seen, k_, b_.depth, parts_.q_columns, at, parts_.scores);
    products(seen, v_, b_.value_depth, parts_.dy_columns, at, parts_.dp);
    const ScoreTile place{batch_, head_, first_ + at, queries, seen.first, seen.count};
    finish_scores(b_, in_, place, parts_.lo + at, parts_.hi + at, parts_.scores, parts_.mask,
                  parts_.spare);
    if (s_.dropout > 0) keep_tile(b_, in_, place, parts_.keep);
    const std::int64_t k = b_.pairs ? round_up(seen.count, kPairDepth) : seen.count;
    score_grads(at, skipped, seen.count, k);
    const void* turned = at_element(parts_.turned.at, (key - begin_) * s_.depth + skipped);
    multiply(b_, {.rows = s_.depth,
                  .cols = queries,
                  .k = k,
                  .a = b_.pairs ? turned : at_element(k_.at, (seen.first - begin_) * k_.ld),
                  .a_row = b_.pairs ? b_.key_block : 1,
                  .a_k = b_.pairs ? 1 : k_.ld,
                  .a_part = parts_.turned.part,
                  .b = b_.pairs ? parts_.pairs.at : parts_.scores,
                  .panel_step = 0,
                  .b_part = parts_.pairs.part,
                  .c = parts_.dq + at * s_.depth,
                  .ldc = b_.width,
                  .add = true});
  }

  /// Of `count` keys from `skipped` on: p and ds as left operands, ds as a right one too.
  void score_grads(std::int64_t at, std::int64_t skipped, std::int64_t count, std::int64_t padded) {
    const bool split = b_.parts > 1;
    const std::int64_t corner = skipped * b_.query_block + at;
    const Packed p{at_element(parts_.p.at, corner), parts_.p.part};
    const Packed ds{at_element(parts_.ds.at, corner), parts_.ds.part};
    b_.lanes->score_grads(
        {.scores = parts_.scores,
         .dp = parts_.dp,
         .rows = count,
         .width = b_.width,
         .factor = b_.factor,
         .difference_first = b_.biased,
         .lse = parts_.lse + at,
         .delta = parts_.delta + at,
         .keep = s_.dropout > 0 ? parts_.keep : nullptr,
         .p = split ? parts_.weights : p.at,
         .ds = split ? parts_.scores : ds.at,
         .ld = split ? b_.width : b_.query_block,
         .pairs = b_.pairs && !split ? static_cast<std::uint16_t*>(parts_.pairs.at) : nullptr,
         .padded_rows = padded});
    if (!split) return;
    finite_ &= split_tile_rows(b_, parts_.weights, count, p, b_.query_block);
    finite_ &= split_tile_rows(b_, parts_.scores, count, ds, b_.query_block);
    finite_ &= split_tile(b_, parts_.scores, count, parts_.pairs);
  }

  /// Rows of keys or values by a panel's columns.
  void products(const KeyRange& seen, const Left& left, std::int64_t depth, const Packed& columns,
                std::int64_t at, float* to) {
    multiply(b_, {.rows = seen.count,
                  .cols = std::min(b_.width, count_ - at),
                  .k = depth,
                  .a = at_element(left.at, (seen.first - begin_) * left.ld),
                  .a_row = left.ld,
                  .a_k = 1,
                  .a_part = left.part,
                  .b = at_element(columns.at, at * depth),
                  .panel_step = 0,
                  .b_part = columns.part,
                  .c = to,
                  .ldc = b_.width,
                  .add = false});
  }

  const void* at_element(const void* base, std::int64_t elements) const {
    return static_cast<const std::byte*>(base) + elements * b_.element_bytes;
  }
  void* at_element(void* base, std::int64_t elements) const {
    return static_cast<std::byte*>(base) + elements * b_.element_bytes;
  }

  const AttentionBlocking& b_;
  const AttentionShape& s_;
  const AttentionOperands& in_;
  BackwardParts parts_;
  std::int64_t chunk_, batch_, kv_head_, begin_, end_;
  float* dq_parts_;  // null where there is one chunk
  std::int64_t head_ = 0, first_ = 0, count_ = 0, panels_ = 0;
  Left k_{}, v_{};
  bool finite_ = true;  // or nothing is split
};

}  // namespace

std::int64_t AttentionBackward::tasks() const {
  return b_.shape.batch * b_.shape.kv_heads * b_.chunks();
}

std::int64_t AttentionBackward::scratch_bytes() const { return BackwardParts(b_, nullptr).bytes; }

std::int64_t AttentionBackward::shared_bytes() const {
  const AttentionShape& s = b_.shape;
  return b_.chunks() == 1 ? 0 : b_.chunks() * s.batch * s.heads * s.queries * s.depth * 4;
}

bool AttentionBackward::run(std::int64_t task, const AttentionOperands& operands, void* scratch,
                            void* shared) const noexcept {
  b_.kernels->begin();
  void* const dq_parts = b_.chunks() > 1 ? shared : nullptr;
  const bool done = BackwardTask(b_, operands, task, scratch, dq_parts).run();
  b_.kernels->end();
  return done;
}

std::int64_t AttentionBackward::finish_tasks() const {
  return b_.chunks() == 1 ? 0 : b_.shape.batch * b_.shape.heads * b_.query_blocks();
}

void AttentionBackward::finish(std::int64_t task, const AttentionOperands& operands,
                               void* shared) const noexcept {
  if (!operands.dq) return;
  const AttentionShape& s = b_.shape;
  const std::int64_t row = task / b_.query_blocks(), batch = row / s.heads, head = row % s.heads;
  const std::int64_t first = task % b_.query_blocks() * b_.query_block;
  const std::int64_t count = std::min(b_.query_block, s.queries - first);
  const auto part = [&](std::int64_t chunk) {
    return dq_part(b_, static_cast<float*>(shared), chunk, batch, head, first);
  };
  float* sum = part(0);
  for (std::int64_t c = 1; c < b_.chunks(); ++c) {
    const float* more = part(c);
    for (std::int64_t i = 0; i < count * s.depth; ++i) sum[i] += more[i];
  }
  for (std::int64_t i = 0; i < count * s.depth; ++i) sum[i] *= static_cast<float>(s.scale);
  store_rows(b_, sum, s.depth, count, s.depth, rows_at(s, operands.dq, s.dq, batch, head, first),
             s.dq.row);
}

}  // namespace plait::cpu
