// One convolution plus a full tensor.
#include "models/conv_add.h"

#include "models/package.h"

namespace plait::models {

ConvAdd::ConvAdd(DType dtype, std::int64_t channels, std::int64_t filters, std::int64_t kernel)
    : ModuleOf(dtype),
      conv(this, "", channels, filters, kernel, {.bias = false, .layout = "NHWC"}) {}

Tensor ConvAdd::forward(const Tensor& x, const Tensor& addend) { return conv(x) + addend; }

ir::Package build_conv_add(const Settings& s) {
  const DType dtype = s.dtype();
  const std::int64_t batch = s.whole("batch"), image = s.whole("image"),
                     channels = s.whole("channels"), filters = s.whole("filters"),
                     kernel = s.whole("kernel");
  if (image < kernel) s.fail("image=", image, " is smaller than kernel=", kernel);
  const std::int64_t out = image - kernel + 1;
  ConvAdd net(dtype, channels, filters, kernel);
  const Network network{net, "conv_add", "y",
                        [&](Builder& b) {
                          const Tensor x = b.feed("x", dtype, {batch, image, image, channels});
                          return net(x, b.feed("addend", dtype, {batch, out, out, filters}));
                        },
                        [](Builder&, const Tensor& y) { return widen(y).square().mean(); }};
  return package_of(network, s, nn::Sgd{.lr = 0.01});
}

}  // namespace plait::models
