// Hand kernels against the reference: every op of the table on its samples and on sizes that take
// several tasks. All but wkv and normal give the reference's bits.
#include "backends/cpu/hand/lanes.h"
#include "base/philox.h"
#include "ops/index.h"
#include "ops/random.h"
#include "ops/scan.h"
#include "tests/backends/hand_case.h"
#include "tests/raises.h"

namespace plait::cpu {
namespace {

const Op* const kExact[] = {
    &ops::scatter_add, &ops::scatter_add_along, &ops::scatter_columns, &ops::cumsum,
    &ops::cumprod,     &ops::linear_scan,       &ops::argmax,          &ops::argmin,
    &ops::uniform,     &ops::bernoulli};

void expect_reference_bits(const Op& op, const Sample& sample) {
  for (DType real : dtypes_of(sample)) {
    SCOPED_TRACE(str(op.name, "(", sample.text, ") as ", real));
    const HandCase c(op, sample, real);
    const auto expected = evaluate(c.node(), c.inputs());
    const auto got = run_hand(c.node(), c.inputs());
    EXPECT_EQ(got.wrong, "");
    EXPECT_TRUE(got.outputs[0].same_bits(expected[0]));
    const auto again =
        run_hand(c.node(), c.inputs(), {.backwards = true, .only = {}, .dirt = 0x3c});
    EXPECT_TRUE(again.outputs[0].same_bits(expected[0])) << "tasks in another order";
  }
}

TEST(Hand, EveryWrittenOutOpHasAKernel) {
  for (const Op* op : all_ops()) {
    if (!op->eval || op->name == "constant") continue;
    ASSERT_NE(find_hand(op->name), nullptr) << op->name;
    EXPECT_EQ(find_hand(op->name)->op, op->name);
  }
  EXPECT_EQ(find_hand("matmul"), nullptr);
}

TEST(Hand, SamplesGiveTheReferencesBits) {
  for (const Op* op : kExact) {
    for (const Sample& sample : samples_of(*op)) expect_reference_bits(*op, sample);
  }
}

TEST(Hand, IntegersOfEveryDTypeGiveTheReferencesBits) {
  for (const char* dtype : {"i64", "i32", "i16", "i8", "u8"}) {
    for (const Op* op : {&ops::cumsum, &ops::cumprod, &ops::argmax, &ops::argmin}) {
      expect_reference_bits(*op, sample_from(*op, str(dtype, "[3,9,70]{0..100} | axis=1")));
    }
    expect_reference_bits(ops::scatter_add,
                          sample_from(ops::scatter_add, str(dtype, "[4,3]{0..100}, i64[30]{0..4}, ",
                                                            dtype, "[30,3]{0..100}")));
    const std::string columns = str(dtype, "[2,3,40]{0..100}, i32[2,40] | depth=5");
    expect_reference_bits(ops::scatter_columns, sample_from(ops::scatter_columns, columns));
  }
}

TEST(Hand, SeveralTasksGiveTheReferencesBits) {
  const std::pair<const Op*, const char*> cases[] = {
      {&ops::scatter_add, "f32[2500,130], i64[300]{0..2500}, f32[300,130]"},
      {&ops::scatter_add, "f32[3,200,257], i32[5,7]{0..200}, f32[3,5,7,257] | axis=1"},
      {&ops::scatter_add, "f32[140000], i64[90]{0..3}, f32[90]"},
      {&ops::scatter_add_along, "f32[4,20000], i64[4,50]{0..9}, f32[4,50]"},
      {&ops::scatter_add_along, "f32[300,150], i64[40,150]{0..300}, f32[40,150] | axis=0"},
      {&ops::scatter_columns, "f32[2,50,30], i64[2,30]{0..20} | depth=9000"},
      {&ops::cumsum, "f32[5,300,70] | axis=1, reverse=true"},
      {&ops::cumsum, "f32[600,130]"},
      {&ops::cumprod, "f32[3,40,700]{0.9..1.1} | axis=1, exclusive=true"},
      {&ops::linear_scan, "f32[9,80,130]{-1..1}, f32[9,80,130] | axis=1"},
      {&ops::argmax, "f32[30,5000]"},
      {&ops::argmin, "f32[500,3,65] | axis=0"},
      {&ops::argmax, "i8[300,300]{-100..100}"},
      {&ops::uniform, "i64[2]{0..1000} | shape=[40001], lo=-1.0, hi=3.0"},
      {&ops::uniform, "i64[2]{0..1000} | shape=[20001], dtype=bf16"},
      {&ops::bernoulli, "i64[2]{0..1000} | shape=[40001], p=0.3"},
      {&ops::bernoulli, "i64[2]{0..1000} | shape=[40001], p=0.5"},
  };
  for (const auto& [op, text] : cases) {
    const Sample sample = sample_from(*op, text);
    const HandCase c(*op, sample, DType::f32);
    EXPECT_GT(find_hand(op->name)->make(c.node())->tasks(), 1) << text;
    expect_reference_bits(*op, sample);
  }
}

TEST(Hand, ExtremumsPutNanFirst) {
  const Sample sample = sample_from(ops::argmax, "f32[2,5]");
  for (DType real : {DType::f64, DType::f32, DType::f16, DType::bf16}) {
    HandCase c(ops::argmax, sample, real);
    c.feeds[0] = Array::of(real, {2, 5}, {1, 3, NAN, 9, NAN, 2, 7, 7, -1, 0});
    const auto got = run_hand(c.node(), c.inputs()).outputs[0];
    EXPECT_EQ(got.integer(0), 2);
    EXPECT_EQ(got.integer(1), 1);
    EXPECT_TRUE(got.same_bits(evaluate(c.node(), c.inputs())[0]));
  }
}

TEST(Hand, ScatterAddTakesNoOperandForZeros) {
  const HandCase c(ops::scatter_add,
                   sample_from(ops::scatter_add, "f32[5,3]{0..0}, i64[4], f32[4,3]"), DType::f32);
  auto inputs = c.inputs();
  const auto expected = evaluate(c.node(), inputs);
  inputs[0] = nullptr;
  EXPECT_TRUE(run_hand(c.node(), inputs).outputs[0].same_bits(expected[0]));
}

TEST(Hand, AnIndexOutOfRangeIsTheReferencesComplaint) {
  const std::pair<const Op*, const char*> cases[] = {
      {&ops::scatter_add, "f32[5,3], i64[4], f32[4,3]"},
      {&ops::scatter_add, "f32[5,3], i32[4], f32[4,3]"},
      {&ops::scatter_add_along, "f32[3,5], i64[3,2], f32[3,2]"},
      {&ops::scatter_add_along, "f32[3,5], i32[3,1], f32[3,1]"},
      {&ops::scatter_columns, "f32[2,3,4], i64[2,4] | depth=5"}};
  for (const auto& [op, text] : cases) {
    for (std::int64_t bad : {-1, 5}) {
      HandCase c(*op, sample_from(*op, text), DType::f32);
      c.feeds[1].set_integer(2, bad);
      const std::string wrong = run_hand(c.node(), c.inputs()).wrong;
      EXPECT_EQ(wrong, str("index ", bad, " is outside [0, 5)"));
      EXPECT_NE(test::message_of<RunError>([&] { evaluate(c.node(), c.inputs()); }).find(wrong),
                std::string::npos);
    }
  }
}

TEST(Hand, NormalsAgreeWithTheReference) {
  // Computed in double: f32 and halves differ where a rounding falls the other way.
  const std::pair<const char*, double> cases[] = {
      {"f64", 1e-14}, {"f32", 0x1p-23}, {"f16", 0x1p-10}, {"bf16", 0x1p-7}};
  for (const auto& [dtype, bound] : cases) {
    const std::string text =
        str("i64[2]{0..1000} | shape=[40001], mean=0.5, std=2.0, stream=3, dtype=", dtype);
    const HandCase c(ops::normal, sample_from(ops::normal, text), DType::f32);
    const Array expected = evaluate(c.node(), c.inputs())[0];
    const Array got = run_hand(c.node(), c.inputs()).outputs[0];
    int different = 0;
    for (std::int64_t i = 0; i < got.count(); ++i) {
      const double e = expected.real(i), d = std::abs(got.real(i) - e);
      ASSERT_LE(d, bound * std::max(0.5, std::abs(e))) << dtype << " element " << i;
      different += d != 0;
    }
    EXPECT_TRUE(dtype == std::string("f64") || different <= 4) << dtype << ": " << different;
  }
  for (const Sample& sample : samples_of(ops::normal)) {
    const HandCase c(ops::normal, sample, DType::f32);
    const Array expected = evaluate(c.node(), c.inputs())[0];
    const Array got = run_hand(c.node(), c.inputs()).outputs[0];
    for (std::int64_t i = 0; i < got.count(); ++i) {
      EXPECT_NEAR(got.real(i), expected.real(i), 1e-6) << sample.text;
    }
  }
}

TEST(Hand, NormalsAtTheEdgesOfTheirWords) {
  const std::uint32_t words[] = {0,          1,          2,          0x1fffffff, 0x20000000,
                                 0x3fffffff, 0x40000000, 0x5fffffff, 0x60000001, 0x7fffffff,
                                 0x80000000, 0xa0000000, 0xbfffffff, 0xc0000000, 0xdfffffff,
                                 0xe0000000, 0xffffffff, 0xb504f333, 0xb504f334, 0xfffffffe};
  for (std::uint32_t one : words) {
    for (std::uint32_t two : words) {
      double got;
      lane_kernels().normals(&one, &two, 1, &got);
      const double radius = std::sqrt(-2.0 * std::log((one + 1.0) * 0x1p-32));
      const double expected = radius * std::cos(2.0 * std::numbers::pi * (two * 0x1p-32));
      // cos of the reference takes 2 pi times a rounding: absolute errors of its angle.
      EXPECT_NEAR(got, expected, 4e-15 * std::max(radius, 1e-3)) << one << ", " << two;
    }
  }
}

std::vector<const LaneKernels*> instruction_sets() {
  std::vector<const LaneKernels*> all{&lane_kernels_sse2()};
  if (__builtin_cpu_supports("avx2")) all.push_back(&lane_kernels_avx2());
  if (&lane_kernels() == &lane_kernels_avx512()) all.push_back(&lane_kernels_avx512());
  return all;
}

TEST(Hand, WordsAreThoseOfPhiloxWithEveryInstructionSet) {
  const RandomKey key{0x123456789abcdef0, 0xfedcba9876543210, 0xffffffff};
  for (const LaneKernels* lanes : instruction_sets()) {
    for (std::uint64_t first : {std::uint64_t{0}, std::uint64_t{0xfffffff0}}) {
      for (int count : {1, 7, 33, 100}) {
        std::vector<std::uint32_t> one(101, 7), two(101, 7), three(101, 7), four(101, 7);
        lanes->random_words(key, first, count, one.data(), two.data(), three.data(), four.data());
        for (int i = 0; i < count; ++i) {
          const Philox bits = random_bits(key, first + static_cast<std::uint64_t>(i));
          ASSERT_EQ(one[static_cast<std::size_t>(i)], bits[0]);
          ASSERT_EQ(two[static_cast<std::size_t>(i)], bits[1]);
          ASSERT_EQ(three[static_cast<std::size_t>(i)], bits[2]);
          ASSERT_EQ(four[static_cast<std::size_t>(i)], bits[3]);
        }
        EXPECT_EQ(one[static_cast<std::size_t>(count)], 7u);
        EXPECT_EQ(two[static_cast<std::size_t>(count)], 7u);
        EXPECT_EQ(four[static_cast<std::size_t>(count)], 7u);
      }
    }
  }
}

}  // namespace
}  // namespace plait::cpu
