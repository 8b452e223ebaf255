// The page: facts and findings, and their absence where there is nothing to find.
#include "report/megengine.h"
#include "tests/io/megengine/samples.h"

namespace plait::report {
namespace {

using io::megengine::Record;
using io::megengine::sample;

Page page_of(const Record& record) {
  return of_megengine(record, io::megengine::to_graphs(record));
}

/// The finding whose text holds `words`; null when there is none.
const Finding* find(const Page& page, const std::string& words) {
  for (const Finding& f : page.findings) {
    if (f.what.find(words) != std::string::npos) return &f;
  }
  return nullptr;
}

double fact(const Page& page, const std::string& name) {
  for (const Section& s : page.sections) {
    for (const Fact& f : s.facts) {
      if (f.name == name && f.number) return *f.number;
    }
  }
  ADD_FAILURE() << "no fact " << name;
  return 0;
}

TEST(MegenginePage, FactsOfTheClassifier) {
  const Page page = page_of(sample("classifier"));
  EXPECT_EQ(fact(page, "operators"), 25);
  EXPECT_EQ(fact(page, "vars"), 33);
  EXPECT_EQ(fact(page, "in the sequence"), 20);
  EXPECT_EQ(fact(page, "recorded operations"), 30304);
  EXPECT_EQ(fact(page, "our operations"), 30304 + 512);  // the relu of FUSE_ADD_RELU
  EXPECT_EQ(fact(page, "weights"), 672);
  // conv and its relu: 2 * 2*4*8*8*4 bytes; the input of the conv is smaller.
  EXPECT_EQ(fact(page, "live peak"), 4096);
  EXPECT_EQ(fact(page, "scratch"), 256 + 64);
  EXPECT_NEAR(fact(page, "kernels busy"), 0.035, 1e-9);
}

TEST(MegenginePage, FindingsOfTheClassifier) {
  const Page page = page_of(sample("classifier"));
  const Finding* epilogue = find(page, "epilogue");
  ASSERT_TRUE(epilogue);
  EXPECT_EQ(epilogue->nodes, (std::vector<std::string>{"FUSE_ADD_RELU(const[7],conv)[16]",
                                                       "ADD(const[13],matrix_mul)[42]"}));
  EXPECT_NE(epilogue->what.find("3.0 us, 8.6% of the time kernels run"), std::string::npos)
      << epilogue->what;
  const Finding* dynamic = find(page, "instead of in a static plan");
  ASSERT_TRUE(dynamic);
  EXPECT_EQ(dynamic->nodes.size(), 20u);
  EXPECT_NE(dynamic->what.find("One shape is not known before the run: data (var 1, of operator 0, "
                               "InputCallback); 20 of them wait for it."),
            std::string::npos)
      << dynamic->what;
  const Finding* softmax = find(page, "softmax");
  ASSERT_TRUE(softmax);
  EXPECT_EQ(softmax->nodes.size(), 5u);
  EXPECT_TRUE(find(page, "different zeros"));
}

TEST(MegenginePage, ADocumentWithoutTimesSaysSo) {
  const Page page = page_of(sample("perceptron"));
  EXPECT_NE(page.text().find("device times  not in this document"), std::string::npos);
  EXPECT_NE(page.text().find("host times    not in this document"), std::string::npos);
  ASSERT_TRUE(find(page, "epilogue"));
  EXPECT_EQ(find(page, "epilogue")->what.find("of the time"), std::string::npos);
  for (const char* absent : {"static plan", "softmax", "different zeros", "half the rate",
                             "No kernel runs", "constants are launched", "never read"}) {
    EXPECT_FALSE(find(page, absent)) << absent;
  }
}

TEST(MegenginePage, WithoutTheFlawThereIsNoFinding) {
  const Page page = page_of(sample("relu"));
  EXPECT_EQ(page.findings.size(), 1u);
  EXPECT_TRUE(find(page, "No kernel runs"));  // 0.1 of 0.5 ms before its kernel
  EXPECT_FALSE(find(page, "different zeros"));
}

TEST(MegenginePage, TheDeviceThatWaits) {
  const Page page = page_of(sample("step"));
  const Finding* waits = find(page, "No kernel runs");
  ASSERT_TRUE(waits);
  EXPECT_TRUE(std::find(waits->nodes.begin(), waits->nodes.end(), "MUL(const,matrix_mul)[11]") !=
              waits->nodes.end());
  const Finding* unread = find(page, "never read");
  ASSERT_TRUE(unread);
  EXPECT_EQ(unread->nodes, std::vector<std::string>{"NEGATE(matrix_mul)[17]"});
}

TEST(MegenginePage, DynamicMemoryWithoutACauseNamesNone) {
  Record record = sample("relu");
  record.vars[1].flags.push_back("RT_FORCE_DYNAMIC_MEM_ALLOC");
  const Page page = page_of(record);
  const Finding* dynamic = find(page, "static plan");
  ASSERT_TRUE(dynamic);
  EXPECT_EQ(dynamic->what.find("not known before"), std::string::npos);
  EXPECT_EQ(dynamic->nodes, std::vector<std::string>{"y"});
}

}  // namespace
}  // namespace plait::report
