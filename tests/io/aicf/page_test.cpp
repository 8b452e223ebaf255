// The page: facts of the samples, findings where the flaw is and nowhere else.
#include "report/aicf.h"

#include "base/text.h"
#include "passes/measure.h"
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

/// A document over cells of [3,3] floats, by its nodes.
std::string square_cells(int cells, const std::vector<std::string>& nodes) {
  std::string text =
      str("=== IRGraph: g ===\nvalues: ", cells, ", nodes: ", nodes.size(), "\n\n[values]\n");
  for (int i = 0; i < cells; ++i) {
    text += str("  v00", i, "  c", i, "           shape=(3, 3) dtype=torch.float32 device=cpu\n");
  }
  text += "\n[nodes]";
  for (const std::string& node : nodes) text += "\n  " + node;
  return text;
}

TEST(AicfPage, AnUpdateWaitsForTheReadersOfTheOldWeight) {
  // Tied weights: #004 reads c1 before #005 may change it.
  const report::Page page = page_of(square_cells(
      10, {"#000 Linear     (v000, v001) -> (v002)", "#001 Linear     (v002, v001) -> (v003)",
           "#002 MseGrad    (v003, v004) -> (v005)",
           "#003 LinearBwd  (v002, v001, v005) -> (v006, v007)",
           "#004 LinearBwd  (v000, v001, v006) -> (v008, v009)",
           "#005 SgdStep    (v001, v007) -> (v001)  {lr=0.01}",
           "#006 SgdStep    (v001, v009) -> (v001)  {lr=0.01}"}));
  ASSERT_TRUE(find(page, "epilogue"));
  EXPECT_EQ(find(page, "epilogue")->nodes, (Names{"#002 MseGrad after #001 Linear"}));
}

TEST(AicfPage, ARiderWaitsForAllItsOperands) {
  const report::Page page = page_of(square_cells(
      7, {"#000 Linear     (v000, v001) -> (v003)", "#001 ReLU       (v000) -> (v005)",
          "#002 Linear     (v005, v002) -> (v004)", "#003 MseGrad    (v003, v004) -> (v006)"}));
  ASSERT_TRUE(find(page, "epilogue"));
  EXPECT_EQ(find(page, "epilogue")->nodes, (Names{"#003 MseGrad after #002 Linear"}));
}

TEST(AicfPage, ACopyIsNeededWhereAProductOverwritesItsSource) {
  const std::vector<std::string> nodes{
      "#000 ReLU       (v000) -> (v001)", "#001 Save       (v001) -> (v002)",
      "#002 Linear     (v001, v003) -> (v004)", "#003 MseGrad    (v004, v005) -> (v006)",
      "#004 LinearBwd  (v002, v003, v006) -> (v001, v007)"};
  EXPECT_FALSE(find(page_of(square_cells(8, nodes)), "that need not be one"));
  std::vector<std::string> pointwise = nodes;
  pointwise[4] = "#004 ReluBwd    (v006, v002) -> (v001)";
  EXPECT_TRUE(find(page_of(square_cells(8, pointwise)), "that need not be one"));
}

TEST(AicfPage, CountsAreThoseOfTheGraphThatRuns) {
  const Record record = read(test::sample("sgd"), "f");
  const Import import = to_graphs(record);
  const Measures m = measure(substitute(import.package.graphs[0], import.bindings()));
  EXPECT_TRUE(has(report::of_aicf(record, import), "operations   " + with_commas(m.operations)));
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
