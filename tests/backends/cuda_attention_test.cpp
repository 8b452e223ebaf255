// CUDA's attention against the reference in f64, forward and backward, on the device under test:
// every bound of what a query sees, masks, slopes, documents and dropout, on heads and lengths that
// fill tiles and that do not. Errors are measured against the size of the whole result: sums are
// rounded in another order, and halves' probabilities are rounded before they are multiplied.
#include "ops/attention.h"

#include <vector>

#include "tests/backends/cuda_hand_case.h"

namespace plait::cuda {
namespace {

struct Heads {
  int batch, heads, groups, queries, keys, d, dv;
};

/// What a call has besides q, k and v, as a sample's text; of floats, F is their dtype and C what
/// they are computed in.
struct Variant {
  std::string attrs, mask = "_", slopes = "_", offsets = "_", key = "_";
};

std::string replaced(std::string text, DType dtype) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == 'F') text.replace(i, 1, name_of(dtype));
    if (text[i] == 'C') text.replace(i, 1, name_of(compute_dtype(dtype)));
  }
  return text;
}

std::string rows(int batch, int heads, int count, int columns) {
  return str("F[", batch, ",", heads, ",", count, ",", columns, "]");
}

struct Texts {
  std::string forward, backward;
  Texts(const Heads& h, const Variant& v, DType dtype, bool dlse) {
    const std::string q = rows(h.batch, h.heads, h.queries, h.d);
    const std::string y = rows(h.batch, h.heads, h.queries, h.dv);
    const std::string operands = str(q, ", ", rows(h.batch, h.groups, h.keys, h.d), ", ",
                                     rows(h.batch, h.groups, h.keys, h.dv));
    const std::string lse = str("C[", h.batch, ",", h.heads, ",", h.queries, "]");
    const std::string rest = str(", ", v.mask, ", ", v.slopes, ", ", v.offsets, ", ", v.key);
    const std::string attrs = v.attrs.empty() ? "" : " | " + v.attrs;
    forward = replaced(operands + rest, dtype) + attrs;
    backward =
        replaced(str(operands, ", ", y, ", ", lse, ", ", y, rest, ", ", dlse ? lse : "_"), dtype) +
        attrs;
  }
};

/// NaN stands where it does in the reference. Of the whole and of each element. Where the terms
/// cancel (the scores of a query that sees one key have no gradient) what is left is measured by
/// the terms: of an element's 1/16 at least.
void expect_close(const Array& got, const Array& expected, DType dtype, double slack) {
  ASSERT_EQ(got.sizes(), expected.sizes());
  const double step = half_step(dtype) * slack;
  const double most = std::max(largest(expected), 0.25);
  double wrong = 0, all = 0;
  for (std::int64_t i = 0; i < got.count(); ++i) {
    const double x = got.real(i), y = expected.real(i);
    if (std::isnan(x) && std::isnan(y)) continue;
    if (x == y) continue;
    ASSERT_LE(std::abs(x - y), 4 * step * most) << "element " << i << ": " << x << " for " << y;
    wrong += (x - y) * (x - y);
    all += y * y;
  }
  const double terms = std::sqrt(static_cast<double>(got.count())) / 16;
  EXPECT_LE(std::sqrt(wrong), step * std::max(std::sqrt(all), terms));
}
double slack_of(DType dtype) { return is_half(dtype) ? 2 : 256; }

std::vector<Array> widened(const std::vector<Array>& feeds) {
  std::vector<Array> wide;
  for (const Array& a : feeds) wide.push_back(is_float(a.dtype()) ? a.cast(DType::f64) : a);
  return wide;
}

/// Forward, then the gradients from its results.
void expect_attention(const Heads& h, const Variant& v, DType dtype, bool dlse = false) {
  const Texts texts(h, v, dtype, dlse), wide_texts(h, v, DType::f64, dlse);
  SCOPED_TRACE(texts.forward);
  HandCase c(ops::attention, sample_from(ops::attention, texts.forward), DType::f32);
  HandCase wide(ops::attention, sample_from(ops::attention, wide_texts.forward), DType::f64);
  wide.feeds = widened(c.feeds);
  const auto expected = evaluate(wide.node(), wide.inputs());
  const auto got = run(c.node(), c.inputs()).outputs;
  expect_close(got[0], expected[0], dtype, slack_of(dtype));
  expect_close(got[1], expected[1], compute_dtype(dtype), 256);

  HandCase back(ops::attention_backward, sample_from(ops::attention_backward, texts.backward),
                DType::f32);
  HandCase wide_back(ops::attention_backward,
                     sample_from(ops::attention_backward, wide_texts.backward), DType::f64);
  for (std::size_t i = 0; i < c.feeds.size(); ++i) {
    back.feeds[i < 3 ? i : i + 3] = c.feeds[i];
  }
  back.feeds[3] = expected[0].cast(dtype);
  back.feeds[4] = expected[1].cast(compute_dtype(dtype));
  wide_back.feeds = widened(back.feeds);
  wide_back.feeds[3] = expected[0];
  wide_back.feeds[4] = expected[1];
  const auto gradients = evaluate(wide_back.node(), wide_back.inputs());
  const auto results = run(back.node(), back.inputs()).outputs;
  for (std::size_t i = 0; i < 3; ++i) {
    SCOPED_TRACE(str("gradient ", i));
    expect_close(results[i], gradients[i], dtype, slack_of(dtype));
  }
}

const DType kHalves[] = {DType::bf16, DType::f16};

TEST(CudaAttention, SamplesAgreeWithTheReference) {
  for (const Op* op : {&ops::attention, &ops::attention_backward}) {
    for (const Sample& sample : samples_of(*op)) {
      for (DType real : some_dtypes(sample)) {
        SCOPED_TRACE(str(op->name, "(", sample.text, ") as ", real));
        const HandCase c(*op, sample, real);
        HandCase wide(*op, sample, DType::f64);
        wide.feeds = widened(c.feeds);
        const auto expected = evaluate(wide.node(), wide.inputs());
        const auto got = run(c.node(), c.inputs()).outputs;
        for (std::size_t i = 0; i < got.size(); ++i) {
          expect_close(got[i], expected[i], got[i].dtype(), is_half(real) ? 4 : 256);
        }
      }
    }
  }
}

TEST(CudaAttention, AllSizesOfHeadsAgreeWithTheReference) {
  const struct {
    int d, dv;
  } sizes[] = {{1, 1},   {7, 3},   {16, 16},   {32, 32},   {40, 24},  {64, 64},
               {80, 80}, {96, 33}, {128, 128}, {192, 192}, {256, 256}};
  int turn = 0;
  for (const auto& s : sizes) {
    const DType half = kHalves[turn++ % 2];
    expect_attention({1, 2, 1, 70, 90, s.d, s.dv}, {"causal=true, offset=20"}, half);
  }
  for (DType wide : {DType::f32, DType::f64}) {
    for (const auto& s : {sizes[1], sizes[5], sizes[10]}) {
      expect_attention({1, 2, 1, 35, 40, s.d, s.dv}, {"causal=true, offset=5"}, wide);
    }
  }
}

TEST(CudaAttention, AllLengthsAgreeWithTheReference) {
  const struct {
    int queries, keys;
  } sizes[] = {{1, 1}, {1, 200}, {17, 5}, {128, 128}, {129, 65}, {300, 257}, {0, 3}, {70, 0}};
  for (const auto& s : sizes) {
    expect_attention({2, 3, 3, s.queries, s.keys, 16, 16}, {}, DType::bf16);
    expect_attention({2, 3, 3, s.queries, s.keys, 5, 6}, {}, DType::f32);
  }
}

/// Of 4 heads and 150 queries and keys. Of some, queries see no key.
const Variant kVariants[] = {
    {"causal=true"},
    {"causal=true, window=50"},
    {"window=1"},
    {"window=40, offset=7"},
    {"causal=true, window=90, offset=30", "_", "C[4]{0..1}"},
    {"causal=true, scale=-0.3"},
    {"", "_", "F[4]{0..1}"},
    {"causal=true, offset=-3"},
    {"", "F[2,1,1,150]"},
    {"", "bool[2,4,150,150]"},
    {"causal=true", "bool[4,150,1]"},
    {"scale=0.2", "C[150,150]", "C[4]{0..1}"},
    {"", "_", "_", "i64[5]{-20..170}"},
    {"causal=true, window=60", "_", "_", "i32[2,3]{0..150}"},
    {"causal=true, dropout=0.3, stream=2", "_", "_", "_", "i64[2]{0..1000}"},
    {"window=70, dropout=0.5", "F[1,4,150,150]", "C[4]{0..1}", "i64[2]{0..150}", "i64[2]{0..1000}"},
};

TEST(CudaAttention, WhatIsSeenAndAddedAgreesWithTheReference) {
  int turn = 0;
  for (const Variant& v : kVariants) {
    expect_attention({2, 4, 2, 150, 150, 16, 16}, v, kHalves[turn % 2], turn % 3 == 0);
    if (turn % 2 == 0 || test::tested_on_gpu()) {
      expect_attention({2, 4, 2, 150, 150, 16, 16}, v, turn % 4 == 0 ? DType::f64 : DType::f32);
    }
    ++turn;
  }
}

TEST(CudaAttention, ResultsThatNobodyReadsAreLeftOut) {
  for (int d : {8, 160}) {
    const Texts texts({1, 2, 2, 40, 40, d, d}, {"causal=true"}, DType::bf16, false);
    for (const Op* op : {&ops::attention, &ops::attention_backward}) {
      const HandCase c(*op,
                       sample_from(*op, op == &ops::attention ? texts.forward : texts.backward),
                       DType::f32);
      const auto all = run(c.node(), c.inputs()).outputs;
      for (std::size_t i = 0; i < all.size(); ++i) {
        const auto got = run(c.node(), c.inputs(), static_cast<int>(i)).outputs;
        EXPECT_TRUE(got[i].same_bits(all[i])) << op->name << " " << i;
      }
    }
  }
}

TEST(CudaAttention, WideHeadsOfSeveralBlocksAgreeWithTheReference) {
  for (int d : {64, 128, 256}) {
    const Variant v{"causal=true, window=200, dropout=0.2, stream=1", "_", "_", "_",
                    "i64[2]{0..1000}"};
    expect_attention({1, 2, 1, 290, 290, d, d}, v, DType::bf16);
  }
}

}  // namespace
}  // namespace plait::cuda
