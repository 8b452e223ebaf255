// Attention: types, decomposition and gradient. B stands for any number of leading axes.
#include "ops/attention.h"

#include <cmath>
#include <limits>

#include "ops/compare.h"
#include "ops/constant.h"
#include "ops/contract.h"
#include "ops/softmax.h"

namespace plait::ops {
namespace {

double scale_of(const NodeView& v) {
  const auto a = v.as<Attention>();
  if (a.scale != 0) return a.scale;
  return 1 / std::sqrt(static_cast<double>(v.in(0).shape.back().value()));
}

/// [B,T,S] of [B,T,D] and [B,S,D]: each query's weights of the keys.
Tensor probabilities(const NodeView& v, const Tensor& q, const Tensor& k, const Tensor& mask) {
  constexpr double kUnseen = -std::numeric_limits<double>::infinity();
  Tensor scores = matmul(q, k, Matmul{.transpose_b = true}) * scale_of(v);
  if (mask) {
    scores = mask.dtype() == DType::boolean ? where(mask, scores, kUnseen) : scores + mask;
  }
  if (v.as<Attention>().causal) {
    Builder& b = q.builder();
    const Tensor query = iota.make(b, Iota{{scores.dim(-2), 1}, 0});
    const Tensor key = iota.make(b, Iota{{1, scores.dim(-1)}, 1});
    scores = where(key <= query, scores, kUnseen);
  }
  return softmax(scores, Axis{-1});
}

Grads attention_grads(GradCtx& g, const Tensor& p) {
  Grads grads(static_cast<std::size_t>(g.node.count()));
  if (g.wants(2)) grads[2] = matmul(p, g.dy(), Matmul{.transpose_a = true});
  const bool mask = g.node.has(3) && g.wants(3);
  if (!g.wants(0) && !g.wants(1) && !mask) return grads;
  const Tensor dp = matmul(g.dy(), g.in(2), Matmul{.transpose_b = true});
  const Tensor dscores = softmax_grad(p, dp, -1);
  if (mask) grads[3] = sum_to(dscores, g.type(3).shape);
  if (g.wants(0)) grads[0] = matmul(dscores, g.in(1)) * scale_of(g.node);
  if (g.wants(1)) {
    grads[1] = matmul(dscores, g.in(0), Matmul{.transpose_a = true}) * scale_of(g.node);
  }
  return grads;
}

Tensor repeated_probabilities(GradCtx& g) {
  return probabilities(g.node, g.in(0), g.in(1), g.node.has(3) ? g.in(3) : Tensor());
}

void check_mask(const NodeView& v, const Shape& scores) {
  if (!v.has(3)) return;
  const DType q = v.in(0).dtype, mask = v.in(3).dtype;
  if (mask != DType::boolean && mask != q && mask != compute_dtype(q)) {
    v.fail_hint("It is bool, or added to the scores in their dtype", "mask cannot be ", mask, ": ",
                v.operand_text());
  }
  if (!(broadcast(v, scores, v.in(3).shape) == scores)) {
    v.fail("mask does not broadcast to ", shape_text(scores), ": ", v.operand_text());
  }
}

}  // namespace

std::vector<ir::Type> infer_attention(const NodeView& v) {
  const Shape &q = v.in(0).shape, &k = v.in(1).shape, &values = v.in(2).shape;
  same_dtype(v, 0, 1);
  same_dtype(v, 0, 2);
  if (q.size() < 2) v.fail("q needs axes [..., queries, D]: ", v.operand_text());
  want_rank(v, 1, v.in(0).rank());
  want_rank(v, 2, v.in(0).rank());
  const std::size_t lead = q.size() - 2;
  for (std::size_t i = 0; i < lead; ++i) {
    if (!(q[i] == k[i] && q[i] == values[i])) {
      v.fail("leading axes differ: ", v.operand_text());
    }
  }
  if (!(q.back() == k.back())) v.fail("q and k differ in their last axis: ", v.operand_text());
  if (!(k[lead] == values[lead])) {
    v.fail("there are ", k[lead], " keys and ", values[lead], " values: ", v.operand_text());
  }
  if (v.as<Attention>().scale == 0 && !q.back().is_const()) {
    v.fail_hint("Give scale", "1/sqrt(D) needs a known D: ", v.operand_text());
  }
  Shape scores(q.begin(), q.end() - 1), y = scores;
  scores.push_back(k[lead]);
  y.push_back(values.back());
  check_mask(v, scores);
  return {{v.in(0).dtype, y}};
}

std::vector<Tensor> decompose_attention(DecomposeCtx& c) {
  const Tensor p = probabilities(c.node, c.in(0), c.in(1), c.has(3) ? c.in(3) : Tensor());
  return {matmul(p, c.in(2))};
}

Grads attention_from_operands(GradCtx& g) { return attention_grads(g, repeated_probabilities(g)); }

Grads attention_from_probabilities(GradCtx& g) {
  return attention_grads(g, g.save("probabilities", repeated_probabilities(g)));
}

}  // namespace plait::ops
