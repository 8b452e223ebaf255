// VGG-19.
#include "models/vgg19.h"

#include "models/package.h"
#include "ops/activation.h"
#include "ops/pool.h"

namespace plait::models {
namespace {

struct Stage {
  int convs;
  std::int64_t widths;  // channels, in units of the first stage's
};
constexpr Stage kStages[] = {{2, 1}, {2, 2}, {4, 4}, {4, 8}, {4, 8}};
constexpr std::int64_t kShrink = 32;  // five poolings

ir::Init small_normal() { return init::make(init::Normal{.std = 0.01}); }

std::int64_t flat_features(const Vgg19Sizes& s) {
  return 8 * s.width * (s.image / kShrink) * (s.image / kShrink);
}

}  // namespace

Vgg19::Vgg19(DType dtype, const Vgg19Sizes& s)
    : ModuleOf(dtype),
      features(this, "features"),
      classifier(this, "classifier"),
      first(&classifier, "0", flat_features(s), s.hidden, true, small_normal()),
      second(&classifier, "3", s.hidden, s.hidden, true, small_normal()),
      third(&classifier, "6", s.hidden, s.classes, true, small_normal()),
      drop_first(&classifier, "2", s.dropout),
      drop_second(&classifier, "5", s.dropout) {
  std::int64_t in = 3, index = 0;
  for (const Stage& stage : kStages) {
    for (int i = 0; i < stage.convs; ++i, index += 2) {
      convs.emplace_back(
          &features, str(index), in, stage.widths * s.width, 3,
          nn::Conv2dOptions{.padding = 1, .init = init::make(init::Kaiming{.fan_out = true})});
      in = stage.widths * s.width;
    }
    ++index;
  }
}

Tensor Vgg19::forward(const Tensor& x) {
  Tensor y = x;
  const auto under = [&](const std::string& name, auto make) {
    const Scope scope(x.builder(), name);
    y = make(y);
  };
  const auto relu = [](const Tensor& t) { return ops::relu(t); };
  int index = 0;
  auto conv = convs.begin();
  for (const Stage& stage : kStages) {
    for (int i = 0; i < stage.convs; ++i, index += 2) {
      y = (*conv++)(y);
      under(str("features.", index + 1), relu);
    }
    under(str("features.", index++), [](const Tensor& t) {
      return ops::max_pool2d(t, ops::MaxPool2d{.kernel = {2, 2}, .stride = {2, 2}});
    });
  }
  y = first(y.reshape({y.dim(0), -1}));
  under("classifier.1", relu);
  y = second(drop_first(y));
  under("classifier.4", relu);
  return third(drop_second(y));
}

ir::Package build_vgg19(const Settings& s) {
  const DType dtype = s.dtype();
  const std::int64_t batch = s.whole("batch"), image = s.whole("image");
  if (image < kShrink) s.fail("image must be at least ", kShrink, ", is ", image);
  Vgg19 net(dtype, {image, s.whole("width"), s.whole("hidden"), s.whole("classes"),
                    s.probability("dropout")});
  const Network network{net, "vgg19", "logits",
                        [&](Builder& b) {
                          return net(b.feed("x", dtype, {batch, 3, image, image}));
                        },
                        [&](Builder& b, const Tensor& logits) {
                          return classification_loss(logits, b.feed("labels", DType::i64, {batch}),
                                                     1);
                        }};
  return package_of(network, s, nn::Sgd{.lr = 0.01});
}

}  // namespace plait::models
