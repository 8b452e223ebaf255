// Both dialects of generated code against the interpreter: the kernels and contractions that
// planning makes of the ops' samples and of random graphs, as C and as CUDA text on the device
// under test.
#include <gtest/gtest.h>

#include <cstdlib>
#include <map>

#include "base/hash.h"
#include "base/text.h"
#include "codegen/compile.h"
#include "codegen/cuda/product.h"
#include "loop/kernel_text.h"
#include "ops/table.h"
#include "tests/codegen/run_printed.h"
#include "tests/compiled/wide_graph.h"
#include "tests/passes/random_graph.h"
#include "tests/plan/planned.h"

namespace plait::codegen {
namespace {

constexpr std::size_t kTogether = 48;  // kernels of one compilation
constexpr const char* kQuick = "-O1 -ftree-vectorize";

std::string text_of(const OracleCase& c) {
  return (c.contraction ? print(*c.contraction) : "") + (c.kernel ? print(*c.kernel) : "");
}

/// Cases of graphs, each text once.
class Cases {
 public:
  void add(const ir::Graph& graph, const std::string& where) {
    const plan::Planned planned = plan::planned_of(graph);
    for (const plan::PlannedKernel& k : planned.kernels) {
      take({where + " " + k.where, std::nullopt, k.kernel, planned.largest, {}}, k.elements);
    }
    for (const plan::PlannedProduct& p : planned.products) {
      take({where + " " + p.where, p.contraction, p.epilogue, planned.largest, {}}, p.elements);
    }
  }
  void add(const std::string& kernel, const std::vector<Dim>& elements) {
    const auto read = std::make_shared<const loop::Kernel>(loop::parse_kernel(kernel));
    take({"a kernel", std::nullopt, read, {}, {}}, elements);
  }
  const std::vector<OracleCase>& all() const { return all_; }

 private:
  void take(OracleCase c, const std::vector<Dim>& elements) {
    for (const Dim& d : elements) c.elements.push_back(evaluate(d, c.sizes));
    const bool known = !texts_.insert(fnv1a64(text_of(c))).second;
    if (!known) all_.push_back(std::move(c));
  }

  std::vector<OracleCase> all_;
  std::set<std::uint64_t> texts_;
};

/// Runs cases as one dialect and compares them.
class Checking {
 public:
  Checking(const std::vector<OracleCase>& cases, SumOrder dialect)
      : cases_(cases), dialect_(dialect) {}

  OracleCounts run() {
    for (std::size_t first = 0; first < cases_.size(); first += kTogether) {
      const std::size_t last = std::min(cases_.size(), first + kTogether);
      dialect_ == SumOrder::kC ? run_c(first, last) : run_cuda(first, last);
      if (testing::Test::HasFailure()) break;
    }
    return counts_;
  }

 private:
  /// Sizes stand in the text of every second one.
  static bool is_fixed(std::size_t i) { return i % 2 == 0; }

  void run_c(std::size_t first, std::size_t last) {
    std::vector<Printed> printed;
    std::map<std::string, std::string> texts;
    for (std::size_t i = first; i < last; ++i) {
      const OracleCase& c = cases_[i];
      printed.push_back(c.contraction
                            ? print_contraction(*c.contraction, c.kernel.get(), is_fixed(i))
                            : print_kernel(*c.kernel, is_fixed(i)));
      texts.emplace(printed.back().name, printed.back().text);
    }
    std::string source = unit_header();
    for (const auto& [name, text] : texts) source += text;
    CompileOptions options;
    options.extra_flags = kQuick;
    const Library library = build({source}, options).libraries[0];
    for (std::size_t i = first; i < last; ++i) {
      check(i, [&](std::vector<Bytes>& buffers) {
        return run_printed(printed[i - first], library, cases_[i].sizes, buffers);
      });
    }
  }

  cuda::Printed printed_for_cuda(std::size_t i) const {
    const OracleCase& c = cases_[i];
    if (!c.contraction) return cuda::print_kernel(*c.kernel, is_fixed(i));
    // Plain loops, or tiles as they suit the problem.
    const cuda::ProductOptions how{.variant = is_fixed(i) ? "simple" : ""};
    return cuda::print_product(*c.contraction, c.kernel.get(), true, how);
  }

  void run_cuda(std::size_t first, std::size_t last) {
    std::vector<cuda::Printed> printed;
    std::map<std::string, std::string> texts;
    for (std::size_t i = first; i < last; ++i) {
      printed.push_back(printed_for_cuda(i));
      texts.emplace(printed.back().name, printed.back().text);
    }
    std::string source = cuda::unit_header();
    for (const auto& [name, text] : texts) source += text;
    static const auto device = plait::test::device_under_test();
    const auto module = device->compile({source}).modules[0];
    for (std::size_t i = first; i < last; ++i) {
      check(i, [&](std::vector<Bytes>& buffers) {
        return run_printed(printed[i - first], *device, *module, cases_[i].sizes, buffers);
      });
    }
  }

  template <class Run>
  void check(std::size_t i, Run run) {
    const OracleCase& c = cases_[i];
    SCOPED_TRACE(text_of(c));
    const std::vector<Bytes> given = random_buffers(c, i + 1, i % 3 == 0, 5);
    const Oracle want = oracle_of(c, given, dialect_);
    std::vector<Bytes> got = given;
    EXPECT_EQ(run(got), bits_of(want.faults)) << c.where;
    EXPECT_EQ(difference(c, want, got, counts_), "");
  }

  const std::vector<OracleCase>& cases_;
  SumOrder dialect_;
  OracleCounts counts_;
};

/// How many random graphs to take: `usual`, or $PLAIT_SOAK.
std::uint64_t seeds(std::uint64_t usual) {
  const char* given = std::getenv("PLAIT_SOAK");
  return given ? static_cast<std::uint64_t>(parse_integer(given, "PLAIT_SOAK")) : usual;
}

/// Much is compared, most of it to the bit, and next to nothing left open.
void expect_much(const OracleCounts& counts, std::int64_t least) {
  EXPECT_GT(counts.exact + counts.compared, least);
  EXPECT_GT(counts.exact, 3 * counts.compared);
  EXPECT_GT(counts.exact + counts.compared, 200 * counts.open);
}

Cases cases_of_ops(std::size_t every) {
  Cases cases;
  constexpr DType kOthers[] = {DType::bf16, DType::f64, DType::f16};
  std::size_t turn = 0;
  for (const Op* op : all_ops()) {
    for (const ir::Graph& graph : plan::sample_graphs(*op, kOthers[op->name.size() % 3])) {
      if (turn++ % every == 0) cases.add(graph, std::string(op->name));
    }
  }
  return cases;
}

Cases cases_of_random_graphs(std::uint64_t small, std::uint64_t wide) {
  Cases cases;
  for (std::uint64_t seed = 0; seed < small; ++seed) {
    cases.add(test::random_graph(seed), str("seed ", seed));
  }
  for (std::uint64_t seed = 0; seed < wide; ++seed) {
    cases.add(test::wide_graph(seed), str("wide seed ", seed));
  }
  return cases;
}

/// Half of the samples; all of them in a soak.
Cases cases_of_ops() { return cases_of_ops(seeds(0) > 0 ? 1 : 2); }

TEST(KernelOracle, COfEveryOp) {
  expect_much(Checking(cases_of_ops().all(), SumOrder::kC).run(), 20'000);
}

TEST(KernelOracle, CudaOfEveryOp) {
  expect_much(Checking(cases_of_ops().all(), SumOrder::kCuda).run(), 20'000);
}

TEST(KernelOracle, COfRandomGraphs) {
  const Cases cases = cases_of_random_graphs(seeds(40), seeds(6));
  expect_much(Checking(cases.all(), SumOrder::kC).run(), 100'000);
}

TEST(KernelOracle, CudaOfRandomGraphs) {
  const Cases cases = cases_of_random_graphs(seeds(40), seeds(6));
  expect_much(Checking(cases.all(), SumOrder::kCuda).run(), 100'000);
}

/// Both dialects leave what is a half already unrounded, infinite paddings too; not what takes in a
/// number that is none.
TEST(KernelOracle, HalvesAreNotRoundedAgain) {
  const std::string text = R"(kernel rows($r: 40) inner($i: 24) {
    b0: bf16
    b1: bf16 written
    b2: bf16 written
    inner v0: bf16 = select(lt(x0,x1),x0,neg(x1)) with
        x0 = b0[$i+24*$r],
        x1 = b0[$i+24*$r-24] if 1 <= $r < 40 else -inf
    inner v1: bf16 = max(x0,x1) with
        x0 = b0[$i+24*$r],
        x1 = b0[$i+24*$r-24] if 1 <= $r < 40 else 0.3
    b1[$i+24*$r] = v0
    b2[$i+24*$r] = v1
  })";
  const loop::Kernel k = loop::parse_kernel(text);
  for (const std::string& printed :
       {print_kernel(k, true).text, cuda::print_kernel(k, true).text}) {
    EXPECT_NE(printed.find(" v0 = t0"), std::string::npos) << printed;
    EXPECT_NE(printed.find(" v1 = pl_round_bf16("), std::string::npos) << printed;
  }
  Cases cases;
  cases.add(text, {960, 960, 960});
  for (const SumOrder dialect : {SumOrder::kC, SumOrder::kCuda}) {
    EXPECT_EQ(Checking(cases.all(), dialect).run().exact, 3 * 960);
  }
}

/// A bound can be missed: code of a kernel that differs in one place is not what another should do.
TEST(KernelOracle, OneDifferenceIsSeen) {
  const std::string text = R"(kernel rows($r: 40) inner($i: 24) {
    b0: bf16
    b1: f32 written
    b2: f32 written
    b3: f32 written
    inner v0: bf16 = mul(x0,1.1) with x0 = b0[$i+24*$r]
    inner v1: f32 = sum of x0 with x0 = v0
    inner v2: f32 = column sum of x0 with x0 = v0
    stage 1
    inner v3: f32 = sub(x0,x1) with x0 = b0[$i+24*$r-24] if 1 <= $r < 40 else 0.5, x1 = v1
    b1[$i+24*$r] = v3
    b2[$r] = v1
    b3[$i] = v2
  })";
  const auto found = [&](const std::string& from, const std::string& to) {
    std::string changed = text;
    changed.replace(changed.find(from), from.size(), to);
    OracleCase c{"k",
                 std::nullopt,
                 std::make_shared<const loop::Kernel>(loop::parse_kernel(text)),
                 {},
                 {960, 960, 40, 24}};
    const std::vector<Bytes> given = random_buffers(c, 1, false, 5);
    const Oracle want = oracle_of(c, given, SumOrder::kCuda);
    const Printed printed = print_kernel(loop::parse_kernel(changed), true);
    std::vector<Bytes> got = given;
    run_printed(printed, build({unit_header() + printed.text}).libraries[0], {}, got);
    OracleCounts counts;
    return difference(c, want, got, counts);
  };
  EXPECT_EQ(found("mul", "mul"), "");
  for (const auto& [from, to] : {std::pair("v0: bf16", "v0: f32"),
                                 {"1.1", "1.1015625"},
                                 {"else 0.5", "else 0.501"},
                                 {"1 <= $r", "2 <= $r"},
                                 {"$r-24]", "$r-23]"},
                                 {"sum of x0", "sum of mul(x0,1.00001)"},
                                 {"column sum of x0", "column sum of mul(x0,1.00001)"},
                                 {"b2[$r] = v1", "b2[39-$r] = v1"}}) {
    EXPECT_NE(found(from, to), "") << from << " as " << to;
  }
}

}  // namespace
}  // namespace plait::codegen
