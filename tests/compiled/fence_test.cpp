// Programs of short, odd and shifted shapes between protected pages: an access beside a buffer is a
// fault. Ops on their samples and random graphs run there too (ops_test.cpp, random_test.cpp);
// `make fence` runs all of it with one compiler's usual flags, and the larger sweeps below.
#include "base/text.h"
#include "ir/text.h"
#include "models/registry.h"
#include "tests/compiled/fence_case.h"
#include "tests/compiled/noise.h"

namespace plait::test {
namespace {

class Fences : public CompiledCase {
 protected:
  void SetUp() override {
    if (tested() != Tested::kCpu) GTEST_SKIP() << "the pages that are protected are the host's";
  }
};

// gcc 12 reads a whole vector for the part that passes the guard.
constexpr const char* kOnceBroken[] = {
    "graph g(x: f32[5]) {\n %y = pad(x, low=[2], high=[1], value=1) : f32[8]\n return %y\n}",
    "graph g(x: bf16[8], z: bf16[8]) {\n %y = concat(x, z, axis=0) : bf16[16]\n return %y\n}",
    "graph g(x: f32[3,2,1,5], w: f32[4,1,5,1]) {\n"
    " %y = conv2d(x, w, padding=[2,2], groups=2) : f32[3,4,1,9]\n return %y\n}",
};

TEST_F(Fences, HoldWhatOnceReadBesideItsBuffer) {
  for (const char* text : kOnceBroken) {
    const ir::Graph graph = ir::parse_graph(text);
    const NamedArrays inputs = random_inputs(graph, 1, false);
    const Expected expected = expected_of(graph, inputs, 2);
    expect_same_in_fences([&] {
      Arrays results = run_compiled(graph, inputs, {}, 1);
      EXPECT_EQ(agreement(expected, results).first, "") << text;
      return results;
    });
  }
}

/// Sizes round those of a vector and its half.
std::vector<int> sizes() {
  if (!is_swept()) return {1, 5, 8, 17};
  return {1, 2, 3, 4, 5, 7, 8, 9, 11, 15, 16, 17, 23, 31, 32, 33, 47, 63, 65};
}

std::vector<OpSamples> shifted_samples() {
  std::vector<OpSamples> all;
  const auto add = [&](const char* op, const std::string& text) { all.push_back({op, text}); };
  for (int n : sizes()) {
    const std::string vector = str("f32[", n, "]"), rows = str("f32[3,", n, "]");
    for (const auto& [low, high] : {std::pair{2, 1}, {0, 3}, {9, 0}}) {
      add("pad", str(vector, " | low=[", low, "], high=[", high, "], value=1"));
      add("pad", str(rows, " | low=[1,", low, "], high=[0,", high, "]"));
    }
    add("pad", str("f32[", n, ",0] | low=[0,2], high=[1,", n, "], value=3"));
    add("concat", str(vector, ", f32[3], ", vector, " | axis=0"));
    add("concat", str(rows, ", f32[3,2] | axis=1"));
    add("flip", rows + " | axes=[1]");
    if (n > 2) {
      add("slice", str(vector, " | axes=[0], starts=[1], stops=[", n - 1, "]"));
      add("slice", str(rows, " | axes=[1], starts=[2], stops=[", n, "], steps=[2]"));
    }
    add("softmax", rows + " | axis=1");
    add("layer_norm", str(rows, ", f32[", n, "], f32[", n, "]"));
    if (n < 40)
      add("matmul", str("f32[3,", n, "], f32[", n, ",", n, "]"));  // longer sums are less exact
    add("transpose", str("f32[", n, ",3] | order=[1,0]"));
    const std::string image = str("f32[1,2,3,", n, "]");
    add("conv2d", image + ", f32[4,1,5,1] | padding=[2,2], groups=2");
    add("conv2d", image + ", f32[3,2,3,3] | padding=[1,1], stride=[2,2]");
    add("max_pool2d", image + " | kernel=[3,3], stride=[2,2], padding=[1,1]");
    add("avg_pool2d", image + " | kernel=[2,2], stride=[1,1], padding=[1,1]");
    add("resize_nearest", image + str(" | size=[6,", 2 * n, "]"));
  }
  return all;
}

TEST_F(Fences, HoldShortOddAndShiftedShapes) {
  EXPECT_GT(check_in_fences(shifted_samples()), 60);
  for (DType real : {DType::bf16, DType::f16, DType::f64}) {
    if (is_swept()) check_in_fences(shifted_samples(), real);
  }
}

TEST_F(Fences, HoldShapesWhoseSizesAreNamed) {
  const ir::Graph graph = ir::parse_graph(R"(
    symbol n = 1..40
    graph g(x: f32[3,n], y: bf16[n]) state(w: f32[5,3]) {
      %p = pad(x, low=[1,2], high=[0,1], value=1) : f32[4,n + 3]
      %m = max(%p, axes=[1])      : f32[4]
      %c = concat(y, y, axis=0)   : bf16[2*n]
      %z = matmul(w, x)           : f32[5,n]
      %s = softmax(%z, axis=1)    : f32[5,n]
      return %p, %m, %c, %s
    })");
  for (std::int64_t n : {1, 5, 8, 17, 40}) {
    const ir::Graph fixed = substitute(graph, {{"n", Dim(n)}});
    const NamedArrays inputs = random_inputs(fixed, 1, false);
    const Arrays feeds{{"x", inputs.at("x")}, {"y", inputs.at("y")}};
    expect_same_in_fences([&] { return run_compiled(graph, feeds, {{"w", inputs.at("w")}}, 2); });
  }
}

Arrays states_after(const std::string& spec) {
  Session session(models::build(spec), target_under_test(2), 3);
  const ir::Graph& graph = session.package().graphs.at(0);
  Arrays feeds;
  for (ir::ValueId id : graph.feeds) feeds[graph.value(id).name] = random_feed(graph, id, 1);
  Arrays out;
  for (int i = 0; i < 2; ++i) out = session.run({graph.name, feeds, {}});
  for (const std::string& name : session.state_names()) out[name] = session.state(name);
  return out;
}

/// Odd sizes. The first has gradients with phases that sum nothing.
std::vector<std::string> odd_models() {
  std::vector<std::string> all{"resnet50?batch=4&image=64&width=5&classes=2&train=1"};
  if (!is_swept()) return all;
  const char* more[] = {
      "resnet50?batch=1&image=45&width=3&classes=7",
      "vgg19?batch=3&image=37&width=3&hidden=11&classes=5&train=1",
      "unet?batch=1&image=24&width=3&depth=3&classes=3&train=1",
      "rwkv4?batch=3&layers=2&width=23&vocab=37&context=7&copy=5&train=1",
      "gpt2?batch=3&layers=2&width=21&heads=3&vocab=29&context=7&train=1",
      "conv_add?train=1&image=11&channels=5&filters=7&dtype=f32",
      "conv_add?train=1&image=13&channels=9&filters=3&kernel=5&dtype=f16",
      "mlp?train=1&batch=7&width=5&dtype=bf16",
  };
  all.insert(all.end(), std::begin(more), std::end(more));
  for (const char* half : {"dtype=bf16", "dtype=f16", "precision=bf16"}) {
    all.push_back(str("resnet50?batch=2&image=33&width=5&classes=3&train=1&", half));
    all.push_back(str("gpt2?batch=2&layers=1&width=15&heads=3&vocab=17&context=5&train=1&", half));
  }
  return all;
}

TEST_F(Fences, HoldModelsOfOddSizes) {
  for (const std::string& spec : odd_models()) {
    SCOPED_TRACE(spec);
    expect_same_in_fences([&] { return states_after(spec); });
  }
}

}  // namespace
}  // namespace plait::test
