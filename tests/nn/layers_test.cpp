// Layers: names, shapes, first values, what they compute where it is not one op, mistakes.
#include "nn/layers.h"

#include "io/safetensors.h"
#include "ir/text.h"
#include "ir/verify.h"
#include "ops/table.h"
#include "passes/differentiate.h"
#include "tests/nn/run_ref.h"

namespace plait {
namespace {

struct Everything : nn::ModuleOf<Everything> {
  using ModuleOf::ModuleOf;
  nn::Linear fc{this, "fc", 6, 4};
  nn::Linear plain{this, "plain", 6, 4, false};
  nn::Conv2d conv{this, "conv", 4, 6, 3, {.groups = 2}};
  nn::Conv2d nhwc{this, "nhwc", 4, 6, 3, {.bias = false, .layout = "NHWC"}};
  nn::ConvTranspose2d up{this, "up", 4, 6, 2, {.stride = 2}};
  nn::BatchNorm2d bn{this, "bn", 4};
  nn::LayerNorm ln{this, "ln", 5};
  nn::RmsNorm rms{this, "rms", 5};
  nn::GroupNorm gn{this, "gn", 2, 4};
  nn::Embedding emb{this, "emb", 7, 5};
  nn::Dropout drop{this, "drop"};
};

TEST(Layers, ParametersHaveTheNamesAndShapesOfPyTorch) {
  Everything net(DType::f16);
  std::string listed;
  for (const nn::Parameter* p : net.parameters()) {
    listed += str(p->name(), " ", p->state().type, "\n");
  }
  EXPECT_EQ(listed,
            "fc.weight f16[4,6]\nfc.bias f16[4]\nplain.weight f16[4,6]\n"
            "conv.weight f16[6,2,3,3]\nconv.bias f16[6]\nnhwc.weight f16[6,3,3,4]\n"
            "up.weight f16[4,6,2,2]\nup.bias f16[6]\nbn.weight f16[4]\nbn.bias f16[4]\n"
            "ln.weight f16[5]\nln.bias f16[5]\nrms.weight f16[5]\ngn.weight f16[4]\n"
            "gn.bias f16[4]\nemb.weight f16[7,5]\n");
  EXPECT_EQ(net.bn.running_var.state().type, (ir::Type{DType::f32, {4}}));
  EXPECT_EQ(net.bn.running_var.state().role, ir::Role::kBuffer);
}

TEST(Layers, ResultsHaveTheShapesOfPyTorch) {
  Everything net;
  Builder b("shapes");
  const Tensor image = b.feed("image", DType::f32, {2, 4, 7, 8});
  const Tensor last = b.feed("last", DType::f32, {2, 7, 8, 4});
  const Tensor rows = b.feed("rows", DType::f32, {2, 3, 6});
  const Tensor fives = b.feed("fives", DType::f32, {2, 3, 5});
  const Tensor ids = b.feed("ids", DType::i64, {2, 3});
  EXPECT_EQ(net.fc(rows).shape(), (Shape{2, 3, 4}));
  EXPECT_EQ(net.plain(rows).shape(), (Shape{2, 3, 4}));
  EXPECT_EQ(net.conv(image).shape(), (Shape{2, 6, 5, 6}));
  EXPECT_EQ(net.nhwc(last).shape(), (Shape{2, 5, 6, 6}));
  EXPECT_EQ(net.up(image).shape(), (Shape{2, 6, 14, 16}));
  EXPECT_EQ(net.bn(image).shape(), image.shape());
  EXPECT_EQ(net.ln(fives).shape(), fives.shape());
  EXPECT_EQ(net.rms(fives).shape(), fives.shape());
  EXPECT_EQ(net.gn(image).shape(), image.shape());
  EXPECT_EQ(net.emb(ids).shape(), (Shape{2, 3, 5}));
  EXPECT_EQ(net.drop(rows).shape(), rows.shape());
  ir::verify(b.graph());
}

TEST(Layers, NodesStandUnderTheirModule) {
  Everything net;
  Builder b("paths");
  const Tensor x = b.feed("x", DType::f32, {2, 6});
  const Tensor y = net.fc(x);
  EXPECT_EQ(b.graph().node(b.graph().value(y.id()).producer).path, "fc");
  EXPECT_EQ(b.path(), "");
  EXPECT_THROW(net.fc(b.feed("wrong", DType::f32, {2, 5})), UserError);
  EXPECT_EQ(b.path(), "") << "a failed call leaves the path as it was";
}

TEST(Layers, ListsNumberTheirChildren) {
  struct Stack : nn::ModuleOf<Stack> {
    nn::ModuleList<nn::Linear> layers{this, "layers"};
  } net;
  for (int i = 0; i < 3; ++i) net.layers.add(4, 4, false);
  std::string names;
  for (const nn::Parameter* p : net.parameters()) names += p->name() + " ";
  EXPECT_EQ(names, "layers.0.weight layers.1.weight layers.2.weight ");
}

TEST(Layers, FirstValuesFillTheRangeOfPyTorch) {
  struct Net : nn::ModuleOf<Net> {
    nn::Linear fc{this, "fc", 100, 300};
    nn::Conv2d conv{this, "conv", 8, 64, 5, {.groups = 2}};
    nn::ConvTranspose2d up{this, "up", 64, 8, 5, {.groups = 2}};
  } net;
  const auto check_range = [](const nn::Parameter& p, double fan) {
    const Array value = initial_value(p.state(), 1);
    double largest = 0;
    for (std::int64_t i = 0; i < value.count(); ++i) {
      largest = std::max(largest, std::fabs(value.real(i)));
    }
    const double bound = 1 / std::sqrt(fan);
    EXPECT_LE(largest, bound * 1.000001) << p.name();
    EXPECT_GE(largest, bound * (1 - 12.0 / static_cast<double>(value.count()))) << p.name();
  };
  check_range(net.fc.weight, 100);
  check_range(*net.fc.bias, 100);
  check_range(net.conv.weight, 4 * 25);
  check_range(net.up.weight, 4 * 25);  // of 8 / 2 outputs, as PyTorch counts
}

TEST(Layers, BatchNormKeepsRunningStatisticsAsPyTorchDoes) {
  const io::TensorFile file = io::read_safetensors("tests/fixtures/ops.safetensors");
  for (const std::string at : {"batch_norm_train.", "batch_norm_eval."}) {
    struct Net : nn::ModuleOf<Net> {
      using ModuleOf::ModuleOf;
      nn::BatchNorm2d bn{this, "bn", 4};
    } net(DType::f64);
    net.train(at == "batch_norm_train.");
    Builder b("norm");
    b.fetch("y", net.bn(b.feed("x", DType::f64, {3, 4, 2, 3})));
    Session session = session_of(b);
    for (const std::string name : {"weight", "bias", "running_mean", "running_var"}) {
      session.set_state("bn." + name, file.tensor(at + "in." + name).cast(DType::f64));
    }
    const Arrays got = session.run({"", {{"x", file.tensor(at + "in.x").cast(DType::f64)}}, {}});
    EXPECT_LT(deviation(got.at("y"), file.tensor(at + "out")), 1e-12) << at;
    for (const std::string name : {"running_mean", "running_var"}) {
      EXPECT_LT(deviation(session.state("bn." + name), file.tensor(at + "new." + name)), 1e-12)
          << at << name;
    }
  }
}

struct Dropping : nn::ModuleOf<Dropping> {
  nn::Dropout drop{this, "drop", 0.25}, none{this, "none", 0};
  Tensor forward(const Tensor& x) { return drop(x); }
};

TEST(Dropout, DrawsAnewEachRunWhileTraining) {
  Dropping net;
  Builder b("drop");
  const Tensor x = b.feed("x", DType::f32, {50, 100});
  const Tensor y = net(x);
  b.fetch("y", y);
  b.fetch("dx", gradients({y}, {b.full(1, DType::f32, y.shape())}, {x})[0]);
  ir::Package package;
  package.graphs.push_back(b.take());
  Session one(package, make_target("ref"), 7), two(package, make_target("ref"), 7);
  const Array ones = Array::of(DType::f32, {50, 100}, std::vector<double>(5000, 1.0));
  const Arrays first = one.run({"", {{"x", ones}}, {}});
  int dropped = 0;
  for (std::int64_t i = 0; i < 5000; ++i) {
    const double v = first.at("y").real(i);
    ASSERT_TRUE(v == 0 || std::fabs(v - 4.0 / 3) < 1e-6) << v;
    dropped += v == 0;
  }
  EXPECT_NEAR(dropped, 1250, 4 * std::sqrt(5000 * 0.25 * 0.75));
  EXPECT_TRUE(first.at("y").same_bits(first.at("dx"))) << "the gradient drops the same elements";
  EXPECT_TRUE(first.at("y").same_bits(two.run({"", {{"x", ones}}, {}}).at("y")));
  EXPECT_FALSE(first.at("y").same_bits(one.run({"", {{"x", ones}}, {}}).at("y")));
}

TEST(Dropout, IsTheIdentityWhenNotTrainingAndAtZero) {
  Dropping net;
  Builder b("drop");
  const Tensor x = b.feed("x", DType::f32, {3});
  EXPECT_EQ(net.none(x).id(), x.id());
  net.train(false);
  EXPECT_EQ(net(x).id(), x.id());
  EXPECT_TRUE(b.graph().nodes.empty() && b.graph().states.empty());
}

TEST(LayerMistakes, NameTheLayerAndTheValue) {
  struct Net : nn::ModuleOf<Net> {
  } net;
  EXPECT_EQ(error_of([&] { nn::Linear(&net, "fc", 0, 4); }),
            "[Linear fc] in must be at least 1, is 0");
  EXPECT_EQ(error_of([&] { nn::Conv2d(&net, "c", 3, -2, 3); }),
            "[Conv2d c] out must be at least 1, is -2");
  EXPECT_EQ(error_of([&] { nn::Conv2d(&net, "c", 3, 4, 3, {.groups = 2}); }),
            "[Conv2d c] groups=2 must divide in=3 and out=4");
  EXPECT_EQ(error_of([&] { nn::ConvTranspose2d(&net, "c", 4, 4, 3, {.groups = 0}); }),
            "[ConvTranspose2d c] groups must be at least 1, is 0");
  EXPECT_EQ(error_of([&] { nn::Embedding(&net, "emb", 0, 4); }),
            "[Embedding emb] count must be at least 1, is 0");
  EXPECT_EQ(error_of([&] { nn::Dropout(&net, "drop", 1.5); }),
            "[Dropout drop] p must be between 0 and 1, is 1.5");
}

TEST(LayerMistakes, TwoParametersOfOneName) {
  struct Net : nn::ModuleOf<Net> {
    nn::Linear a{this, "fc", 2, 2}, b{this, "fc", 2, 2};
  };
  EXPECT_EQ(error_of([] { Net net; }),
            "two parameters are named fc.weight. Give their modules different names, or use one "
            "parameter twice to share it");
}

TEST(LayerMistakes, OneValuePerChannelHasNoVariance) {
  Everything net;
  Builder b("norm");
  const Tensor x = b.feed("x", DType::f32, {1, 4, 1, 1});
  EXPECT_EQ(error_of([&] { net.bn(x); }),
            "[BatchNorm2d bn] one value per channel has no variance to train with: x is "
            "f32[1,4,1,1]");
}

}  // namespace
}  // namespace plait
