// The page: facts of a log, findings where the flaw is and none where it is not.
#include <gtest/gtest.h>

#include <filesystem>

#include "report/oneflow.h"
#include "report/oneflow_plan.h"
#include "tests/io/oneflow/sample.h"

namespace plait::io::oneflow {
namespace {

const char* const kPath = "../shared/documents/oneflow_rwkv4_train.log";

std::string page_of(const Record& record) {
  return report::of_oneflow(record, to_graphs(record)).text();
}

bool has(const std::string& page, const std::string& words) {
  return page.find(words) != std::string::npos;
}

/// Line breaks of the page do not matter here.
std::string flat(const std::string& page) {
  std::string out;
  for (char c : page) {
    const bool blank = c == ' ' || c == '\n';
    if (!blank || (!out.empty() && out.back() != ' ')) out += blank ? ' ' : c;
  }
  return out;
}

TEST(OneflowPage, Facts) {
  const std::string page = flat(page_of(sample("classifier.log")));
  for (const char* fact :
       {"processes 2", "micro batch 2 a process", "mixed precision False", "learning rate 1e-3",
        "data 1,000 tokens, 10 unique", "ops 21",
        "2 inputs, 3 variables, 1 outputs, 15 user ops of 13 types", "elements 10", "operators 32",
        "moments 6", "Adam updates 3", "state bytes 120 B 12.00 for each element of a parameter",
        "matrix products 2: 96 operations", "passes 2", "Fuse 4.3",
        "largest block 0.00 \"MiB\", shared by 12",
        "from 0.69 at iteration 19 to 0.05 at iteration 39", "samples a second 400.00"}) {
    EXPECT_TRUE(has(page, fact)) << fact << "\n" << page;
  }
}

TEST(OneflowPage, FindingsOfAFlawedLog) {
  const std::string page = flat(page_of(sample("classifier.log")));
  for (const char* finding :
       {"2 of 2 matrix products are computed whole by each of 2 ranks (1 of 1 broadcast_matmul, 1 "
        "of "
        "1 broadcast_matmul_grad_b): 96 FLOP of the ",
        "The split ends at model.fc-broadcast_matmul-0: 1 of 1 `broadcast_matmul` run with every "
        "operand broadcast",
        "model.class_mask is read by no op", "A mask that is not applied hides nothing",
        "What the log calls MiB is 10^6 bytes: its states are printed as 0.00012 MiB and are 120",
        "the last line is iteration 39 of 80. It said: Main process received SIGINT, exiting; "
        "Check "
        "failed: stream gone."}) {
    EXPECT_TRUE(has(page, finding)) << finding << "\n" << page;
  }
  EXPECT_FALSE(has(page, "known by heart")) << "a small loss says so of language models alone";
}

TEST(OneflowPage, NoFindingsOfASoundOne) {
  const Record r = sample("classifier_split.log");
  const report::Page page = report::of_oneflow(r, to_graphs(r));
  for (const report::Finding& f : page.findings) {
    for (const char* flaw : {"matrix products", "read by no op", "MiB", "hides an operand", "loss",
                             "did not end", "never read"}) {
      EXPECT_FALSE(has(f.what, flaw)) << f.what;
    }
  }
}

TEST(OneflowPage, UnitsThatHold) {
  std::string text = sample_text("classifier.log");
  text = replaced(text, "[ 0.00012 MiB ]", "[ 0.000114441 MiB ]");  // 120 / 2^20
  EXPECT_FALSE(has(page_of(record_of(text)), "What the log calls MiB"));
}

TEST(OneflowPage, ATreeAlone) {
  const std::string page = flat(page_of(sample("tree.txt")));
  EXPECT_TRUE(has(page, "operators 5"));
  EXPECT_TRUE(has(page, "(S(0), P) -> (S(0), B): change of layout"));
}

TEST(OneflowPage, TheWholeLog) {
  if (!std::filesystem::exists(kPath)) GTEST_SKIP() << kPath << " is not reachable from here";
  const std::string page = flat(page_of(record_of(read_file(kPath), kPath)));
  for (const char* fact :
       {"ops 1,018",
        "2 inputs, 116 variables, 1 outputs, 899 user ops of 38 types",
        "elements 94,803,968",
        "operators 1,622",
        "moments 232",
        "precision casts 346: 187 to half, 159 back",
        "Adam updates 116",
        "state bytes 1,137,647,616 (1.1 GB) 12.00 for each element of a parameter",
        "matrix products 140: 4,567,429,283,840 operations",
        "PrunePinnedIdentityOpPass 2325.8 42.9%",
        "together 7990.68 \"MiB\", which are 10^6 bytes",
        "largest block 5585.02 \"MiB\", shared by 1,219 tensors",
        "live peak 5,485,004,800",
        "126 of 140 matrix products are computed whole by each of 2 ranks",
        "85 of 90 broadcast_matmul",
        "The split ends at model.blocks.0.att-wkv-26: 6 of 6 `wkv` run",
        "model.copy_mask is read by no op",
        "What the log calls MiB is 10^6 bytes",
        "The tree hides an operand of 20 operators",
        "falls from 9.68 to 0.05964 at iteration 359",
        "29 traced tensors are read by nothing",
        "Main process received SIGINT, exiting"}) {
    EXPECT_TRUE(has(page, fact)) << fact;
  }
}

TEST(OneflowPlan, SharesAreRoundedUp) {
  const Placement two{"cuda", {0, 1}, {2}};
  const auto blob = [](Sizes shape, ir::Layout layout) {
    return Blob{std::move(shape), DType::f32, {layout}};
  };
  EXPECT_EQ(report::share_bytes(blob({7, 3}, {ir::Layout::kSplit, 0}), two), 4 * 3 * 4);
  EXPECT_EQ(report::share_bytes(blob({7, 3}, {ir::Layout::kSplit, 1}), two), 7 * 2 * 4);
  EXPECT_EQ(report::share_bytes(blob({7, 3}, {}), two), 7 * 3 * 4);
  EXPECT_EQ(report::share_bytes(blob({7, 3}, {ir::Layout::kPartial, 0}), two), 7 * 3 * 4);
}

}  // namespace
}  // namespace plait::io::oneflow
