// ResNet-50 with torchvision's names, in two forms: with batch norms, to be trained, and with the
// norms folded into convolutions with bias, to be run.
#pragma once

#include "models/conv_norm.h"
#include "models/registry.h"
#include "nn/layers.h"

namespace plait::models {

/// 1x1, 3x3 (with the stride) and 1x1 convolutions beside a shortcut; out is 4 * planes channels.
struct Bottleneck : nn::ModuleOf<Bottleneck> {
  Bottleneck(nn::Module* parent, const std::string& name, std::int64_t in, std::int64_t planes,
             std::int64_t stride, bool projected, bool folded);
  Tensor forward(const Tensor& x);
  ConvNorm first, second, third;
  nn::Module downsample;
  std::optional<ConvNorm> projection;  // `downsample.0` and `.1`
};

struct ResNet50 : nn::ModuleOf<ResNet50> {
  ResNet50(DType dtype, std::int64_t width, std::int64_t classes, bool folded);
  Tensor forward(const Tensor& x);  // [N,3,H,W] -> logits [N,classes]
  ConvNorm stem;                    // `conv1`, `bn1`
  nn::ModuleList<Bottleneck> layer1, layer2, layer3, layer4;
  nn::Linear fc;
};

ir::Package build_resnet50(const Settings& settings);

inline constexpr Key kResNet50Keys[] = {
    {"batch", "10", "images"},
    {"image", "224", "height and width"},
    {"classes", "1000", "of the last layer"},
    {"width", "64", "channels of the first convolution"},
};
inline constexpr Entry kResNet50{
    "resnet50", "ResNet-50, NCHW; inference with folded batch norms, training by SGD with momentum",
    kResNet50Keys, build_resnet50};

}  // namespace plait::models
