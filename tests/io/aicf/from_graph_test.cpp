// Graphs of ours as documents: written, read back, run to the same states.
#include "models/registry.h"
#include "nn/layers.h"
#include "nn/optimizer.h"
#include "ops/activation.h"
#include "ops/loss.h"
#include "tests/io/aicf/support.h"
#include "tests/raises.h"

namespace plait::io::aicf {
namespace {

using test::session_of;

Record written(const ir::Graph& graph) {
  const Record record = from_graph(graph);
  const Record back = read(write(record), "back");
  EXPECT_EQ(back, record);
  return back;
}

/// States of the document, which has fewer (a learning rate is an attribute), after `steps`.
double deviation_of(const ir::Package& package, int steps) {
  Session document = session_of(test::package_of(written(package.graphs[0])));
  Session ours = session_of(package);
  return test::deviation_after(document, ours, steps);
}

/// The document's ops are the graph's own nodes: equal to the last bit.
TEST(AicfFromGraph, TrainingStepsRunTheSame) {
  for (const char* spec : {"mlp?train=1", "mlp?train=1&dtype=f32&batch=7&width=5",
                           "mlp?train=1&dtype=bf16&batch=3&width=4", "mlp?train=1&dtype=f64",
                           "mlp?train=1&optimizer=adam", "mlp?train=1&optimizer=adam&dtype=f32",
                           "mlp?train=1&optimizer=adam&dtype=f64&batch=2&width=3"}) {
    EXPECT_EQ(deviation_of(models::build(spec), 3), 0) << spec;
  }
}

TEST(AicfFromGraph, InferenceRunsTheSame) {
  const ir::Package package = models::build("mlp?dtype=f32&batch=3");
  const Record record = written(package.graphs[0]);
  EXPECT_EQ(record.nodes.size(), 3u);
  Session document = session_of(test::package_of(record)), ours = session_of(package);
  const Arrays feeds = test::feeds_of(package, 9);
  for (const std::string& name : ours.state_names()) {
    document.set_state(name, ours.state(name));
  }
  const Array a = document.run({"", feeds, {}}).at("y"), b = ours.run({"", feeds, {}}).at("y");
  EXPECT_TRUE(a.same_bits(b));
}

TEST(AicfFromGraph, TheTrainingStepInTheWordsOfTheFormat) {
  const Record record = written(models::build("mlp?train=1&batch=4&width=3").graphs[0]);
  std::vector<std::string> ops, names;
  for (const Node& n : record.nodes) ops.push_back(n.op);
  for (const Value& v : record.values) names.push_back(v.name);
  EXPECT_EQ(ops, (std::vector<std::string>{"Linear", "ReLU", "Linear", "MseGrad", "LinearBwd",
                                           "ReluBwd", "LinearBwd", "StepInc", "SgdStep", "SgdStep",
                                           "SgdStep", "SgdStep"}));
  EXPECT_EQ(names,
            (std::vector<std::string>{"x", "0.W", "0.b", "linear", "relu", "2.W", "2.b", "linear1",
                                      "t", "d_linear1", "d_relu", "d_2.W", "d_2.b", "d_linear",
                                      "d_x", "d_0.W", "d_0.b", "optim.step"}));
  EXPECT_EQ(*record.nodes[8].attr("lr"), "0.01");
  EXPECT_EQ(record.nodes[3].attrs.size(), 0u);  // 2 / elements is the format's own scale
}

/// What was read, through a graph, and out again.
TEST(AicfFromGraph, ImportedDocumentsComeBack) {
  for (const std::string name : {"adam", "inference", "no_bias", "sgd"}) {
    const Record record = test::sample_record(name);
    const Record back = written(test::package_of(record).graphs[0]);
    EXPECT_EQ(back.nodes.size(), record.nodes.size()) << name;
    EXPECT_EQ(back.values.size(), record.values.size()) << name;
    Session a = session_of(test::package_of(record)), b = session_of(test::package_of(back));
    if (name == "inference") continue;  // nothing moves
    for (const std::string& state : a.state_names()) b.set_state(state, a.state(state));
    const Arrays feeds = test::feeds_of(a.package(), 2);
    static_cast<void>(a.run({"", feeds, {}}));
    static_cast<void>(b.run({"", feeds, {}}));
    for (const std::string& state : a.state_names()) {
      EXPECT_TRUE(a.state(state).same_bits(b.state(state))) << name << " " << state;
    }
  }
  EXPECT_EQ(write(from_graph(test::package_of(test::sample_record("sgd")).graphs[0])),
            test::sample("sgd"));
}

/// Corrections with other betas than the update, and corrections that are fed: Adam in single ops.
TEST(AicfFromGraph, AdamInSingleOpsIsAdamStepAgain) {
  const std::string fed =
      "=== IRGraph: fed ===\nvalues: 6, nodes: 1\n\n[values]\n"
      "  v000  p            shape=(3,) dtype=torch.float16 device=cuda:0\n"
      "  v001  g            shape=(3,) dtype=torch.float16 device=cuda:0\n"
      "  v002  m            shape=(3,) dtype=torch.float16 device=cuda:0\n"
      "  v003  v            shape=(3,) dtype=torch.float32 device=cuda:0\n"
      "  v004  bc1          shape=() dtype=torch.float32 device=cuda:0\n"
      "  v005  bc2          shape=() dtype=torch.float32 device=cuda:0\n\n[nodes]\n"
      "  #000 AdamStep   (v000, v001, v002, v003, v004, v005) -> (v000, v002, v003)  "
      "{lr=0.003, beta1=0.9, beta2=0.95, eps=1e-08}";
  EXPECT_EQ(write(written(test::package_of(read(fed, "f")).graphs[0])), fed);

  const Record record = test::sample_record("in_place");
  const Record back = written(test::package_of(record).graphs[0]);
  ASSERT_EQ(back.nodes.size(), record.nodes.size());
  for (std::size_t i = 0; i < back.nodes.size(); ++i) {
    EXPECT_EQ(back.nodes[i].op, record.nodes[i].op);
    EXPECT_EQ(back.nodes[i].attrs, record.nodes[i].attrs);
  }
  Session a = session_of(test::package_of(record)), b = session_of(test::package_of(back));
  for (int step = 0; step < 3; ++step) {
    const Arrays feeds = test::feeds_of(a.package(), 2);
    static_cast<void>(a.run({"", feeds, {}}));
    static_cast<void>(b.run({"", feeds, {}}));
  }
  for (const std::string name : {"W", "m", "v"}) {
    EXPECT_TRUE(a.state(name).same_bits(b.state(name))) << name;
  }
}

/// A deeper network: layers without bias, two layers without relu between them, sum of squares.
struct Deep : nn::ModuleOf<Deep> {
  Deep()
      : ModuleOf(DType::f32),
        a(this, "a", 6, 5),
        b(this, "b", 5, 5, false),
        c(this, "c", 5, 4),
        d(this, "d", 4, 2, false) {}
  Tensor forward(const Tensor& x) { return d(ops::relu(c(b(ops::relu(a(x)))))); }
  nn::Linear a, b, c, d;
};

ir::Package deep_step(const nn::Optimizer& optimizer, const std::string& reduction) {
  Deep net;
  Builder b("deep");
  const Tensor y = net(b.feed("x", DType::f32, {3, 6}));
  const Tensor loss =
      ops::mse_loss(y, b.feed("target", DType::f32, {3, 2}), ops::MseLoss{reduction});
  b.fetch("loss", loss);
  b.fetch("prediction", y);
  nn::minimize(loss, net.parameters(), optimizer);
  ir::Package package;
  package.graphs.push_back(b.take());
  return package;
}

TEST(AicfFromGraph, DeeperNetworks) {
  EXPECT_EQ(deviation_of(deep_step(nn::Sgd{.lr = 0.3}, "mean"), 3), 0);
  EXPECT_EQ(deviation_of(deep_step(nn::Adam{.lr = 1.0 / 3, .beta1 = 0.7}, "mean"), 3), 0);
  const ir::Package sum = deep_step(nn::Sgd{.lr = 0.001}, "sum");
  EXPECT_EQ(deviation_of(sum, 3), 0);
  const Record record = from_graph(sum.graphs[0]);
  const auto mse = std::find_if(record.nodes.begin(), record.nodes.end(),
                                [](const Node& n) { return n.op == "MseGrad"; });
  ASSERT_NE(mse, record.nodes.end());
  EXPECT_EQ(*mse->attr("scale"), "2");
  EXPECT_EQ(record.value(mse->inputs[0]).name, "prediction");
}

TEST(AicfFromGraph, NodesWithoutAWordAreNamed) {
  const auto message = [](const std::string& spec) {
    return plait::test::message_of(
        [&] { static_cast<void>(from_graph(models::build(spec).graphs[0])); });
  };
  EXPECT_NE(message("conv_add").find("aicf: no word for conv2d %conv2d"), std::string::npos)
      << message("conv_add");
  EXPECT_NE(message("mlp?train=1&optimizer=adamw")
                .find("no word for adam_update %adam_update @ "
                      "optim (nn/optimizer.cpp:"),
            std::string::npos)
      << message("mlp?train=1&optimizer=adamw");
  EXPECT_NE(message("mlp?train=1&optimizer=adamw").find(": weight decay."), std::string::npos);
  // A loss alone has no word; only its gradient has.
  const std::string eval = plait::test::message_of(
      [] { static_cast<void>(from_graph(models::build("mlp?train=1").graphs[1])); });
  EXPECT_NE(eval.find("no word for mse_loss %mse_loss"), std::string::npos) << eval;
}

TEST(AicfFromGraph, MomentumAndClippingHaveNoWord) {
  const std::string momentum = plait::test::message_of(
      [] { static_cast<void>(from_graph(deep_step(nn::Sgd{.momentum = 0.9}, "mean").graphs[0])); });
  EXPECT_NE(momentum.find("momentum or weight decay"), std::string::npos) << momentum;
  Deep net;
  Builder b("clipped");
  const Tensor loss =
      ops::mse_loss(net(b.feed("x", DType::f32, {3, 6})), b.feed("target", DType::f32, {3, 2}));
  nn::minimize(loss, net.parameters(), nn::Sgd{}, {.clip = 1.0});
  const std::string clipped =
      plait::test::message_of([&] { static_cast<void>(from_graph(b.graph())); });
  EXPECT_NE(clipped.find("aicf: no word for "), std::string::npos) << clipped;
}

TEST(AicfFromGraph, NamedSizesAreAskedFor) {
  const Import import = to_graphs(test::sample_record("adam"));
  EXPECT_EQ(
      plait::test::message_of([&] { static_cast<void>(from_graph(import.package.graphs[0])); }),
      "aicf: graph adam_step has the size batch, and the format holds numbers. Set it: --set "
      "batch=N");
}

}  // namespace
}  // namespace plait::io::aicf
