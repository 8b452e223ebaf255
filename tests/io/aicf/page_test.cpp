// The page: facts of the samples, findings where the flaw is and nowhere else.
#include "report/aicf.h"

#include "tests/io/aicf/support.h"

namespace plait::io::aicf {
namespace {

report::Page page_of(const std::string& text) {
  const Record record = read(text, "f");
  return report::of_aicf(record, to_graphs(record));
}

bool has(const report::Page& page, const std::string& text) {
  return page.text().find(text) != std::string::npos;
}

/// The finding whose text holds `words`; null when there is none.
const report::Finding* find(const report::Page& page, const std::string& words) {
  for (const report::Finding& f : page.findings) {
    if (f.what.find(words) != std::string::npos) return &f;
  }
  return nullptr;
}

using Names = std::vector<std::string>;

TEST(AicfPage, FactsOfTheSgdSample) {
  const report::Page page = page_of(test::sample("sgd"));
  EXPECT_TRUE(has(page, "values   18"));
  EXPECT_TRUE(has(page, "nodes    12"));
  EXPECT_TRUE(has(page, "inputs        2: x, t; 192 B"));
  EXPECT_TRUE(has(page, "parameters    4: fc.W, fc.b, head.W, head.b; 156 B"));
  EXPECT_TRUE(has(page, "statics       12: h, a"));
  EXPECT_TRUE(has(page, "parameters   39"));
  EXPECT_TRUE(has(page, "kernels                           18"));
  EXPECT_TRUE(has(page, "after fusing gemm, bias and relu  16"));
  EXPECT_TRUE(has(page, "fewest                            7:"));
  EXPECT_TRUE(has(page, "as printed               900 B"));
}

TEST(AicfPage, FindingsOfTheSgdSample) {
  const report::Page page = page_of(test::sample("sgd"));
  const report::Finding* dead = find(page, "written and never read");
  ASSERT_TRUE(dead);
  EXPECT_EQ(dead->nodes, (Names{"v015 d_x of #007 LinearBwd"}));
  EXPECT_NE(dead->what.find("120 B, 240 of "), std::string::npos) << dead->what;  // 2 * 6 * 4 * 5
  ASSERT_TRUE(find(page, "No loss value"));
  EXPECT_EQ(find(page, "No loss value")->nodes, (Names{"#004 MseGrad"}));
  ASSERT_TRUE(find(page, "that need not be one"));
  EXPECT_EQ(find(page, "that need not be one")->nodes,
            (Names{"#002 Save (v004 a -> v005 a_saved)"}));
  ASSERT_TRUE(find(page, "epilogue"));
  EXPECT_EQ(find(page, "epilogue")->nodes.size(), 7u);
  ASSERT_TRUE(find(page, "only the order of lines"));
  EXPECT_EQ(find(page, "only the order of lines")->nodes[0],
            "v001 fc.W (read by #000, #007, overwritten by #008)");
  EXPECT_FALSE(find(page, "itself: a step smaller"));  // f32
  EXPECT_FALSE(find(page, "neither read nor written"));
  EXPECT_FALSE(find(page, "StepInc writes another"));
}

TEST(AicfPage, FindingsOfTheInPlaceSample) {
  const report::Page page = page_of(test::sample("in_place"));
  // The copy is read after its source is overwritten: it must be one.
  EXPECT_FALSE(find(page, "that need not be one"));
  ASSERT_TRUE(find(page, "neither read nor written"));
  EXPECT_EQ(find(page, "neither read nor written")->nodes, (Names{"v014 spare"}));
  ASSERT_TRUE(find(page, "StepInc writes another"));
  ASSERT_TRUE(find(page, "updated in torch.float16 itself"));
  EXPECT_EQ(find(page, "updated in torch.float16 itself")->nodes, (Names{"v001 W"}));
  EXPECT_TRUE(has(page, "of them optimizer states  3: opt.step, m, v; 80 B"));
}

TEST(AicfPage, InferenceHasNoFindingsOfTraining) {
  const report::Page page = page_of(test::sample("inference"));
  ASSERT_EQ(page.findings.size(), 1u);
  EXPECT_TRUE(find(page, "1 pointwise node could ride in the epilogue"));
  EXPECT_TRUE(has(page, "inputs        1: tokens_in; 24 B"));
}

TEST(AicfPage, AdamReadsTheOriginalAndCountsInPlace) {
  const report::Page page = page_of(test::sample("adam"));
  EXPECT_FALSE(find(page, "that need not be one"));
  EXPECT_FALSE(find(page, "StepInc writes another"));
  EXPECT_FALSE(find(page, "overwrite an operand"));
  ASSERT_TRUE(find(page, "written and never read"));
  EXPECT_EQ(find(page, "written and never read")->nodes, (Names{"v014 d_x of #006 LinearBwd"}));
}

TEST(AicfPage, NodesOfUnknownMeaningAreCountedToo) {
  const report::Page page =
      page_of(test::replaced(test::sample("sgd"), "{lr=0.05}", "{lr=0.05, k=1}"));
  EXPECT_TRUE(has(page, "#008 SgdStep has an attribute of unknown meaning and cannot be run"));
  EXPECT_TRUE(has(page, "SgdStep        4        4"));
}

TEST(AicfPage, AProductOverItsOwnOperand) {
  const std::string text =
      "=== IRGraph: g ===\nvalues: 2, nodes: 1\n\n[values]\n"
      "  v000  x            shape=(4, 2) dtype=torch.float32 device=cpu\n"
      "  v001  W            shape=(2, 2) dtype=torch.float32 device=cpu\n\n[nodes]\n"
      "  #000 Linear     (v000, v001) -> (v000)";
  const report::Page page = page_of(text);
  ASSERT_TRUE(find(page, "writes over an operand"));
  EXPECT_EQ(find(page, "writes over an operand")->nodes, (Names{"#000 Linear"}));
  EXPECT_FALSE(find(page_of(test::sample("sgd")), "writes over an operand"));
}

/// Three cells live at once at most: the bound is below what is printed, and sharing reaches it.
TEST(AicfPage, MemoryByLifetime) {
  const report::Page page = page_of(test::sample("no_bias"));
  EXPECT_TRUE(has(page, "as printed               176 B"));  // y, dY, d_x: 48 each; d_W: 32
  EXPECT_TRUE(has(page, "lower bound by lifetime  128 B"));  // dY, d_x, d_W
  EXPECT_TRUE(has(page, "shared                   128 B"));
}

}  // namespace
}  // namespace plait::io::aicf
