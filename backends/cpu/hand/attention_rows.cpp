// Attention in f64, row by row: for checking gradients, not for speed.
#include <algorithm>
#include <cmath>
#include <limits>

#include "backends/cpu/hand/attention_tiles.h"
#include "base/half.h"
#include "base/philox.h"

namespace plait::cpu {
namespace {

/// One query's scores and what is kept of its probabilities.
class ScoreRow {
 public:
  ScoreRow(const AttentionShape& s, std::int64_t batch, std::int64_t head, std::int64_t query,
           const AttentionOperands& operands, void* scratch)
      : s_(s), in_(operands), batch_(batch), head_(head), query_(query) {
    scores = static_cast<double*>(scratch);
    keep = scores + s.keys;
    std::int32_t lo, hi;
    seen_keys(s, operands.documents, batch, query, 1, &lo, &hi);
    first = lo;
    end = std::max(lo, hi);
    kv_head_ = head / (s.heads / s.kv_heads);
    const double* q = at(in_.q, s.q, head, query);
    for (std::int64_t j = first; j < end; ++j) {
      const double* k = at(in_.k, s.k, kv_head_, j);
      double sum = 0;
      for (std::int64_t d = 0; d < s.depth; ++d) sum += q[d] * k[d];
      scores[j] = sum * s.scale + bias(j);
      keep[j] = kept(j);
    }
  }

  /// e^(scores - lse) in their place; the log of their sum is returned.
  double softmax() {
    double top = -std::numeric_limits<double>::infinity(), sum = 0;
    for (std::int64_t j = first; j < end; ++j) top = std::max(top, scores[j]);
    const double from = top == -std::numeric_limits<double>::infinity() ? 0 : top;
    for (std::int64_t j = first; j < end; ++j) sum += scores[j] = std::exp(scores[j] - from);
    for (std::int64_t j = first; j < end; ++j) scores[j] /= sum;
    return top + std::log(sum);
  }

  const double* at(const void* base, const RowStrides& strides, std::int64_t head,
                   std::int64_t row) const {
    return static_cast<const double*>(rows_at(s_, base, strides, batch_, head, row));
  }
  double* at(void* base, const RowStrides& strides, std::int64_t head, std::int64_t row) const {
    return static_cast<double*>(rows_at(s_, base, strides, batch_, head, row));
  }
  std::int64_t kv_head() const { return kv_head_; }

  double *scores, *keep;
  std::int64_t first, end;

 private:
  double bias(std::int64_t key) const {
    double sum = 0;
    if (s_.mask.present) {
      const std::int64_t i = s_.mask.batch[static_cast<std::size_t>(batch_)] +
                             head_ * s_.mask.head + query_ * s_.mask.row + key * s_.mask.key;
      if (s_.mask.dtype == DType::boolean) {
        if (!static_cast<const std::uint8_t*>(in_.mask)[i]) {
          sum = -std::numeric_limits<double>::infinity();
        }
      } else {
        sum = number_at(in_.mask, s_.mask.dtype, i);
      }
    }
    if (s_.slopes) {
      sum -= number_at(in_.slopes, s_.slopes_dtype, head_) *
             static_cast<double>(std::abs(query_ + s_.offset - key));
    }
    return sum;
  }

  double kept(std::int64_t key) const {
    if (!(s_.dropout > 0)) return 1;
    const auto u = [](std::int64_t x) { return static_cast<std::uint64_t>(x); };
    const RandomKey draws{u(in_.key[0]), u(in_.key[1]), s_.stream};
    const std::uint32_t bits = pair_bits(draws, u(batch_ * s_.heads + head_), u(query_), u(key),
                                         u(s_.queries), u(s_.keys));
    return bits < pair_threshold(s_.dropout) ? 0 : 1 / (1 - s_.dropout);
  }

  const AttentionShape& s_;
  const AttentionOperands& in_;
  std::int64_t batch_, head_, query_, kv_head_;
};

void add_row(double by, const double* from, std::int64_t count, double* to) {
  for (std::int64_t d = 0; d < count; ++d) to[d] += by * from[d];
}

}  // namespace

void attention_rows(const AttentionShape& s, std::int64_t batch, std::int64_t head,
                    const AttentionOperands& operands, void* scratch) noexcept {
  for (std::int64_t i = 0; i < s.queries; ++i) {
    ScoreRow row(s, batch, head, i, operands, scratch);
    const double lse = row.softmax();
    if (operands.lse_out) {
      static_cast<double*>(operands.lse_out)[(batch * s.heads + head) * s.queries + i] = lse;
    }
    if (!operands.y_out) continue;
    double* y = row.at(operands.y_out, s.y, head, i);
    const bool none = s.keys > 0 && lse == -std::numeric_limits<double>::infinity();
    std::fill_n(y, s.value_depth, none ? std::numeric_limits<double>::quiet_NaN() : 0);
    for (std::int64_t j = row.first; !none && j < row.end; ++j) {
      add_row(row.scores[j] * row.keep[j], row.at(operands.v, s.v, row.kv_head(), j), s.value_depth,
              y);
    }
  }
}

void attention_backward_rows(const AttentionShape& s, std::int64_t batch, std::int64_t kv_head,
                             const AttentionOperands& operands, void* scratch) noexcept {
  const AttentionOperands& o = operands;
  const auto at = [&](auto* base, const RowStrides& strides, std::int64_t head, std::int64_t i) {
    return static_cast<double*>(
        const_cast<void*>(rows_at(s, static_cast<const void*>(base), strides, batch, head, i)));
  };
  for (std::int64_t j = 0; j < s.keys; ++j) {
    if (o.dk) std::fill_n(at(o.dk, s.dk, kv_head, j), s.depth, 0.0);
    if (o.dv) std::fill_n(at(o.dv, s.dv, kv_head, j), s.value_depth, 0.0);
  }
  const std::int64_t group = s.heads / s.kv_heads;
  for (std::int64_t head = kv_head * group; head < (kv_head + 1) * group; ++head) {
    for (std::int64_t i = 0; i < s.queries; ++i) {
      ScoreRow row(s, batch, head, i, o, scratch);
      const std::int64_t number = (batch * s.heads + head) * s.queries + i;
      const double lse = number_at(o.lse, s.lse_dtype, number);
      const bool none = lse == -std::numeric_limits<double>::infinity();
      const double *q = row.at(o.q, s.q, head, i), *dy = row.at(o.dy, s.dy, head, i),
                   *y = row.at(o.y, s.y, head, i);
      double delta = o.dlse ? -number_at(o.dlse, s.dlse_dtype, number) : 0;
      for (std::int64_t d = 0; d < s.value_depth; ++d) delta += y[d] * dy[d];
      if (o.dq) std::fill_n(at(o.dq, s.dq, head, i), s.depth, 0.0);
      for (std::int64_t j = row.first; !none && j < row.end; ++j) {
        const double p = std::exp(row.scores[j] - lse);
        const double *k = row.at(o.k, s.k, kv_head, j), *v = row.at(o.v, s.v, kv_head, j);
        double dp = 0;
        for (std::int64_t d = 0; d < s.value_depth; ++d) dp += dy[d] * v[d];
        const double ds = p * (dp * row.keep[j] - delta) * s.scale;
        if (o.dv) add_row(p * row.keep[j], dy, s.value_depth, at(o.dv, s.dv, kv_head, j));
        if (o.dk) add_row(ds, q, s.depth, at(o.dk, s.dk, kv_head, j));
        if (o.dq) add_row(ds, k, s.depth, at(o.dq, s.dq, head, i));
      }
    }
  }
}

}  // namespace plait::cpu
