// Optimizer updates: types and decompositions, in PyTorch's order of operations.
#include "ops/update.h"

#include <cmath>

#include "ops/unary.h"

namespace plait::ops {
namespace {

/// UserError unless operand i is shaped like w, in w's dtype or in f32 beside a half.
void want_slot(const NodeView& v, int i) {
  want_shape(v, i, v.in(0).shape, "w's");
  const DType w = v.in(0).dtype, slot = v.in(i).dtype;
  if (slot != w && slot != compute_dtype(w)) {
    v.fail("operand ", v.op.inputs[i], " must be ", w, is_half(w) ? " or f32: " : ": ",
           v.operand_text());
  }
}

void check_gradient_and_rate(const NodeView& v) {
  want_slot(v, 1);
  want_dtype(v, 2, kFloats, "a float");
  want_shape(v, 2, {}, "a scalar");
}

ir::Type like(const ir::Type& t) { return {t.dtype, t.shape}; }

/// 1 - beta^step, exact also while beta^step is near 1.
Tensor bias_correction(double beta, const Tensor& step) { return -expm1(step * std::log(beta)); }

}  // namespace

std::vector<ir::Type> infer_sgd_update(const NodeView& v) {
  const auto a = v.as<SgdUpdate>();
  check_gradient_and_rate(v);
  if (v.has(3) != (a.momentum != 0)) {
    v.fail("momentum=", a.momentum, v.has(3) ? " needs no buffer m" : " needs the buffer m", ": ",
           v.operand_text());
  }
  if (a.nesterov && (a.momentum == 0 || a.dampening != 0)) {
    v.fail("nesterov needs a momentum and no dampening: momentum=", a.momentum,
           ", dampening=", a.dampening);
  }
  if (!v.has(3)) return {like(v.in(0))};
  want_slot(v, 3);
  return {like(v.in(0)), like(v.in(3))};
}

std::vector<ir::Type> infer_adam_update(const NodeView& v) {
  const auto a = v.as<AdamUpdate>();
  check_gradient_and_rate(v);
  want_slot(v, 3);
  want_slot(v, 4);
  want_dtype(v, 5, dtype_set(DType::i64), "i64");
  want_shape(v, 5, {}, "a scalar");
  for (double beta : {a.beta1, a.beta2}) {
    if (!(beta >= 0 && beta < 1)) v.fail("beta ", beta, " must be in [0, 1)");
  }
  return {like(v.in(0)), like(v.in(3)), like(v.in(4))};
}

std::vector<Tensor> decompose_sgd_update(DecomposeCtx& c) {
  const auto a = c.as<SgdUpdate>();
  const Tensor w = c.in(0), lr = narrow(c.in(2), w.dtype());
  Tensor g = c.in(1);
  if (a.weight_decay != 0) g = g + w * a.weight_decay;
  if (a.momentum == 0) return {w - lr * g};
  const Tensor m = c.in(3) * a.momentum + (a.dampening != 0 ? g * (1 - a.dampening) : g);
  return {w - lr * (a.nesterov ? g + m * a.momentum : m), m};
}

std::vector<Tensor> decompose_adam_update(DecomposeCtx& c) {
  const auto a = c.as<AdamUpdate>();
  const DType dtype = c.in(0).dtype();
  const Tensor lr = narrow(c.in(2), dtype), step = c.in(5).cast(dtype);
  Tensor w = c.in(0), g = c.in(1);
  if (a.weight_decay != 0 && a.decoupled) w = w * (1.0 - lr * a.weight_decay);
  if (a.weight_decay != 0 && !a.decoupled) g = g + w * a.weight_decay;
  const Tensor m = c.in(3) * a.beta1 + g * (1 - a.beta1);
  const Tensor v = c.in(4) * a.beta2 + g.square() * (1 - a.beta2);
  const Tensor rate = lr / bias_correction(a.beta1, step);
  // One division per element; that of the correction is made once.
  const Tensor spread = v.sqrt() * (1.0 / bias_correction(a.beta2, step).sqrt()) + a.eps;
  return {w - rate * (m / spread), m, v};
}

}  // namespace plait::ops
