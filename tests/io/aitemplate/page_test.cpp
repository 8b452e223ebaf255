// The page: facts appear, findings where the flaw is and nowhere else.
#include "report/aitemplate.h"

#include <gtest/gtest.h>

#include "tests/io/aitemplate/run_both.h"

namespace plait::report {
namespace {

using io::aitemplate::read_sample;
using io::aitemplate::Record;

Page page_of(const Record& record) { return of_aitemplate(record, to_graphs(record)); }

/// The first finding that says `what`; null when there is none.
const Finding* find(const Page& page, const std::string& what) {
  for (const Finding& f : page.findings) {
    if (f.what.find(what) != std::string::npos) return &f;
  }
  return nullptr;
}

constexpr const char *kOneKernel = "One kernel is right", *kUnsearched = "names no kernel",
                     *kNarrow = "elements at once", *kFrozen = "Named like a symbol",
                     *kFed = "used as weights", *kDead = "read by nothing",
                     *kWorkspace = "a workspace", *kCopies = "could be a view",
                     *kUnknown = "not known to Plait";

TEST(AitPage, ConvolutionPlusTensor) {
  const Page page = page_of(read_sample("conv_add.txt"));
  ASSERT_NE(find(page, kOneKernel), nullptr);
  const Finding& one = *find(page, kOneKernel);
  EXPECT_EQ(one.nodes, (std::vector<std::string>{"conv2d_0", "fused_elementwise_2"}));
  // image 480 + filter 216 + conv 144, then 3 x 144: 1,272 bytes; 288 of them go.
  EXPECT_NE(one.what.find("moves 288 B less, 22.6% of all bytes moved"), std::string::npos);
  EXPECT_NE(one.advice.find("residual is a full tensor, not a vector"), std::string::npos);
  EXPECT_NE(find(page, kUnsearched), nullptr);
  ASSERT_NE(find(page, kNarrow), nullptr);
  EXPECT_EQ(find(page, kNarrow)->what,
            "conv2d_0 stores 1 elements at once, float16 allows 8: the last dimension "
            "conv2d_0_0_dim_3 is 3, no multiple of 8.");
  EXPECT_EQ(find(page, kFrozen)->nodes, std::vector<std::string>{"batch"});
  EXPECT_EQ(find(page, kFed)->nodes, std::vector<std::string>{"filter"});
  for (const char* other : {kDead, kWorkspace, kCopies, kUnknown}) {
    EXPECT_EQ(find(page, other), nullptr) << other;
  }
  const std::string text = page.text();
  for (const char* fact :
       {"2; 1 with every elementwise tail", "NI == 2 && HI == 6 && WI == 5 && CI == 4",
        "not yet searched", "none: every dimension is a constant", "memory is not planned yet"}) {
    EXPECT_NE(text.find(fact), std::string::npos) << fact;
  }
}

TEST(AitPage, RangedGemm) {
  const Page page = page_of(read_sample("gemm_range.txt"));
  ASSERT_NE(find(page, kOneKernel), nullptr);
  EXPECT_EQ(find(page, kOneKernel)->advice.find("full tensor"), std::string::npos);  // b: a vector
  EXPECT_EQ(find(page, kWorkspace)->nodes, std::vector<std::string>{"gemm_rcr_bias_relu_0"});
  for (const char* other : {kUnsearched, kNarrow, kFrozen, kFed, kDead, kCopies, kUnknown}) {
    EXPECT_EQ(find(page, other), nullptr) << other;
  }
  const std::string text = page.text();
  EXPECT_NE(text.find("batch      1  64"), std::string::npos);
  EXPECT_NE(text.find("cutlass_small"), std::string::npos);
}

TEST(AitPage, UnknownDeadAndCopied) {
  const Page page = page_of(read_sample("unknown_ops.txt"));
  EXPECT_EQ(find(page, kDead)->nodes, (std::vector<std::string>{"unread", "dead"}));
  EXPECT_EQ(find(page, kCopies)->nodes, std::vector<std::string>{"identity_1"});
  EXPECT_EQ(find(page, kUnknown)->nodes, (std::vector<std::string>{"topk_0", "batched_nms_3"}));
  EXPECT_EQ(find(page, kOneKernel), nullptr);
}

TEST(AitPage, AResultThatOthersReadIsNoEpilogue) {
  Record record = read_sample("conv_add.txt");
  record.tensors[3].is_output = true;  // conv2d_0_0
  EXPECT_EQ(find(page_of(record), kOneKernel), nullptr);
}

TEST(AitPage, PlannedMemoryIsTheEndOfTheLastTensor) {
  Record record = read_sample("conv_add.txt");
  record.tensors[3].offset = 256;
  EXPECT_NE(page_of(record).text().find("400 B from 1 offsets"), std::string::npos);
}

}  // namespace
}  // namespace plait::report
