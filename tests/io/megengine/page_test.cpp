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

TEST(MegenginePage, StreamsThatOverlap) {
  const Page page = page_of(sample("norm"));
  // Kernels in [0.1, 0.8] and [1.0, 1.1] ms; the sum counts both streams.
  EXPECT_NEAR(fact(page, "device span"), 1.0, 1e-9);
  EXPECT_NEAR(fact(page, "kernels busy"), 0.8, 1e-9);
  EXPECT_NEAR(fact(page, "device idle"), 0.2, 1e-9);
  EXPECT_NEAR(fact(page, "summed over streams"), 0.4 + 0.2 + 0.4 + 0.1, 1e-9);
  EXPECT_NE(page.text().find("PoolingForward           1  0.10   9.1%"), std::string::npos)
      << page.text();
  EXPECT_EQ(page_of(sample("classifier")).text().find("summed over streams"), std::string::npos);
}

TEST(MegenginePage, OperatorsWithoutTimesAreSaid) {
  const Page page = page_of(sample("norm"));
  EXPECT_EQ(fact(page, "without device times"), 8);
  const Finding* waits = find(page, "No kernel runs");
  ASSERT_TRUE(waits);
  EXPECT_NE(waits->what.find("8 launched operators have no device times"), std::string::npos);
  EXPECT_EQ(waits->advice.find("The device waited"), std::string::npos) << "no host times say so";
}

TEST(MegenginePage, NoTimesInsideAreNoTimes) {
  Record record = sample("relu");
  record.profiler->device->clear();
  record.profiler->host->clear();
  const Page page = page_of(record);
  EXPECT_NE(page.text().find("device times  not in this document"), std::string::npos);
  EXPECT_NE(page.text().find("host times    not in this document"), std::string::npos);
}

TEST(MegenginePage, IdleTimeInCrumbsHasNoFinding) {
  Record record = sample("norm");
  io::megengine::Timing all{14, {}};
  for (int i = 0; i < 200; ++i) {  // busy for 0.8 of each microsecond
    const double time = i * 1e-6;
    all.by_place.push_back({"gpu0:0", {time + 1e-6, time + 0.2e-6, time}});
  }
  record.profiler->device = {all};
  const Page page = page_of(record);
  EXPECT_NEAR(fact(page, "device idle"), 0.04, 1e-6);
  EXPECT_FALSE(find(page, "No kernel runs"));
}

TEST(MegenginePage, OurCountsStandBesideTheOperatorTheyAreOf) {
  const Page page = page_of(sample("norm"));
  const std::string text = page.text();
  EXPECT_NE(text.find("ConvBiasForward      8,640  8,640           0"), std::string::npos) << text;
  const std::size_t table = text.find("type  "), end = text.find("Time by type");
  const std::string rows = text.substr(table, end - table);
  EXPECT_NE(rows.find("BatchNormForward"), std::string::npos) << rows;
  EXPECT_EQ(rows.find("batch_norm_inference"), std::string::npos) << rows;
  EXPECT_EQ(rows.find("ConvolutionForward"), std::string::npos) << rows;
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
