// Ops that only move or rename elements: reshapes, transposes, slices, pads, joins.
#pragma once

#include "ops/builder.h"
#include "ops/infer.h"

namespace plait::ops {

struct ShapeTo {
  Shape shape;
  bool operator==(const ShapeTo&) const = default;
  static constexpr auto fields() { return std::tuple{ir::Field{"shape", &ShapeTo::shape}}; }
};
struct Order {
  std::vector<std::int64_t> order;
  bool operator==(const Order&) const = default;
  static constexpr auto fields() { return std::tuple{ir::Field{"order", &Order::order}}; }
};
struct Axes {
  std::vector<std::int64_t> axes;
  bool operator==(const Axes&) const = default;
  static constexpr auto fields() { return std::tuple{ir::Field{"axes", &Axes::axes}}; }
};
struct Slice {
  std::vector<std::int64_t> axes;
  Shape starts, stops;              // as Python's: negative counts from the end, clamped
  std::vector<std::int64_t> steps;  // positive; all 1 when empty
  bool operator==(const Slice&) const = default;
  static constexpr auto fields() {
    return std::tuple{ir::Field{"axes", &Slice::axes}, ir::Field{"starts", &Slice::starts},
                      ir::Field{"stops", &Slice::stops}, ir::Field{"steps", &Slice::steps}};
  }
};
struct Pad {
  Shape low, high;                     // per axis; negative cuts off
  std::vector<std::int64_t> interior;  // between neighbours; all 0 when empty
  double value = 0;
  bool operator==(const Pad&) const = default;
  static constexpr auto fields() {
    return std::tuple{ir::Field{"low", &Pad::low}, ir::Field{"high", &Pad::high},
                      ir::Field{"interior", &Pad::interior}, ir::Field{"value", &Pad::value}};
  }
};
struct Split {
  std::int64_t axis = 0;
  Shape sizes;
  bool operator==(const Split&) const = default;
  static constexpr auto fields() {
    return std::tuple{ir::Field{"axis", &Split::axis}, ir::Field{"sizes", &Split::sizes}};
  }
};

std::vector<ir::Type> infer_reshape(const NodeView& v);
std::vector<ir::Type> infer_transpose(const NodeView& v);
std::vector<ir::Type> infer_broadcast(const NodeView& v);
std::vector<ir::Type> infer_squeeze(const NodeView& v);
std::vector<ir::Type> infer_unsqueeze(const NodeView& v);
std::vector<ir::Type> infer_slice(const NodeView& v);
std::vector<ir::Type> infer_pad(const NodeView& v);
std::vector<ir::Type> infer_concat(const NodeView& v);
std::vector<ir::Type> infer_split(const NodeView& v);
loop::Nest nest_reshape(const NodeView& v);
loop::Nest nest_transpose(const NodeView& v);
loop::Nest nest_broadcast(const NodeView& v);
loop::Nest nest_slice(const NodeView& v);
loop::Nest nest_pad(const NodeView& v);
loop::Nest nest_flip(const NodeView& v);
loop::Nest nest_concat(const NodeView& v);
std::vector<Tensor> decompose_split(DecomposeCtx& c);
Grads grad_slice(GradCtx& g);
Grads grad_pad(GradCtx& g);
Grads grad_concat(GradCtx& g);
Grads grad_split(GradCtx& g);
Grads grad_transpose(GradCtx& g);

inline Grads grad_reshape(GradCtx& g) { return {g.dy().reshape(g.type().shape)}; }

// Entries are laid out by hand.
// clang-format off
inline constexpr Op reshape{
    .name = "reshape", .inputs = {"x"}, .traits = kView, .attrs = &ir::kSchema<ShapeTo>,
    .infer = infer_reshape, .nest = nest_reshape, .grads = {{"", grad_reshape}},
    .colour = Colour::kClear,
    .samples = "f32[6] | shape=[2,3]; f32[2,3,4] | shape=[4,-1]; f32[3,4] | shape=[2,3,2]; "
               "f32[1] | shape=[]; f32[0,3] | shape=[3,0]; i32[4] | shape=[2,2]; "
               "bool[2,1] | shape=[2]",
    .doc = "the same elements in row-major order; one size may be -1"};

inline constexpr Op transpose{
    .name = "transpose", .inputs = {"x"}, .traits = kView, .attrs = &ir::kSchema<Order>,
    .infer = infer_transpose, .nest = nest_transpose, .grads = {{"", grad_transpose}},
    .colour = Colour::kClear,
    .samples = "f32[2,3] | order=[1,0]; f32[2,3,4] | order=[2,0,1]; i64[2,3,1] | order=[0,2,1]",
    .doc = "axis i of the result is axis order[i] of x"};

inline constexpr Op broadcast_to{
    .name = "broadcast_to", .inputs = {"x"}, .traits = kView, .attrs = &ir::kSchema<ShapeTo>,
    .infer = infer_broadcast, .nest = nest_broadcast,
    .grads = {{"", [](GradCtx& g) -> Grads { return {sum_to(g.dy(), g.type().shape)}; }}},
    .colour = Colour::kClear,
    .samples = "f32[3] | shape=[2,3]; f32[2,1] | shape=[4,2,3]; f32[] | shape=[5]; "
               "bool[1] | shape=[2]"};

inline constexpr Op squeeze{
    .name = "squeeze", .inputs = {"x"}, .traits = kView, .attrs = &ir::kSchema<Axes>,
    .infer = infer_squeeze, .nest = nest_reshape, .grads = {{"", grad_reshape}},
    .colour = Colour::kClear,
    .samples = "f32[2,1,3] | axes=[1]; f32[1,2,1] | axes=[0,-1]; i64[1] | axes=[0]",
    .doc = "drops axes of size 1; all of them when axes is empty"};

inline constexpr Op unsqueeze{
    .name = "unsqueeze", .inputs = {"x"}, .traits = kView, .attrs = &ir::kSchema<Axes>,
    .infer = infer_unsqueeze, .nest = nest_reshape, .grads = {{"", grad_reshape}},
    .colour = Colour::kClear,
    .samples = "f32[2,3] | axes=[1]; f32[2] | axes=[0,-1]; f32[] | axes=[0]; i8[3] | axes=[0]",
    .doc = "puts axes of size 1 where axes says, counted in the result"};

inline constexpr Op slice{
    .name = "slice", .inputs = {"x"}, .traits = kView, .attrs = &ir::kSchema<Slice>,
    .infer = infer_slice, .nest = nest_slice, .grads = {{"", grad_slice}},
    .colour = Colour::kClear,
    .samples = "f32[7] | axes=[0], starts=[1], stops=[6], steps=[2]; "
               "f32[4,5] | axes=[1,0], starts=[-3,1], stops=[100,3]; "
               "f32[5] | axes=[0], starts=[2], stops=[2]; "
               "i64[6] | axes=[0], starts=[0], stops=[6], steps=[4]"};

inline constexpr Op pad{
    .name = "pad", .inputs = {"x"}, .attrs = &ir::kSchema<Pad>,
    .infer = infer_pad, .nest = nest_pad, .grads = {{"", grad_pad}},
    .colour = Colour::kClear,
    .samples = "f32[4] | low=[1], high=[2], value=0.5; f32[3,4] | low=[0,1], high=[1,-2]; "
               "f32[5] | low=[-2], high=[3]; f32[3,2] | low=[1,0], high=[0,1], interior=[2,0]; "
               "f32[4] | low=[1], high=[-2], interior=[1]; i64[3] | low=[1], high=[1]",
    .doc = "negative sizes cut off; interior puts values between neighbours"};

inline constexpr Op flip{
    .name = "flip", .inputs = {"x"}, .attrs = &ir::kSchema<Axes>,
    .infer = [](const NodeView& v) {
      axes_of(v, v.as<Axes>().axes, v.in(0).rank());
      return same_as_input(v);
    },
    .nest = nest_flip,
    .grads = {{"", [](GradCtx& g) -> Grads {
      return {g.b.add("flip", {g.dy()}, g.node.attrs)[0]};
    }}},
    .colour = Colour::kClear, .samples = "f32[5] | axes=[0]; f32[2,3,2] | axes=[0,2]; i32[2,2]",
    .doc = "reverses axes; all of them when axes is empty"};

inline constexpr Op concat{
    .name = "concat", .inputs = {"xs..."}, .attrs = &ir::kSchema<Axis>,
    .infer = infer_concat, .nest = nest_concat, .grads = {{"", grad_concat}},
    .colour = Colour::kClear,
    .samples = "f32[2,3], f32[2,4] | axis=1; f32[2], f32[0], f32[3] | axis=0; f32[2,2]; "
               "i64[1,2], i64[3,2] | axis=0",
    .doc = "joins along an axis"};

inline constexpr Op split{
    .name = "split", .inputs = {"x"}, .outputs = {"ys..."}, .traits = kView,
    .attrs = &ir::kSchema<Split>, .infer = infer_split, .decompose = decompose_split,
    .grads = {{"", grad_split}}, .colour = Colour::kClear,
    .samples = "f32[6] | sizes=[1,2,3]; f32[2,4] | axis=1, sizes=[3,1]; "
               "i32[2,2] | axis=-1, sizes=[1,1]",
    .doc = "cuts an axis into pieces of the given sizes"};

inline constexpr Op copy{
    .name = "copy", .inputs = {"x"}, .traits = kView | kElementwise, .infer = same_as_input,
    .scalar = [](In x) { return x[0]; },
    .grads = {{"", [](GradCtx& g) -> Grads { return {g.dy()}; }}},
    .colour = Colour::kClear, .samples = "f32[3]; bool[2]; i64[0]",
    .exact = [](const double* x, const NodeView&) { return x[0]; },
    .doc = "the same value under another name"};

inline constexpr Op stop_gradient{
    .name = "stop_gradient", .inputs = {"x"}, .traits = kView | kElementwise | kNoFlow,
    .infer = same_as_input, .scalar = [](In x) { return x[0]; },
    .colour = Colour::kClear, .samples = "f32[3]; i64[2]",
    .exact = [](const double* x, const NodeView&) { return x[0]; },
    .doc = "the same value; no gradient flows back through it"};
// clang-format on

inline constexpr const Op* kShapes[] = {&reshape,   &transpose, &broadcast_to, &squeeze,
                                        &unsqueeze, &slice,     &pad,          &flip,
                                        &concat,    &split,     &copy,         &stop_gradient};

}  // namespace plait::ops
