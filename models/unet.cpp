// A U-Net.
#include "models/unet.h"

#include "models/package.h"
#include "ops/activation.h"
#include "ops/pool.h"
#include "ops/shape.h"

namespace plait::models {
namespace {

constexpr ConvNorm::Window kSame{.kernel = 3, .stride = 1, .padding = 1};

}  // namespace

DoubleConv::DoubleConv(nn::Module* parent, const std::string& name, std::int64_t in,
                       std::int64_t out)
    : ModuleOf(parent, name),
      first(this, "conv1", "bn1", in, out, kSame, false),
      second(this, "conv2", "bn2", out, out, kSame, false) {}

Tensor DoubleConv::forward(const Tensor& x) { return ops::relu(second(ops::relu(first(x)))); }

UpStep::UpStep(nn::Module* parent, const std::string& name, std::int64_t in, std::int64_t out)
    : ModuleOf(parent, name),
      up(this, "up", in, out, 2, {.stride = 2}),
      convs(this, "", 2 * out, out) {}

Tensor UpStep::forward(const Tensor& x, const Tensor& skip) {
  return convs(ops::concat.all({skip, up(x)}, ops::Axis{1})[0]);
}

Unet::Unet(DType dtype, std::int64_t width, std::int64_t depth, std::int64_t classes)
    : ModuleOf(dtype),
      down(this, "down"),
      mid(this, "mid", width << (depth - 1), width << depth),
      up(this, "up"),
      head(this, "head", width, classes, 1) {
  for (std::int64_t level = 0; level < depth; ++level) {
    down.add(level == 0 ? 3 : width << (level - 1), width << level);
  }
  for (std::int64_t level = depth; level-- > 0;) up.add(width << (level + 1), width << level);
}

Tensor Unet::forward(const Tensor& x) {
  Tensor y = x;
  std::vector<Tensor> skips;
  for (DoubleConv& convs : down) {
    skips.push_back(convs(y));
    y = ops::max_pool2d(skips.back(), ops::MaxPool2d{.kernel = {2, 2}, .stride = {2, 2}});
  }
  y = mid(y);
  for (UpStep& step : up) {
    y = step(y, skips.back());
    skips.pop_back();
  }
  return head(y);
}

ir::Package build_unet(const Settings& s) {
  const DType dtype = s.dtype();
  const std::int64_t batch = s.whole("batch"), image = s.whole("image"),
                     depth = s.whole("depth", 16);
  if (image % (std::int64_t{1} << depth) != 0) {
    s.fail("image=", image, " is not a multiple of 2^depth = ", std::int64_t{1} << depth);
  }
  Unet net(dtype, s.whole("width"), depth, s.whole("classes"));
  const Network network{
      net, "unet", "logits",
      [&](Builder& b) {
        return net(b.feed("x", dtype, {batch, 3, image, image}));
      },
      [&](Builder& b, const Tensor& logits) {
        return classification_loss(logits, b.feed("labels", DType::i64, {batch, image, image}), 1);
      }};
  return package_of(network, s, nn::Adam{.lr = 1e-3});
}

}  // namespace plait::models
