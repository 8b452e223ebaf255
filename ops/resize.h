// Resizing images. The source of output row i is floor(i * H / OH), as PyTorch's `nearest`.
#pragma once

#include "ops/builder.h"
#include "ops/infer.h"

namespace plait::ops {

struct Resize {
  Shape size;  // height and width of the result
  std::string layout = "NCHW";
  bool operator==(const Resize&) const = default;
  static constexpr auto fields() {
    return std::tuple{ir::Field{"size", &Resize::size}, ir::Field{"layout", &Resize::layout}};
  }
};

std::vector<ir::Type> infer_resize(const NodeView& v);
loop::Nest nest_resize_nearest(const NodeView& v);
loop::Nest nest_resize_nearest_grad(const NodeView& v);
Grads grad_resize_nearest(GradCtx& g);
Grads grad_resize_nearest_grad(GradCtx& g);

// Entries are laid out by hand.
// clang-format off
inline constexpr Op resize_nearest{
    .name = "resize_nearest", .inputs = {"x"}, .attrs = &ir::kSchema<Resize>,
    .infer = infer_resize, .nest = nest_resize_nearest, .grads = {{"", grad_resize_nearest}},
    .colour = Colour::kClear,
    .samples = "f32[2,2,3,4] | size=[6,8]; f32[1,2,5,4] | size=[7,9]; f32[1,2,7,9] | size=[5,3]; "
               "f32[1,1,6,5] | size=[4,11]; f32[1,2,1,1] | size=[3,2]; f32[0,1,2,2] | size=[1,4]; "
               "f32[1,3,4,2] | size=[5,2], layout=\"NHWC\"; i32[1,1,2,3] | size=[4,2]; "
               "bool[1,1,2,2] | size=[3,3]"};

inline constexpr Op resize_nearest_grad{
    .name = "resize_nearest_grad", .inputs = {"dy"}, .outputs = {"dx"}, .dtypes = kFloats,
    .attrs = &ir::kSchema<Resize>, .infer = infer_resize, .nest = nest_resize_nearest_grad,
    .grads = {{"", grad_resize_nearest_grad}}, .colour = Colour::kGray,
    .operations = [](const NodeView& v) { return v.in(0).elements(); },
    .samples = "f32[2,2,6,8] | size=[3,4]; f32[1,2,7,9] | size=[5,4]; f32[1,2,5,3] | size=[7,9]; "
               "f32[1,1,4,11] | size=[6,5]; f32[1,2,3,2] | size=[1,1]; "
               "f32[1,5,2,2] | size=[3,4], layout=\"NHWC\"",
    .doc = "the gradient of resize_nearest with respect to x, an image of size `size`"};
// clang-format on

inline constexpr const Op* kResize[] = {&resize_nearest, &resize_nearest_grad};

}  // namespace plait::ops
