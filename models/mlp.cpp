// The two-layer perceptron.
#include "models/mlp.h"

#include "models/package.h"
#include "nn/layers.h"
#include "ops/activation.h"
#include "ops/contract.h"
#include "ops/loss.h"

namespace plait::models {

Affine::Affine(nn::Module* parent, const std::string& name, std::int64_t in, std::int64_t out)
    : ModuleOf(parent, name),
      W(this, "W", {out, in}, nn::by_fan_in(in)),
      b(this, "b", {out}, nn::by_fan_in(in)) {}

Tensor Affine::forward(const Tensor& x) { return ops::linear.all({x, W.in(x), b.in(x)})[0]; }

Mlp::Mlp(DType dtype, std::int64_t width)
    : ModuleOf(dtype), first(this, "0", width, width), second(this, "2", width, width) {}

Tensor Mlp::forward(const Tensor& x) {
  Tensor h = first(x);
  {
    const Scope scope(x.builder(), "1");
    h = ops::relu(h);
  }
  return second(h);
}

ir::Package build_mlp(const Settings& s) {
  const DType dtype = s.dtype();
  const Shape rows{s.whole("batch"), s.whole("width")};
  Mlp net(dtype, s.whole("width"));
  const Network network{
      net, "mlp", "y", [&](Builder& b) { return net(b.feed("x", dtype, rows)); },
      [&](Builder& b, const Tensor& y) { return ops::mse_loss(y, b.feed("t", dtype, rows)); }};
  return package_of(network, s, nn::Sgd{.lr = 0.01});
}

}  // namespace plait::models
