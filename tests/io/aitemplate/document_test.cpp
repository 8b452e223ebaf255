// The whole document, where it is at hand.
#include <gtest/gtest.h>

#include <filesystem>

#include "ir/text.h"
#include "models/registry.h"
#include "report/aitemplate.h"
#include "tests/io/aitemplate/run_both.h"

namespace plait::io::aitemplate {
namespace {

const char* const kDocument = "../shared/documents/aitemplate_conv_add.txt";

struct AitDocument : testing::Test {
  void SetUp() override {
    if (!std::filesystem::exists(kDocument)) GTEST_SKIP() << kDocument << " is not there";
    text = read_file(kDocument);
    record = read(text, kDocument);
  }
  std::string text;
  Record record;
};

TEST_F(AitDocument, IsWrittenBackToTheByte) {
  EXPECT_TRUE(detects(text.substr(0, 1000)));
  EXPECT_TRUE(write(record) == text);
}

TEST_F(AitDocument, HoldsWhatIsKnownOfIt) {
  EXPECT_EQ(record.tensors.size(), 5U);
  EXPECT_EQ(record.operators.size(), 2U);
  const Import import = to_graphs(record);
  const ir::Package package = at_sizes(import);
  EXPECT_EQ(ir::type_text(package.graphs[0].type(package.graphs[0].find_value("conv2d_0_0"))),
            "f16[1,26,26,256]");
  EXPECT_EQ(import.sizes.at("input_0_dim_1"), 28);
  const std::string page = report::of_aitemplate(record, import).text();
  for (const char* fact :
       {"One kernel is right for conv2d_0 and fused_elementwise_2",
        "692,224 (692.2 kB) less, 31.8%", "bias is a full tensor, not a vector", "398,721,024",
        "batch_dim = 1", "NI == 1 && HI == 28 && WI == 28 && CI == 128", "not yet searched"}) {
    EXPECT_NE(page.find(fact), std::string::npos) << fact;
  }
}

/// The document beside models/conv_add with the same numbers.
double apart(const Import& import, const DimBindings& set, const std::string& spec) {
  Session ours(at_sizes(import, set), make_target("ref"));
  Session model(models::build(spec), make_target("ref"), 9);
  const Arrays feeds = random_feeds(model.package().graphs[0]);
  const Arrays y = ours.run({.graph = "",
                             .feeds = {{"input_0", feeds.at("x")},
                                       {"input_1", model.state(model.state_names().at(0))},
                                       {"bias", feeds.at("addend")}},
                             .fetches = {}});
  const Arrays z = model.run({.graph = "", .feeds = feeds, .fetches = {}});
  return difference(y.at("output_0"), z.begin()->second);
}

// The same two ops on the same halves: no bit may differ.
TEST_F(AitDocument, EqualsTheModel) {
  const Import import = to_graphs(record);
  EXPECT_EQ(apart(import,
                  {{"batch_dim", 2},
                   {"input_0_dim_1", 8},
                   {"input_0_dim_2", 8},
                   {"input_0_dim_3", 16},
                   {"input_1_dim_0", 24}},
                  "conv_add?batch=2&image=8&channels=16&filters=24"),
            0);
  EXPECT_EQ(apart(import, {}, "conv_add"), 0);
}

}  // namespace
}  // namespace plait::io::aitemplate
