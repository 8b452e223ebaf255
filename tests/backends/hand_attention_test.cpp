// attention and its gradient against their composites in double: random shapes with every feature,
// every dtype and instruction set (AMX on emulated tiles), the same bits in any order of the tasks.
#include <random>

#include "backends/cpu/contract/blocking.h"
#include "backends/cpu/hand/attention.h"
#include "backends/cpu/hand/attention_lanes.h"
#include "backends/cpu/pool.h"
#include "ops/attention.h"
#include "tests/backends/contract_emulated.h"
#include "tests/backends/hand_case.h"

namespace plait::cpu {
namespace {

struct Instructions {
  std::string name;
  const Kernels* kernels;
  const AttentionLanes* lanes;
};

std::vector<Instructions> instructions(DType dtype) {
  const Isa best = detect_isa();
  std::vector<Instructions> all{{"portable", &portable_kernels(), &attention_lanes_portable()}};
  if (best >= Isa::kAvx2) all.push_back({"avx2", &avx2_kernels(), &attention_lanes_avx2()});
  if (best >= Isa::kAvx512) all.push_back({"avx512", &avx512_kernels(), &attention_lanes_avx512()});
  all.push_back({"emulated amx", &emulated_amx_kernels(), &attention_lanes_portable()});
  if (best >= Isa::kAvx512Bf16) {
    all.push_back({"emulated amx, lanes of avx512bf16", &emulated_amx_kernels(),
                   &attention_lanes_avx512bf16()});
  }
  if (best >= Isa::kAvx512Bf16 && dtype == DType::bf16) {
    all.push_back({"avx512bf16", &avx512bf16_kernels(), &attention_lanes_avx512bf16()});
  }
  if (best >= Isa::kAmx) all.push_back({"amx", &amx_kernels(), &attention_lanes_avx512bf16()});
  return all;
}

/// An attention as sample text, of rows in one dtype and what is f32 beside halves in another.
struct Case {
  int batch = 1, heads = 2, kv_heads = 2, queries = 40, keys = 40, depth = 32, value_depth = 32;
  std::string mask = "_", slopes = "_", offsets = "_", attrs = "scale=0.2";
  bool dropout = false, dlse = false;

  static std::string type(std::string_view dtype, std::initializer_list<int> sizes) {
    std::string text;
    for (int s : sizes) text += (text.empty() ? "" : ",") + std::to_string(s);
    return str(dtype, "[", text, "]");
  }
  /// In a mask's and the slopes' text ROWS stands for the dtype of rows, WIDE for the other.
  std::string text(bool backward, std::string_view rows, std::string_view wide) const {
    std::string all = str(type(rows, {batch, heads, queries, depth}), ", ",
                          type(rows, {batch, kv_heads, keys, depth}), ", ",
                          type(rows, {batch, kv_heads, keys, value_depth}));
    const std::string y = type(rows, {batch, heads, queries, value_depth});
    const std::string lse = type(wide, {batch, heads, queries});
    if (backward) all += str(", ", y, ", ", lse, ", ", y);
    all += str(", ", mask, ", ", slopes, ", ", offsets, ", ", dropout ? "i64[2]{0..1000}" : "_");
    if (backward) all += str(", ", dlse ? lse : "_");
    all += " | " + attrs;
    const auto replace = [&](std::string_view word, std::string_view by) {
      for (std::size_t i; (i = all.find(word)) != std::string::npos;) {
        all.replace(i, word.size(), by);
      }
    };
    replace("ROWS", rows);
    replace("WIDE", wide);
    return all;
  }
};

Case random_case(std::mt19937& random) {
  const auto upto = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  const auto maybe = [&](int n) { return upto(n) == 0; };
  constexpr int kDepths[] = {1, 3, 16, 32, 33, 64, 80, 100};
  Case c;
  c.batch = 1 + upto(2);
  c.kv_heads = 1 + upto(2);
  c.heads = c.kv_heads * (1 + upto(3));
  c.queries = 2 + upto(maybe(4) ? 300 : 70);
  c.keys = maybe(2) ? c.queries : 2 + upto(maybe(4) ? 600 : 70);
  c.depth = kDepths[upto(8)];
  c.value_depth = maybe(2) ? c.depth : kDepths[upto(8)];
  c.attrs = maybe(6) ? "scale=-0.3" : str("scale=", 1 / std::sqrt(c.depth));
  if (maybe(2)) c.attrs += ", causal=true";
  if (maybe(3)) c.attrs += str(", offset=", upto(40) - 20);
  if (maybe(3)) c.attrs += str(", window=", 1 + upto(70));
  if (maybe(4)) c.slopes = str(maybe(2) ? "ROWS[" : "WIDE[", c.heads, "]{0..0.3}");
  const std::string shape = str("[", maybe(2) ? c.batch : 1, ",", maybe(2) ? c.heads : 1, ",",
                                maybe(2) ? c.queries : 1, ",", maybe(4) ? 1 : c.keys, "]");
  if (maybe(3)) c.mask = (maybe(2) ? "ROWS" : "WIDE") + shape;
  if (maybe(4)) c.mask = "bool" + shape;
  if (c.queries == c.keys && maybe(2)) {
    const std::string each = maybe(2) ? str(c.batch, ",") : "";
    c.offsets = str(maybe(2) ? "i64[" : "i32[", each, 1 + upto(5), "]{-9..", c.keys + 9, "}");
  }
  c.dropout = maybe(4);
  if (c.dropout) c.attrs += str(", dropout=0.", 1 + upto(7), ", stream=", upto(5));
  c.dlse = maybe(2);
  return c;
}

double tolerance(DType dtype) {
  return dtype == DType::f64   ? 1e-12
         : dtype == DType::f32 ? 3e-5
         : dtype == DType::f16 ? 6e-3
                               : 4e-2;
}

/// Within so many parts of the largest, or both NaN.
void expect_near(const Array& got, const Array& expected, double bound) {
  ASSERT_EQ(got.sizes(), expected.sizes());
  double largest = 0.1;
  for (std::int64_t i = 0; i < expected.count(); ++i) {
    if (std::isfinite(expected.real(i))) largest = std::max(largest, std::abs(expected.real(i)));
  }
  for (std::int64_t i = 0; i < got.count(); ++i) {
    const double x = got.real(i), y = expected.real(i);
    if (x == y || (std::isnan(x) && std::isnan(y))) continue;
    ASSERT_LE(std::abs(x - y), bound * largest) << "element " << i << ": " << x << " for " << y;
  }
}

/// The operands of a case: floats rounded to the dtypes, and the same numbers in double. What the
/// forward gives the backward is its result.
struct Both {
  HandCase own, wide;
  Both(const Op& op, const Case& c, DType rows, bool backward)
      : own(op, sample_from(op, c.text(backward, name_of(rows), name_of(compute_dtype(rows)))),
            DType::f32),
        wide(op, sample_from(op, c.text(backward, "f64", "f64")), DType::f64) {
    if (backward) {
      const Both forward(ops::attention, c, rows, false);
      const auto given = evaluate(forward.wide.node(), forward.wide.inputs());
      for (std::size_t i = 0; i < 3; ++i) own.feeds[i] = forward.own.feeds[i];
      for (std::size_t i = 3; i < forward.own.feeds.size(); ++i) {
        own.feeds[i + 3] = forward.own.feeds[i];
      }
      own.feeds[3] = given[0].cast(rows);
      own.feeds[4] = given[1].cast(compute_dtype(rows));
    }
    for (std::size_t i = 0; i < own.feeds.size(); ++i) {
      const DType dtype = own.feeds[i].dtype();
      wide.feeds[i] = is_float(dtype) ? own.feeds[i].cast(DType::f64) : own.feeds[i];
    }
  }
};

void expect_composite(const Op& op, const Case& c, DType rows) {
  const bool backward = op.name == ops::attention_backward.name;
  SCOPED_TRACE(c.text(backward, name_of(rows), name_of(compute_dtype(rows))));
  const Both both(op, c, rows, backward);
  const NodeView node = both.own.node();
  const auto expected = evaluate(both.wide.node(), both.wide.inputs());
  const auto check = [&](const HandKernel& kernel) {
    const auto got = run_hand(kernel, node, both.own.inputs()).outputs;
    const auto again =
        run_hand(kernel, node, both.own.inputs(), {.backwards = true, .only = {}, .dirt = 0x7f})
            .outputs;
    for (std::size_t i = 0; i < got.size(); ++i) {
      SCOPED_TRACE(str("output ", i));
      const bool lse = !backward && i == 1;
      expect_near(got[i], expected[i], lse && rows != DType::f64 ? 3e-5 : tolerance(rows));
      EXPECT_TRUE(again[i].same_bits(got[i])) << "tasks in another order";
      const auto alone =
          run_hand(kernel, node, both.own.inputs(), {.only = static_cast<int>(i)}).outputs;
      EXPECT_TRUE(alone[i].same_bits(got[i])) << "the others left out";
    }
  };
  check(*find_hand(op.name)->make(node));
  if (rows == DType::f64) return;
  for (const Instructions& on : instructions(rows)) {
    SCOPED_TRACE(on.name);
    check(*attention_kernel(node, {attention_shape(node), *on.kernels, *on.lanes}));
  }
}

constexpr DType kRows[] = {DType::f64, DType::f32, DType::f16, DType::bf16};

TEST(HandAttention, RandomShapesAgreeWithTheComposite) {
  std::mt19937 random(5);
  for (int i = 0; i < 12; ++i) {
    const Case c = random_case(random);
    for (DType rows : kRows) expect_composite(ops::attention, c, rows);
  }
}

TEST(HandAttention, RandomGradientsAgreeWithTheComposite) {
  std::mt19937 random(6);
  for (int i = 0; i < 12; ++i) {
    const Case c = random_case(random);
    for (DType rows : kRows) expect_composite(ops::attention_backward, c, rows);
  }
}

TEST(HandAttention, SamplesAgreeWithTheComposite) {
  for (const Sample& sample : samples_of(ops::attention)) {
    for (DType rows : kRows) {
      SCOPED_TRACE(str(sample.text, " as ", rows));
      const HandCase own(ops::attention, sample, rows);
      HandCase wide(ops::attention, sample, DType::f64);
      for (std::size_t i = 0; i < own.feeds.size(); ++i) {
        const DType dtype = own.feeds[i].dtype();
        wide.feeds[i] = is_float(dtype) ? own.feeds[i].cast(DType::f64) : own.feeds[i];
      }
      const auto expected = evaluate(wide.node(), wide.inputs());
      const auto got = run_hand(own.node(), own.inputs()).outputs;
      for (std::size_t i = 0; i < got.size(); ++i) {
        expect_near(got[i], expected[i], tolerance(rows));
      }
    }
  }
}

TEST(HandAttention, NoKeysGiveZeros) {
  for (DType rows : kRows) {
    SCOPED_TRACE(rows);
    const Sample sample =
        sample_from(ops::attention, str(rows, "[2,3,4], ", rows, "[2,0,4], ", rows, "[2,0,5]"));
    const HandCase c(ops::attention, sample, DType::f32);
    const auto expected = evaluate(c.node(), c.inputs());
    const auto got = run_hand(c.node(), c.inputs()).outputs;
    for (std::size_t i = 0; i < 2; ++i) EXPECT_TRUE(got[i].same_bits(expected[i]));
  }
}

TEST(HandAttention, ScoresBelowEveryOtherAreAsLikelyAsEachOther) {
  Case c;
  c.mask = "WIDE[40,40]";
  for (DType rows : {DType::f32, DType::bf16}) {
    Both both(ops::attention, c, rows, false);
    for (HandCase* x : {&both.own, &both.wide}) {
      for (std::int64_t i = 0; i < 40; ++i) x->feeds[3].set(i, -3.4e38);  // all of the first row
    }
    const auto expected = evaluate(both.wide.node(), both.wide.inputs());
    const auto got = run_hand(both.own.node(), both.own.inputs()).outputs;
    expect_near(got[0], expected[0], tolerance(rows));
  }
}

TEST(HandAttention, InfinitiesReachWhatReadsThem) {
  Case c;
  c.batch = 2;
  c.queries = c.keys = 70;
  c.attrs = "scale=0.2, causal=true";
  for (const Op* op : {&ops::attention, &ops::attention_backward}) {
    for (DType rows : {DType::f32, DType::f16, DType::bf16}) {
      Both both(*op, c, rows, op == &ops::attention_backward);
      for (HandCase* x : {&both.own, &both.wide}) x->feeds[2].set(5, INFINITY);
      const auto expected = evaluate(both.wide.node(), both.wide.inputs());
      for (const Instructions& on : instructions(rows)) {
        SCOPED_TRACE(str(op->name, " of ", rows, " with ", on.name));
        const NodeView node = both.own.node();
        const auto kernel = attention_kernel(node, {attention_shape(node), *on.kernels, *on.lanes});
        const auto got = run_hand(*kernel, node, both.own.inputs()).outputs;
        for (std::size_t i = 0; i < got.size(); ++i) {
          for (std::int64_t j = 0; j < got[i].count(); ++j) {
            const bool finite = std::isfinite(got[i].real(j));
            ASSERT_EQ(finite, std::isfinite(expected[i].real(j))) << "output " << i << ", " << j;
            if (!finite) continue;
            ASSERT_NEAR(got[i].real(j), expected[i].real(j), 4 * tolerance(rows));
          }
        }
      }
    }
  }
}

TEST(HandAttention, ThreadsChangeNoBit) {
  Case c;
  c.batch = 1, c.heads = 2, c.kv_heads = 1, c.queries = 300, c.keys = 1100;
  for (DType rows : {DType::f32, DType::bf16}) {
    const Both both(ops::attention_backward, c, rows, true);
    const NodeView node = both.own.node();
    const auto kernel = find_hand(node.op.name)->make(node);
    ASSERT_GT(kernel->tasks(), 2);
    ASSERT_GT(kernel->finish_tasks(), 1);
    const auto expected = run_hand(node, both.own.inputs()).outputs;
    for (int threads : {1, 2, 3}) {
      std::vector<Array> got;
      std::vector<const void*> in;
      std::vector<void*> out;
      for (const Array* a : both.own.inputs()) in.push_back(a ? a->data() : nullptr);
      for (const ir::Type& t : node.outputs) got.emplace_back(t.dtype, sizes_of(t.shape));
      for (Array& a : got) out.push_back(a.data());
      HandBytes shared(kernel->shared_bytes(), 0x5a);
      std::vector<HandBytes> scratch;
      for (int i = 0; i < threads; ++i) scratch.emplace_back(kernel->scratch_bytes(), 0xa5);
      const auto memory = [&](int thread) {
        return HandMemory{scratch[static_cast<std::size_t>(thread)].at, shared.at};
      };
      Pool pool(threads, false);
      pool.each(kernel->tasks(), [&](std::int64_t task, int thread) {
        kernel->run(task, in.data(), out.data(), memory(thread));
      });
      pool.each(kernel->finish_tasks(), [&](std::int64_t task, int thread) {
        kernel->finish(task, in.data(), out.data(), memory(thread));
      });
      for (std::size_t i = 0; i < got.size(); ++i) EXPECT_TRUE(got[i].same_bits(expected[i]));
    }
  }
}

}  // namespace
}  // namespace plait::cpu
