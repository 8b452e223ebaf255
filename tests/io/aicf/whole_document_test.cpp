// The whole document, where it is in reach: its bytes, its facts, and its step against models/.
#include "models/registry.h"
#include "report/aicf.h"
#include "tests/io/aicf/support.h"

namespace plait::io::aicf {
namespace {

class AicfDocument : public testing::Test {
 protected:
  void SetUp() override {
    if (!test::has_document()) GTEST_SKIP() << test::kDocument << " is not there";
    text_ = read_file(test::kDocument);
    record_ = read(text_, test::kDocument);
  }
  std::string text_;
  Record record_;
};

TEST_F(AicfDocument, IsWrittenBackByteForByte) {
  EXPECT_TRUE(detects(text_));
  EXPECT_EQ(record_.values.size(), 18u);
  EXPECT_EQ(record_.nodes.size(), 12u);
  EXPECT_EQ(write(record_), text_);
  // Through our graph too: nothing of it is lost there.
  EXPECT_EQ(write(from_graph(test::package_of(record_).graphs[0])), text_);
}

/// The same ops round the same way, so that f16 differs nowhere; 1/1024 is one unit of f16.
TEST_F(AicfDocument, StepEqualsTheModel) {
  for (int steps : {1, 10}) {
    Session document = test::session_of(test::package_of(record_));
    Session model = test::session_of(models::build("mlp?train=1"));
    const double worst = test::deviation_after(document, model, steps);
    RecordProperty("f16_deviation_after_" + std::to_string(steps), std::to_string(worst));
    EXPECT_LT(worst, 1.0 / 1024);
  }
  Session document = test::session_of(test::package_of(record_));
  EXPECT_GT(test::moved(document, 10), 1e-4);
}

TEST_F(AicfDocument, StepInF32EqualsTheModel) {
  const Record wide = read(test::replaced(text_, "torch.float16", "torch.float32"), "f32");
  for (int steps : {1, 10}) {
    Session document = test::session_of(test::package_of(wide));
    Session model = test::session_of(models::build("mlp?train=1&dtype=f32"));
    EXPECT_LT(test::deviation_after(document, model, steps), 1e-6);
  }
}

TEST_F(AicfDocument, NamedSizesCanBeSet) {
  const Import import = to_graphs(record_);
  EXPECT_EQ(import.sizes, (std::map<std::string, std::int64_t>{{"batch", 64}, {"width", 8}}));
  EXPECT_TRUE(import.notes.empty());
  Session document = test::session_of(test::at_sizes(import, {{"batch", 3}, {"width", 5}}));
  Session model = test::session_of(models::build("mlp?train=1&batch=3&width=5"));
  EXPECT_LT(test::deviation_after(document, model, 2), 1.0 / 1024);
}

/// Outputs and gradients of one step, not only what the update makes of them.
TEST_F(AicfDocument, PredictionEqualsTheModel) {
  Session document = test::session_of(test::package_of(record_));
  Session model = test::session_of(models::build("mlp"));
  for (const std::string& name : model.state_names()) {
    model.set_state(name, document.state(name));
  }
  const Arrays feeds = test::feeds_of(document.package(), 11);
  const Array ours = model.run({"", {{"x", feeds.at("x")}}, {}}).at("y");
  EXPECT_TRUE(document.run({"", feeds, {}}).at("lin1_out").same_bits(ours));
}

TEST_F(AicfDocument, PageHasItsFacts) {
  const report::Page page = report::of_aicf(record_, to_graphs(record_));
  const std::string text = page.text();
  for (const char* fact :
       {"values   18", "nodes    12", "inputs        2: x, t; 2,048 (2.0 kB)",
        "parameters    4: 0.W, 0.b, 2.W, 2.b; 288 B", "statics       12: ", "8,480 (8.5 kB)",
        "bound in all  10,816 (10.8 kB)", "parameters   144",
        "after fusing gemm, bias and relu  16", "1 value is written and never read",
        "at: v015 d_x of #007 LinearBwd", "No loss value is computed, only its gradient",
        "#002 Save (v004 relu0_out -> v005 relu0_saved)",
        "lower bound by lifetime  4,240 (4.2 kB) at #005 LinearBwd"}) {
    EXPECT_NE(text.find(fact), std::string::npos) << fact << "\n" << text;
  }
}

}  // namespace
}  // namespace plait::io::aicf
