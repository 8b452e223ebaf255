// A U-Net for segmentation: double convolutions down, in the middle and up, with skips between.
#pragma once

#include "models/conv_norm.h"
#include "models/registry.h"

namespace plait::models {

/// Two 3x3 convolutions with batch norm and relu.
struct DoubleConv : nn::ModuleOf<DoubleConv> {
  DoubleConv(nn::Module* parent, const std::string& name, std::int64_t in, std::int64_t out);
  Tensor forward(const Tensor& x);
  ConvNorm first, second;
};

/// Doubles height and width, joins the skip of that size, and convolves twice.
struct UpStep : nn::ModuleOf<UpStep> {
  UpStep(nn::Module* parent, const std::string& name, std::int64_t in, std::int64_t out);
  Tensor forward(const Tensor& x, const Tensor& skip);
  nn::ConvTranspose2d up;
  DoubleConv convs;  // under the step's own name
};

struct Unet : nn::ModuleOf<Unet> {
  Unet(DType dtype, std::int64_t width, std::int64_t depth, std::int64_t classes);
  Tensor forward(const Tensor& x);  // [N,3,H,W] -> logits [N,classes,H,W]
  nn::ModuleList<DoubleConv> down;
  DoubleConv mid;
  nn::ModuleList<UpStep> up;  // 0 is the deepest
  nn::Conv2d head;
};

ir::Package build_unet(const Settings& settings);

inline constexpr Key kUnetKeys[] = {
    {"batch", "4", "images"},
    {"image", "128", "height and width, a multiple of 2^depth"},
    {"width", "32", "channels of the first level"},
    {"depth", "4", "levels, each of half the size"},
    {"classes", "2", "of each pixel"},
};
inline constexpr Entry kUnet{"unet", "U-Net with batch norms, NCHW; Adam", kUnetKeys, build_unet};

}  // namespace plait::models
