// The two-layer perceptron of AICF's document: linear, relu, linear.
#pragma once

#include "models/registry.h"
#include "nn/module.h"

namespace plait::models {

/// A linear layer whose parameters are called W [out, in] and b [out].
struct Affine : nn::ModuleOf<Affine> {
  Affine(nn::Module* parent, const std::string& name, std::int64_t in, std::int64_t out);
  Tensor forward(const Tensor& x);
  nn::Parameter W, b;
};

struct Mlp : nn::ModuleOf<Mlp> {
  Mlp(DType dtype, std::int64_t width);
  Tensor forward(const Tensor& x);  // [batch, width] -> [batch, width]
  Affine first, second;             // `0` and `2`; the relu between them is `1`
};

ir::Package build_mlp(const Settings& settings);

inline constexpr Key kMlpKeys[] = {
    {"batch", "64", "rows of x"},
    {"dtype", "f16", "f32, f16, bf16 or f64: of parameters and activations"},
    {"width", "8", "features in, between and out"},
};
inline constexpr Entry kMlp{"mlp", "two-layer perceptron; mean squared error; SGD", kMlpKeys,
                            build_mlp};

}  // namespace plait::models
