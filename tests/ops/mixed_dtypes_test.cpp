// Operands of different dtypes, and numbers that a tensor's dtype cannot hold: errors, never a
// silent conversion.
#include <gtest/gtest.h>

#include <limits>
#include <set>

#include "ops/arithmetic.h"
#include "ops/builder.h"
#include "ops/compare.h"
#include "ops/index.h"
#include "ops/ops.h"
#include "ops/table.h"
#include "tests/ops/harness.h"
#include "tests/raises.h"

namespace plait {
namespace {

class MixedDtypes : public testing::Test {
 protected:
  Builder b{"mixed"};
  Tensor i = b.feed("i", DType::i64, {3}), u = b.feed("u", DType::u8, {3});
  Tensor x = b.feed("x", DType::f32, {3}), h = b.feed("h", DType::f16, {3});
  Tensor m = b.feed("m", DType::boolean, {3});

  /// The error of a call, without the line of this file.
  template <class Call>
  std::string error(Call call) {
    std::string text = test::message_of([&] { call(); });
    const std::size_t from = text.find(" ("), to = text.find(')', from);
    if (from != std::string::npos && text.find("_test.cpp:", from) < to) {
      text.erase(from, to + 1 - from);
    }
    return text;
  }
};

TEST_F(MixedDtypes, AnIntegerTensorTakesWholeNumbersOnly) {
  const std::string range =
      "i64 holds whole numbers from -9223372036854775808 to "
      "9223372036854775807. Cast the tensor first";
  EXPECT_EQ(error([&] { return i * 0.5; }), "[mul] b is 0.5 beside a tensor of i64; " + range);
  EXPECT_EQ(error([&] { return 0.5 + i; }), "[add] a is 0.5 beside a tensor of i64; " + range);
  EXPECT_EQ(error([&] { return i < 2.5; }), "[less] b is 2.5 beside a tensor of i64; " + range);
  EXPECT_EQ(error([&] { return where(m, i, 0.5); }),
            "[where] b is 0.5 beside a tensor of i64; " + range);
  EXPECT_EQ(error([&] { return u + 300; }),
            "[add] b is 300.0 beside a tensor of u8; u8 holds whole numbers from 0 to 255. Cast "
            "the tensor first");
  EXPECT_EQ((i * 2).dtype(), DType::i64);
  EXPECT_EQ((i - 2.0).dtype(), DType::i64);
  EXPECT_EQ((u + 255).dtype(), DType::u8);
}

TEST_F(MixedDtypes, AFloatTensorTakesWhatItCanHold) {
  EXPECT_EQ(error([&] { return h + 1e5; }),
            "[add] b is 1e+05 beside a tensor of f16; f16 holds nothing above 65504. Cast the "
            "tensor first");
  EXPECT_EQ(error([&] { return h + 1e-8; }),
            "[add] b is 1e-08 beside a tensor of f16; f16 holds nothing between 0 and "
            "5.96046e-08. Cast the tensor first");
  EXPECT_EQ((x + 0.1).dtype(), DType::f32);
  EXPECT_EQ((h * -std::numeric_limits<double>::infinity()).dtype(), DType::f16);
}

TEST_F(MixedDtypes, ANumberKnowsItsLine) {
  const std::string text = test::message_of([&] { return i * 0.5; });
  EXPECT_NE(text.find("mixed_dtypes_test.cpp:"), std::string::npos) << text;
}

TEST_F(MixedDtypes, TensorsOfTwoDtypes) {
  EXPECT_EQ(error([&] { return i * x; }),
            "[mul] operand dtypes differ: a is i64[3], b is f32[3]. Cast one of them");
  EXPECT_EQ(error([&] { return x + h; }),
            "[add] operand dtypes differ: a is f32[3], b is f16[3]. Cast one of them");
  EXPECT_EQ(error([&] { return i - u; }),
            "[sub] operand dtypes differ: a is i64[3], b is u8[3]. Cast one of them");
  EXPECT_EQ(error([&] { return where(m, i, x); }),
            "[where] operand dtypes differ: condition is bool[3], a is i64[3], b is f32[3]. Cast "
            "one of them");
  EXPECT_THROW(m * 0.5, UserError);
}

TEST_F(MixedDtypes, ConstantsOfTheBuilder) {
  EXPECT_EQ(error([&] { return b.constant(0.5, DType::i8); }),
            "[constant] 0.5 cannot be i8: i8 holds whole numbers from -128 to 127");
  EXPECT_THROW(b.full(2, DType::boolean, {3}), UserError);
  EXPECT_EQ(b.full(-3, DType::i8, {3}).dtype(), DType::i8);
}

/// Whether inference takes the sample with these operand types.
bool is_taken(const Op& op, const Sample& sample) {
  try {
    sample_graph(op, sample, DType::f32);
    return true;
  } catch (const UserError&) {
    return false;
  }
}

class MixedOperands : public testing::TestWithParam<const Op*> {};

/// What an entry takes on purpose: half values beside f32 parameters or moments, a rate of any
/// float, indices of either width beside values of any dtype.
bool is_meant(const Op& op, std::size_t operand, DType dtype) {
  const std::set<std::string_view> norms{"batch_norm", "batch_norm_inference", "group_norm",
                                         "layer_norm", "rms_norm"};
  const std::set<std::string_view> updates{"adam_update", "sgd_update"};
  const std::set<std::string_view> indexed{"gather", "scatter_columns", "take_along"};
  if (norms.contains(op.name)) return operand == 0 && is_half(dtype);
  if (updates.contains(op.name)) {
    return (operand == 0 && is_half(dtype)) || (operand == 2 && is_float(dtype));
  }
  return indexed.contains(op.name) && (operand == 0 || is_int(dtype));
}

// Every op of the table: where two operands share a dtype, none of them may have another one alone.
TEST_P(MixedOperands, AreRefused) {
  const Op& op = *GetParam();
  for (const Sample& sample : samples_of(op)) {
    ASSERT_TRUE(is_taken(op, sample)) << sample.text;
    for (std::size_t k = 0; k < sample.operands.size(); ++k) {
      const DType own = sample.operands[k].type.dtype;
      bool shared = false;
      for (std::size_t j = 0; j < sample.operands.size(); ++j) {
        const SampleOperand& o = sample.operands[j];
        shared |= j != k && !o.absent && o.type.dtype == own;
      }
      if (sample.operands[k].absent || !shared) continue;
      for (const DType other : {DType::f64, DType::f16, DType::bf16, DType::i64, DType::i8}) {
        if (other == own || is_meant(op, k, other)) continue;
        Sample mixed = sample;
        mixed.operands[k].type.dtype = other;
        EXPECT_FALSE(is_taken(op, mixed))
            << sample.text << " with operand " << k << " as " << other;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Table, MixedOperands,
                         testing::ValuesIn(all_ops().begin(), all_ops().end()),
                         [](const auto& info) { return std::string(info.param->name); });

}  // namespace
}  // namespace plait
