// A convolution and its batch norm.
#include "models/conv_norm.h"

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

}  // namespace plait::models
