// AITemplate's document: one NHWC convolution without padding, plus a full tensor.
#pragma once

#include "models/registry.h"
#include "nn/layers.h"

namespace plait::models {

struct ConvAdd : nn::ModuleOf<ConvAdd> {
  ConvAdd(DType dtype, std::int64_t channels, std::int64_t filters, std::int64_t kernel);
  /// x [N,H,W,channels], addend [N,H-kernel+1,W-kernel+1,filters].
  Tensor forward(const Tensor& x, const Tensor& addend);
  nn::Conv2d conv;
};

ir::Package build_conv_add(const Settings& settings);

inline constexpr Key kConvAddKeys[] = {
    {"dtype", "f16", "f32, f16, bf16 or f64: of parameters and activations"},
    {"image", "28", "height and width of x"},
    {"channels", "128", "of x"},
    {"filters", "256", "channels of the result"},
    {"kernel", "3", "height and width of the weight"},
};
inline constexpr Entry kConvAdd{"conv_add", "NHWC convolution plus a full tensor; mean square; SGD",
                                kConvAddKeys, build_conv_add};

}  // namespace plait::models
