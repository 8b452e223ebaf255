// wkv and its gradient against the reference, which is in double: tolerances from the number of
// steps and the size of the exponents; odd sizes, infinities, and the same bits from every
// instruction set.
#include "backends/cpu/hand/lanes.h"
#include "ops/wkv.h"
#include "tests/backends/hand_case.h"

namespace plait::cpu {
namespace {

double epsilon(DType t) { return t == DType::f64 ? 0x1p-53 : 0x1p-24; }
double half_ulp(DType t) { return t == DType::f16 ? 0x1p-11 : t == DType::bf16 ? 0x1p-8 : 0; }

double largest(const Array& a) {
  double most = 0;
  for (std::int64_t i = 0; i < a.count(); ++i) {
    if (std::isfinite(a.real(i))) most = std::max(most, std::abs(a.real(i)));
  }
  return most;
}

/// What the reference makes of the case's values in double, not rounded to their dtype.
std::vector<Array> in_double(const Op& op, const Sample& sample, const HandCase& c) {
  HandCase wide(op, sample, DType::f64);
  for (std::size_t i = 0; i < c.feeds.size(); ++i) wide.feeds[i] = c.feeds[i].cast(DType::f64);
  return evaluate(wide.node(), wide.inputs());
}

/// Every step rounds o, an exponent, once: after T steps the weights are off by T ulps of the
/// largest exponent, beside about 16 roundings of each step's own. Their effect is linear in the
/// values, whose size is that of the largest. Halves are rounded once more, at the end.
void expect_near(const Array& got, const Array& expected, const HandCase& c) {
  const DType t = got.dtype();
  const double steps = static_cast<double>(c.feeds[0].sizes()[1]);
  const double exponent = largest(c.feeds[0]) + largest(c.feeds[2]) + largest(c.feeds[3]) + 1;
  const double inner = epsilon(t) * (16 + 2 * steps * exponent);
  const double scale = std::max(1.0, largest(expected));
  const Array rounded = expected.cast(t);
  ASSERT_EQ(got.sizes(), expected.sizes());
  for (std::int64_t i = 0; i < got.count(); ++i) {
    const double x = got.real(i), y = expected.real(i);
    if (x == rounded.real(i) || (std::isnan(x) && std::isnan(y))) continue;
    ASSERT_LE(std::abs(x - y), inner * scale + half_ulp(t) * std::max(0x1p-14, std::abs(y)))
        << "element " << i << ": " << x << " for " << y;
  }
}

void expect_reference(const Op& op, const Sample& sample) {
  for (DType real : {DType::f64, DType::f32, DType::f16, DType::bf16}) {
    SCOPED_TRACE(str(op.name, "(", sample.text, ") as ", real));
    const HandCase c(op, sample, real);
    const auto expected = in_double(op, sample, c);
    const auto got = run_hand(c.node(), c.inputs()).outputs;
    const auto again =
        run_hand(c.node(), c.inputs(), {.backwards = true, .only = {}, .dirt = 0x7f}).outputs;
    for (std::size_t i = 0; i < got.size(); ++i) {
      SCOPED_TRACE(str("output ", i));
      expect_near(got[i], expected[i], c);
      EXPECT_TRUE(again[i].same_bits(got[i])) << "tasks in another order";
      const auto alone = run_hand(c.node(), c.inputs(), {.only = static_cast<int>(i)}).outputs;
      EXPECT_TRUE(alone[i].same_bits(got[i])) << "the others left out";
    }
  }
}

/// wkv's operands at a size; k from [-k, k].
std::string wkv_text(int b, int t, int c, int k, bool state) {
  const std::string row = str("[", b, ",", t, ",", c, "]"), lane = str("[", b, ",", c, "]");
  std::string text =
      str("f32", row, "{-", k, "..", k, "}, f32", row, ", f32[", c, "]{-2..-0.01}, f32[", c, "]");
  if (state) return str(text, ", f32", lane, ", f32", lane, "{0.5..2}, f32", lane);
  return text;
}
std::string gradient_text(int b, int t, int c, int k, bool state) {
  const std::string lane = str(", f32[", b, ",", c, "]");
  return str(wkv_text(b, t, c, k, state), state ? "" : ", _, _, _", ", f32[", b, ",", t, ",", c,
             "]", lane, lane, lane);
}

struct Size {
  int b, t, c;
};
constexpr Size kSizes[] = {{3, 1, 1},    {2, 17, 7},  {2, 40, 33},
                           {1, 70, 130}, {2, 9, 128}, {1, 300, 16}};

TEST(HandWkv, SamplesAgreeWithTheReference) {
  for (const Op* op : {&ops::wkv, &ops::wkv_backward}) {
    for (const Sample& sample : samples_of(*op)) expect_reference(*op, sample);
  }
}

TEST(HandWkv, OddSizesAgreeWithTheReference) {
  for (const Size& s : kSizes) {
    for (int k : {3, 60}) {
      for (bool state : {false, true}) {
        expect_reference(ops::wkv, sample_from(ops::wkv, wkv_text(s.b, s.t, s.c, k, state)));
        expect_reference(ops::wkv_backward,
                         sample_from(ops::wkv_backward, gradient_text(s.b, s.t, s.c, k, state)));
      }
    }
  }
}

/// The rows (operands 0, 1 and 7) as halves, all else f32.
std::string with_half_rows(const std::string& text, DType half, const Size& s) {
  const std::string row = str("[", s.b, ",", s.t, ",", s.c, "]");
  std::string out = text;
  for (std::size_t i = 0; (i = out.find("f32" + row, i)) != std::string::npos; ++i) {
    out.replace(i, 3, name_of(half));
  }
  return out;
}

TEST(HandWkv, HalvesBesideFloatsAgreeWithTheReference) {
  for (const Size& s : kSizes) {
    for (DType half : {DType::f16, DType::bf16}) {
      for (const Op* op : {&ops::wkv, &ops::wkv_backward}) {
        const std::string text = op == &ops::wkv ? wkv_text(s.b, s.t, s.c, 3, true)
                                                 : gradient_text(s.b, s.t, s.c, 3, true);
        SCOPED_TRACE(str(op->name, "(", text, ") with rows of ", half));
        const HandCase c(*op, sample_from(*op, with_half_rows(text, half, s)), DType::f32);
        const auto expected = in_double(*op, sample_from(*op, text), c);
        const auto got = run_hand(c.node(), c.inputs()).outputs;
        for (std::size_t i = 0; i < got.size(); ++i) {
          SCOPED_TRACE(str("output ", i));
          EXPECT_EQ(got[i].dtype(), i < (op == &ops::wkv ? 1 : 2) ? half : DType::f32);
          expect_near(got[i], expected[i], c);
        }
      }
    }
  }
}

TEST(HandWkv, InfinitiesMeanWhatTheyDoInTheReference) {
  const double inf = INFINITY;
  for (double bad : {inf, -inf, static_cast<double>(NAN)}) {
    for (int operand : {0, 6}) {
      SCOPED_TRACE(str(bad, " in operand ", operand));
      HandCase c(ops::wkv, sample_from(ops::wkv, wkv_text(1, 4, 3, 2, true)), DType::f32);
      c.feeds[static_cast<std::size_t>(operand)].set(1, bad);
      const auto expected = evaluate(c.node(), c.inputs());
      const auto got = run_hand(c.node(), c.inputs()).outputs;
      for (std::size_t i = 0; i < got.size(); ++i) {
        SCOPED_TRACE(str("output ", i));
        expect_near(got[i], expected[i], c);
      }
    }
  }
}

TEST(HandWkv, EveryInstructionSetGivesTheSameBits) {
  const HandCase c(ops::wkv_backward,
                   sample_from(ops::wkv_backward, gradient_text(2, 21, 150, 5, true)), DType::f32);
  const WkvSizes sizes{2, 21, 150};
  std::vector<const void*> in;
  for (const Array* a : c.inputs()) in.push_back(a->data());
  const auto results = [&](const LaneKernels& lanes) {
    std::vector<std::vector<float>> all;
    std::vector<void*> out;
    for (std::size_t size : {6300, 300, 300, 300, 6300, 6300, 150, 150, 300, 300, 300}) {
      all.emplace_back(size, -7.0f);
    }
    for (auto& array : all) out.push_back(array.data());
    std::vector<float> scratch(static_cast<std::size_t>(sizes.kept()));
    for (std::int64_t i = 0; i < 2 * sizes.forward_blocks(); ++i) {
      lanes.wkv[1](sizes, i, in.data(), out.data());
    }
    for (std::int64_t i = 0; i < sizes.backward_blocks(); ++i) {
      lanes.wkv_backward[1](sizes, i, in.data(), out.data() + 4, scratch.data());
    }
    return all;
  };
  const auto plain = results(lane_kernels_sse2());
  EXPECT_EQ(std::count(plain[0].begin(), plain[0].end(), -7.0f), 0);
  EXPECT_EQ(plain, results(lane_kernels()));
  if (!__builtin_cpu_supports("avx2")) return;
  EXPECT_EQ(plain, results(lane_kernels_avx2()));
}

}  // namespace
}  // namespace plait::cpu
