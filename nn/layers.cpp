// The usual layers: parameters, and which op each one calls. Operands stand in braces, which are
// evaluated in order, so that every compiler builds the same graph.
#include "nn/layers.h"

#include <cmath>

#include "ops/contract.h"
#include "ops/conv.h"
#include "ops/count.h"
#include "ops/index.h"
#include "ops/norm.h"
#include "ops/random.h"

namespace plait::nn {
namespace {

/// UserError unless `size` is at least 1.
std::int64_t positive(const Module& module, std::string_view layer, std::string_view what,
                      std::int64_t size) {
  if (size < 1) {
    fail("[", layer, " ", module.path(), "] ", what, " must be at least 1, is ", size);
  }
  return size;
}

Shape kernel_shape(std::int64_t rows, std::int64_t columns, std::int64_t kernel, bool nhwc) {
  return nhwc ? Shape{rows, kernel, kernel, columns} : Shape{rows, columns, kernel, kernel};
}

/// Checks the sizes, and gives `channels / groups`.
std::int64_t per_group(const Module& module, std::string_view layer, std::int64_t in,
                       std::int64_t out, std::int64_t kernel, const Conv2dOptions& o,
                       std::int64_t channels) {
  positive(module, layer, "in", in);
  positive(module, layer, "out", out);
  positive(module, layer, "kernel", kernel);
  positive(module, layer, "groups", o.groups);
  if (in % o.groups != 0 || out % o.groups != 0) {
    fail("[", layer, " ", module.path(), "] groups=", o.groups, " must divide in=", in,
         " and out=", out);
  }
  return channels / o.groups;
}

/// How many inputs an output of a convolution sums; of a transposed one, PyTorch counts outputs.
std::int64_t taps(std::int64_t channels_per_group, std::int64_t kernel) {
  return channels_per_group * kernel * kernel;
}

Tensor given(const std::optional<Parameter>& parameter, const Tensor& x) {
  return parameter ? parameter->in(x) : Tensor();
}

}  // namespace

ir::Init by_fan_in(std::int64_t fan_in) {
  const double bound = 1 / std::sqrt(static_cast<double>(fan_in));
  return init::make(init::Uniform{-bound, bound});
}

Linear::Linear(Module* parent, const std::string& name, std::int64_t in, std::int64_t out,
               bool with_bias)
    : ModuleOf(parent, name),
      weight(this, "weight",
             {positive(*this, "Linear", "out", out), positive(*this, "Linear", "in", in)},
             by_fan_in(in)) {
  if (with_bias) bias.emplace(this, "bias", Shape{out}, by_fan_in(in));
}

Linear::Linear(Module* parent, const std::string& name, std::int64_t in, std::int64_t out,
               bool with_bias, ir::Init weight_init)
    : ModuleOf(parent, name),
      weight(this, "weight",
             {positive(*this, "Linear", "out", out), positive(*this, "Linear", "in", in)},
             std::move(weight_init)) {
  if (with_bias) bias.emplace(this, "bias", Shape{out}, init::zeros());
}

Tensor Linear::forward(const Tensor& x) {
  return ops::linear.all({x, weight.in(x), given(bias, x)})[0];
}

Conv2d::Conv2d(Module* parent, const std::string& name, std::int64_t in, std::int64_t out,
               std::int64_t kernel, Conv2dOptions o)
    : ModuleOf(parent, name),
      options(std::move(o)),
      weight(this, "weight",
             kernel_shape(out, per_group(*this, "Conv2d", in, out, kernel, options, in), kernel,
                          options.layout == "NHWC"),
             options.init.value_or(by_fan_in(
                 taps(per_group(*this, "Conv2d", in, out, kernel, options, in), kernel)))) {
  if (!options.bias) return;
  bias.emplace(this, "bias", Shape{out},
               options.init ? init::zeros() : by_fan_in(taps(in / options.groups, kernel)));
}

Tensor Conv2d::forward(const Tensor& x) {
  const ops::Conv2d attrs{.stride = {options.stride, options.stride},
                          .padding = Sizes(4, options.padding),
                          .dilation = {options.dilation, options.dilation},
                          .groups = options.groups,
                          .layout = options.layout};
  return ops::conv2d.all({x, weight.in(x), given(bias, x)}, attrs)[0];
}

ConvTranspose2d::ConvTranspose2d(Module* parent, const std::string& name, std::int64_t in,
                                 std::int64_t out, std::int64_t kernel, Conv2dOptions o)
    : ModuleOf(parent, name),
      options(std::move(o)),
      weight(this, "weight",
             kernel_shape(in, per_group(*this, "ConvTranspose2d", in, out, kernel, options, out),
                          kernel, options.layout == "NHWC"),
             options.init.value_or(by_fan_in(taps(
                 per_group(*this, "ConvTranspose2d", in, out, kernel, options, out), kernel)))) {
  if (!options.bias) return;
  bias.emplace(this, "bias", Shape{out},
               options.init ? init::zeros() : by_fan_in(taps(out / options.groups, kernel)));
}

Tensor ConvTranspose2d::forward(const Tensor& x) {
  ops::ConvTranspose2d attrs;
  attrs.stride = {options.stride, options.stride};
  attrs.padding = Sizes(4, options.padding);
  attrs.dilation = {options.dilation, options.dilation};
  attrs.groups = options.groups;
  attrs.layout = options.layout;
  return ops::conv_transpose2d.all({x, weight.in(x), given(bias, x)}, attrs)[0];
}

BatchNorm2d::BatchNorm2d(Module* parent, const std::string& name, std::int64_t channels, double eps,
                         double momentum, std::string layout)
    : ModuleOf(parent, name),
      eps(eps),
      momentum(momentum),
      layout(std::move(layout)),
      weight(this, "weight", {positive(*this, "BatchNorm2d", "channels", channels)}, init::ones()),
      bias(this, "bias", {channels}, init::zeros()),
      running_mean(this, "running_mean", {channels}, init::zeros(), ir::Role::kBuffer,
                   compute_dtype(dtype())),
      running_var(this, "running_var", {channels}, init::ones(), ir::Role::kBuffer,
                  compute_dtype(dtype())) {}

Tensor BatchNorm2d::forward(const Tensor& x) {
  Builder& b = x.builder();
  const ops::BatchNorm attrs{eps, layout};
  const Tensor w = weight.in(b), shift = bias.in(b);
  const Tensor mean = running_mean.in(b), var = running_var.in(b);
  if (!training()) return ops::batch_norm_inference.all({x, w, shift, mean, var}, attrs)[0];
  const std::vector<Tensor> of_batch = ops::batch_norm.all({x, w, shift}, attrs);
  Dim per_channel = 1;
  for (int axis = 0; axis < x.rank(); ++axis) {
    if (axis != (layout == "NCHW" ? 1 : x.rank() - 1)) per_channel = per_channel * x.dim(axis);
  }
  if (per_channel.is(1)) {
    fail("[BatchNorm2d ", path(), "] one value per channel has no variance to train with: x is ",
         x.type());
  }
  Tensor unbiased;
  if (per_channel.is_const()) {
    const auto n = static_cast<double>(per_channel.value());
    unbiased = of_batch[2] * (n / (n - 1));
  } else {
    const Tensor n = ops::size_as_tensor(b, per_channel, var.dtype());
    unbiased = of_batch[2] * (n / (n - 1));
  }
  const auto advance = [&](const Parameter& running, const Tensor& old, const Tensor& batch) {
    const Tensor kept = old * (1 - momentum);
    b.next(running.name(), kept + batch * momentum);
  };
  advance(running_mean, mean, of_batch[1]);
  advance(running_var, var, unbiased);
  return of_batch[0];
}

LayerNorm::LayerNorm(Module* parent, const std::string& name, std::int64_t size, double eps)
    : ModuleOf(parent, name),
      eps(eps),
      weight(this, "weight", {positive(*this, "LayerNorm", "size", size)}, init::ones()),
      bias(this, "bias", {size}, init::zeros()) {}

Tensor LayerNorm::forward(const Tensor& x) {
  return ops::layer_norm.all({x, weight.in(x), bias.in(x)}, ops::LayerNorm{.eps = eps})[0];
}

RmsNorm::RmsNorm(Module* parent, const std::string& name, std::int64_t size, double eps)
    : ModuleOf(parent, name),
      eps(eps),
      weight(this, "weight", {positive(*this, "RmsNorm", "size", size)}, init::ones()) {}

Tensor RmsNorm::forward(const Tensor& x) {
  return ops::rms_norm(x, weight.in(x), ops::RmsNorm{.eps = eps});
}

GroupNorm::GroupNorm(Module* parent, const std::string& name, std::int64_t groups,
                     std::int64_t channels, double eps, std::string layout)
    : ModuleOf(parent, name),
      groups(groups),
      eps(eps),
      layout(std::move(layout)),
      weight(this, "weight", {positive(*this, "GroupNorm", "channels", channels)}, init::ones()),
      bias(this, "bias", {channels}, init::zeros()) {}

Tensor GroupNorm::forward(const Tensor& x) {
  const ops::GroupNorm attrs{groups, eps, layout};
  return ops::group_norm.all({x, weight.in(x), bias.in(x)}, attrs)[0];
}

Embedding::Embedding(Module* parent, const std::string& name, std::int64_t count, std::int64_t size,
                     ir::Init init)
    : ModuleOf(parent, name),
      weight(this, "weight",
             {positive(*this, "Embedding", "count", count),
              positive(*this, "Embedding", "size", size)},
             std::move(init)) {}

Tensor Embedding::forward(const Tensor& ids) { return ops::embedding(weight.in(ids), ids); }

Dropout::Dropout(Module* parent, const std::string& name, double p) : ModuleOf(parent, name), p(p) {
  if (!(p >= 0 && p <= 1)) fail("[Dropout ", path(), "] p must be between 0 and 1, is ", p);
}

Tensor Dropout::forward(const Tensor& x) {
  if (!training() || p == 0) return x;
  Builder& b = x.builder();
  return ops::dropout(x, b.random_key(), ops::Dropout{.p = p, .stream = b.next_stream()});
}

}  // namespace plait::nn
