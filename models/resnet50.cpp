// ResNet-50.
#include "models/resnet50.h"

#include "models/package.h"
#include "ops/activation.h"
#include "ops/pool.h"
#include "ops/softmax.h"

namespace plait::models {
namespace {

constexpr std::int64_t kExpansion = 4;

void add_blocks(nn::ModuleList<Bottleneck>& layer, int blocks, std::int64_t in, std::int64_t planes,
                std::int64_t stride, bool folded) {
  for (int i = 0; i < blocks; ++i) {
    layer.add(i == 0 ? in : kExpansion * planes, planes, i == 0 ? stride : 1, i == 0, folded);
  }
}

}  // namespace

Bottleneck::Bottleneck(nn::Module* parent, const std::string& name, std::int64_t in,
                       std::int64_t planes, std::int64_t stride, bool projected, bool folded)
    : ModuleOf(parent, name),
      first(this, "conv1", "bn1", in, planes, {}, folded),
      second(this, "conv2", "bn2", planes, planes, {.kernel = 3, .stride = stride, .padding = 1},
             folded),
      third(this, "conv3", "bn3", planes, kExpansion * planes, {}, folded),
      downsample(this, "downsample") {
  if (projected) {
    projection.emplace(&downsample, "0", "1", in, kExpansion * planes,
                       ConvNorm::Window{.stride = stride}, folded);
  }
}

Tensor Bottleneck::forward(const Tensor& x) {
  const Tensor y = third(ops::relu(second(ops::relu(first(x)))));
  return ops::relu(y + (projection ? (*projection)(x) : x));
}

ResNet50::ResNet50(DType dtype, std::int64_t width, std::int64_t classes, bool folded)
    : ModuleOf(dtype),
      stem(this, "conv1", "bn1", 3, width, {.kernel = 7, .stride = 2, .padding = 3}, folded),
      layer1(this, "layer1"),
      layer2(this, "layer2"),
      layer3(this, "layer3"),
      layer4(this, "layer4"),
      fc(this, "fc", 8 * kExpansion * width, classes) {
  add_blocks(layer1, 3, width, width, 1, folded);
  add_blocks(layer2, 4, kExpansion * width, 2 * width, 2, folded);
  add_blocks(layer3, 6, 2 * kExpansion * width, 4 * width, 2, folded);
  add_blocks(layer4, 3, 4 * kExpansion * width, 8 * width, 2, folded);
}

Tensor ResNet50::forward(const Tensor& x) {
  Tensor y = ops::relu(stem(x));
  y = ops::max_pool2d(y,
                      ops::MaxPool2d{.kernel = {3, 3}, .stride = {2, 2}, .padding = {1, 1, 1, 1}});
  for (auto* layer : {&layer1, &layer2, &layer3, &layer4}) {
    for (Bottleneck& block : *layer) y = block(y);
  }
  y = ops::global_avg_pool2d(y);
  return fc(y.reshape({y.dim(0), y.dim(1)}));
}

ir::Package build_resnet50(const Settings& s) {
  const DType dtype = s.dtype();
  const std::int64_t batch = s.whole("batch"), image = s.whole("image");
  const bool folded = !s.flag("train");
  ResNet50 net(dtype, s.whole("width"), s.whole("classes"), folded);
  const Network network{net, "resnet50", folded ? "probs" : "logits",
                        [&](Builder& b) {
                          const Tensor logits = net(b.feed("x", dtype, {batch, 3, image, image}));
                          return folded ? ops::softmax(logits) : logits;
                        },
                        [&](Builder& b, const Tensor& logits) {
                          return classification_loss(logits, b.feed("labels", DType::i64, {batch}),
                                                     1);
                        }};
  return package_of(network, s, nn::Sgd{.lr = 0.01, .momentum = 0.9, .weight_decay = 1e-4});
}

}  // namespace plait::models
