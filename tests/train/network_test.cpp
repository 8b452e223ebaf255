// Networks from files: a model's graph as a file trains to the same bits as the model itself, by
// our optimizers or its own; documents train; what does not fit is named.
#include "train/network.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "io/file.h"
#include "io/npy.h"
#include "io/safetensors.h"
#include "ir/text.h"
#include "models/registry.h"
#include "run/session.h"
#include "tests/raises.h"
#include "tests/train/small_run.h"
#include "train/first_weights.h"
#include "train/metrics.h"
#include "train/trained_run.h"

namespace plait::train {
namespace {

using test::message_of;
using test::same_end;
using test::SmallRuns;

constexpr std::string_view kNet = R"(symbol batch = 1..16
symbol width = 2..64

graph net(image: f32[batch,width], labels: i64[batch]) state(
    w: f32[3,width] = xavier,
    rng: i64[2] as counter = seed) {
  %d = dropout(image, rng, p=0.5) : f32[batch,width]
  %logits = linear(%d, w)         : f32[batch,3]
  %each = cross_entropy(%logits, labels) : f32[]
  return cost = %each, %logits
}
)";

class Networks : public ::testing::Test {
 protected:
  std::string write(const std::string& name, std::string_view text) {
    io::write_file(folder / name, {text});
    return folder / name;
  }
  /// Of a config of this file and arguments.
  Config config(const std::string& file, std::vector<std::string> arguments = {}) {
    arguments.insert(arguments.begin(), {"model.file=" + file, "train.steps=3"});
    return parse_config("[data]\nkind = \"synthetic\"\n", "c.toml", arguments);
  }
  std::string wrong(const std::string& file, const std::vector<std::string>& arguments = {}) {
    return message_of([&] {
      const Config c = config(file, arguments);
      build_package(c, read_network(c).text);
    });
  }
  /// A run of small_run.h on this file.
  static std::vector<std::string> of_file(const std::string& file,
                                          std::vector<std::string> more = {}) {
    more.insert(more.begin(), {"model.file=" + file});
    return more;
  }
  test::TemporaryFolder folder;
};

constexpr std::string_view kSpec =
    "rwkv4?layers=1&width=16&context=8&copy=0&vocab=256&batch=4&optimizer=adam&train=1";

TEST_F(Networks, AModelsGraphTrainsToTheModelsBits) {
  ir::Package package = models::build(kSpec);
  package.graphs.erase(package.graphs.begin());  // `eval` alone: feeds, loss and logits
  const std::string file = write("eval.plait", ir::print(package));
  SmallRuns named, from_file(of_file(file));
  ASSERT_TRUE(named.run("run").finished);
  ASSERT_TRUE(from_file.run("run").finished) << from_file.said;
  const Checkpoint a = named.end_of("run"), b = from_file.end_of("run");
  EXPECT_TRUE(test::same(a.weights, b.weights));
  EXPECT_TRUE(test::same(a.others, b.others));
  EXPECT_NE(from_file.said.find("eval: reading data"), std::string::npos) << from_file.said;
}

TEST_F(Networks, AStepOfItsOwnIsTakenAsItIs) {
  const std::string file = write("step.plait", ir::print(models::build(kSpec)));
  SmallRuns named, from_file(of_file(file, {"optimizer.kind=own"}));
  ASSERT_TRUE(named.run("run").finished);
  ASSERT_TRUE(from_file.run("run").finished) << from_file.said;
  const Checkpoint a = named.end_of("run"), b = from_file.end_of("run");
  EXPECT_TRUE(test::same(a.weights, b.weights));
  EXPECT_EQ(wrong(file, {"batch=4"}),
            file + ": graph train updates its weights itself: say optimizer.kind = \"own\"");
  EXPECT_EQ(message_of([&] {
              config(file, {"optimizer.kind=own", "train.clip=1.0"});
            }),
            "argument 4 (train.clip=1.0): train.clip is part of an update, which the graph of "
            "model.file brings itself (optimizer.kind = \"own\"): leave it out");
}

TEST_F(Networks, ARunGoesOnWithTheGraphThatItBeganWith) {
  const std::string file = write("net.plait", kNet);
  const std::vector<std::string> arguments = of_file(
      file, {"model.sizes=width=8", "model.loss=cost", "model.feeds=x=image", "data.kind=synthetic",
             "samples=64", "precision=bf16", "accumulate=2", "clip=1.0"});
  SmallRuns runs(arguments);
  ASSERT_TRUE(runs.run("whole").finished) << runs.said;
  ASSERT_FALSE(runs.run("parts", 9).finished);
  EXPECT_EQ(runs.said.find("is not what the run began with"), std::string::npos) << runs.said;
  write("net.plait", "graph other() {}");
  ASSERT_TRUE(runs.resume("parts").finished);
  EXPECT_NE(runs.said.find("is not what the run began with"), std::string::npos) << runs.said;
  EXPECT_TRUE(same_end(runs.end_of("parts"), runs.end_of("whole")));
}

TEST_F(Networks, WhatTheRunKeepsHasTheDatasNamesAndLeavesTheBatchOpen) {
  const std::string file = write("net.plait", kNet);
  const Config c = config(file, {"sizes=width=8", "loss=cost", "model.feeds=x=image", "batch=5"});
  const std::string text = read_network(c).text;
  EXPECT_NE(text.find("x: f32[batch,8]"), std::string::npos) << text;
  EXPECT_NE(text.find("return loss = %each, %logits"), std::string::npos) << text;
  const ir::Package package = build_package(c, text);
  const ir::Graph& eval = find_graph(package, "eval");
  EXPECT_EQ(index_limit(eval), 3);
  ASSERT_EQ(eval.nodes.size(), 2u) << ir::print(eval);  // dropout is left out
  EXPECT_EQ(eval.nodes[0].op, "linear");
  EXPECT_EQ(eval.states.size(), 1u);
  EXPECT_EQ(eval.type(eval.feeds[0]).shape[0], Dim(5));
}

TEST_F(Networks, AttentionsDropoutIsLeftOutOfEvaluation) {
  const std::string file = write("net.plait", R"(symbol batch = 1..16

graph net(x: f32[batch,1,3,4], t: f32[batch,1,3,4]) state(
    w: f32[4,4] = xavier, rng: i64[2] as counter = seed) {
  %q = linear(x, w) : f32[batch,1,3,4]
  %y, %lse = attention(%q, x, x, _, _, _, rng, causal=true, dropout=0.5, stream=7) : f32[batch,1,3,4], f32[batch,1,3]
  %cost = mse_loss(%y, t) : f32[]
  return %cost
}
)");
  const Config c = config(file, {"loss=cost", "data.kind=synthetic", "batch=2"});
  const ir::Package package = build_package(c, read_network(c).text);
  const ir::Graph& eval = find_graph(package, "eval");
  EXPECT_EQ(eval.find_state("rng"), nullptr) << ir::print(eval);
  EXPECT_EQ(ir::print(eval).find("dropout"), std::string::npos) << ir::print(eval);
  EXPECT_NE(ir::print(find_graph(package, "train")).find("dropout=0.5"), std::string::npos);
}

TEST_F(Networks, DocumentsTrain) {
  for (const char* file : {"chainer/vgg_small.txt", "chainer/mlp.txt", "oneflow/classifier.log",
                           "megengine/step.json"}) {
    const bool own = std::string(file).starts_with("megengine");
    SmallRuns runs(of_file(
        str("tests/samples/", file),
        {"data.kind=synthetic", "samples=64", own ? "optimizer.kind=own" : "optimizer.kind=adam"}));
    ASSERT_TRUE(runs.run("run").finished) << file << "\n" << runs.said;
    const auto records = read_metrics(runs.path("run") + "/" + kMetricsFile);
    EXPECT_LT(*records.back().smoothed_loss, *records.front().smoothed_loss) << file;
  }
}

TEST_F(Networks, WhatDoesNotFitIsNamed) {
  const std::string file = write("net.plait", kNet);
  EXPECT_EQ(wrong(file), file +
                             ": graph net returns no \"loss\": what is trained is a float scalar. "
                             "Say model.loss; it returns cost f32[], logits f32[batch,3]");
  EXPECT_EQ(wrong(file, {"loss=logits"}).find(file + ": graph net returns \"logits\" as f32["), 0u);
  EXPECT_EQ(wrong(file, {"loss=cost", "sizes=widht=8"}),
            "model.sizes: " + file +
                " has no size named \"widht\". Did you mean 'width'? It has batch, width");
  EXPECT_EQ(wrong(file, {"loss=cost", "sizes=width=65"}),
            "model.sizes: width must be in 2..64, is 65");
  EXPECT_EQ(
      wrong(file, {"loss=cost", "sizes=width=8", "model.feeds=x=imag"}),
      "model.feeds: " + file + " has no feed \"imag\". Did you mean 'image'? It has image, labels");
  EXPECT_EQ(wrong(file, {"loss=cost", "sizes=width=8", "batch=17"}),
            "train.batch is 17, but the batch of " + file + " is from 1 to 16");
  EXPECT_EQ(wrong(file, {"loss=cost", "sizes=width=8", "optimizer.kind=own"}),
            file +
                ": graph net names no next value of a weight: say optimizer.kind = \"sgd\", "
                "\"adam\" or \"adamw\"");
  const std::string odd = write(
      "odd.plait", "graph g(x: f32[4,2], t: f32[3,2]) { %l = sum(x) : f32[] return loss = %l }");
  EXPECT_EQ(wrong(odd), odd +
                            ": graph g feeds x f32[4,2], t f32[3,2]: the first size of every feed "
                            "must be the batch, one number or one name");
  EXPECT_EQ(
      message_of([&] { config(file, {"model.name=mlp"}); }),
      "argument 3 (model.name=mlp): model.file and model.name are both said: say one of them");
  EXPECT_EQ(message_of([&] {
              parse_config("[model]\nname = \"mlp\"\nsizes = [\"a=1\"]\n[train]\nsteps = 1\n",
                           "c.toml");
            }),
            "c.toml: line 3: model.sizes has a meaning only with model.file");
}

TEST_F(Networks, ALossThatNoGradientReachesIsAnError) {
  const std::string file = write("best.plait", R"(
graph net(x: f32[4,8]) state(w: f32[3,8] = xavier) {
  %y = linear(x, w)           : f32[4,3]
  %best = argmax(%y)          : i64[4]
  %f = cast(%best, dtype=f32) : f32[4]
  %loss = mean(%f)            : f32[]
  return %loss
})");
  EXPECT_EQ(wrong(file, {"batch=4"}),
            "graph train: no gradient of the loss reaches w: the path ends at %best: argmax makes "
            "i64 of f32, and gradients flow through floats alone. Nothing would be trained: "
            "compute the loss from them by operations on floats that have a gradient");
}

/// A run's model.plait may have been edited: what no longer fits is the user's, not a bug.
TEST_F(Networks, AKeptNetworkThatDoesNotFitIsNamed) {
  const Config c = config(write("kept", kNet));
  const auto kept = [](const std::string& w) {
    return "graph train(x: f32[8,5], t: f32[8,3]) state(w: " + w +
           " = xavier) { %y = linear(x, w) : f32[8,3]"
           " %l = mse_loss(%y, t) : f32[] return loss = %l }";
  };
  EXPECT_NO_THROW(build_package(c, kept("f32[3,5]")));
  for (const char* w : {"f32[3,7]", "f32[3,0]", "f16[3,5]", "f32[2,5]", "f32[15]"}) {
    const std::string said = message_of([&] { build_package(c, kept(w)); });
    EXPECT_TRUE(said.starts_with("[linear] ")) << said;
  }
}

TEST_F(Networks, ADamagedKeptNetworkIsNamedByItsOwnPath) {
  const std::string file = write("net.plait", kNet);
  SmallRuns runs(of_file(file, {"loss=cost", "sizes=width=8", "model.feeds=x=image",
                                "data.kind=synthetic", "samples=64"}));
  ASSERT_TRUE(runs.run("run").finished) << runs.said;
  const std::string kept = runs.path("run") + "/" + kNetworkFile;
  const auto expect_named = [&](const std::string& text, const std::string& begin) {
    io::write_file(kept, {text});
    for (const std::string& said : {message_of([&] { runs.resume("run"); }),
                                    message_of([&] { network_of(open_run(runs.path("run"))); })}) {
      EXPECT_TRUE(said.starts_with(kept + begin)) << said;
      EXPECT_TRUE(said.ends_with(". It is what the run keeps of " + file +
                                 ": put it back as it was, or begin a new run"))
          << said;
    }
  };
  expect_named("damaged", ":1:1: expected ");
  expect_named("graph other() {}", ": ");
}

TEST_F(Networks, GroupsAndFrozenParametersAreByTheGraphsNames) {
  const std::string file = write("net.plait", kNet);
  EXPECT_EQ(wrong(file, {"loss=cost", "sizes=width=8", "freeze=v"}),
            "net: freeze: no parameter is matched by 'v'. Did you mean 'w'?");
  const ir::Package package = [&] {
    const Config c = config(file, {"loss=cost", "sizes=width=8", "groups=w lr=0.5"});
    return build_package(c, read_network(c).text);
  }();
  EXPECT_NE(find_graph(package, "train").find_state("optim.lr.1"), nullptr);
}

TEST_F(Networks, ArraysAreDataForAnyFeeds) {
  const std::string file = write("net.plait", kNet);
  Array x(DType::f64, {12, 4}), labels(DType::i32, {12});
  for (std::int64_t i = 0; i < 12; ++i) {
    labels.set_integer(i, i % 3);
    for (std::int64_t k = 0; k < 4; ++k) x.set(i * 4 + k, k == i % 3 ? 3 : -1);
  }
  io::make_folder(folder / "d");
  io::write_npy(folder / "d/x.npy", x);
  io::write_npy(folder / "d/labels.npy", labels);
  SmallRuns runs(of_file(
      file, {"sizes=width=4", "loss=cost", "model.feeds=x=image", "data.kind=arrays",
             "data.path=" + folder / "d", "lr=0.1", "valid_fraction=0.5", "eval.every=20"}));
  ASSERT_TRUE(runs.run("run").finished) << runs.said;
  const Record end = read_metrics(runs.path("run") + "/" + kMetricsFile).back();
  EXPECT_EQ(end.eval_accuracy, 1.0);
  EXPECT_NE(runs.said.find("12 samples of x f32[4], labels i64[]"), std::string::npos) << runs.said;
  io::write_npy(folder / "d/labels.npy", Array(DType::i64, {11}));
  EXPECT_EQ(message_of([&] { runs.run("two"); }),
            folder / "d/labels.npy" + ": 11 samples, x.npy has 12");
  io::write_npy(folder / "d/x.npy", Array(DType::f32, {12, 5}));
  EXPECT_EQ(message_of([&] { runs.run("three"); }),
            folder / "d/x.npy" + ": f32[12,5]; the model's x wants f32[samples,4]");
}

TEST(Weights, OfBatchNormsAreFoldedForInference) {
  const std::string sizes = "batch=2&image=64&width=4&classes=3";
  const ir::Package trained = models::build("resnet50?train=1&" + sizes);
  Session eval = make_session({{find_graph(trained, "eval")}}, "ref", 1);
  for (const std::string& name : eval.state_names()) {  // statistics that are not 0 and 1
    Array value = eval.state(name);
    if (value.sizes().size() != 1) continue;
    for (std::int64_t i = 0; i < value.count(); ++i) {
      value.set(i, 0.6 + 0.1 * static_cast<double>(i % 7) - (name.ends_with("mean") ? 0.8 : 0));
    }
    eval.set_state(name, value);
  }
  Array x(DType::f32, {2, 3, 64, 64});
  for (std::int64_t i = 0; i < x.count(); ++i) x.set(i, static_cast<double>(i * 37 % 101) / 101);
  const Array logits =
      eval.run({"eval", {{"x", x}, {"labels", Array(DType::i64, {2})}}, {"logits"}}).at("logits");

  const test::TemporaryFolder folder;
  io::TensorFile file;
  for (const std::string& name : eval.state_names()) file.tensors.emplace(name, eval.state(name));
  io::write_safetensors(folder / "w.safetensors", file);
  Session folded = make_session(models::build("resnet50?" + sizes), "ref", 2);
  set_weights(folded, "resnet50", folder / "w.safetensors");
  const Array probs = folded.run({"resnet50", {{"x", x}}, {}}).at("probs");
  for (std::int64_t row = 0; row < 2; ++row) {
    double sum = 0;
    for (std::int64_t c = 0; c < 3; ++c) sum += std::exp(logits.real(row * 3 + c));
    for (std::int64_t c = 0; c < 3; ++c) {
      EXPECT_NEAR(probs.real(row * 3 + c), std::exp(logits.real(row * 3 + c)) / sum, 1e-4);
    }
  }
  EXPECT_NE(probs.real(0), probs.real(1));
}

}  // namespace
}  // namespace plait::train
