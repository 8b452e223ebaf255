// Slicing by rows: what is sliced, what stays whole and why, and that the numbers stay.
#include "passes/slice.h"

#include <algorithm>
#include <cmath>

#include "random_graph.h"
#include "text_case.h"

namespace plait::test {
namespace {

template <std::int64_t kBytes>
ir::Graph sliced(const ir::Graph& graph, DecisionLog& log) {
  return slice(graph, kBytes, log);
}

TEST(Slice, RowsAreJoinedAndSumsAddedUp) {
  expect_pass(
      sliced<400>, R"(
    graph head(x: f32[4,3], w: f32[40,3], t: i64[4]) {
      %y = linear(x, w)                      : f32[4,40] @ head
      %low = exp(%y)                         : f32[4,40] @ loss
      %sum = sum(%low, axes=[1], keep=true)  : f32[4,1] @ loss
      %log = log(%sum)                       : f32[4,1] @ loss
      %early = neg(%log)                     : f32[4,1]
      %column = unsqueeze(t, axes=[1])       : i64[4,1] @ loss
      %number = iota(axis=1, shape=[1,40])   : i64[1,40] @ loss
      %hit = equal(%number, %column)         : bool[4,40] @ loss
      %d = where(%hit, %log, %low)           : f32[4,40] @ loss
      %dx = matmul(%d, w)                    : f32[4,3] @ head
      %dw = matmul(%d, x, transpose_a=true)  : f32[40,3] @ head
      return %early, %dx, %dw
    })",
      R"(
    graph head(x: f32[4,3], w: f32[40,3], t: i64[4]) {
      %column = unsqueeze(t, axes=[1])       : i64[4,1]    @ loss
      %number = iota(axis=1, shape=[1,40])   : i64[1,40]   @ loss
      %x.rows = slice(x, axes=[0], starts=[0], stops=[2]) : f32[2,3]    @ head
      %y.0 = linear(%x.rows, w)              : f32[2,40]   @ head
      %low.0 = exp(%y.0)                     : f32[2,40]   @ loss
      %sum.0 = sum(%low.0, axes=[1], keep=true) : f32[2,1]    @ loss
      %log.0 = log(%sum.0)                   : f32[2,1]    @ loss
      %column.rows = slice(%column, axes=[0], starts=[0], stops=[2]) : i64[2,1]    @ loss
      %hit.0 = equal(%number, %column.rows)  : bool[2,40]  @ loss
      %d.0 = where(%hit.0, %log.0, %low.0)   : f32[2,40]   @ loss
      %dx.0 = matmul(%d.0, w)                : f32[2,3]    @ head
      %dw.0 = matmul(%d.0, %x.rows, transpose_a=true) : f32[40,3]   @ head
      %x.rows.1 = slice(x, axes=[0], starts=[2], stops=[4]) : f32[2,3]    @ head
      %y.1 = linear(%x.rows.1, w)            : f32[2,40]   @ head
      %low.1 = exp(%y.1)                     : f32[2,40]   @ loss
      %sum.1 = sum(%low.1, axes=[1], keep=true) : f32[2,1]    @ loss
      %log.1 = log(%sum.1)                   : f32[2,1]    @ loss
      %column.rows.1 = slice(%column, axes=[0], starts=[2], stops=[4]) : i64[2,1]    @ loss
      %hit.1 = equal(%number, %column.rows.1) : bool[2,40]  @ loss
      %d.1 = where(%hit.1, %log.1, %low.1)   : f32[2,40]   @ loss
      %dx.1 = matmul(%d.1, w)                : f32[2,3]    @ head
      %dw.1 = matmul(%d.1, %x.rows.1, transpose_a=true) : f32[40,3]   @ head
      %dw.sum1 = add(%dw.0, %dw.1)           : f32[40,3]   @ head
      %log.joined = concat(%log.0, %log.1, axis=0) : f32[4,1]    @ loss
      %dx.joined = concat(%dx.0, %dx.1, axis=0) : f32[4,3]    @ head
      %early = neg(%log.joined)              : f32[4,1]
      return %early, dx = %dx.joined, dw = %dw.sum1
    })",
      "%y.0 @ head: sliced: 2 slices of 320 bytes instead of 640, 8 nodes each; added up: %dw; "
      "joined: %log, %dx\n");
}

/// A head with its loss and all gradients.
std::string head_text(const std::string& dtype, const std::string& rows, const std::string& loss) {
  return "graph head(t: i64[" + rows + "]) state(x: " + dtype + "[" + rows + ",3], w: " + dtype +
         "[40,3], b: " + dtype + "[40]) {\n  %y = linear(x, w, b) : " + dtype + "[" + rows +
         ",40]\n  %l = cross_entropy(%y, t, " + loss + ") : " + dtype + "[]\n  return %l }";
}

struct Result {
  NamedArrays results;
  std::string said;
};

Result result_of(const std::string& text, std::int64_t bytes) {
  const PipelineResult passed =
      run_pipeline(ir::parse_graph(text), {.requested = {"differentiate", "expand"},
                                           .stop_after = {},
                                           .after_each = {},
                                           .keep = {},
                                           .slice_bytes = bytes});
  NamedArrays inputs = random_inputs(passed.graph, 3, false);
  Array& t = inputs.at("t");
  for (std::int64_t i = 0; i < t.count(); ++i) t.set_integer(i, i % 4 == 2 ? -100 : i * 7 % 40);
  Result out{evaluate_graph(passed.graph, inputs), ""};
  for (const LogEntry& e : passed.log) {
    if (e.pass == "slice") out.said += e.what + ": " + e.why;
  }
  return out;
}

/// Largest difference, as a part of the largest number of each result.
double deviation(const NamedArrays& a, const NamedArrays& b) {
  EXPECT_EQ(a.size(), b.size());
  double worst = 0;
  for (const auto& [name, x] : a) {
    const Array& y = b.at(name);
    double most = 0, off = 0;
    EXPECT_EQ(type_text(x), type_text(y));
    for (std::int64_t i = 0; i < x.count(); ++i) {
      most = std::max(most, std::abs(y.real(i)));
      off = std::max(off, std::abs(x.real(i) - y.real(i)));
    }
    EXPECT_GT(most, 0) << name;
    worst = std::max(worst, off / most);
  }
  return worst;
}

struct Sizes {
  std::string rows;
  std::int64_t bytes;
  int slices;
};

class SliceNumbers : public testing::TestWithParam<const char*> {};

TEST_P(SliceNumbers, StayThoseOfTheWhole) {
  const std::string loss = GetParam();
  for (const Sizes& s : {Sizes{"4,3", 960, 4}, Sizes{"12", 2000, 2}, Sizes{"11", 1300, 3},
                         Sizes{"2,6", 700, 6}, Sizes{"1,7", 1000, 3}, Sizes{"2,3,2", 640, 6}}) {
    for (const auto& [dtype, size, most] :
         {std::tuple{"f64", 8, 1e-14}, {"f32", 4, 1e-6}, {"bf16", 2, 4e-3}, {"f16", 2, 5e-4}}) {
      SCOPED_TRACE(str(dtype, "[", s.rows, "] ", loss));
      const std::string text = head_text(dtype, s.rows, loss);
      const Result whole = result_of(text, 0), parts = result_of(text, s.bytes * size / 8);
      EXPECT_EQ(whole.said, "");
      EXPECT_TRUE(parts.said.starts_with(str("sliced: ", s.slices, " slices"))) << parts.said;
      EXPECT_EQ(whole.results.size(), 4u);
      EXPECT_LE(deviation(parts.results, whole.results), most);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Losses, SliceNumbers,
                         testing::Values("reduction=\"mean\"", "reduction=\"sum\"",
                                         "label_smoothing=0.1",
                                         "label_smoothing=0.25, reduction=\"sum\""));

/// Sums of ones: 300 is no bf16, and neither are partial sums like 257; added up in f32 and rounded
/// once they are what the whole sum rounds to.
TEST(Slice, PartialSumsOfHalvesAreNotRounded) {
  const char* text = R"(
    graph g(x: bf16[514,1], w: bf16[8,1]) {
      %y = linear(x, w)                      : bf16[514,8]
      %d = exp(%y)                           : bf16[514,8]
      %dw = matmul(%d, x, transpose_a=true)  : bf16[8,1]
      %db = sum(%d, axes=[0])                : bf16[8]
      return %dw, %db
    })";
  DecisionLog log;
  const ir::Graph whole = ir::parse_graph(text), parts = slice(whole, 2 * 257 * 8, log);
  ASSERT_EQ(log.size(), 1u);
  EXPECT_EQ(log[0].what, "sliced");
  NamedArrays inputs{{"x", Array(DType::bf16, {514, 1})}, {"w", Array(DType::bf16, {8, 1})}};
  for (std::int64_t i = 0; i < 514; ++i) inputs.at("x").set(i, 1);
  EXPECT_EQ(difference(evaluate_graph(whole, inputs), evaluate_graph(parts, inputs)), "");
}

/// Why the contraction of a graph stays whole.
std::string reason(const std::string& body, std::int64_t bytes = 400) {
  DecisionLog log;
  const ir::Graph graph = ir::parse_graph(
      "graph g(x: f32[4,3], w: f32[40,3], z: f32[4,40], u: f32[40,30]) {\n %y = linear(x, w) : "
      "f32[4,40]\n" +
      body + "}");
  EXPECT_EQ(ir::print(slice(graph, bytes, log)), ir::print(graph));
  return log.empty() ? "" : log[0].what + ": " + log[0].why;
}

TEST(Slice, SaysWhyAResultStaysWhole) {
  EXPECT_EQ(reason("return %y"), "whole: %y is fetched, or a next state");
  EXPECT_EQ(reason("%a = add(%y, z) : f32[4,40]\n %s = sum(%a, axes=[1]) : f32[4]\n return %s"),
            "whole: z, which it is made from, is no smaller");
  EXPECT_EQ(reason("%m = max(%y, axes=[0], keep=true) : f32[1,40]\n %a = sub(%y, %m) : f32[4,40]\n"
                   "%s = sum(%a, axes=[1]) : f32[4]\n return %s"),
            "whole: %a: it reads a sum over the rows");
  EXPECT_EQ(reason("%m = max(%y, axes=[0]) : f32[40]\n return %m"), "whole: %m is no sum");
  EXPECT_EQ(reason("%s = softmax(%y) : f32[4,40]\n %m = sum(%s) : f32[]\n return %m"),
            "whole: %s: it has no index map");
  EXPECT_EQ(reason("%h = matmul(%y, u) : f32[4,30]\n %s = sum(%h) : f32[]\n return %s"),
            "whole: %h is another large product: a network's layers");
  EXPECT_EQ(reason("%s = sum(%y, axes=[1]) : f32[4]\n return %s", 100),
            "whole: one of its rows is larger than a slice may be");
  EXPECT_EQ(reason("return %y", 640), "");  // small enough
}

}  // namespace
}  // namespace plait::test
