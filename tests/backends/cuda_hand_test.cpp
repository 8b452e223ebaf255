// CUDA hand kernels against the reference, on the device under test: every op on its samples and
// on sizes that take several chunks, tiles and segments. Sums that are cut have the tolerance of
// their double; wkv has that of the CPU's tests.
#include "ops/index.h"
#include "ops/random.h"
#include "ops/scan.h"
#include "ops/wkv.h"
#include "tests/backends/cuda_hand_case.h"

namespace plait::cuda {
namespace {

void expect_bits(const Op& op, const Sample& sample) {
  for (DType real : some_dtypes(sample)) {
    SCOPED_TRACE(str(op.name, "(", sample.text, ") as ", real));
    const HandCase c(op, sample, real);
    const Result got = run(c.node(), c.inputs());
    EXPECT_EQ(got.bad, 0);
    EXPECT_TRUE(got.outputs[0].same_bits(evaluate(c.node(), c.inputs())[0]));
  }
}

/// Sums of n numbers, cut: a rounding of double each, and one to the dtype.
void expect_near(const Op& op, const std::string& text, DType real) {
  SCOPED_TRACE(str(op.name, "(", text, ") as ", real));
  const HandCase c(op, sample_from(op, text), real);
  const Result got = run(c.node(), c.inputs());
  const Array expected = evaluate(c.node(), c.inputs())[0];
  const double n = static_cast<double>(c.feeds[0].count() + c.feeds.back().count());
  const double inner = n * 0x1p-53 * std::max(1.0, largest(expected));
  EXPECT_EQ(got.bad, 0);
  for (std::int64_t i = 0; i < expected.count(); ++i) {
    const double e = expected.real(i);
    ASSERT_NEAR(got.outputs[0].real(i), e, inner + 2 * half_step(real) * std::abs(e)) << i;
  }
}

TEST(CudaHand, HasEveryKernelTheCpuHas) {
  for (const Op* op : all_ops()) {
    EXPECT_TRUE(find_hand(op->name) || !cpu::find_hand(op->name)) << op->name;
  }
}

TEST(CudaHand, SamplesGiveTheReferencesBits) {
  for (const Op* op : {&ops::scatter_add, &ops::scatter_add_along, &ops::scatter_columns,
                       &ops::cumsum, &ops::cumprod, &ops::linear_scan, &ops::argmax, &ops::argmin,
                       &ops::uniform, &ops::bernoulli}) {
    for (const Sample& sample : samples_of(*op)) expect_bits(*op, sample);
  }
}

TEST(CudaHand, IntegersGiveTheReferencesBits) {
  for (const char* dtype : {"i64", "i32", "i16", "i8", "u8"}) {
    for (const Op* op : {&ops::cumsum, &ops::cumprod, &ops::argmax}) {
      expect_bits(*op, sample_from(*op, str(dtype, "[3,9,70]{0..100} | axis=1")));
    }
    expect_bits(
        ops::scatter_columns,
        sample_from(ops::scatter_columns, str(dtype, "[2,3,40]{0..100}, i32[2,40] | depth=5")));
  }
  expect_bits(ops::cumsum, sample_from(ops::cumsum, "i64[3000]{-5..5} | reverse=true"));
  expect_bits(ops::scatter_add,
              sample_from(ops::scatter_add, "i8[4,3]{0..100}, i64[5000]{0..4}, i8[5000,3]{0..9}"));
}

TEST(CudaHand, ManyUpdatesAreAddedInTheirOrder) {
  const std::pair<const Op*, const char*> cases[] = {
      {&ops::scatter_add, "f32[250,130], i64[300]{0..250}, f32[300,130]"},
      {&ops::scatter_add, "f32[3,20,37], i32[5,70]{0..20}, f32[3,5,70,37] | axis=1"},
      {&ops::scatter_add, "f32[14000], i64[90]{0..3}, f32[90]"},
      {&ops::scatter_add, "f32[9,3], i64[70000]{0..9}, f32[70000,3]"},
      {&ops::scatter_add, "f32[3000,1], i64[5000]{2999..3000}, f32[5000,1]"},
      {&ops::scatter_add, "f32[50,64], i64[900]{0..5}, f32[900,64]"},
      {&ops::scatter_add, "f32[2,30,8], i32[300]{0..4}, f32[2,300,8] | axis=1"},
      {&ops::scatter_add, "f32[700,4], i64[9000]{0..600}, f32[9000,4]"},
      {&ops::scatter_add_along, "f32[4,2000], i64[4,50]{0..9}, f32[4,50]"},
      {&ops::scatter_add_along, "f32[30,150], i64[40,150]{0..30}, f32[40,150] | axis=0"},
      {&ops::scatter_add_along, "f32[3,11,5], i32[3,1,5]{0..11}, f32[3,1,5] | axis=1"},
      {&ops::scatter_columns, "f32[2,50,30], i64[2,30]{0..20} | depth=900"},
      {&ops::scatter_columns, "f32[3,9,1000], i64[3,1000]{0..3} | depth=7"},
      {&ops::scatter_columns, "f32[2,5,9000], i64[2,9000]{0..60} | depth=64"},
  };
  for (const auto& [op, text] : cases) expect_near(*op, text, DType::f32);
  for (DType real : {DType::bf16, DType::f64}) {
    expect_near(ops::scatter_add, "f32[9,3], i64[3000]{0..9}, f32[3000,3]", real);
    expect_near(ops::scatter_add, "f32[9,16], i64[300]{0..9}, f32[300,16]", real);
    expect_near(ops::scatter_columns, "f32[2,7,100], i64[2,100]{0..30} | depth=48", real);
  }
}

TEST(CudaHand, LongLinesAreScannedInChunks) {
  for (DType real : {DType::f64, DType::f32, DType::bf16}) {
    expect_near(ops::cumsum, "f32[5,300,7] | axis=1, reverse=true", real);
    expect_near(ops::cumsum, "f32[20001] | exclusive=true", real);
  }
  expect_near(ops::cumsum, "f32[70001,2] | axis=0", DType::f32);
  expect_near(ops::cumprod, "f32[3,400,70]{0.9..1.1} | axis=1, exclusive=true", DType::f32);
  expect_near(ops::linear_scan, "f32[9,801,3]{-1..1}, f32[9,801,3] | axis=1", DType::f32);
  expect_near(ops::linear_scan, "f32[9001]{-1..1}, f32[9001] | reverse=true", DType::f32);
}

TEST(CudaHand, ExtremumsOfLongLinesAreTheFirst) {
  for (const char* text : {"f32[30,500]", "f32[2,70001]", "f32[5000,3] | axis=0",
                           "f32[2,3000,65] | axis=1", "i8[3,30000]{-100..100}"}) {
    expect_bits(ops::argmax, sample_from(ops::argmax, text));
  }
  for (DType real : {DType::f64, DType::f32, DType::f16, DType::bf16}) {
    HandCase c(ops::argmax, sample_from(ops::argmax, "f32[2,5]"), real);
    c.feeds[0] = Array::of(real, {2, 5}, {1, 3, NAN, 9, NAN, 2, 7, 7, -1, 0});
    const Array got = run(c.node(), c.inputs()).outputs[0];
    EXPECT_EQ(got.integer(0), 2);
    EXPECT_EQ(got.integer(1), 1);
  }
  HandCase c(ops::argmin, sample_from(ops::argmin, "f32[1,40000]"), DType::f32);
  for (std::int64_t i : {39000, 20001, 30000}) c.feeds[0].set(i, NAN);
  EXPECT_EQ(run(c.node(), c.inputs()).outputs[0].integer(0), 20001);
}

TEST(CudaHand, DrawsHaveTheCpusBits) {
  const std::pair<const Op*, const char*> cases[] = {
      {&ops::uniform, "i64[2]{0..1000} | shape=[4001], lo=-1.0, hi=3.0"},
      {&ops::uniform, "i64[2]{0..1000} | shape=[4001], dtype=bf16"},
      {&ops::normal, "i64[2]{0..1000} | shape=[4001], mean=0.5, std=2.0, stream=3, dtype=f64"},
      {&ops::normal, "i64[2]{0..1000} | shape=[4001], mean=0.5, std=2.0, stream=3"},
      {&ops::normal, "i64[2]{0..1000} | shape=[4001], dtype=f16"},
      {&ops::normal, "i64[2]{0..1000} | shape=[4001], dtype=bf16"},
      {&ops::normal, "i64[2]{0..1000} | shape=[0]"},
      {&ops::bernoulli, "i64[2]{0..1000} | shape=[4001], p=0.3"},
      {&ops::bernoulli, "i64[2]{0..1000} | shape=[7], p=1.0"},
  };
  for (const auto& [op, text] : cases) {
    const HandCase c(*op, sample_from(*op, text), DType::f32);
    const Array expected = cpu::run_hand(c.node(), c.inputs()).outputs[0];
    EXPECT_TRUE(run(c.node(), c.inputs()).outputs[0].same_bits(expected)) << text;
  }
}

TEST(CudaHand, ScatterAddTakesNoOperandForZeros) {
  const HandCase c(ops::scatter_add,
                   sample_from(ops::scatter_add, "f32[5,3]{0..0}, i64[4], f32[4,3]"), DType::f32);
  auto inputs = c.inputs();
  const auto expected = evaluate(c.node(), inputs);
  inputs[0] = nullptr;
  EXPECT_TRUE(run(c.node(), inputs).outputs[0].same_bits(expected[0]));
}

TEST(CudaHand, AnIndexOutOfRangeSetsTheBitAndIsSkipped) {
  const std::pair<const Op*, const char*> cases[] = {
      {&ops::scatter_add, "f32[5,3], i64[4], f32[4,3]"},
      {&ops::scatter_add, "f32[5,3], i32[400], f32[400,3]"},
      {&ops::scatter_add_along, "f32[3,5], i64[3,2], f32[3,2]"},
      {&ops::scatter_add_along, "f32[3,5], i32[3,1], f32[3,1]"},
      {&ops::scatter_columns, "f32[2,3,4], i64[2,4] | depth=5"}};
  for (const auto& [op, text] : cases) {
    for (std::int64_t bad : {-1, 5}) {
      HandCase c(*op, sample_from(*op, text), DType::f32);
      c.feeds[1].set_integer(2, bad);
      const Result got = run(c.node(), c.inputs());
      EXPECT_EQ(got.bad, codegen::cuda::kBadIndex) << text;
      // The same without that update.
      const std::int64_t width = op == &ops::scatter_add ? 3 : 1;
      c.feeds[1].set_integer(2, 0);
      const bool columns = op == &ops::scatter_columns;
      for (std::int64_t i = 0; i < (columns ? 3 : width); ++i) {
        c.feeds[columns ? 0 : 2].set(columns ? i * 4 + 2 : 2 * width + i, 0);
      }
      EXPECT_TRUE(got.outputs[0].same_bits(evaluate(c.node(), c.inputs())[0])) << text;
    }
  }
}

// --- wkv -----------------------------------------------------------------------------------------

/// As the CPU's tests have it: see tests/backends/hand_wkv_test.cpp.
void expect_wkv_near(const Array& got, const Array& expected, const HandCase& c) {
  const DType t = got.dtype();
  const double steps = static_cast<double>(c.feeds[0].sizes()[1]);
  const double exponent = largest(c.feeds[0]) + largest(c.feeds[2]) + largest(c.feeds[3]) + 1;
  const double inner = (t == DType::f64 ? 0x1p-53 : 0x1p-24) * (16 + 2 * steps * exponent);
  const double scale = std::max(1.0, largest(expected));
  const double half = is_half(t) ? half_step(t) : 0;
  const Array rounded = expected.cast(t);
  ASSERT_EQ(got.sizes(), expected.sizes());
  for (std::int64_t i = 0; i < got.count(); ++i) {
    const double x = got.real(i), y = expected.real(i);
    if (x == rounded.real(i) || (std::isnan(x) && std::isnan(y))) continue;
    ASSERT_LE(std::abs(x - y), inner * scale + half * std::max(0x1p-14, std::abs(y)))
        << "element " << i << ": " << x << " for " << y;
  }
}

void expect_wkv(const Op& op, const Sample& sample, DType real) {
  SCOPED_TRACE(str(op.name, "(", sample.text, ") as ", real));
  const HandCase c(op, sample, real);
  HandCase wide(op, sample, DType::f64);
  for (std::size_t i = 0; i < c.feeds.size(); ++i) wide.feeds[i] = c.feeds[i].cast(DType::f64);
  const auto expected = evaluate(wide.node(), wide.inputs());
  const auto got = run(c.node(), c.inputs()).outputs;
  for (std::size_t i = 0; i < got.size(); ++i) {
    SCOPED_TRACE(str("output ", i));
    expect_wkv_near(got[i], expected[i], c);
  }
}

/// wkv's operands at a size; k from [-k, k].
std::string wkv_operands(int b, int t, int c, int k, bool state) {
  const std::string row = str("[", b, ",", t, ",", c, "]"), lane = str("[", b, ",", c, "]");
  std::string text =
      str("f32", row, "{-", k, "..", k, "}, f32", row, ", f32[", c, "]{-2..-0.01}, f32[", c, "]");
  if (state) return str(text, ", f32", lane, ", f32", lane, "{0.5..2}, f32", lane);
  return text;
}
std::string gradient_operands(int b, int t, int c, int k, bool state, bool last) {
  const std::string lane = str(", f32[", b, ",", c, "]");
  return str(wkv_operands(b, t, c, k, state), state ? "" : ", _, _, _", ", f32[", b, ",", t, ",", c,
             "]", last ? str(lane, lane, lane) : ", _, _, _");
}

TEST(CudaHandWkv, SamplesAgreeWithTheReference) {
  for (const Op* op : {&ops::wkv, &ops::wkv_backward}) {
    for (const Sample& sample : samples_of(*op)) {
      for (DType real : {DType::f64, DType::f32, DType::f16, DType::bf16}) {
        expect_wkv(*op, sample, real);
      }
    }
  }
}

TEST(CudaHandWkv, HalvesBesideFloatsAgreeWithTheReference) {
  for (DType half : {DType::f16, DType::bf16}) {
    for (const Op* op : {&ops::wkv, &ops::wkv_backward}) {
      for (int time : {5, 300}) {
        const std::string text = op == &ops::wkv ? wkv_operands(2, time, 40, 3, true)
                                                 : gradient_operands(2, time, 40, 3, true, true);
        std::string mixed = text;
        const std::string row = str("f32[2,", time, ",40]");
        for (std::size_t i = 0; (i = mixed.find(row, i)) != std::string::npos; ++i) {
          mixed.replace(i, 3, name_of(half));
        }
        SCOPED_TRACE(str(op->name, "(", mixed, ")"));
        const HandCase c(*op, sample_from(*op, mixed), DType::f32);
        HandCase wide(*op, sample_from(*op, text), DType::f64);
        for (std::size_t i = 0; i < c.feeds.size(); ++i)
          wide.feeds[i] = c.feeds[i].cast(DType::f64);
        const auto expected = evaluate(wide.node(), wide.inputs());
        const auto got = run(c.node(), c.inputs()).outputs;
        for (std::size_t i = 0; i < got.size(); ++i) {
          SCOPED_TRACE(str("output ", i));
          EXPECT_EQ(got[i].dtype(), i < (op == &ops::wkv ? 1 : 2) ? half : DType::f32);
          expect_wkv_near(got[i], expected[i], c);
        }
      }
    }
  }
}

TEST(CudaHandWkv, AllLengthsAgreeWithTheReference) {
  const struct {
    int b, t, c;
  } sizes[] = {{3, 1, 1}, {2, 16, 7}, {2, 17, 33}, {1, 300, 16}, {2, 1000, 3}, {1, 0, 4}};
  for (const auto& s : sizes) {
    for (int k : {3, 60}) {
      for (bool state : {false, true}) {
        const DType real = state ? DType::f64 : DType::f32;
        expect_wkv(ops::wkv, sample_from(ops::wkv, wkv_operands(s.b, s.t, s.c, k, state)), real);
        for (bool last : {false, true}) {
          const std::string text = gradient_operands(s.b, s.t, s.c, k, state, last);
          expect_wkv(ops::wkv_backward, sample_from(ops::wkv_backward, text), real);
        }
      }
    }
  }
  for (DType real : {DType::f32, DType::bf16}) {
    expect_wkv(ops::wkv, sample_from(ops::wkv, wkv_operands(2, 700, 40, 5, true)), real);
    const std::string text = gradient_operands(2, 900, 40, 5, true, true);
    expect_wkv(ops::wkv_backward, sample_from(ops::wkv_backward, text), real);
  }
}

/// dw's largest error of any channel, relative to the sizes of what the batches add to it.
double decay_error(const Array& got, const std::vector<Array>& parts) {
  double most = 0;
  for (std::int64_t c = 0; c < got.count(); ++c) {
    double exact = 0, size = 0;
    for (const Array& part : parts) {
      exact += part.real(c);
      size += std::abs(part.real(c));
    }
    most = std::max(most, std::abs(got.real(c) - exact) / size);
  }
  return most;
}

TEST(CudaHandWkv, TheDecaysGradientIsExactWhereItIsTinyToo) {
  constexpr int kBatches = 6, kChannels = 64;
  constexpr double kMost = 64 * 0x1p-24;
  for (int time : {16, 23, 40, 64}) {
    SCOPED_TRACE(str(time, " steps"));
    const std::string text = gradient_operands(kBatches, time, kChannels, 1, false, false);
    HandCase c(ops::wkv_backward, sample_from(ops::wkv_backward, text), DType::f32);
    for (int i = 0; i < kChannels; ++i) {  // as RWKV-4 begins: from -e^-5 to -e^3
      c.feeds[2].set(i, -std::exp(-5 + 8 * std::pow(i / (kChannels - 1.0), 0.7)));
      c.feeds[3].set(i, std::log(0.3) + 0.5 * ((i + 1) % 3 - 1));
    }
    std::vector<Array> parts;
    const std::string one = gradient_operands(1, time, kChannels, 1, false, false);
    for (int b = 0; b < kBatches; ++b) {
      HandCase wide(ops::wkv_backward, sample_from(ops::wkv_backward, one), DType::f64);
      for (std::size_t n = 0; n < c.feeds.size(); ++n) {
        const std::int64_t count = wide.feeds[n].count();
        const std::int64_t first = count == c.feeds[n].count() ? 0 : b * count;
        for (std::int64_t i = 0; i < count; ++i) wide.feeds[n].set(i, c.feeds[n].real(first + i));
      }
      parts.push_back(evaluate(wide.node(), wide.inputs())[2]);
    }
    const double cpu = decay_error(cpu::run_hand(c.node(), c.inputs()).outputs[2], parts);
    const double got = decay_error(run(c.node(), c.inputs()).outputs[2], parts);
    EXPECT_LE(cpu, kMost);
    EXPECT_LE(got, kMost);
  }
}

TEST(CudaHandWkv, ResultsThatNobodyReadsAreLeftOut) {
  const std::string text = gradient_operands(2, 20, 5, 3, true, true);
  const HandCase c(ops::wkv_backward, sample_from(ops::wkv_backward, text), DType::f32);
  const auto all = run(c.node(), c.inputs()).outputs;
  for (int i = 0; i < static_cast<int>(all.size()); ++i) {
    const auto which = static_cast<std::size_t>(i);
    EXPECT_TRUE(run(c.node(), c.inputs(), i).outputs[which].same_bits(all[which])) << i;
  }
}

TEST(CudaHandWkv, InfinitiesMeanWhatTheyDoInTheReference) {
  for (double bad :
       {static_cast<double>(INFINITY), static_cast<double>(-INFINITY), static_cast<double>(NAN)}) {
    for (int operand : {0, 6}) {
      for (int time : {4, 40}) {
        SCOPED_TRACE(str(bad, " in operand ", operand, " of ", time, " steps"));
        const Sample sample = sample_from(ops::wkv, wkv_operands(1, time, 3, 2, true));
        HandCase c(ops::wkv, sample, DType::f32);
        c.feeds[static_cast<std::size_t>(operand)].set(1, bad);
        const auto expected = evaluate(c.node(), c.inputs());
        const auto got = run(c.node(), c.inputs()).outputs;
        for (std::size_t i = 0; i < got.size(); ++i) expect_wkv_near(got[i], expected[i], c);
      }
    }
  }
}

}  // namespace
}  // namespace plait::cuda
