// Attention: types, decomposition and gradient. B stands for any number of leading axes, H for the
// queries' heads and G for those of the keys, each of which serves H/G.
#include "ops/attention.h"

#include <cmath>
#include <limits>

#include "base/philox.h"
#include "ops/compare.h"
#include "ops/constant.h"
#include "ops/contract.h"
#include "ops/random.h"
#include "ops/softmax.h"
#include "ops/unary.h"

namespace plait::ops {
namespace {

constexpr double kUnseen = -std::numeric_limits<double>::infinity();

/// The operands that both ops have, wherever they stand in them.
struct Operands {
  const NodeView& node;
  Tensor q, k, v, mask, slopes, offsets, key;
  Attention a = node.as<Attention>();
};

/// Heads that share a key's head, side by side: [B..,H,T,D] as [B..,G,H/G*T,D].
Tensor folded(const Tensor& x, const Tensor& k) {
  if (k.rank() < 3 || x.dim(-3) == k.dim(-3)) return x;
  Shape shape = x.shape();
  const std::size_t head = shape.size() - 3;
  shape[head + 1] = floordiv(shape[head], k.dim(-3)) * shape[head + 1];
  shape[head] = k.dim(-3);
  return x.reshape(shape);
}

/// The way back, to the heads and rows of q.
Tensor unfolded(const Tensor& x, const Tensor& q) {
  if (q.rank() < 3 || x.dim(-3) == q.dim(-3)) return x;
  Shape shape = q.shape();
  shape.back() = x.dim(-1);
  return x.reshape(shape);
}

Tensor scores_shape_iota(Builder& b, const Dim& rows, const Dim& columns, int axis) {
  return iota.make(b, Iota{axis == 0 ? Shape{rows, 1} : Shape{1, columns}, axis});
}

/// The documents that positions belong to: how many begin at or before each.
Tensor documents(const Tensor& offsets, const Dim& positions) {
  const Tensor place = iota.make(offsets.builder(), Iota{{positions, 1}, 0, offsets.dtype()});
  return (offsets.unsqueeze({-2}) <= place).cast(DType::i64).sum({-1});
}

Tensor distances(const Operands& o, const Tensor& query, const Tensor& key) {
  return abs((query + static_cast<double>(o.a.offset)) - key).cast(o.q.dtype());
}

Tensor scores_of(const Operands& o) {
  Tensor scores = unfolded(matmul(folded(o.q, o.k), o.k, Matmul{.transpose_b = true}), o.q) *
                  attention_scale(o.node);
  Builder& b = o.q.builder();
  const auto hide = [&](const Tensor& seen) { scores = where(seen, scores, kUnseen); };
  if (o.mask && o.mask.dtype() == DType::boolean) hide(o.mask);
  if (o.mask && o.mask.dtype() != DType::boolean) scores = scores + o.mask;
  if (!o.a.causal && !o.a.window && !o.slopes && !o.offsets) return scores;
  const Tensor query = scores_shape_iota(b, scores.dim(-2), scores.dim(-1), 0);
  const Tensor key = scores_shape_iota(b, scores.dim(-2), scores.dim(-1), 1);
  const auto beside = [&](std::int64_t by) {
    return by == 0 ? query : query + static_cast<double>(by);
  };
  if (o.slopes) {
    const Tensor slope = o.slopes.unsqueeze({-2, -1});
    scores = scores - slope * distances(o, query, key);
  }
  if (o.a.causal) hide(key <= beside(o.a.offset));
  if (o.a.window) {
    hide(key > beside(o.a.offset - o.a.window));
    if (!o.a.causal) hide(key < beside(o.a.offset + o.a.window));
  }
  if (o.offsets) {
    Tensor document = documents(o.offsets, scores.dim(-2));
    if (document.rank() > 1) document = document.unsqueeze({-2});  // the heads'
    hide(equal(document.unsqueeze({-1}), document.unsqueeze({-2})));
  }
  return scores;
}

/// Of what is not dropped; its share of 1 is raised.
Tensor after_dropout(const Operands& o, const Tensor& weights) {
  if (o.a.dropout == 0) return weights;
  const Tensor kept =
      attention_keep(o.key, AttentionKeep{weights.shape(), o.a.dropout, o.a.stream});
  return where(kept, weights * (1 / (1 - o.a.dropout)), 0.0);
}

/// The log of each row's sum of exponents; -inf for a row that sees no key.
Tensor log_sum(const Tensor& scores) {
  const Tensor most = scores.max({-1}, true);
  const Tensor safe = where(most > kUnseen, most, 0.0);
  return ((scores - safe).exp().sum({-1}, true).log() + safe).squeeze({-1});
}

struct ScoreGrads {
  Tensor scores, weights;  // the gradient of the scores; the weights after dropout
};

/// `p`: the weights before dropout. `mean`: the gradient's mean by the weights, of each row; made
/// here when it is not given.
ScoreGrads score_grads(const Operands& o, const Tensor& p, const Tensor& dy, Tensor mean,
                       const Tensor& dlse) {
  const Tensor dw =
      after_dropout(o, unfolded(matmul(folded(dy, o.k), o.v, Matmul{.transpose_b = true}), o.q));
  if (!mean) mean = (dw * p).sum({-1}, true);
  if (dlse) mean = mean - dlse.unsqueeze({-1});
  return {p * (dw - mean), after_dropout(o, p)};
}

std::vector<Tensor> operand_grads(const Operands& o, const ScoreGrads& g, const Tensor& dy) {
  const double scale = attention_scale(o.node);
  const Tensor scores = folded(g.scores, o.k);
  return {unfolded(matmul(scores, o.k), o.q) * scale,
          matmul(scores, folded(o.q, o.k), Matmul{.transpose_a = true}) * scale,
          matmul(folded(g.weights, o.k), folded(dy, o.k), Matmul{.transpose_a = true})};
}

/// Reads what the node has, halves widened; of what only scores are made of, `of_scores` says.
Operands operands_of(GradCtx& g, bool of_scores) {
  const auto take = [&](int i) { return g.node.has(i) ? widen(g.in(i)) : Tensor(); };
  const auto made = [&](int i) { return of_scores ? take(i) : Tensor(); };
  return {g.node, take(0), take(1), take(2), made(3), made(4), made(5), take(6)};
}

Tensor probabilities(GradCtx& g) { return softmax(scores_of(operands_of(g, true)), Axis{-1}); }

/// Of every operand, by the weights; also of those that are added to the scores.
Grads expanded_grads(GradCtx& g, const Tensor& p) {
  const Operands o = operands_of(g, false);
  Grads grads(static_cast<std::size_t>(g.node.count()));
  const Tensor dy = widen(g.dy());
  const ScoreGrads of = score_grads(o, p, dy, {}, g.has_dy(1) ? g.dy(1) : Tensor());
  const std::vector<Tensor> three = operand_grads(o, of, dy);
  for (std::size_t i = 0; i < 3; ++i) {
    if (g.wants(static_cast<int>(i))) grads[i] = three[i];
  }
  if (g.node.has(3) && g.wants(3)) grads[3] = sum_to(of.scores, g.type(3).shape);
  if (g.node.has(4) && g.wants(4)) {
    const Dim& heads = g.type(4).shape[0];
    Builder& b = o.q.builder();
    const Dim &rows = of.scores.dim(-2), &columns = of.scores.dim(-1);
    const Tensor far = distances(o, scores_shape_iota(b, rows, columns, 0),
                                 scores_shape_iota(b, rows, columns, 1));
    grads[4] = -sum_to(of.scores * far, {heads, 1, 1}).reshape({heads});
  }
  return grads;
}

void check_mask(const NodeView& v, int i, const Shape& scores) {
  if (!v.has(i)) return;
  const DType q = v.in(0).dtype, mask = v.in(i).dtype;
  if (mask != DType::boolean && mask != q && mask != compute_dtype(q)) {
    v.fail_hint("It is bool, or added to the scores in their dtype", "mask cannot be ", mask, ": ",
                v.operand_text());
  }
  if (!(broadcast(v, scores, v.in(i).shape) == scores)) {
    v.fail("mask does not broadcast to ", shape_text(scores), ": ", v.operand_text());
  }
}

void check_slopes(const NodeView& v, int i, const Shape& scores) {
  if (!v.has(i)) return;
  if (scores.size() < 3) v.fail("slopes need an axis of heads: ", v.operand_text());
  want_shape(v, i, {scores[scores.size() - 3]}, "one for each head");
  const DType q = v.in(0).dtype;
  if (v.in(i).dtype != q && v.in(i).dtype != compute_dtype(q)) {
    v.fail("slopes cannot be ", v.in(i).dtype, ": ", v.operand_text());
  }
}

void check_offsets(const NodeView& v, int i, const Shape& scores) {
  if (!v.has(i)) return;
  want_dtype(v, i, dtype_set(DType::i64) | dtype_set(DType::i32), "i64 or i32");
  const std::size_t lead = scores.size() - std::min<std::size_t>(3, scores.size());
  const Shape& own = v.in(i).shape;
  const bool every = own.size() == 1;
  const bool each =
      own.size() == lead + 1 &&
      std::equal(scores.begin(), scores.begin() + static_cast<std::ptrdiff_t>(lead), own.begin());
  if (!every && !each) {
    v.fail("offsets are one list, or one for each row of a batch: ", v.operand_text());
  }
  if (!(scores[scores.size() - 2] == scores.back())) {
    v.fail("offsets need as many keys as queries: ", v.operand_text());
  }
}

void check_attributes(const NodeView& v, int key) {
  const auto a = v.as<Attention>();
  if (a.window < 0) v.fail("window=", a.window, " must not be negative");
  if (!(a.dropout >= 0 && a.dropout < 1)) v.fail("dropout=", a.dropout, " must be in [0, 1)");
  if (a.dropout > 0 && !v.has(key)) v.fail_hint("Give it b.random_key()", "dropout needs a key");
  if (v.has(key)) check_random_key(v, key, a.stream);
}

/// Of q, k, v; the shape of the scores.
Shape check_operands(const NodeView& v) {
  const Shape &q = v.in(0).shape, &k = v.in(1).shape, &values = v.in(2).shape;
  same_dtype(v, 0, 1);
  same_dtype(v, 0, 2);
  if (q.size() < 2) v.fail("q needs axes [..., queries, D]: ", v.operand_text());
  want_rank(v, 1, v.in(0).rank());
  want_rank(v, 2, v.in(0).rank());
  const std::size_t lead = q.size() - 2;
  for (std::size_t i = 0; i < lead; ++i) {
    const bool heads = i + 1 == lead && q[i].is_const() && k[i].is_const();
    const bool grouped = heads && k[i].value() > 0 && q[i].value() % k[i].value() == 0;
    if (!(k[i] == values[i]) || !(q[i] == k[i] || grouped)) {
      v.fail(heads && k[i] == values[i] ? "heads of q are no multiple of those of k: "
                                        : "leading axes differ: ",
             v.operand_text());
    }
  }
  if (!(q.back() == k.back())) v.fail("q and k differ in their last axis: ", v.operand_text());
  if (!(k[lead] == values[lead])) {
    v.fail("there are ", k[lead], " keys and ", values[lead], " values: ", v.operand_text());
  }
  if (v.as<Attention>().scale == 0 && !q.back().is_const()) {
    v.fail_hint("Give scale", "1/sqrt(D) needs a known D: ", v.operand_text());
  }
  Shape scores(q.begin(), q.end() - 1);
  scores.push_back(k[lead]);
  return scores;
}

/// Of [B..,H,T].
Dim elements_of(Shape scores, const Dim& last) {
  scores.back() = last;
  return ir::Type{DType::f32, scores}.elements();
}

/// Pairs of a query and a key that it sees by the attributes, over all heads.
Dim pairs(const NodeView& v) {
  const auto a = v.as<Attention>();
  const Shape scores = check_operands(v);
  const Dim &rows = scores[scores.size() - 2], &keys = scores.back();
  if (a.causal && a.offset == 0 && a.window == 0 && rows == keys) {
    return floordiv(elements_of(scores, keys + 1), 2);
  }
  const std::int64_t near = a.causal ? a.window : 2 * a.window - 1;
  if (a.window > 0 && keys.is_const() && near < keys.value()) return elements_of(scores, near);
  return elements_of(scores, keys);
}

Dim widths(const NodeView& v, std::int64_t of_q, std::int64_t of_v) {
  return v.in(0).shape.back() * Dim(of_q) + v.in(2).shape.back() * Dim(of_v);
}

}  // namespace

double attention_scale(const NodeView& v) {
  const auto a = v.as<Attention>();
  if (a.scale != 0) return a.scale;
  return 1 / std::sqrt(static_cast<double>(v.in(0).shape.back().value()));
}

std::vector<ir::Type> infer_attention(const NodeView& v) {
  const Shape scores = check_operands(v);
  check_mask(v, 3, scores);
  check_slopes(v, 4, scores);
  check_offsets(v, 5, scores);
  check_attributes(v, 6);
  const Shape rows(scores.begin(), scores.end() - 1);
  Shape y = rows;
  y.push_back(v.in(2).shape.back());
  return {{v.in(0).dtype, y}, {compute_dtype(v.in(0).dtype), rows}};
}

std::vector<ir::Type> infer_attention_keep(const NodeView& v) {
  const auto a = v.as<AttentionKeep>();
  check_random_key(v, 0, a.stream);
  if (a.shape.size() < 2) v.fail("shape needs queries and keys");
  if (!(a.p >= 0 && a.p < 1)) v.fail("p=", a.p, " must be in [0, 1)");
  return {{DType::boolean, a.shape}};
}

void eval_attention_keep(EvalCtx& c) {
  const auto a = c.as<AttentionKeep>();
  const RandomKey key{static_cast<std::uint64_t>(c.in(0).integer(0)),
                      static_cast<std::uint64_t>(c.in(0).integer(1)),
                      static_cast<std::uint32_t>(a.stream)};
  const Sizes& sizes = c.out().sizes();
  const std::int64_t queries = sizes[sizes.size() - 2], keys = sizes.back();
  for (std::int64_t i = 0; i < c.out().count(); ++i) {
    const auto row = static_cast<std::uint64_t>(i / keys);
    const auto all = static_cast<std::uint64_t>(queries);
    const std::uint32_t bits =
        pair_bits(key, row / all, row % all, static_cast<std::uint64_t>(i % keys), all,
                  static_cast<std::uint64_t>(keys));
    c.out().set_integer(i, bits >= pair_threshold(a.p));
  }
}

std::vector<ir::Type> infer_attention_backward(const NodeView& v) {
  const Shape scores = check_operands(v);
  const Shape rows(scores.begin(), scores.end() - 1);
  Shape y = rows;
  y.push_back(v.in(2).shape.back());
  for (int i : {3, 5}) {
    same_dtype(v, 0, i);
    want_shape(v, i, y, "attention's result");
  }
  for (int i : {4, 10}) {
    if (!v.has(i)) continue;
    if (v.in(i).dtype != compute_dtype(v.in(0).dtype)) same_dtype(v, 0, i);
    want_shape(v, i, rows, "one number for each query");
  }
  check_mask(v, 6, scores);
  check_slopes(v, 7, scores);
  check_offsets(v, 8, scores);
  check_attributes(v, 9);
  return {v.in(0), v.in(1), v.in(2)};
}

std::vector<Tensor> decompose_attention(DecomposeCtx& c) {
  const auto take = [&](int i) { return c.has(i) ? c.in(i) : Tensor(); };
  const Operands o{c.node, take(0), take(1), take(2), take(3), take(4), take(5), take(6)};
  const Tensor scores = scores_of(o);
  if (scores.dim(-1).is(0)) {
    const Shape rows(scores.shape().begin(), scores.shape().end() - 1);
    Shape y = rows;
    y.push_back(o.v.dim(-1));
    Builder& b = o.q.builder();
    return {b.full(0, o.q.dtype(), y), b.full(kUnseen, scores.dtype(), rows)};
  }
  const Tensor weights = after_dropout(o, softmax(scores, Axis{-1}));
  return {unfolded(matmul(folded(weights, o.k), o.v), o.q), log_sum(scores)};
}

std::vector<Tensor> decompose_attention_backward(DecomposeCtx& c) {
  const auto take = [&](int i) { return c.has(i) ? c.in(i) : Tensor(); };
  const Operands o{c.node, take(0), take(1), take(2), take(6), take(7), take(8), take(9)};
  const Tensor dy = take(5), lse = take(4).unsqueeze({-1});
  // A query that sees no key has no gradient, and gives none.
  const Tensor blind = lse <= kUnseen;
  const Tensor p = (scores_of(o) - where(blind, -kUnseen, lse)).exp();
  const Tensor mean = where(blind, 0.0, (dy * take(3)).sum({-1}, true));
  return operand_grads(o, score_grads(o, p, dy, mean, take(10)), dy);
}

Grads attention_from_result(GradCtx& g) {
  const bool added = (g.node.has(3) && g.wants(3)) || (g.node.has(4) && g.wants(4));
  if (added) return expanded_grads(g, probabilities(g));
  const auto take = [&](int i) { return g.node.has(i) ? g.in(i) : Tensor(); };
  std::vector<Tensor> three =
      g.b.add(attention_backward,
              {take(0), take(1), take(2), g.out(0), g.out(1), g.dy(), take(3), take(4), take(5),
               take(6), g.has_dy(1) ? g.dy(1) : Tensor()},
              g.node.attrs);
  three.resize(static_cast<std::size_t>(g.node.count()));
  return three;
}

Grads attention_from_probabilities(GradCtx& g) {
  return expanded_grads(g, g.save("probabilities", probabilities(g)));
}

Dim attention_operations(const NodeView& v) { return pairs(v) * (widths(v, 2, 2) + 8); }

Dim attention_backward_operations(const NodeView& v) { return pairs(v) * (widths(v, 6, 4) + 12); }

}  // namespace plait::ops
