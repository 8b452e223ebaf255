// Softmax and its logarithm along one axis, safe for large values. A row that is -inf everywhere
// (all masked) gives NaN, as PyTorch's does.
#pragma once

#include "ops/builder.h"
#include "ops/infer.h"

namespace plait::ops {

inline std::vector<ir::Type> infer_along_axis(const NodeView& v) {
  axis_of(v, v.as<Axis>().axis, v.in(0).rank());
  return same_as_input(v);
}

/// The gradient of softmax's operand from its result y and the result's gradient.
inline Tensor softmax_grad(const Tensor& y, const Tensor& dy, std::int64_t axis) {
  return y * (dy - (dy * y).sum({axis}, true));
}

inline Tensor log_softmax_grad(const Tensor& y, const Tensor& dy, std::int64_t axis) {
  return dy - y.exp() * dy.sum({axis}, true);
}

/// The node's own result, made again from its operand.
inline Tensor repeated(GradCtx& g) { return g.b.add(g.node.op, {g.in()}, g.node.attrs)[0]; }

inline constexpr std::string_view kAlongAxis =
    "f32[7]; f32[3,5]; f32[2,3,4] | axis=1; f32[4,3] | axis=0; f32[2,1]; f32[0,3]; "
    "f32[3,4]{-80..80}";

// Entries are laid out by hand.
// clang-format off
inline constexpr Op softmax{
    .name = "softmax", .inputs = {"x"}, .dtypes = kFloats, .attrs = &ir::kSchema<Axis>,
    .infer = infer_along_axis,
    .decompose = [](DecomposeCtx& c) -> std::vector<Tensor> {
      const auto axis = c.as<Axis>().axis;
      const Tensor e = (c.in() - c.in().max({axis}, true)).exp();
      return {e / e.sum({axis}, true)};
    },
    .grads = {{"y", [](GradCtx& g) -> Grads {
      return {softmax_grad(g.out(), g.dy(), g.as<Axis>().axis)};
    }}, {"x", [](GradCtx& g) -> Grads {
      return {softmax_grad(repeated(g), g.dy(), g.as<Axis>().axis)};
    }}},
    .colour = Colour::kGray, .samples = kAlongAxis,
    .doc = "exp(x) over its sum along an axis; NaN where a row is all -inf"};

inline constexpr Op log_softmax{
    .name = "log_softmax", .inputs = {"x"}, .dtypes = kFloats, .attrs = &ir::kSchema<Axis>,
    .infer = infer_along_axis,
    .decompose = [](DecomposeCtx& c) -> std::vector<Tensor> {
      const auto axis = c.as<Axis>().axis;
      const Tensor low = c.in() - c.in().max({axis}, true);
      return {low - low.exp().sum({axis}, true).log()};
    },
    .grads = {{"y", [](GradCtx& g) -> Grads {
      return {log_softmax_grad(g.out(), g.dy(), g.as<Axis>().axis)};
    }}, {"x", [](GradCtx& g) -> Grads {
      return {log_softmax_grad(repeated(g), g.dy(), g.as<Axis>().axis)};
    }}},
    .colour = Colour::kGray, .samples = kAlongAxis,
    .doc = "log of softmax; NaN where a row is all -inf"};
// clang-format on

inline constexpr const Op* kSoftmax[] = {&softmax, &log_softmax};

}  // namespace plait::ops
