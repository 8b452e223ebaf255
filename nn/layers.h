// The usual layers, with PyTorch's parameter names, shapes and default initial values. A size below
// 1 is a UserError that names the layer.
#pragma once

#include "nn/module.h"

namespace plait::nn {

/// Evenly from +-1/sqrt(fan_in): PyTorch's kaiming_uniform with a = sqrt(5), its default.
ir::Init by_fan_in(std::int64_t fan_in);

/// y = x.W^T + b over the last axis; weight [out, in], bias [out].
struct Linear : ModuleOf<Linear> {
  Linear(Module* parent, const std::string& name, std::int64_t in, std::int64_t out,
         bool with_bias = true);
  /// With its own initial weights (and zeros for the bias).
  Linear(Module* parent, const std::string& name, std::int64_t in, std::int64_t out, bool with_bias,
         ir::Init weight_init);
  Tensor forward(const Tensor& x);
  Parameter weight;
  std::optional<Parameter> bias;
};

struct Conv2dOptions {
  std::int64_t stride = 1, padding = 0, dilation = 1, groups = 1;
  bool bias = true;
  std::string layout = "NCHW";
  std::optional<ir::Init> init = {};  // of the weight, with zeros for the bias
};

/// NCHW: weight [out, in/groups, k, k]; NHWC: [out, k, k, in/groups].
struct Conv2d : ModuleOf<Conv2d> {
  Conv2d(Module* parent, const std::string& name, std::int64_t in, std::int64_t out,
         std::int64_t kernel, Conv2dOptions options = {});
  Tensor forward(const Tensor& x);
  Conv2dOptions options;
  Parameter weight;
  std::optional<Parameter> bias;
};

/// NCHW: weight [in, out/groups, k, k]; NHWC: [in, k, k, out/groups].
struct ConvTranspose2d : ModuleOf<ConvTranspose2d> {
  ConvTranspose2d(Module* parent, const std::string& name, std::int64_t in, std::int64_t out,
                  std::int64_t kernel, Conv2dOptions options = {});
  Tensor forward(const Tensor& x);
  Conv2dOptions options;
  Parameter weight;
  std::optional<Parameter> bias;
};

/// Training: batch statistics, and next values for running_mean and running_var (unbiased).
/// Otherwise: the running ones. Running statistics are f32 beside half parameters.
struct BatchNorm2d : ModuleOf<BatchNorm2d> {
  BatchNorm2d(Module* parent, const std::string& name, std::int64_t channels, double eps = 1e-5,
              double momentum = 0.1, std::string layout = "NCHW");
  Tensor forward(const Tensor& x);
  double eps, momentum;
  std::string layout;
  Parameter weight, bias, running_mean, running_var;
};

struct LayerNorm : ModuleOf<LayerNorm> {
  LayerNorm(Module* parent, const std::string& name, std::int64_t size, double eps = 1e-5);
  Tensor forward(const Tensor& x);
  double eps;
  Parameter weight, bias;
};

struct RmsNorm : ModuleOf<RmsNorm> {
  RmsNorm(Module* parent, const std::string& name, std::int64_t size, double eps = 1e-6);
  Tensor forward(const Tensor& x);
  double eps;
  Parameter weight;
};

struct GroupNorm : ModuleOf<GroupNorm> {
  GroupNorm(Module* parent, const std::string& name, std::int64_t groups, std::int64_t channels,
            double eps = 1e-5, std::string layout = "NCHW");
  Tensor forward(const Tensor& x);
  std::int64_t groups;
  double eps;
  std::string layout;
  Parameter weight, bias;
};

/// Rows of weight [count, size].
struct Embedding : ModuleOf<Embedding> {
  Embedding(Module* parent, const std::string& name, std::int64_t count, std::int64_t size,
            ir::Init init = init::make(init::Normal{}));
  Tensor forward(const Tensor& ids);
  Parameter weight;
};

/// Draws anew each run while training; the identity otherwise, and when p is 0.
struct Dropout : ModuleOf<Dropout> {
  Dropout(Module* parent, const std::string& name, double p = 0.5);
  Tensor forward(const Tensor& x);
  double p;
};

}  // namespace plait::nn
