// Convolutions over two spatial axes. Forward, gradient of the input and gradient of the weights
// are three ops of one trilinear form, so that each one's gradients are the other two.
#pragma once

#include "ops/builder.h"
#include "ops/infer.h"

namespace plait::ops {

/// Weights are [CO, CI/groups, KH, KW] for NCHW, [CO, KH, KW, CI/groups] for NHWC.
struct Conv2d {
  Sizes stride{1, 1};
  Sizes padding{0, 0, 0, 0};  // top, bottom, left, right; or height, width
  Sizes dilation{1, 1};
  std::int64_t groups = 1;
  std::string layout = "NCHW";
  bool operator==(const Conv2d&) const = default;
  static constexpr auto fields() {
    return std::tuple{ir::Field{"stride", &Conv2d::stride}, ir::Field{"padding", &Conv2d::padding},
                      ir::Field{"dilation", &Conv2d::dilation},
                      ir::Field{"groups", &Conv2d::groups}, ir::Field{"layout", &Conv2d::layout}};
  }
};
struct Conv2dInputGrad : Conv2d {
  Shape size;  // height and width of the convolution's input
  bool operator==(const Conv2dInputGrad&) const = default;
  static constexpr auto fields() {
    return std::tuple_cat(Conv2d::fields(), std::tuple{ir::Field{"size", &Conv2dInputGrad::size}});
  }
};
struct Conv2dWeightGrad : Conv2d {
  Shape kernel;  // height and width of the weights
  bool operator==(const Conv2dWeightGrad&) const = default;
  static constexpr auto fields() {
    return std::tuple_cat(Conv2d::fields(),
                          std::tuple{ir::Field{"kernel", &Conv2dWeightGrad::kernel}});
  }
};
/// Weights are [CI, CO/groups, KH, KW] for NCHW, [CI, KH, KW, CO/groups] for NHWC.
struct ConvTranspose2d : Conv2d {
  Sizes output_padding{0, 0};  // rows and columns more at the end; less than the stride
  bool operator==(const ConvTranspose2d&) const = default;
  static constexpr auto fields() {
    return std::tuple_cat(
        Conv2d::fields(),
        std::tuple{ir::Field{"output_padding", &ConvTranspose2d::output_padding}});
  }
};

std::vector<ir::Type> infer_conv2d(const NodeView& v);
std::vector<ir::Type> infer_conv2d_input_grad(const NodeView& v);
std::vector<ir::Type> infer_conv2d_weight_grad(const NodeView& v);
std::vector<ir::Type> infer_conv_transpose2d(const NodeView& v);
loop::Nest nest_conv2d(const NodeView& v);
loop::Nest nest_conv2d_input_grad(const NodeView& v);
loop::Nest nest_conv2d_weight_grad(const NodeView& v);
loop::Nest nest_conv_transpose2d(const NodeView& v);
Grads grad_conv2d(GradCtx& g);
Grads grad_conv2d_input_grad(GradCtx& g);
Grads grad_conv2d_weight_grad(GradCtx& g);
Grads grad_conv_transpose2d(GradCtx& g);
/// Two per element of the first operand and weight that it meets: what the convolution that it
/// reverses takes. The nest has points of its own at the borders.
Dim scatter_operations(const NodeView& v);

// Entries are laid out by hand.
// clang-format off
inline constexpr Op conv2d{
    .name = "conv2d", .inputs = {"x", "w", "bias?"}, .dtypes = kFloats,
    .attrs = &ir::kSchema<Conv2d>, .infer = infer_conv2d, .nest = nest_conv2d,
    .grads = {{"x,w", grad_conv2d}}, .colour = Colour::kWhite,
    .samples = "f32[2,2,5,4], f32[3,2,3,2], f32[3] | padding=[1,1]; "
               "f32[1,3,6,5], f32[2,3,3,3] | stride=[2,1], padding=[0,1,2,0]; "
               "f32[1,4,5,7], f32[6,2,2,3], f32[6] | stride=[1,2], dilation=[2,1], groups=2; "
               "f32[1,3,4,4], f32[6,1,3,3] | padding=[1,1], groups=3; "
               "f32[2,5,1,1], f32[4,5,1,1], f32[4]; f32[0,2,3,3], f32[1,2,2,2]; "
               "f32[1,7,6,2], f32[3,3,2,2], f32[3] | stride=[3,2], padding=[2,1], dilation=[2,3], "
               "layout=\"NHWC\"; "
               "f32[1,4,4,4], f32[4,2,1,2] | stride=[2,2], groups=2, layout=\"NHWC\""};

inline constexpr Op conv2d_input_grad{
    .name = "conv2d_input_grad", .inputs = {"dy", "w"}, .outputs = {"dx"}, .dtypes = kFloats,
    .attrs = &ir::kSchema<Conv2dInputGrad>, .infer = infer_conv2d_input_grad,
    .nest = nest_conv2d_input_grad, .grads = {{"dy,w", grad_conv2d_input_grad}},
    .colour = Colour::kWhite, .operations = scatter_operations,
    .samples = "f32[2,3,5,5], f32[3,2,3,2] | padding=[1,1], size=[5,4]; "
               "f32[1,2,2,5], f32[2,3,3,3] | stride=[2,1], padding=[0,1,2,0], size=[5,5]; "
               "f32[1,2,2,5], f32[2,3,3,3] | stride=[2,1], padding=[0,1,2,0], size=[4,5]; "
               "f32[1,6,3,3], f32[6,2,2,3] | stride=[1,2], dilation=[2,1], groups=2, size=[5,7]; "
               "f32[1,3,2,3], f32[3,2,3,2] | stride=[4,2], padding=[1,0], dilation=[2,4], "
               "size=[9,10]; "
               "f32[1,3,3,4], f32[3,2,3,3] | stride=[2,3], padding=[3,4], dilation=[3,2], "
               "size=[5,6]; "
               "f32[1,2,3,3], f32[3,3,2,2] | stride=[3,2], padding=[2,1], dilation=[2,3], "
               "layout=\"NHWC\", size=[5,6]; "
               "f32[1,2,2,4], f32[4,1,2,2] | stride=[2,2], groups=2, layout=\"NHWC\", size=[4,4]",
    .doc = "the gradient of conv2d with respect to x, an image of height and width `size`"};

inline constexpr Op conv2d_weight_grad{
    .name = "conv2d_weight_grad", .inputs = {"x", "dy"}, .outputs = {"dw"}, .dtypes = kFloats,
    .attrs = &ir::kSchema<Conv2dWeightGrad>, .infer = infer_conv2d_weight_grad,
    .nest = nest_conv2d_weight_grad, .grads = {{"x,dy", grad_conv2d_weight_grad}},
    .colour = Colour::kWhite,
    .samples = "f32[2,2,5,4], f32[2,3,5,5] | padding=[1,1], kernel=[3,2]; "
               "f32[1,3,6,5], f32[1,2,3,5] | stride=[2,1], padding=[0,1,2,0], kernel=[3,3]; "
               "f32[1,4,5,7], f32[1,6,3,3] | stride=[1,2], dilation=[2,1], groups=2, kernel=[2,3]; "
               "f32[0,2,3,3], f32[0,1,2,2] | kernel=[2,2]; "
               "f32[2,7,6,2], f32[2,4,3,3] | stride=[3,2], padding=[2,1], dilation=[2,3], "
               "layout=\"NHWC\", kernel=[1,2]; "
               "f32[1,4,4,4], f32[1,2,2,4] | stride=[2,2], groups=2, layout=\"NHWC\", kernel=[1,2]",
    .doc = "the gradient of conv2d with respect to w, of height and width `kernel`"};

inline constexpr Op conv_transpose2d{
    .name = "conv_transpose2d", .inputs = {"x", "w", "bias?"}, .dtypes = kFloats,
    .attrs = &ir::kSchema<ConvTranspose2d>, .infer = infer_conv_transpose2d,
    .nest = nest_conv_transpose2d, .grads = {{"x,w", grad_conv_transpose2d}},
    .colour = Colour::kWhite, .operations = scatter_operations,
    .samples = "f32[2,3,3,2], f32[3,2,2,2], f32[2] | stride=[2,2]; "
               "f32[1,2,3,4], f32[2,3,3,3] | stride=[2,1], padding=[1,1], output_padding=[1,0]; "
               "f32[1,4,3,2], f32[4,2,2,3], f32[4] | padding=[0,1,1,0], dilation=[2,1], groups=2; "
               "f32[1,3,1,1], f32[3,1,4,4]; f32[0,2,2,2], f32[2,1,1,1]; "
               "f32[1,2,3,4], f32[4,3,2,1], f32[2] | stride=[3,2], dilation=[2,1], groups=2, "
               "output_padding=[2,1], layout=\"NHWC\"",
    .doc = "the map of conv2d_input_grad as a layer: weights are [CI, CO/groups, KH, KW]"};
// clang-format on

inline constexpr const Op* kConv[] = {&conv2d, &conv2d_input_grad, &conv2d_weight_grad,
                                      &conv_transpose2d};

}  // namespace plait::ops
