// Shapes of feeds, which the document has as bytes only: networks of ours are written as steps, and
// what is read back must have the shapes they had.
#include "ops/activation.h"
#include "ops/contract.h"
#include "ops/conv.h"
#include "ops/index.h"
#include "ops/initializers.h"
#include "ops/loss.h"
#include "ops/pool.h"
#include "ops/shape.h"
#include "ops/unary.h"
#include "passes/differentiate.h"
#include "tests/io/chainer/steps.h"

namespace plait {
namespace {

using io::Import;

Tensor weight(Builder& b, const std::string& name, const Shape& shape) {
  return b.state({name, {DType::f32, shape}, ir::Role::kParam, init::make(init::Kaiming{})});
}

Tensor conv(Builder& b, const Tensor& x, const std::string& name, std::int64_t out, std::int64_t k,
            std::int64_t stride, std::int64_t pad) {
  const ops::Conv2d a{.stride = {stride, stride}, .padding = {pad, pad, pad, pad}};
  return ops::conv2d(x, weight(b, name + ".W", {out, x.dim(1), k, k}),
                     weight(b, name + ".b", {out}), a);
}

Tensor deconv(Builder& b, const Tensor& x, const std::string& name, std::int64_t out,
              std::int64_t k, std::int64_t pad) {
  ops::ConvTranspose2d a;
  a.stride = {2, 2};
  a.padding = {pad, pad, pad, pad};
  return ops::conv_transpose2d(x, weight(b, name + ".W", {x.dim(1), out, k, k}),
                               weight(b, name + ".b", {out}), a);
}

Tensor classify(Builder& b, const Tensor& x, std::int64_t in) {
  const Tensor y = ops::linear(x, weight(b, "fc.W", {5, in}), weight(b, "fc.b", {5}));
  return ops::cross_entropy(y, b.feed("t", DType::i32, {x.dim(0)}), ops::CrossEntropy{.axis = 1});
}

/// The graph of `b` as a step, read back.
Import read_back(Builder& b, const Tensor& loss) {
  b.fetch("loss", loss);
  const std::string text = io::chainer::write(io::chainer::from_graph(b.graph()));
  return io::chainer::to_graphs(io::chainer::read(text, "step.txt"));
}

std::string feeds_of(const Import& import) {
  const ir::Graph graph = test::fixed(import).graphs[0];
  std::string out;
  for (ir::ValueId id : graph.feeds) out += type_text(graph.type(id)) + " ";
  for (const ir::Node& node : graph.nodes) out += node.opaque ? "opaque " : "";
  return out;
}

Import segmenter(const Sizes& image) {
  Builder b("step");
  const Tensor x = b.feed("x", DType::f32, shape_of(image));
  Tensor y = ops::relu(conv(b, x, "a", 8, 3, 1, 0));
  y = ops::max_pool2d(y,
                      ops::MaxPool2d{.kernel = {2, 2}, .stride = {2, 2}, .padding = {0, 0, 0, 0}});
  y = conv(b, deconv(b, conv(b, y, "b", 16, 3, 1, 1), "c", 8, 2, 0), "d", 2, 1, 1, 0);
  const Tensor t = b.feed("t", DType::i32, {y.dim(0), y.dim(2), y.dim(3)});
  return read_back(b, ops::cross_entropy(y, t, ops::CrossEntropy{.axis = 1}));
}

TEST(ChainerGuess, AnyBatchOfImagesWithALabelPerPixel) {
  for (std::int64_t n : {1, 3, 5, 6, 7, 10, 12, 20, 24}) {
    EXPECT_EQ(feeds_of(segmenter({n, 3, 40, 40})), str("f32[", n, ",3,40,40] i32[", n, ",38,38] "));
    EXPECT_EQ(feeds_of(segmenter({n, 3, 32, 48})), str("f32[", n, ",3,32,48] i32[", n, ",30,46] "));
  }
}

TEST(ChainerGuess, ADeconvolutionTellsItsSides) {
  Builder b("step");
  const Tensor x = b.feed("x", DType::f32, {3, 1, 30, 20});
  const Tensor y = deconv(b, ops::relu(conv(b, x, "c", 4, 4, 2, 1)), "d", 1, 4, 1);
  EXPECT_EQ(feeds_of(read_back(b, ops::mse_loss(y, b.feed("t", DType::f32, {3, 1, 30, 20})))),
            "f32[3,1,30,20] f32[3,1,30,20] ");
}

Import classifier(const Sizes& image) {
  Builder b("step");
  const Tensor x = b.feed("x", DType::f32, shape_of(image));
  Tensor y = ops::relu(conv(b, x, "a", 8, 3, 2, 1));
  y = ops::global_avg_pool2d(conv(b, y, "b", 16, 3, 2, 1), ops::GlobalPool2d{});
  return read_back(b, classify(b, y.reshape({image[0], 16}), 16));
}

TEST(ChainerGuess, ImagesAreLongOrHaveManyChannels) {
  EXPECT_EQ(feeds_of(classifier({2, 3, 32, 128})), "f32[2,3,32,128] i32[2] ");
  EXPECT_EQ(feeds_of(classifier({3, 3, 72, 320})), "f32[3,3,72,320] i32[3] ");
  EXPECT_EQ(feeds_of(classifier({4, 6, 32, 48})), "f32[4,6,32,48] i32[4] ");
}

TEST(ChainerGuess, AWindowOverTheWholeImageFollowsIt) {
  const Import import = classifier({2, 3, 64, 64});
  EXPECT_EQ(import.sizes.count("image"), 1u);
  const ir::Graph small = test::fixed(import, {{"image", 16}}).graphs[0];
  EXPECT_EQ(type_text(small.type(small.feeds[0])), "f32[2,3,16,16]");
}

TEST(ChainerGuess, RowsOfMatrices) {
  Builder b("step");
  const Tensor x = b.feed("x", DType::f32, {6, 4, 5});
  const Tensor scale = weight(b, "s", {4}).reshape({1, 4}).broadcast_to({6, 4});
  const Import import = read_back(b, classify(b, x.transpose({0, 2, 1}).sum({1}) * scale, 4));
  EXPECT_EQ(feeds_of(import), "f32[6,4,5] i32[6] ");
  EXPECT_EQ(import.sizes.count("batch"), 1u);
}

TEST(ChainerGuess, IdsHaveTheRowsOfWhatFollows) {
  for (DType ids : {DType::i32, DType::i64}) {
    Builder b("step");
    const Tensor y = ops::embedding(weight(b, "e", {50, 16}), b.feed("x", ids, {6, 8}));
    EXPECT_EQ(feeds_of(read_back(b, classify(b, y.reshape({6, 128}), 128))),
              type_text({ids, {6, 8}}) + " i32[6] ");
  }
}

// Attention without heads: products of values that functions make, and of a parameter.
TEST(ChainerGuess, MatrixProductsRunWithTheirGradients) {
  Builder b("step");
  const Tensor x = b.feed("x", DType::f32, {2, 6, 8});
  const Tensor score = ops::matmul(ops::copy(x), ops::copy(x), ops::Matmul{false, true});
  const Tensor q = ops::linear(x.reshape({12, 8}), weight(b, "q", {8, 8})).reshape({2, 6, 8});
  const Tensor y = ops::matmul(score, q, ops::Matmul{false, false});
  const Import import = read_back(b, ops::matmul(y, q, ops::Matmul{true, false}).square().mean());
  EXPECT_EQ(feeds_of(import), "f32[2,6,8] ");
  const ir::Graph graph = b.take();
  Session ours({{differentiate(graph)}}, make_target("ref"), 3);
  Session theirs(test::fixed(import), make_target("ref"), 3);
  theirs.set_state("/predictor/q", ours.state("q"));
  const Arrays feeds = test::random_feeds(graph, 4);
  const Arrays want = ours.run({"", feeds, {}});
  const Arrays got = theirs.run({"", {{"0", feeds.at("x")}}, {}});
  // f32 sums of a few parts in another order.
  EXPECT_LE(test::distance(got.at("d_/predictor/q"), want.at("d_q")), 1e-5);
}

}  // namespace
}  // namespace plait
