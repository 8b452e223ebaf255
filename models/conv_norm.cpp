// A convolution and its batch norm.
#include "models/conv_norm.h"

#include <cmath>

namespace plait::models {

ConvNorm::ConvNorm(nn::Module* parent, const std::string& conv_name, const std::string& norm_name,
                   std::int64_t in, std::int64_t out, Window window, bool folded)
    : conv(parent, conv_name, in, out, window.kernel,
           {.stride = window.stride,
            .padding = window.padding,
            .bias = folded,
            .init = init::make(init::Kaiming{.fan_out = true})}) {
  if (!folded) norm.emplace(parent, norm_name, out);
}

Tensor ConvNorm::operator()(const Tensor& x) {
  const Tensor y = conv(x);
  return norm ? (*norm)(y) : y;
}

namespace {

constexpr std::string_view kBias = ".bias";
constexpr double kEps = 1e-5;  // of nn::BatchNorm2d

/// `layer1.0.bn1` for `layer1.0.conv1`, `downsample.1` for `downsample.0`; empty for other names.
std::string norm_behind(const std::string& conv) {
  const std::size_t dot = conv.rfind('.');
  const std::string path = dot == conv.npos ? "" : conv.substr(0, dot + 1);
  const std::string name = conv.substr(path.size());
  if (name == "0") return path + "1";
  return name.starts_with("conv") ? path + "bn" + name.substr(4) : "";
}

/// The weight [out, ...] times the norm's scale, and what is left of the norm as a bias.
void fold(const Array& mean, const Array& var, const Array& gamma, const Array& beta, Array& weight,
          Array& bias) {
  const std::int64_t channels = bias.count(), inner = weight.count() / channels;
  for (std::int64_t c = 0; c < channels; ++c) {
    const double scale = gamma.real(c) / std::sqrt(var.real(c) + kEps);
    bias.set(c, beta.real(c) - mean.real(c) * scale);
    for (std::int64_t i = c * inner; i < (c + 1) * inner; ++i) {
      weight.set(i, weight.real(i) * scale);
    }
  }
}

}  // namespace

std::map<std::string, Array> folded_norms(std::map<std::string, Array> weights,
                                          const std::vector<ir::State>& wanted) {
  for (const ir::State& state : wanted) {
    if (!state.name.ends_with(kBias) || weights.count(state.name) > 0) continue;
    const std::string conv = state.name.substr(0, state.name.size() - kBias.size());
    const std::string norm = norm_behind(conv);
    const auto weight = weights.find(conv + ".weight");
    const Array* parts[4] = {};
    const char* names[] = {".running_mean", ".running_var", ".weight", ".bias"};
    bool all = !norm.empty() && weight != weights.end();
    for (int i = 0; i < 4 && all; ++i) {
      const auto found = weights.find(norm + names[i]);
      all = found != weights.end() && Shape{found->second.count()} == state.type.shape;
      if (all) parts[i] = &found->second;
    }
    if (!all || weight->second.sizes().empty() || weight->second.sizes()[0] != parts[0]->count()) {
      continue;
    }
    Array bias(state.type.dtype, {parts[0]->count()});
    fold(*parts[0], *parts[1], *parts[2], *parts[3], weight->second, bias);
    weights.emplace(state.name, std::move(bias));
  }
  return weights;
}

}  // namespace plait::models
