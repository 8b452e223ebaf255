// Graphs of the samples: run, and compared with models/, with a graph built by hand, or with
// numbers worked out by hand.
#include "models/registry.h"
#include "ops/activation.h"
#include "ops/contract.h"
#include "ops/conv.h"
#include "ops/pool.h"
#include "ops/softmax.h"
#include "ops/verify.h"
#include "tests/io/megengine/samples.h"

namespace plait::io::megengine {
namespace {

// Both sides compute in f32 with sums of at most 27 products; they differ in where the bias is
// added.
constexpr double kF32 = 1e-6;

ir::Package classifier_by_hand() {
  Builder b("g");
  const auto state = [&](const char* name, Shape shape) {
    return b.state({name, {DType::f32, std::move(shape)}, ir::Role::kParam, {}});
  };
  const Tensor x = b.feed("data", DType::f32, {2, 3, 8, 8});
  Tensor y = ops::conv2d.all({x, state("w1", {4, 3, 3, 3}), state("b1", {4})},
                             ops::Conv2d{.padding = {1, 1, 1, 1}})[0];
  y = ops::max_pool2d(ops::relu(y), ops::MaxPool2d{.kernel = {2, 2}, .stride = {2, 2}});
  y = ops::conv2d.all({y, state("w2", {5, 4, 1, 1})}, ops::Conv2d{})[0];
  y = ops::global_avg_pool2d(y).reshape({2, 5});
  y = ops::linear.all({y, state("w3", {6, 5}), state("b3", {6})})[0];
  b.fetch("probs", ops::softmax(y));
  return {{b.take()}};
}

TEST(Graph, ClassifierEqualsTheSameNetworkByHand) {
  const Import import = to_graphs(sample("classifier"));
  EXPECT_TRUE(import.notes.empty()) << import.notes[0];
  Session document = session_of(sized(import, {}));
  Session ours = session_of(classifier_by_hand());
  const std::pair<const char*, const char*> states[] = {{"w1", "const{4,3,3,3}[3]"},
                                                        {"b1", "const{1,4,1,1}[5]"},
                                                        {"w2", "const{5,4,1,1}[7]"},
                                                        {"w3", "const{6,5}[9]"},
                                                        {"b3", "const{6}[11]"}};
  for (const auto& [hand, there] : states) {
    const Array value = document.state(there);
    ours.set_state(hand, value.reshaped(ours.state(hand).sizes()));
  }
  const Arrays feeds = random_feeds(ours.package());
  const Array probs = run(document, feeds).at("output");
  EXPECT_LT(difference(probs, run(ours, feeds).at("probs")), kF32);
}

TEST(Graph, NamedSizesShrinkIt) {
  const Import import = to_graphs(sample("classifier"));
  EXPECT_EQ(import.sizes, (std::map<std::string, std::int64_t>{{"batch", 2}, {"image", 8}}));
  Session session = session_of(sized(import, {{"batch", 1}, {"image", 5}}));
  const Arrays out = run(session, random_feeds(session.package()));
  EXPECT_EQ(out.at("output").sizes(), (Sizes{1, 6}));
}

TEST(Graph, NamesAndSourcesSurvive) {
  const ir::Graph graph = to_graphs(sample("classifier")).package.graphs[0];
  EXPECT_EQ(graph.name, "profile");
  const ir::ValueId conv = graph.find_value("conv(data,const[5])[13]");
  ASSERT_NE(conv, ir::kNone);
  // The document has no lines of its own to point to.
  EXPECT_EQ(ir::describe(graph, graph.node(graph.value(conv).producer)),
            "%conv(data,const[5])[13]");
  EXPECT_NE(graph.find_state("const{4,3,3,3}[3]"), nullptr);
  EXPECT_EQ(graph.find_state("const{4,3,3,3}[3]")->state.init.kind, "kaiming");
  EXPECT_EQ(graph.find_state("const{6}[11]")->state.init.kind, "normal");
}

TEST(Graph, PerceptronEqualsTheModel) {
  Session document = session_of(sized(to_graphs(sample("perceptron")), {}));
  Session model = session_of(models::build("mlp?batch=4&width=8&dtype=f32"));
  const std::pair<const char*, const char*> states[] = {{"0.W", "const{8,8}[2]"},
                                                        {"0.b", "const{8}[4]"},
                                                        {"2.W", "const{8,8}[6]"},
                                                        {"2.b", "const{8}[8]"}};
  for (const auto& [name, there] : states) document.set_state(there, model.state(name));
  const Arrays feeds = random_feeds(model.package());
  const Arrays out = run(document, feeds);
  EXPECT_LT(difference(out.at("ADD(matrix_mul,const)"), run(model, feeds).at("y")), kF32);
}

TEST(Graph, MovesByHand) {
  ir::Package package = sized(to_graphs(sample("moves")), {});
  Session session = session_of(std::move(package));
  const Arrays feeds{{"a", Array::of(DType::f32, {2, 3}, {1, 2, 3, 4, 5, 6})}};
  // Twice transposed `a` beside itself: rows 1 2 3 1 2 3 and 4 5 6 4 5 6.
  const Arrays out = run(session, feeds, {"cut", "half", "mixed"});
  EXPECT_TRUE(out.at("cut").same_bits(Array::of(DType::f32, {2, 2}, {2, 1, 5, 4})));
  const std::vector<double> squares{16, 25, 36, 16, 25, 36};  // of row 1, the mean of its copies
  EXPECT_TRUE(out.at("half").same_bits(Array::of(DType::f16, {1, 6}, squares)));
  // The sum of squares of `cut` is 46, above them all: each gets 1 * 0.5.
  std::vector<double> mixed = squares;
  for (double& x : mixed) x += 0.5;
  EXPECT_TRUE(out.at("mixed").same_bits(Array::of(DType::f32, {1, 6}, mixed)));
}

TEST(Graph, UnknownTypesAreOpaqueAndRefusedByName) {
  const Import import = to_graphs(sample("moves"));
  ASSERT_FALSE(import.notes.empty());
  EXPECT_EQ(import.notes[0], "what \"NMSKeep\" computes is not known here: 1 node cannot run");
  Session session = session_of(sized(import, {}));
  const Arrays feeds{{"a", Array(DType::f32, {2, 3})}};
  const std::string message = test::message_of([&] { run(session, feeds); });
  EXPECT_NE(message.find("NMSKeep"), std::string::npos) << message;
}

TEST(Graph, AStepAdvancesItsState) {
  Session session = session_of(sized(to_graphs(sample("step")), {}));
  const Array x = Array::of(DType::f32, {2, 3}, {1, 0, 2, 0, 1, 1});
  Array w(DType::f32, {4, 3});
  for (int i = 0; i < 12; ++i) w.set(i, i);
  session.set_state("w", w);
  const Arrays out = run(session, {{"x", x}});
  // y = x w^T is (4 3; 13 9; 22 15; 31 21) by column; w -= 0.25 * y^T x.
  EXPECT_EQ(out.at("loss").real(0),
            4 * 4 + 13 * 13 + 22 * 22 + 31 * 31 + 3 * 3 + 9 * 9 + 15 * 15 + 21 * 21);
  const double y[2][4] = {{4, 13, 22, 31}, {3, 9, 15, 21}};
  for (int i = 0; i < 4; ++i) {
    for (int j = 0; j < 3; ++j) {
      const double g = y[0][i] * x.real(j) + y[1][i] * x.real(3 + j);
      EXPECT_EQ(session.state("w").real(3 * i + j), 3 * i + j - 0.25 * g);
    }
  }
}

/// The relu sample with another mode and operands.
Array run_mode(const std::string& mode, const std::vector<std::vector<double>>& inputs) {
  Record r = sample("relu");
  r.profiler->footprints->at(0).param = Json::Object{{"mode", mode}};
  r.profiler->footprints->at(0).in_shapes.assign(inputs.size(), {4});
  Arrays feeds{{"x", Array::of(DType::f32, {4}, inputs[0])}};
  for (std::size_t i = 1; i < inputs.size(); ++i) {
    Operator feed = r.ops[0];
    Var var = r.vars[0];
    feed.id = static_cast<Id>(10 + 2 * i);
    var.id = feed.id + 1;
    var.name = str("x", i);
    feed.outputs = {var.id};
    r.comp_seq.insert(r.comp_seq.begin(), feed.id);
    r.ops.push_back(feed);
    r.vars.push_back(var);
    r.ops[1].inputs.push_back(var.id);
    feeds[var.name] = Array::of(DType::f32, {4}, inputs[i]);
  }
  Session session = session_of(sized(to_graphs(r), {}));
  return run(session, feeds).at("y");
}

TEST(Graph, ModesOfElemwise) {
  const std::vector<double> x{-2, -0.5, 0.5, 3}, y{1, 2, -3, 0.5}, z{10, 20, 30, 40};
  const auto near = [&](const std::string& mode, const std::vector<std::vector<double>>& inputs,
                        double (*f)(double, double, double)) {
    const Array got = run_mode(mode, inputs);
    for (int i = 0; i < 4; ++i) {
      EXPECT_NEAR(got.real(i), f(x[i], y[i], z[i]), 2e-6 * std::fabs(f(x[i], y[i], z[i])) + 1e-7)
          << mode << " of element " << i;
    }
  };
  const auto sigmoid = [](double v) { return 1 / (1 + std::exp(-v)); };
  static const auto sig = sigmoid;
  near("RELU", {x}, [](double a, double, double) { return std::fmax(a, 0); });
  near("NEGATE", {x}, [](double a, double, double) { return -a; });
  near("FUSE_ADD_RELU", {x, y}, [](double a, double b, double) { return std::fmax(a + b, 0); });
  near("FUSE_ADD_SIGMOID", {x, y}, [](double a, double b, double) { return sig(a + b); });
  near("FUSE_ADD_TANH", {x, y}, [](double a, double b, double) { return std::tanh(a + b); });
  near("FUSE_ADD_H_SWISH", {x, y}, [](double a, double b, double) {
    return (a + b) * std::fmin(std::fmax(a + b + 3, 0), 6) / 6;
  });
  near("H_SWISH", {x},
       [](double a, double, double) { return a * std::fmin(std::fmax(a + 3, 0), 6) / 6; });
  near("FUSE_MUL_ADD3", {x, y, z}, [](double a, double b, double c) { return a * b + c; });
  near("FUSE_MUL_ADD4", {x, y, z, x}, [](double a, double b, double c) { return a * b + c * a; });
  near("SWITCH_GT0", {x, y}, [](double a, double b, double) { return a > 0 ? b : 0; });
  near("COND_LEQ_MOV", {x, y, z}, [](double a, double b, double c) { return a <= b ? c : 0; });
  near("ABS_GRAD", {x, y}, [](double a, double b, double) { return a > 0 ? b : -b; });
  near("SIGMOID_GRAD", {x, y}, [](double a, double b, double) { return a * (1 - a) * b; });
  near("TANH_GRAD", {x, y}, [](double a, double b, double) { return (1 - a * a) * b; });
  near("LT", {x, y}, [](double a, double b, double) { return a < b ? 1.0 : 0.0; });
  near("LOG_SUM_EXP", {x, y},
       [](double a, double b, double) { return std::log(std::exp(a) + std::exp(b)); });
  near("ROUND", {x}, [](double a, double, double) { return std::round(a); });
  near("FAST_TANH", {x},
       [](double a, double, double) { return a * (27 + a * a) / (27 + 9 * a * a); });
}

TEST(Graph, AModeOfTomorrowIsOpaque) {
  Record r = sample("relu");
  r.profiler->footprints->at(0).param = Json::Object{{"mode", "ERFCINV"}};
  const Import import = to_graphs(r);
  EXPECT_TRUE(import.package.graphs[0].nodes[0].opaque);
  EXPECT_EQ(import.package.graphs[0].nodes[0].op, "Elemwise");
}

TEST(Graph, WhatWasRecordedMustBeWhatItComputes) {
  std::string text = sample_text("relu");
  const std::string from = "\"out_shapes\": [ [ 4]]";
  text.replace(text.find(from), from.size(), "\"out_shapes\": [ [ 5]]");
  EXPECT_EQ(test::message_of([&] { to_graphs(read(text, "f")); }),
            "f: operator 2 (Elemwise): its output, var 3, is recorded as [5], it computes [4]");
}

}  // namespace
}  // namespace plait::io::megengine
