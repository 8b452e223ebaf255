// The whole document, where it is there: its facts, and one step at reduced size against VGG-19 of
// models/ on the same weights, image, labels and draws of dropout.
#include <filesystem>
#include <iostream>
#include <set>

#include "models/registry.h"
#include "passes/differentiate.h"
#include "report/chainer.h"
#include "tests/io/chainer/steps.h"

namespace plait {
namespace {

constexpr char kDocument[] = "../shared/documents/chainer_vgg19_step.txt";

class ChainerDocument : public testing::Test {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(kDocument)) GTEST_SKIP() << kDocument << " is not here";
    text = io::read_file(kDocument);
    record = io::chainer::read(text, "vgg19.txt");
  }
  std::string text;
  io::chainer::Record record;
};

TEST_F(ChainerDocument, IsWrittenBackByteForByte) {
  EXPECT_TRUE(io::chainer::detects(text.substr(0, 64 * 1024)));
  EXPECT_EQ(io::chainer::write(record), text);
  EXPECT_EQ(record.variables.size(), 86u);
  EXPECT_EQ(record.operations.size(), 92u);
}

TEST_F(ChainerDocument, NothingIsOpaqueAndSizesHaveNames) {
  const io::Import import = io::chainer::to_graphs(record);
  const ir::Graph& step = import.package.graphs.at(0);
  for (const ir::Node& node : step.nodes) EXPECT_FALSE(node.opaque) << describe(step, node);
  EXPECT_EQ(import.sizes, (std::map<std::string, std::int64_t>{{"batch", 32}, {"image", 224}}));
  EXPECT_EQ(import.notes.size(), 1u);
  const ir::Graph numbers = ir::substitute(step, import.bindings());
  EXPECT_EQ(type_text(numbers.type(numbers.find_value("0"))), "f32[32,3,224,224]");
  EXPECT_EQ(type_text(numbers.type(numbers.find_value("/predictor/fc6/W"))), "f32[4096,25088]");
  EXPECT_EQ(step.states.size(), 39u);   // the parameters and the key of random numbers
  EXPECT_EQ(step.fetches.size(), 39u);  // the loss and a gradient each
  // A node says where it is from.
  const ir::Value& v7 = step.value(step.find_value("v7"));
  EXPECT_EQ(describe(step, step.node(v7.producer)), "%v7 @ predictor.conv1_1 (vgg19.txt:341)");
}

TEST_F(ChainerDocument, PageHasTheFacts) {
  const std::string page = report::of_chainer(record, io::chainer::to_graphs(record)).text();
  for (const char* fact :
       {"86", "92 (46 forward, 46 backward)", "143,667,240", "574,668,960 (574.7 MB)",
        "4,004,508,676 (4,004.5 MB)", "2,102,391,808 (2,102.4 MB) in 27 tensors",
        "1,257,123,708,160", "3,765,150,349,824", "1,149,337,920 (1,149.3 MB)",
        "8,028,285,064 (8,028.3 MB)", "4,842,648,708 (4,842.6 MB)", "2,151,546,880 (2,151.5 MB)",
        "1,425,801,216 (1,425.8 MB)", "57.3%", "predictor.conv1_2 (Convolution2DFunction backward",
        "2 gradients that a backward record makes and nothing reads: 19,267,712",
        "22 backward records read arrays", "20 pointwise operations behind a contraction"}) {
    EXPECT_NE(page.find(fact), std::string::npos) << fact;
  }
  EXPECT_EQ(page.find("lacks"), std::string::npos);
}

/// conv1_1, conv1_2, conv2_1... by their names in models/vgg19.
std::map<std::string, std::string> model_names() {
  const int convs[] = {2, 2, 4, 4, 4};
  std::map<std::string, std::string> names;
  int index = 0;
  for (int stage = 1; stage <= 5; ++stage) {
    for (int i = 1; i <= convs[stage - 1]; ++i, index += 2) {
      names[str("conv", stage, "_", i)] = str("features.", index);
    }
    ++index;
  }
  names["fc6"] = "classifier.0";
  names["fc7"] = "classifier.3";
  names["fc8"] = "classifier.6";
  return names;
}

/// The document with every width but the image's and the classes' divided by 16: the same records,
/// small enough for the reference backend.
io::chainer::Record thin(io::chainer::Record record) {
  std::set<std::string> kept{"0", "1", "/predictor/fc8/b"};
  std::set<int> whole;
  for (const auto& op : record.operations) {
    if (op.backward || op.function != "SoftmaxCrossEntropy") continue;
    whole = {op.inputs[0].variable, op.outputs[0]};
  }
  for (std::size_t i = 0; i < record.variables.size(); ++i) {
    auto& v = record.variables[i];
    if (kept.count(v.name) || whole.count(static_cast<int>(i))) continue;
    const bool one_side = v.name == "/predictor/conv1_1/W" || v.name == "/predictor/fc8/W";
    v.bytes /= v.name.ends_with("/W") && !one_side ? 256 : 16;
  }
  return record;
}

void expect_like_model(const io::chainer::Record& record, const std::string& spec) {
  const io::Import import = io::chainer::to_graphs(record);
  Session document(test::fixed(import, {{"batch", 1}, {"image", 32}}), make_target("ref"), 3);
  Session model({{differentiate(models::build(spec).graphs[0])}}, make_target("ref"), 3);
  for (const auto& [ours, theirs] : model_names()) {
    document.set_state("/predictor/" + ours + "/W", model.state(theirs + ".weight"));
    document.set_state("/predictor/" + ours + "/b", model.state(theirs + ".bias"));
  }
  const Arrays feeds = test::random_feeds(document.package().graphs[0], 7);
  const Arrays got = document.run({"", feeds, {}});
  const Arrays want =
      model.run({"", {{"x", feeds.at("0")}, {"labels", feeds.at("1").cast(DType::i64)}}, {}});
  // f32, and the same ops in the same order: only the sums of gradients could be grouped otherwise.
  constexpr double kTolerance = 1e-5;
  EXPECT_LE(test::distance(got.at("loss"), want.at("loss")), kTolerance);
  EXPECT_GT(got.at("loss").real(0), 0.1);
  double most = 0;
  for (const auto& [ours, theirs] : model_names()) {
    for (const auto& [short_name, long_name] : {std::pair{"/W", ".weight"}, {"/b", ".bias"}}) {
      const Array& gradient = want.at("d_" + theirs + long_name);
      const double d = test::distance(got.at("d_/predictor/" + ours + short_name), gradient);
      EXPECT_LE(d, kTolerance) << ours << short_name;
      most = std::max(most, d);
    }
  }
  std::cout << "largest difference of a gradient, relative: " << most << "\n";
}

// At full width it takes half a minute: tests/cli has it.
TEST_F(ChainerDocument, RunsLikeTheModel) {
  expect_like_model(thin(record), "vgg19?train=1&batch=1&image=32&width=4&hidden=256");
}

}  // namespace
}  // namespace plait
