// The page: facts appear, findings where the flaw is and nowhere else.
#include "report/aitemplate.h"

#include <gtest/gtest.h>

#include <limits>

#include "tests/io/aitemplate/run_both.h"
#include "tests/raises.h"

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
                     *kNarrow = " at once, ", *kFrozen = "Named like a symbol", *kFed = "used as ",
                     *kDead = "read by nothing", *kWorkspace = "a workspace",
                     *kCopies = "could be a view", *kUnknown = "not known to Plait";

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
            "conv2d_0 stores 1 element at once, float16 allows 8: the last dimension "
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

/// What a gemm of float16 that writes [4, last] is told about its stores.
const Finding* narrow_store(Page& page, const std::string& last, int alignment) {
  const auto tensor = [](const std::string& name, const std::string& shape,
                         const std::string& more) {
    return "{'name': '" + name + "', 'dtype': 'float16', 'shape': [" + shape + "], " + more + "}\n";
  };
  const std::string dim = "{'name': 'seq', 'symbolic_value': " +
                          std::string(last.find(',') == last.npos ? last : "seq") +
                          ", 'values': [" + last + "]}";
  const std::string text =
      "Tensors: " +
      tensor("x", "{'values': [4]}, {'values': [2]}",
             "'src_ops': [], 'dst_ops': ['g'], 'is_input': True, 'is_output': False") +
      tensor("w", dim + ", {'values': [2]}",
             "'src_ops': [], 'dst_ops': ['g'], 'is_input': True, 'is_output': False") +
      tensor("y", "{'values': [4]}, " + dim,
             "'src_ops': ['g'], 'dst_ops': [], 'is_input': False, 'is_output': True") +
      "Operators: {'name': 'g', 'op': 'gemm_rcr', 'inputs': ['x', 'w'], 'outputs': ['y'], "
      "'epilogue_alignment': " +
      std::to_string(alignment) + "}";
  page = page_of(io::aitemplate::read(text, "d"));
  return find(page, kNarrow);
}

TEST(AitPage, NarrowStoresAreToldByTheirCause) {
  Page page;
  EXPECT_EQ(narrow_store(page, "256", 8), nullptr);
  const Finding* narrow = narrow_store(page, "256", 2);
  ASSERT_NE(narrow, nullptr);
  EXPECT_EQ(narrow->what,
            "g stores 2 elements at once, float16 allows 8: the last dimension seq is 256, a "
            "multiple of 8.");
  EXPECT_EQ(narrow->advice,
            "The size does not force it: the alignment recorded is narrower than it could be. 8 "
            "at once would fit.");
  narrow = narrow_store(page, "12", 1);
  ASSERT_NE(narrow, nullptr);
  EXPECT_EQ(narrow->advice,
            "Pad it to 16, or split the last piece off. As it is, 4 at once would fit.");
  EXPECT_EQ(find(page, kFed)->nodes, std::vector<std::string>{"w"});
  narrow = narrow_store(page, "1, 64", 1);
  ASSERT_NE(narrow, nullptr);
  EXPECT_EQ(narrow->what,
            "g stores 1 element at once, float16 allows 8: the last dimension seq runs from 1 to "
            "64, and 1 is no multiple of 8.");
  EXPECT_EQ(narrow->advice,
            "The range forces it: one kernel has to fit every size in it. A kernel of its own for "
            "multiples of 8 can store 8 at once.");
  EXPECT_EQ(find(page, kFed), nullptr);  // a weight has no range
}

TEST(AitPage, AColumnIsNoFullTensor) {
  const Record full = read_sample("conv_add.txt");
  Record record = full;
  for (io::aitemplate::TensorRecord& t : record.tensors) {
    if (t.name == "residual")
      t.shape.back() = {.name = {}, .values = {1}, .symbolic_value = {}, .rest = {}, .at = {}};
  }
  const Page page = of_aitemplate(record, to_graphs(full));
  const Finding* one = find(page, kOneKernel);
  ASSERT_NE(one, nullptr);
  EXPECT_NE(one->advice.find("because residual is a column, not a vector; an epilogue"),
            std::string::npos)
      << one->advice;
}

TEST(AitPage, SumsThatDoNotFitAreRefused) {
  Record record = read_sample("conv_add.txt");
  const io::Import import = to_graphs(record);
  record.tensors[3].offset = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(test::message_of([&] { of_aitemplate(record, import); }),
            "more bytes of planned memory than 64 bits can count: are the sizes right?");
}

TEST(AitPage, AResultThatOthersReadIsNoEpilogue) {
  Record record = read_sample("conv_add.txt");
  record.tensors[3].is_output = true;  // conv2d_0_0
  EXPECT_EQ(find(page_of(record), kOneKernel), nullptr);
}

TEST(AitPage, PlannedMemoryIsTheEndOfTheLastTensor) {
  Record record = read_sample("conv_add.txt");
  record.tensors[3].offset = 256;
  EXPECT_NE(page_of(record).text().find("400 B from 1 offset\n"), std::string::npos);
}

}  // namespace
}  // namespace plait::report
