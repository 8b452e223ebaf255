// Graphs of the samples: shapes, results computed by hand, gradients against differences.
#include "ops/verify.h"
#include "passes/differentiate.h"
#include "tests/io/chainer/steps.h"
#include "tests/raises.h"

namespace plait {
namespace {

std::string type_of(const ir::Graph& graph, const std::string& name) {
  const ir::ValueId id = graph.find_value(name);
  return id == ir::kNone ? "none" : type_text(graph.type(id));
}

int opaque_nodes(const ir::Graph& graph) {
  int count = 0;
  for (const ir::Node& node : graph.nodes) count += node.opaque;
  return count;
}

TEST(ChainerGraph, ShapesFollowFromBytes) {
  const auto step = [](const char* name) {
    return test::fixed(io::chainer::to_graphs(test::record_of(name))).graphs[0];
  };
  const ir::Graph vgg = step("vgg_small");
  EXPECT_EQ(type_of(vgg, "0"), "f32[2,3,9,9]");
  EXPECT_EQ(type_of(vgg, "1"), "i32[2]");
  EXPECT_EQ(type_of(vgg, "/net/c2/W"), "f32[6,4,3,3]");  // no bias, stride 2
  EXPECT_EQ(type_of(vgg, "/net/fc1/W"), "f32[5,6]");
  const ir::Graph residual = step("residual");
  EXPECT_EQ(type_of(residual, "0"), "f32[2,1,6,8]");         // one channel, not square
  EXPECT_EQ(type_of(residual, "/net/a/W"), "f32[4,1,3,3]");  // a group per channel
  EXPECT_EQ(type_of(residual, "/net/b/W"), "f32[4,4,1,3]");
  EXPECT_EQ(type_of(residual, "/net/d/W"), "f32[3,4,2,2]");  // dilated
  EXPECT_EQ(type_of(step("mlp"), "/mlp/l2/W"), "f32[3,7]");
  EXPECT_EQ(type_of(step("mlp"), "1"), "f32[6,3]");
  EXPECT_EQ(type_of(step("words"), "0"), "i32[2,4]");
  EXPECT_EQ(type_of(step("words"), "/net/embed/W"), "f32[9,5]");
}

TEST(ChainerGraph, EveryGraphVerifiesAtOtherSizes) {
  for (const char* name : test::kSamples) {
    const io::Import import = io::chainer::to_graphs(test::record_of(name));
    verify_types(import.package.graphs[0]);
    EXPECT_EQ(import.sizes.count("batch"), 1u) << name;
    EXPECT_EQ(opaque_nodes(import.package.graphs[0]), std::string(name) == "unknown" ? 4 : 0)
        << name;
    if (std::string(name) == "unknown") continue;
    verify_types(test::fixed(import, {{"batch", 5}}).graphs[0]);
  }
}

// sigmoid(x.W1' + b).W2', mean of squares, in double.
double mlp_loss(const Session& s, const Arrays& feeds) {
  const Array& x = feeds.at("0");
  const Array& t = feeds.at("1");
  const Array &w1 = s.state("/mlp/l1/W"), &b1 = s.state("/mlp/l1/b"), &w2 = s.state("/mlp/l2/W");
  double sum = 0;
  for (int n = 0; n < 6; ++n) {
    double h[7];
    for (int j = 0; j < 7; ++j) {
      double z = b1.real(j);
      for (int i = 0; i < 5; ++i) z += x.real(n * 5 + i) * w1.real(j * 5 + i);
      h[j] = 1 / (1 + std::exp(-z));
    }
    for (int k = 0; k < 3; ++k) {
      double y = -t.real(n * 3 + k);
      for (int j = 0; j < 7; ++j) y += h[j] * w2.real(k * 7 + j);
      sum += y * y;
    }
  }
  return sum / 18;
}

TEST(ChainerGraph, MlpIsWhatIsComputedByHand) {
  const io::Import import = io::chainer::to_graphs(test::record_of("mlp"));
  Session session(test::fixed(import), make_target("ref"), 1);
  const Arrays feeds = test::random_feeds(session.package().graphs[0], 2);
  EXPECT_NEAR(session.run({"", feeds, {}}).at("loss").real(0), mlp_loss(session, feeds), 1e-6);
}

/// d loss along a direction by differences and by gradients. The loss is f32, so differences over
/// 2e-3 are good to about 1e-4; slopes of these networks are around 1.
void expect_slope(const char* name) {
  const io::Import import = io::chainer::to_graphs(test::record_of(name));
  Session session(test::fixed(import), make_target("ref"), 5);
  const ir::Graph graph = session.package().graphs[0];
  const Arrays feeds = test::random_feeds(graph, 6);
  Arrays start;
  for (const std::string& state : session.state_names()) start[state] = session.state(state);
  const Arrays gradients = session.run({"", feeds, {}});
  for (const ir::StateUse& use : graph.states) {
    const std::string& state = use.state.name;
    if (use.state.role != ir::Role::kParam) continue;
    ASSERT_EQ(gradients.count("d_" + state), 1u) << name << " " << state;
    const Array& gradient = gradients.at("d_" + state);
    double slope = 0, losses[2];
    for (int side = 0; side < 2; ++side) {
      for (const auto& [s, value] : start) session.set_state(s, value);
      Array moved = start.at(state);
      for (std::int64_t i = 0; i < moved.count(); ++i) {
        const double direction = i % 3 == 0 ? 1 : -0.5;
        if (side == 0) slope += gradient.real(i) * direction;
        moved.set(i, moved.real(i) + (side == 0 ? 1e-3 : -1e-3) * direction);
      }
      session.set_state(state, moved);
      losses[side] = session.run({"", feeds, {"loss"}}).at("loss").real(0);
    }
    const double difference = (losses[0] - losses[1]) / 2e-3;
    EXPECT_NEAR(slope, difference, 2e-3 + 0.02 * std::abs(difference)) << name << " " << state;
  }
}

TEST(ChainerGraph, GradientsAreSlopes) {
  for (const char* name : {"mlp", "vgg_small", "residual", "blocks", "own_names"}) {
    expect_slope(name);
  }
}

TEST(ChainerGraph, GradientsAddUpAsInDifferentiate) {
  for (const char* name : {"residual", "blocks", "vgg_small"}) {
    const ir::Package package = test::fixed(io::chainer::to_graphs(test::record_of(name)));
    ir::Graph forward = package.graphs[0];
    forward.fetches.resize(1);
    Session recorded(package, make_target("ref"), 9);
    Session differentiated({{differentiate(forward)}}, make_target("ref"), 9);
    const Arrays feeds = test::random_feeds(forward, 10);
    const Arrays a = recorded.run({"", feeds, {}}), b = differentiated.run({"", feeds, {}});
    // f32 sums of a few parts in another order.
    for (const auto& [fetch, value] : b)
      EXPECT_LE(test::distance(a.at(fetch), value), 1e-5) << fetch;
  }
}

TEST(ChainerGraph, AFeedThatNothingReadsIsNoted) {
  EXPECT_EQ(io::chainer::to_graphs(test::record_of("words")).notes.at(1),
            "line 9: nothing reads 1, which is fed");
}

TEST(ChainerGraph, UnknownFunctionsAreOpaque) {
  const io::Import import = io::chainer::to_graphs(test::record_of("unknown"));
  Session session(test::fixed(import), make_target("ref"), 1);
  const Arrays feeds = test::random_feeds(session.package().graphs[0], 2);
  const std::string message = test::message_of([&] { session.run({"", feeds, {}}); });
  EXPECT_NE(message.find("Mystery"), std::string::npos) << message;
  EXPECT_EQ(import.notes.at(1), "line 19: Mystery is no function that Plait has");
}

std::string relu_of(const std::string& bytes, const std::string& attributes,
                    const std::string& function) {
  return "2 1\n0 " + bytes + " 0\n1 " + bytes + " _\nforward\n1 1\n0 _\n1\n" + function + "\n" +
         attributes + "\n";
}

TEST(ChainerGraph, WhatDoesNotFitIsOpaqueWithANote) {
  const auto notes = [](const std::string& text) {
    return io::chainer::to_graphs(io::chainer::read(text, "f")).notes.at(1);
  };
  EXPECT_EQ(notes(relu_of("32", "{}", "Dropout")),
            "line 4: Dropout does not fit: has no attribute dropout_ratio");
  EXPECT_EQ(notes(relu_of("32", "{\"axis\": \"x\"}", "Sum")),
            "line 4: Sum does not fit: attribute axis is \"x\"");
  EXPECT_EQ(notes(relu_of("32", "{\"axis\": null}", "Sum")),
            "line 4: Sum does not fit: makes 32 bytes, f32[] has 4");
  EXPECT_EQ(notes(relu_of("32", "{\"n\": 9000}", "LocalResponseNormalization")),
            "line 4: LocalResponseNormalization does not fit: n=9000");
}

// A list of three numbers may be positions that are picked, so it is no slice.
TEST(ChainerGraph, PickedPositionsAreNoSlice) {
  const auto notes = [](const std::string& slices) {
    const std::string text =
        "2 1\n0 48 0\n1 36 _\nforward\n1 1\n0 _\n1\nGetItem\n{\"slices\": [" + slices + "]}\n";
    return io::chainer::to_graphs(io::chainer::read(text, "f")).notes;
  };
  EXPECT_EQ(notes("[1, 4, 1]").at(1),
            "line 4: GetItem does not fit: picks positions [1, 4, 1] of an axis");
  EXPECT_EQ(notes("[1, 4, null]").size(), 1u);
  EXPECT_EQ(notes("\"slice(1, 4, 1)\"").size(), 1u);
}

TEST(ChainerGraph, NotesSpeakOfTheDocumentInNumbers) {
  const std::string text =
      "3 2\n0 96 0\n1 96 _\n2 96 _\nforward\n1 1\n0 _\n1\nReshape\n{\"shape\": [4, 6]}\nforward\n"
      "1 1\n1 _\n2\nTranspose\n{\"axes\": [0, 1, 2]}\n";
  const std::string note = io::chainer::to_graphs(io::chainer::read(text, "f")).notes.at(1);
  EXPECT_EQ(note, "line 11: Transpose does not fit: [transpose] order has 3 axes: x is f32[4,6]");
}

}  // namespace
}  // namespace plait
