// Each op of the format in Plait's ops. Halves are computed in f32 and rounded once, as in the
// composites of ops/.
#include "io/aicf/step.h"

#include <cmath>

#include "base/error.h"
#include "io/aicf/op.h"
#include "ops/activation.h"
#include "ops/arithmetic.h"
#include "ops/compare.h"
#include "ops/contract.h"
#include "ops/count.h"
#include "ops/reduce.h"
#include "ops/shape.h"
#include "ops/unary.h"
#include "ops/update.h"

namespace plait::io::aicf {
namespace {

using Results = std::vector<Tensor>;

double number(const Step& s, std::string_view key) { return *s.node.number(key); }

/// The last node of result `output`: it has the result's name.
template <ir::AttrStruct A = ir::NoAttrs>
Tensor made(const Step& s, int output, const Op& op, const std::vector<Tensor>& operands,
            const A& attrs = {}) {
  return s.b.add(op, operands, ir::encode(attrs), {},
                 {s.names[static_cast<std::size_t>(output)]})[0];
}

/// A result as it was computed, and rounded to the dtype that the document says.
struct Rounded {
  Tensor wide, result;
};
Rounded made_wide(const Step& s, int output, const Op& op, const Tensor& x, const Tensor& y) {
  const DType dtype = s.types[static_cast<std::size_t>(output)].dtype;
  if (dtype == x.dtype()) {
    const Tensor result = made(s, output, op, {x, y});
    return {result, result};
  }
  const Tensor wide = op(x, y);
  return {wide, made(s, output, ops::cast, {wide}, ops::Cast{dtype})};
}

/// One element in the shape that the document says.
Tensor shaped(const Tensor& x, const Shape& shape) {
  return x.shape() == shape ? x : x.reshape(shape);
}

Results linear(const Step& s) { return {made(s, 0, ops::linear, s.in)}; }
Results relu(const Step& s) { return {made(s, 0, ops::relu, s.in)}; }
Results save(const Step& s) { return {made(s, 0, ops::copy, s.in)}; }

Results mse_grad(const Step& s) {
  const Tensor pred = widen(s.in[0]), target = widen(s.in[1]);
  const Tensor difference = pred - target;
  const DType dtype = difference.dtype();
  const std::optional<double> scale = s.node.number("scale");
  const Tensor factor =
      scale ? s.b.constant(*scale, dtype)
            : s.b.constant(2, dtype) / ops::size_as_tensor(s.b, pred.type().elements(), dtype);
  return {made_wide(s, 0, ops::mul, difference, factor).result};
}

Results linear_bwd(const Step& s) {
  const Tensor &x = s.in[0], &w = s.in[1], &dy = s.in[2];
  Results out{made(s, 0, ops::matmul, {dy, w}),
              made(s, 1, ops::matmul, {dy, x}, ops::Matmul{.transpose_a = true})};
  if (s.types.size() == 3) out.push_back(made(s, 2, ops::sum, {dy}, ops::Reduction{{0}}));
  return out;
}

Results relu_bwd(const Step& s) {
  const Tensor zero = s.b.constant(0, s.in[0].dtype());
  return {made(s, 0, ops::where, {s.in[1] > 0, s.in[0], zero})};
}

/// The rate beside a parameter: f64 for f64, else f32.
Tensor rate(const Step& s) { return s.b.constant(number(s, "lr"), compute_dtype(s.in[0].dtype())); }

Results sgd_step(const Step& s) {
  return {made(s, 0, ops::sgd_update, {s.in[0], s.in[1], rate(s)}, ops::SgdUpdate{})};
}

Results step_inc(const Step& s) {
  const Tensor one = s.b.constant(1, s.in[0].dtype());
  if (s.in[0].shape() == s.types[0].shape) return {made(s, 0, ops::add, {s.in[0], one})};
  return {made(s, 0, ops::reshape, {s.in[0] + one}, ops::ShapeTo{s.types[0].shape})};
}

Results bias_corr(const Step& s) { return {bias_correction(s, 0), bias_correction(s, 1)}; }

/// By the corrections as tensors, where they do not come from a counter.
Results adam_by_corrections(const Step& s) {
  const Tensor p = widen(s.in[0]), g = widen(s.in[1]);
  const DType dtype = p.dtype();
  const auto wide = [&](int i) { return narrow(s.in[static_cast<std::size_t>(i)], dtype); };
  const auto scalar = [&](int i) { return shaped(wide(i), {}); };
  const double beta1 = number(s, "beta1"), beta2 = number(s, "beta2");
  const Rounded m = made_wide(s, 1, ops::add, wide(2) * beta1, g * (1 - beta1));
  const Rounded v = made_wide(s, 2, ops::add, wide(3) * beta2, g.square() * (1 - beta2));
  const Tensor m_hat = m.wide * scalar(4), v_hat = v.wide * scalar(5);
  const Tensor change = m_hat / (v_hat.sqrt() + number(s, "eps")) * number(s, "lr");
  return {made_wide(s, 0, ops::sub, p, change).result, m.result, v.result};
}

Results adam_step(const Step& s) {
  if (!s.count) return adam_by_corrections(s);
  const ops::AdamUpdate attrs{
      .beta1 = number(s, "beta1"), .beta2 = number(s, "beta2"), .eps = number(s, "eps")};
  return s.b.add(ops::adam_update, {s.in[0], s.in[1], rate(s), s.in[2], s.in[3], s.count},
                 ir::encode(attrs), {}, s.names);
}

constexpr struct {
  std::string_view op;
  Results (*results)(const Step&);
} kMeanings[] = {
    {"Linear", linear},
    {"ReLU", relu},
    {"Save", save},
    {"MseGrad", mse_grad},
    {"LinearBwd", linear_bwd},
    {"ReluBwd", relu_bwd},
    {"SgdStep", sgd_step},
    {"StepInc", step_inc},
    {"BiasCorr", bias_corr},
    {"AdamStep", adam_step},
};

/// A node with an attribute of unknown meaning: kept, not run.
Results opaque(const Step& s) {
  ir::Node node{s.node.op, {}, {}, {}, s.b.path(), s.source, true};
  for (const Tensor& t : s.in) node.inputs.push_back(t.id());
  for (const Attr& a : s.node.attrs) node.attrs.set(a.key, a.text);
  const ir::NodeId id = s.b.graph().add_node(std::move(node), s.types, s.names);
  Results out;
  for (ir::ValueId v : s.b.graph().node(id).outputs) out.push_back(s.b.value(v));
  return out;
}

}  // namespace

Tensor as_count(const Tensor& step) { return shaped(narrow(step, DType::i64), {}); }

Tensor bias_correction(const Step& s, int output) {
  const ir::Type& type = s.types[static_cast<std::size_t>(output)];
  const double beta = number(s, output == 0 ? "beta1" : "beta2");
  const Tensor step = shaped(s.in[0].cast(compute_dtype(type.dtype)), type.shape);
  const Tensor correction = -ops::expm1(step * std::log(beta));
  if (!is_half(type.dtype)) return made(s, output, ops::reciprocal, {correction});
  return made(s, output, ops::cast, {ops::reciprocal(correction)}, ops::Cast{type.dtype});
}

std::vector<Tensor> step_results(const Step& step) {
  if (has_unknown_attr(step.node)) return opaque(step);
  for (const auto& meaning : kMeanings) {
    if (meaning.op != step.node.op) continue;
    Results out = meaning.results(step);
    for (std::size_t i = 0; i < out.size(); ++i) {
      if (out[i].type() == step.types[i]) continue;
      fail("[", step.node.op, "] ", step.names[i], " is ", out[i].type(), ", the document says ",
           step.types[i]);
    }
    return out;
  }
  fail("the format has no op ", step.node.op);
}

}  // namespace plait::io::aicf
