// What a model's two forms share, and how they behave: halves, dropout, what a token can see.
#include "tests/models/fixture.h"

namespace plait {
namespace {

/// The spec of a fixture without its training.
std::string inference_spec(std::string spec) {
  for (const std::string part :
       {"&train=1", "&optimizer=sgd", "&optimizer=adamw", "&optimizer=adam"}) {
    const std::size_t at = spec.find(part);
    if (at != std::string::npos) spec.erase(at, part.size());
  }
  return spec;
}

TEST(Inference, IsTheEvaluationWithoutItsLoss) {
  for (const char* name : {"mlp", "conv_add", "vgg19", "rwkv4", "gpt2", "unet"}) {
    const Fixture fixture(name, DType::f32);
    Session train = fixture.session(models::build(fixture.spec), "state.");
    Session infer = fixture.session(models::build(inference_spec(fixture.spec)), "state.");
    const ir::Graph& eval = train.package().graphs[1];
    const ir::Graph& graph = infer.package().graphs[0];
    ASSERT_EQ(graph.fetches.size(), 1u);
    const std::string output = graph.fetches[0].name;
    const Arrays a = train.run({"eval", fixture.feeds(eval), {output}});
    const Arrays b = infer.run({"", fixture.feeds(graph), {}});
    EXPECT_TRUE(a.at(output).same_bits(b.at(output))) << name;
  }
}

// Every node rounds by half an ulp (2^-12 in f16, 2^-9 in bf16). Errors of n nodes in a row add up
// like a random walk, to sqrt(n) of that; the loss moves by a few times as much.
TEST(Halves, FollowTheLossesOfPyTorch) {
  for (const char* name : {"mlp", "conv_add", "resnet50", "vgg19", "rwkv4", "gpt2", "unet"}) {
    for (DType dtype : {DType::f16, DType::bf16}) {
      const Fixture fixture(name, dtype);
      Session session = fixture.session(models::build(fixture.spec), "state.");
      const Arrays feeds = fixture.feeds(session.package().graphs[0]);
      const auto nodes = static_cast<double>(session.package().graphs[1].nodes.size());
      const double allowed = 6 * (dtype == DType::f16 ? 0x1p-12 : 0x1p-9) * std::sqrt(nodes);
      for (int i = 0; i < 3; ++i) {
        const double loss = session.run({"train", feeds, {"loss"}}).at("loss").real(0);
        const double expected = fixture.file.tensor("losses").real(i);
        EXPECT_NEAR(loss / expected, 1, allowed) << name << " " << dtype << " step " << i;
      }
    }
  }
}

TEST(Dropout, DrawsAnewEachStepAndNotWhenEvaluating) {
  for (const std::string spec : {"vgg19?batch=2&image=32&width=2&hidden=64&classes=5&train=1&lr=0",
                                 "gpt2?batch=2&layers=1&width=16&heads=2&vocab=9&context=5&train=1"
                                 "&lr=0&optimizer=sgd"}) {
    Session session(models::build(spec), make_target("ref"), 3);
    const ir::Graph& train = session.package().graphs[0];
    Arrays feeds;
    for (ir::ValueId id : train.feeds) feeds[train.value(id).name] = random_feed(train, id, 5);
    const auto loss = [&](const std::string& graph) {
      return session.run({graph, feeds, {"loss"}}).at("loss").real(0);
    };
    const double first = loss("train"), evaluated = loss("eval");
    EXPECT_NE(loss("train"), first) << spec;
    EXPECT_EQ(loss("eval"), evaluated) << spec;
    EXPECT_TRUE(std::isfinite(first) && std::isfinite(evaluated));
  }
}

/// Whether logits at the first half of the times change when the last token does.
bool sees_the_future(const std::string& spec, std::int64_t context) {
  Session session(models::build(spec), make_target("ref"), 3);
  for (const std::string& name : session.state_names()) {  // zeros would hide what is read
    Array value = session.state(name);
    for (std::int64_t i = 0; i < value.count(); ++i) {
      value.set(i, value.real(i) + 0.1 * std::sin(static_cast<double>(7 * i + 1)));
    }
    session.set_state(name, value);
  }
  Array idx(DType::i64, {1, context});
  for (std::int64_t i = 0; i < context; ++i) idx.set_integer(i, i % 3);
  const Array before = session.run({"", {{"idx", idx}}, {}}).at("logits");
  idx.set_integer(context - 1, 5);
  const Array after = session.run({"", {{"idx", idx}}, {}}).at("logits");
  for (std::int64_t i = 0; i < before.count() / 2; ++i) {
    if (before.real(i) != after.real(i)) return true;
  }
  return false;
}

TEST(Masks, HideTheFuture) {
  const std::string rwkv = "rwkv4?batch=1&layers=2&width=8&vocab=9&context=6&copy=4";
  EXPECT_FALSE(sees_the_future(rwkv, 6));
  EXPECT_TRUE(sees_the_future(rwkv + "&mask=0", 6)) << "as in the log";
  EXPECT_FALSE(sees_the_future("gpt2?batch=1&layers=2&width=8&heads=2&vocab=9&context=6", 6));
}

}  // namespace
}  // namespace plait
