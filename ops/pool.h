// Pooling over two spatial axes, by PyTorch's rules. The gradient of max-pooling goes through the
// position of the maximum in its window, so that it too gathers and is a nest.
#pragma once

#include "ops/builder.h"
#include "ops/infer.h"

namespace plait::ops {

struct MaxPool2d {
  Sizes kernel;               // height, width
  Sizes stride;               // the kernel when empty
  Sizes padding{0, 0, 0, 0};  // top, bottom, left, right; or height, width
  Sizes dilation{1, 1};
  bool ceil_mode = false;  // a last window may hang over the end if it starts before it
  std::string layout = "NCHW";
  bool operator==(const MaxPool2d&) const = default;
  static constexpr auto fields() {
    using P = MaxPool2d;
    return std::tuple{ir::Field{"kernel", &P::kernel},       ir::Field{"stride", &P::stride},
                      ir::Field{"padding", &P::padding},     ir::Field{"dilation", &P::dilation},
                      ir::Field{"ceil_mode", &P::ceil_mode}, ir::Field{"layout", &P::layout}};
  }
};
struct MaxUnpool2d : MaxPool2d {
  Shape size;  // height and width of the pooling's input
  bool operator==(const MaxUnpool2d&) const = default;
  static constexpr auto fields() {
    return std::tuple_cat(MaxPool2d::fields(), std::tuple{ir::Field{"size", &MaxUnpool2d::size}});
  }
};
struct AvgPool2d {
  Sizes kernel, stride;
  Sizes padding{0, 0, 0, 0};
  bool ceil_mode = false;
  bool count_include_pad = true;  // whether padding counts in what a sum is divided by
  std::string layout = "NCHW";
  bool operator==(const AvgPool2d&) const = default;
  static constexpr auto fields() {
    using P = AvgPool2d;
    return std::tuple{ir::Field{"kernel", &P::kernel},
                      ir::Field{"stride", &P::stride},
                      ir::Field{"padding", &P::padding},
                      ir::Field{"ceil_mode", &P::ceil_mode},
                      ir::Field{"count_include_pad", &P::count_include_pad},
                      ir::Field{"layout", &P::layout}};
  }
};
struct AvgPool2dGrad : AvgPool2d {
  Shape size;
  bool operator==(const AvgPool2dGrad&) const = default;
  static constexpr auto fields() {
    return std::tuple_cat(AvgPool2d::fields(), std::tuple{ir::Field{"size", &AvgPool2dGrad::size}});
  }
};
struct GlobalPool2d {
  std::string layout = "NCHW";
  bool operator==(const GlobalPool2d&) const = default;
  static constexpr auto fields() { return std::tuple{ir::Field{"layout", &GlobalPool2d::layout}}; }
};

std::vector<ir::Type> infer_max_pool2d(const NodeView& v);
std::vector<ir::Type> infer_max_pool2d_arg(const NodeView& v);
std::vector<ir::Type> infer_max_pool2d_take(const NodeView& v);
std::vector<ir::Type> infer_max_unpool2d(const NodeView& v);
std::vector<ir::Type> infer_avg_pool2d(const NodeView& v);
std::vector<ir::Type> infer_avg_pool2d_grad(const NodeView& v);
std::vector<ir::Type> infer_global_pool2d(const NodeView& v);
loop::Nest nest_max_pool2d(const NodeView& v);
loop::Nest nest_max_pool2d_arg(const NodeView& v);
loop::Nest nest_max_pool2d_take(const NodeView& v);
loop::Nest nest_max_unpool2d(const NodeView& v);
loop::Nest nest_avg_pool2d(const NodeView& v);
loop::Nest nest_avg_pool2d_grad(const NodeView& v);
Grads max_pool2d_from_x_and_y(GradCtx& g);
Grads max_pool2d_from_arg(GradCtx& g);
Grads max_pool2d_from_x(GradCtx& g);
Grads grad_max_pool2d_take(GradCtx& g);
Grads grad_max_unpool2d(GradCtx& g);
Grads grad_avg_pool2d(GradCtx& g);
Grads grad_avg_pool2d_grad(GradCtx& g);
Grads grad_global_avg_pool2d(GradCtx& g);
Grads grad_global_max_pool2d(GradCtx& g);
std::vector<Tensor> decompose_global_avg_pool2d(DecomposeCtx& c);
std::vector<Tensor> decompose_global_max_pool2d(DecomposeCtx& c);
/// Elements of the first operand times the window: what the pooling itself takes.
Dim max_unpool2d_operations(const NodeView& v);
Dim avg_pool2d_grad_operations(const NodeView& v);

// Entries are laid out by hand.
// clang-format off
inline constexpr Op max_pool2d{
    .name = "max_pool2d", .inputs = {"x"}, .dtypes = kFloats, .attrs = &ir::kSchema<MaxPool2d>,
    .infer = infer_max_pool2d, .nest = nest_max_pool2d,
    .grads = {{"x,y", max_pool2d_from_x_and_y},
              {"arg", max_pool2d_from_arg},
              {"x", max_pool2d_from_x}},
    .colour = Colour::kClear,
    .samples = "f32[2,2,5,6] | kernel=[2,2]; f32[1,2,6,7] | kernel=[3,2], stride=[2,3], "
               "padding=[1,1]; "
               "f32[1,1,5,5] | kernel=[2,2], stride=[3,3], padding=[1,1], ceil_mode=true; "
               "f32[1,2,6,5] | kernel=[3,3], stride=[2,1], padding=[0,1,2,0], ceil_mode=true; "
               "f32[1,1,7,8] | kernel=[2,3], stride=[1,2], padding=[0,1], dilation=[3,2]; "
               "f32[2,5,4,3] | kernel=[3,2], stride=[2,2], padding=[1,0], layout=\"NHWC\"; "
               "f32[1,1,17,17] | kernel=[16,16], stride=[1,1]; f32[0,2,3,3] | kernel=[3,1]"};

inline constexpr Op max_pool2d_arg{
    .name = "max_pool2d_arg", .inputs = {"x", "y"}, .outputs = {"arg"}, .dtypes = kFloats,
    .attrs = &ir::kSchema<MaxPool2d>, .infer = infer_max_pool2d_arg, .nest = nest_max_pool2d_arg,
    .colour = Colour::kClear,
    .samples = "f32[2,2,5,6], f32[2,2,2,3]{-0.5..2} | kernel=[2,2]; "
               "f32[1,2,6,7], f32[1,2,3,3] | kernel=[3,2], stride=[2,3], padding=[1,1]; "
               "f32[1,1,7,8], f32[1,1,4,3]{0..1} | kernel=[2,3], stride=[1,2], padding=[0,1], "
               "dilation=[3,2]; "
               "f32[1,6,4,3], f32[1,3,3,3] | kernel=[3,2], stride=[2,2], padding=[0,1], "
               "ceil_mode=true, layout=\"NHWC\"; "
               "f32[1,1,17,17], f32[1,1,2,2]{1.9..2.1} | kernel=[16,16], stride=[1,1]",
    .doc = "the first position (row * width + column) in each window of x that reaches y, its "
           "maximum; the window's size where none does"};

inline constexpr Op max_pool2d_take{
    .name = "max_pool2d_take", .inputs = {"x", "arg"}, .dtypes = kFloats,
    .attrs = &ir::kSchema<MaxPool2d>, .infer = infer_max_pool2d_take, .nest = nest_max_pool2d_take,
    .grads = {{"arg", grad_max_pool2d_take}}, .colour = Colour::kClear,
    .samples = "f32[2,2,5,6], u8[2,2,2,3]{0..4} | kernel=[2,2]; "
               "f32[1,2,6,7], u8[1,2,3,3]{0..7} | kernel=[3,2], stride=[2,3], padding=[1,1]; "
               "f32[1,1,7,8], u8[1,1,4,3]{0..6} | kernel=[2,3], stride=[1,2], padding=[0,1], "
               "dilation=[3,2]; "
               "f32[1,6,4,3], u8[1,3,3,3]{0..6} | kernel=[3,2], stride=[2,2], padding=[0,1], "
               "ceil_mode=true, layout=\"NHWC\"; "
               "f32[1,1,17,17], i32[1,1,2,2]{0..256} | kernel=[16,16], stride=[1,1]",
    .doc = "of each window of x the element at position `arg`; 0 where that is outside"};

inline constexpr Op max_unpool2d{
    .name = "max_unpool2d", .inputs = {"dy", "arg"}, .outputs = {"dx"}, .dtypes = kFloats,
    .attrs = &ir::kSchema<MaxUnpool2d>, .infer = infer_max_unpool2d, .nest = nest_max_unpool2d,
    .grads = {{"arg", grad_max_unpool2d}}, .colour = Colour::kGray,
    .operations = max_unpool2d_operations,
    .samples = "f32[2,2,2,3], u8[2,2,2,3]{0..4} | kernel=[2,2], size=[5,6]; "
               "f32[1,2,3,3], u8[1,2,3,3]{0..7} | kernel=[3,2], stride=[2,3], padding=[1,1], "
               "size=[6,7]; "
               "f32[1,1,4,3], u8[1,1,4,3]{0..6} | kernel=[2,3], stride=[1,2], padding=[0,1], "
               "dilation=[3,2], size=[7,8]; "
               "f32[1,3,3,3], u8[1,3,3,3]{0..6} | kernel=[3,2], stride=[2,2], padding=[0,1], "
               "ceil_mode=true, layout=\"NHWC\", size=[6,4]; "
               "f32[1,1,2,2], i32[1,1,2,2]{0..256} | kernel=[16,16], stride=[1,1], size=[17,17]",
    .doc = "adds each element of dy to position `arg` of its window in an image of size `size`"};

inline constexpr Op avg_pool2d{
    .name = "avg_pool2d", .inputs = {"x"}, .dtypes = kFloats, .attrs = &ir::kSchema<AvgPool2d>,
    .infer = infer_avg_pool2d, .nest = nest_avg_pool2d, .grads = {{"", grad_avg_pool2d}},
    .colour = Colour::kGray,
    .samples = "f32[2,2,5,6] | kernel=[2,2]; f32[1,2,6,7] | kernel=[3,2], stride=[2,3], "
               "padding=[1,1]; "
               "f32[1,2,6,7] | kernel=[3,2], stride=[2,3], padding=[1,1], count_include_pad=false; "
               "f32[1,2,6,7] | kernel=[3,2], stride=[2,3], padding=[1,1], ceil_mode=true; "
               "f32[1,2,6,7] | kernel=[3,2], stride=[2,3], padding=[0,1,1,0], ceil_mode=true, "
               "count_include_pad=false; "
               "f32[2,5,4,3] | kernel=[3,3], stride=[1,1], padding=[1,1], layout=\"NHWC\"; "
               "f32[0,2,3,3] | kernel=[3,1]"};

inline constexpr Op avg_pool2d_grad{
    .name = "avg_pool2d_grad", .inputs = {"dy"}, .outputs = {"dx"}, .dtypes = kFloats,
    .attrs = &ir::kSchema<AvgPool2dGrad>, .infer = infer_avg_pool2d_grad,
    .nest = nest_avg_pool2d_grad, .grads = {{"", grad_avg_pool2d_grad}}, .colour = Colour::kGray,
    .operations = avg_pool2d_grad_operations,
    .samples = "f32[2,2,2,3] | kernel=[2,2], size=[5,6]; "
               "f32[1,2,3,3] | kernel=[3,2], stride=[2,3], padding=[1,1], size=[6,7]; "
               "f32[1,2,4,3] | kernel=[3,2], stride=[2,3], padding=[1,1], ceil_mode=true, "
               "size=[6,7]; "
               "f32[1,2,3,3] | kernel=[3,2], stride=[2,3], padding=[0,1,1,0], ceil_mode=true, "
               "count_include_pad=false, size=[6,7]; "
               "f32[2,5,4,3] | kernel=[3,3], stride=[1,1], padding=[1,1], layout=\"NHWC\", "
               "size=[5,4]",
    .doc = "the gradient of avg_pool2d with respect to x, an image of size `size`"};

inline constexpr std::string_view kImages =
    "f32[2,3,4,5]; f32[1,2,1,1]; f32[2,3,4,5] | layout=\"NHWC\"; f32[0,1,2,2]";

inline constexpr Op global_avg_pool2d{
    .name = "global_avg_pool2d", .inputs = {"x"}, .dtypes = kFloats,
    .attrs = &ir::kSchema<GlobalPool2d>, .infer = infer_global_pool2d,
    .decompose = decompose_global_avg_pool2d, .grads = {{"", grad_global_avg_pool2d}},
    .colour = Colour::kGray, .samples = kImages, .doc = "height and width become 1"};

inline constexpr Op global_max_pool2d{
    .name = "global_max_pool2d", .inputs = {"x"}, .dtypes = kFloats,
    .attrs = &ir::kSchema<GlobalPool2d>, .infer = infer_global_pool2d,
    .decompose = decompose_global_max_pool2d, .grads = {{"x,y", grad_global_max_pool2d}},
    .colour = Colour::kClear, .samples = kImages,
    .doc = "height and width become 1; equal maxima share the gradient"};
// clang-format on

inline constexpr const Op* kPool[] = {&max_pool2d,        &max_pool2d_arg,   &max_pool2d_take,
                                      &max_unpool2d,      &avg_pool2d,       &avg_pool2d_grad,
                                      &global_avg_pool2d, &global_max_pool2d};

}  // namespace plait::ops
