// VGG-19 with torchvision's names: sixteen 3x3 convolutions in five stages, three linear layers.
#pragma once

#include <deque>

#include "models/registry.h"
#include "nn/layers.h"

namespace plait::models {

struct Vgg19Sizes {
  std::int64_t image = 224, width = 64, hidden = 4096, classes = 1000;
  double dropout = 0.5;
};

struct Vgg19 : nn::ModuleOf<Vgg19> {
  Vgg19(DType dtype, const Vgg19Sizes& sizes);
  Tensor forward(const Tensor& x);  // [N,3,image,image] -> logits [N,classes]
  nn::Module features;              // 0 is a convolution, 1 its relu, 4 a pooling...
  std::deque<nn::Conv2d> convs;
  nn::Module classifier;
  nn::Linear first, second, third;  // `classifier.0`, `.3`, `.6`
  nn::Dropout drop_first, drop_second;
};

ir::Package build_vgg19(const Settings& settings);

inline constexpr Key kVgg19Keys[] = {
    {"batch", "32", "images"},
    {"image", "224", "height and width, at least 32"},
    {"width", "64", "channels of the first stage"},
    {"hidden", "4096", "features of the linear layers"},
    {"classes", "1000", "of the last layer"},
    {"dropout", "0.5", "before the second and third linear layers"},
};
inline constexpr Entry kVgg19{"vgg19", "VGG-19, NCHW; SGD", kVgg19Keys, build_vgg19};

}  // namespace plait::models
