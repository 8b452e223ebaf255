// Every model against PyTorch: outputs, gradients, ten training steps, from the stored fixtures,
// in f32 and in f64 on the reference backend.
#include "tests/models/fixture.h"
#include "passes/differentiate.h"

namespace plait {
namespace {

constexpr int kSteps = 10;

// How far a result may be, over its tensor's largest value. The fixtures were computed in f64 and
// stored in f32 (6e-8). In f32, PyTorch itself stays within 6e-6 of its f64 gradients and 1e-5 of
// its final weights; the reference backend sums in double and rounds each node once, so the final
// weights can be held to less. In f64 nothing is left but storage and the f32 learning rate.
struct Tolerance {
  double output, grad, losses, final;
};
Tolerance tolerance(DType dtype) {
  return dtype == DType::f32 ? Tolerance{2e-6, 6e-6, 1e-6, 2e-6}
                             : Tolerance{7e-8, 7e-8, 7e-8, 7e-8};
}

/// The middle third of GPT-2's attention bias moves all scores of a query alike, so no output
/// depends on it: its gradient is rounding, which Adam turns into steps of up to lr. It is held to
/// `bound` and left out of the comparison.
void set_key_bias_aside(const std::string& name, Array& got, Array& want, double bound) {
  if (!name.ends_with("attn.c_attn.bias")) return;
  const std::int64_t width = got.count() / 3;
  for (std::int64_t i = width; i < 2 * width; ++i) {
    EXPECT_NEAR(got.real(i), want.real(i), bound) << name;
    got.set(i, 0);
    want.set(i, 0);
  }
}

class Model : public testing::TestWithParam<std::tuple<const char*, DType>> {
 protected:
  Fixture fixture{std::get<0>(GetParam()), std::get<1>(GetParam())};
  Tolerance allowed = tolerance(fixture.dtype);
};

TEST_P(Model, EvaluatesAsPyTorch) {
  Session session = fixture.session(models::build(fixture.spec), "state.");
  const ir::Graph& eval = session.package().graphs.at(1);
  ASSERT_EQ(eval.name, "eval");
  ASSERT_EQ(eval.fetches.size(), 2u);
  const Arrays got = session.run({"eval", fixture.feeds(eval), {}});
  EXPECT_LT(deviation(got.at(eval.fetches[1].name), fixture.file.tensor("output")), allowed.output);
  EXPECT_TRUE(std::isfinite(got.at("loss").real(0)));
}

TEST_P(Model, HasPyTorchsGradients) {
  ir::Graph train = models::build(fixture.spec).graphs.at(0);
  train.nexts.clear();
  ir::Package package;
  package.graphs.push_back(differentiate(train));
  Session session = fixture.session(std::move(package), "state.");
  Arrays expected = fixture.under("grad.");
  RunRequest request{"", fixture.feeds(train), {}};
  for (const auto& [name, array] : expected) request.fetches.push_back("d_" + name);
  Arrays got = session.run(request);
  for (auto& [name, want] : expected) {
    set_key_bias_aside(name, got.at("d_" + name), want, 1e-7);
    EXPECT_LT(deviation(got.at("d_" + name), want), allowed.grad) << name;
  }
}

TEST_P(Model, TrainsAsPyTorchForTenSteps) {
  Session session = fixture.session(models::build(fixture.spec), "state.");
  const ir::Graph& train = session.package().graphs.at(0);
  ASSERT_EQ(train.name, "train");
  ASSERT_EQ(train.fetches.at(0).name, "loss");
  const Arrays feeds = fixture.feeds(train);
  Array losses(DType::f64, {kSteps});
  for (int i = 0; i < kSteps; ++i) {
    losses.set(i, session.run({"train", feeds, {"loss"}}).at("loss").real(0));
  }
  EXPECT_LT(deviation(losses, fixture.file.tensor("losses")), allowed.losses);
  for (auto& [name, want] : fixture.under("final.")) {
    Array got = session.state(name), expected = want;
    set_key_bias_aside(name, got, expected, kSteps * 1e-3);
    EXPECT_LT(deviation(got, expected), allowed.final) << name;
  }
}

TEST_P(Model, HasExactlyPyTorchsParameters) {
  const ir::Package package = models::build(fixture.spec);
  std::map<std::string, std::string> ours, theirs;
  for (const ir::State& state : state_table(package)) {
    if (state.role == ir::Role::kParam || state.role == ir::Role::kBuffer) {
      ours[state.name] = shape_text(state.type.shape);
    }
  }
  for (const auto& [name, array] : fixture.under("state.")) {
    theirs[name] = shape_text(array.sizes());
  }
  EXPECT_EQ(ours, theirs);
}

INSTANTIATE_TEST_SUITE_P(Fixtures, Model,
                         testing::Combine(testing::Values("mlp", "conv_add", "resnet50", "vgg19",
                                                          "rwkv4", "rwkv4_nocopy", "gpt2", "unet"),
                                          testing::Values(DType::f32, DType::f64)),
                         [](const auto& info) {
                           return str(std::get<0>(info.param), "_", std::get<1>(info.param));
                         });

TEST(FoldedResNet50, InfersAsPyTorch) {
  for (DType dtype : {DType::f32, DType::f64}) {
    const Fixture fixture("resnet50_folded", dtype);
    Session session = fixture.session(models::build(fixture.spec), "folded.");
    EXPECT_EQ(session.state_names().size(), fixture.under("folded.").size());
    const Arrays got = session.run({"", fixture.under("feed."), {"probs"}});
    EXPECT_LT(deviation(got.at("probs"), fixture.file.tensor("folded_output")),
              tolerance(dtype).output);
  }
}

}  // namespace
}  // namespace plait
