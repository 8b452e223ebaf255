// The pair that image networks are made of: a convolution and the batch norm behind it.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/array.h"
#include "nn/layers.h"

namespace plait::models {

/// Two members of `parent`; folded: one, a convolution with bias.
struct ConvNorm {
  struct Window {
    std::int64_t kernel = 1, stride = 1, padding = 0;
  };
  ConvNorm(nn::Module* parent, const std::string& conv_name, const std::string& norm_name,
           std::int64_t in, std::int64_t out, Window window, bool folded);
  Tensor operator()(const Tensor& x);
  nn::Conv2d conv;
  std::optional<nn::BatchNorm2d> norm;
};

/// Weights of a network with batch norms as its folded form wants them: a convolution of `wanted`
/// whose bias is not among the weights takes in the norm behind it (bn1 behind conv1, 1 behind 0)
/// by its running statistics. All else stays as it is.
std::map<std::string, Array> folded_norms(std::map<std::string, Array> weights,
                                          const std::vector<ir::State>& wanted);

}  // namespace plait::models
