// Normalisations. Composites: computed in f32 for halves, the result rounded once. Weights, biases
// and given statistics have x's dtype, or f32 where x is a half; batch statistics are never halves.
#pragma once

#include "ops/builder.h"
#include "ops/infer.h"

namespace plait::ops {

struct LayerNorm {
  std::int64_t last = 1;  // how many trailing axes are normalised together
  double eps = 1e-5;
  bool operator==(const LayerNorm&) const = default;
  static constexpr auto fields() {
    return std::tuple{ir::Field{"last", &LayerNorm::last}, ir::Field{"eps", &LayerNorm::eps}};
  }
};
struct RmsNorm {
  std::int64_t last = 1;
  double eps = 1e-6;
  bool operator==(const RmsNorm&) const = default;
  static constexpr auto fields() {
    return std::tuple{ir::Field{"last", &RmsNorm::last}, ir::Field{"eps", &RmsNorm::eps}};
  }
};
struct GroupNorm {
  std::int64_t groups = 1;
  double eps = 1e-5;
  std::string layout = "NCHW";  // channels are axis 1; NHWC: the last axis
  bool operator==(const GroupNorm&) const = default;
  static constexpr auto fields() {
    return std::tuple{ir::Field{"groups", &GroupNorm::groups}, ir::Field{"eps", &GroupNorm::eps},
                      ir::Field{"layout", &GroupNorm::layout}};
  }
};
struct BatchNorm {
  double eps = 1e-5;
  std::string layout = "NCHW";
  bool operator==(const BatchNorm&) const = default;
  static constexpr auto fields() {
    return std::tuple{ir::Field{"eps", &BatchNorm::eps}, ir::Field{"layout", &BatchNorm::layout}};
  }
};

std::vector<ir::Type> infer_layer_norm(const NodeView& v);
std::vector<ir::Type> infer_rms_norm(const NodeView& v);
std::vector<ir::Type> infer_group_norm(const NodeView& v);
std::vector<ir::Type> infer_batch_norm(const NodeView& v);
std::vector<ir::Type> infer_batch_norm_inference(const NodeView& v);
std::vector<Tensor> decompose_layer_norm(DecomposeCtx& c);
std::vector<Tensor> decompose_rms_norm(DecomposeCtx& c);
std::vector<Tensor> decompose_group_norm(DecomposeCtx& c);
std::vector<Tensor> decompose_batch_norm(DecomposeCtx& c);
std::vector<Tensor> decompose_batch_norm_inference(DecomposeCtx& c);

// From x alone, and from x with its statistics kept.
Grads layer_norm_from_x(GradCtx& g);
Grads layer_norm_from_statistics(GradCtx& g);
Grads rms_norm_from_x(GradCtx& g);
Grads rms_norm_from_statistics(GradCtx& g);
Grads group_norm_from_x(GradCtx& g);
Grads group_norm_from_statistics(GradCtx& g);
Grads batch_norm_from_statistics(GradCtx& g);
Grads batch_norm_from_x(GradCtx& g);
Grads grad_batch_norm_inference(GradCtx& g);

// Entries are laid out by hand.
// clang-format off
inline constexpr Op layer_norm{
    .name = "layer_norm", .inputs = {"x", "weight?", "bias?"}, .dtypes = kFloats,
    .attrs = &ir::kSchema<LayerNorm>, .infer = infer_layer_norm,
    .decompose = decompose_layer_norm,
    .grads = {{"weight,x", layer_norm_from_x},
              {"statistics,weight,x", layer_norm_from_statistics}},
    .colour = Colour::kGray,
    .samples = "f32[3,5], f32[5], f32[5]; f32[2,3,4], f32[3,4], f32[3,4] | last=2, eps=0.01; "
               "f32[7], f32[7]; f32[2,3]; f32[2,3], _, f32[3]; f32[2,2,6], f32[6], f32[6]; "
               "f32[2,3], f32[2,3] | last=2; f32[0,4], f32[4], f32[4]",
    .doc = "zero mean and unit variance over the last axes, then times weight plus bias"};

inline constexpr Op rms_norm{
    .name = "rms_norm", .inputs = {"x", "weight?"}, .dtypes = kFloats,
    .attrs = &ir::kSchema<RmsNorm>, .infer = infer_rms_norm,
    .decompose = decompose_rms_norm,
    .grads = {{"weight,x", rms_norm_from_x}, {"statistics,weight,x", rms_norm_from_statistics}},
    .colour = Colour::kGray,
    .samples = "f32[3,5], f32[5]; f32[2,3,4], f32[3,4] | last=2, eps=0.01; f32[7]; f32[4,1]; "
               "f32[0,4], f32[4]",
    .doc = "unit mean square over the last axes, then times weight"};

inline constexpr Op group_norm{
    .name = "group_norm", .inputs = {"x", "weight?", "bias?"}, .dtypes = kFloats,
    .attrs = &ir::kSchema<GroupNorm>, .infer = infer_group_norm,
    .decompose = decompose_group_norm,
    .grads = {{"weight,x", group_norm_from_x},
              {"statistics,weight,x", group_norm_from_statistics}},
    .colour = Colour::kGray,
    .samples = "f32[2,4,3,2], f32[4], f32[4] | groups=2; "
               "f32[2,3,2,6], f32[6], f32[6] | groups=3, layout=\"NHWC\", eps=0.01; "
               "f32[3,4] | groups=2; f32[1,3,5], f32[3] | groups=3; "
               "f32[2,4,2], _, f32[4]; f32[0,4,2], f32[4] | groups=2",
    .doc = "zero mean and unit variance over each sample's group of channels"};

inline constexpr Op batch_norm{
    .name = "batch_norm", .inputs = {"x", "weight", "bias"}, .outputs = {"y", "mean", "var"},
    .dtypes = kFloats, .attrs = &ir::kSchema<BatchNorm>, .infer = infer_batch_norm,
    .decompose = decompose_batch_norm,
    .grads = {{"mean,var,weight,x", batch_norm_from_statistics}, {"weight,x", batch_norm_from_x}},
    .colour = Colour::kGray,
    .samples = "f32[3,4,2,3], f32[4], f32[4]; f32[2,3,2,4], f32[4], f32[4] | layout=\"NHWC\"; "
               "f32[5,3], f32[3], f32[3] | eps=0.01; f32[4,1,3], f32[1], f32[1]; "
               "f32[2,0,3], f32[0], f32[0]",
    .doc = "zero mean and unit variance per channel over the batch; also returns the batch's mean "
           "and biased variance"};

inline constexpr Op batch_norm_inference{
    .name = "batch_norm_inference", .inputs = {"x", "weight", "bias", "mean", "var"},
    .dtypes = kFloats, .attrs = &ir::kSchema<BatchNorm>, .infer = infer_batch_norm_inference,
    .decompose = decompose_batch_norm_inference,
    .grads = {{"mean,var,weight,x", grad_batch_norm_inference}},
    .colour = Colour::kGray,
    .samples = "f32[3,4,2,3], f32[4], f32[4], f32[4], f32[4]{0.3..2}; "
               "f32[2,3,2,4], f32[4], f32[4], f32[4], f32[4]{0.3..2} | layout=\"NHWC\", eps=0.01; "
               "f32[5,3], f32[3], f32[3], f32[3], f32[3]{0.3..2}; "
               "f32[0,3], f32[3], f32[3], f32[3], f32[3]{0.3..2}",
    .doc = "batch normalisation by given statistics"};
// clang-format on

inline constexpr const Op* kNorm[] = {&layer_norm, &rms_norm, &group_norm, &batch_norm,
                                      &batch_norm_inference};

}  // namespace plait::ops
