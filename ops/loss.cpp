// Losses: types, decompositions and gradients.
#include "ops/loss.h"

#include "ops/compare.h"
#include "ops/constant.h"
#include "ops/count.h"
#include "ops/index.h"
#include "ops/reduce.h"
#include "ops/softmax.h"

namespace plait::ops {
namespace {

void check_reduction(const NodeView& v, const std::string& reduction) {
  if (reduction != "mean" && reduction != "sum" && reduction != "none") {
    v.fail_hint("It is mean, sum or none", "reduction cannot be ", quoted(reduction));
  }
}

std::int64_t class_axis(const NodeView& v) {
  return axis_of(v, v.as<CrossEntropy>().axis, v.in(0).rank());
}

Tensor is_ignored(const Tensor& targets, const CrossEntropy& a) {
  return equal(targets, static_cast<double>(a.ignore_index));
}

/// How many targets are not ignored.
Tensor counted(const Tensor& ignored, DType dtype) {
  Builder& b = ignored.builder();
  return where(ignored, b.constant(0, dtype), b.constant(1, dtype)).sum();
}

/// (p - target distribution) * dy, where p = softmax(logits).
Grads cross_entropy_grads(GradCtx& g, const Tensor& p) {
  const auto a = g.as<CrossEntropy>();
  const std::int64_t axis = class_axis(g.node);
  const Dim classes = p.dim(static_cast<int>(axis));
  Shape along(p.shape().size(), 1);
  along[static_cast<std::size_t>(axis)] = classes;
  const Tensor number = iota.make(g.b, Iota{along, axis, g.type(1).dtype});
  const Tensor hit = equal(number, g.in(1).unsqueeze({axis}));
  Tensor d = where(hit, p - (1 - a.label_smoothing), p);
  if (a.label_smoothing != 0) {
    d = d - a.label_smoothing / size_as_tensor(g.b, classes, p.dtype());
  }
  const Tensor ignored = is_ignored(g.in(1), a);
  const Tensor dy = a.reduction == "mean" ? g.dy() / counted(ignored, p.dtype()) : g.dy();
  // Chosen, not multiplied: where no target counts the mean's dy is infinite.
  return {d * where(ignored, 0.0, dy).unsqueeze({axis}), Tensor()};
}

}  // namespace

std::vector<ir::Type> infer_cross_entropy(const NodeView& v) {
  const auto a = v.as<CrossEntropy>();
  check_reduction(v, a.reduction);
  if (!(a.label_smoothing >= 0 && a.label_smoothing <= 1)) {
    v.fail("label_smoothing=", a.label_smoothing, " must be between 0 and 1");
  }
  Shape targets = v.in(0).shape;
  targets.erase(targets.begin() + class_axis(v));
  want_dtype(v, 1, kIndexInts, "i64 or i32");
  want_shape(v, 1, targets, "the logits without the classes");
  return {{v.in(0).dtype, a.reduction == "none" ? targets : Shape{}}};
}

std::vector<Tensor> decompose_cross_entropy(DecomposeCtx& c) {
  const auto a = c.as<CrossEntropy>();
  const std::int64_t axis = class_axis(c.node);
  const Tensor log_p = log_softmax(c.in(0), Axis{axis});
  const Tensor ignored = is_ignored(c.in(1), a);
  const Tensor target = where(ignored, 0.0, c.in(1)).unsqueeze({axis});
  Tensor loss = -take_along(log_p, target, Axis{axis}).squeeze({axis});
  if (a.label_smoothing != 0) {
    loss = loss * (1 - a.label_smoothing) - log_p.mean({axis}) * a.label_smoothing;
  }
  loss = where(ignored, 0.0, loss);
  if (a.reduction == "none") return {loss};
  if (a.reduction == "sum") return {loss.sum()};
  return {loss.sum() / counted(ignored, loss.dtype())};
}

Grads cross_entropy_from_logits(GradCtx& g) {
  return cross_entropy_grads(g, softmax(g.in(0), Axis{class_axis(g.node)}));
}

Grads cross_entropy_from_lse(GradCtx& g) {
  const Reduction over_classes{{class_axis(g.node)}, true};
  const Tensor lse = g.save("lse", logsumexp(g.in(0), over_classes));
  return cross_entropy_grads(g, (g.in(0) - lse).exp());
}

std::vector<ir::Type> infer_mse_loss(const NodeView& v) {
  const auto a = v.as<MseLoss>();
  check_reduction(v, a.reduction);
  same_dtype(v, 0, 1);
  want_shape(v, 1, v.in(0).shape, "the prediction's");
  return {{v.in(0).dtype, a.reduction == "none" ? v.in(0).shape : Shape{}}};
}

std::vector<Tensor> decompose_mse_loss(DecomposeCtx& c) {
  const auto a = c.as<MseLoss>();
  const Tensor loss = (c.in(0) - c.in(1)).square();
  return {a.reduction == "none" ? loss : a.reduction == "sum" ? loss.sum() : loss.mean()};
}

Grads grad_mse_loss(GradCtx& g) {
  Tensor dy = g.dy() * 2.0;
  if (g.as<MseLoss>().reduction == "mean") {
    dy = dy / size_as_tensor(g.b, g.type().elements(), dy.dtype());
  }
  const Tensor d = (g.in(0) - g.in(1)) * dy;
  return {d, g.wants(1) ? -d : Tensor()};
}

}  // namespace plait::ops
