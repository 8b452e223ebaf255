// Models whose heads are sliced by rows, compiled: ten steps against the reference, and memory.
#include <cmath>

#include "backends/backends.h"
#include "ir/text.h"
#include "models/registry.h"
#include "ops/initializers.h"
#include "tests/compiled/compiled_case.h"
#include "tests/nn/run_ref.h"

namespace plait::test {
namespace {

constexpr int kSteps = 10;

struct Steps {
  Array losses{DType::f64, {kSteps}};
  Arrays states;
  std::string said;
};

Steps steps_of(Session session) {
  const ir::Graph& train = session.package().graphs.at(0);
  Arrays feeds;
  for (ir::ValueId id : train.feeds) feeds[train.value(id).name] = random_feed(train, id, 1);
  Steps out;
  for (int i = 0; i < kSteps; ++i) {
    out.losses.set(i, session.run({train.name, feeds, {"loss"}}).at("loss").real(0));
  }
  for (const std::string& name : session.state_names()) out.states[name] = session.state(name);
  for (const LogEntry& e : session.program({train.name, feeds, {"loss"}}).log) {
    if (e.pass == "slice" && e.what == "sliced") out.said += e.why + "\n";
  }
  return out;
}

Steps compiled_steps(const std::string& spec, std::int64_t bytes) {
  CompileRequest request;
  request.plan.slice_bytes = bytes;
  return steps_of(Session(models::build(spec), target_under_test(), 3, request));
}

struct Case {
  std::string spec;
  std::int64_t bytes;  // of logits in a slice
  const char* slices;
  double losses, states;  // tolerance; states: 0 where they are those of a half's rounding
};

class SlicedModel : public CompiledCase, public testing::WithParamInterface<Case> {};

TEST_P(SlicedModel, TrainsAsTheReference) {
  const Case& c = GetParam();
  const Steps sliced = compiled_steps(c.spec, c.bytes);
  EXPECT_TRUE(sliced.said.starts_with(c.slices)) << sliced.said;
  const Steps reference = steps_of(Session(models::build(c.spec), make_target("ref"), 3));
  EXPECT_LT(deviation(sliced.losses, reference.losses), c.losses);
  for (const auto& [name, want] : reference.states) {
    if (c.states == 0 || !is_float(want.dtype())) continue;
    EXPECT_LT(deviation(sliced.states.at(name), want), c.states) << name;
  }
}

// GPT-2: f32[3,12,200] are 28,800 bytes; the head's weights are the embedding. RWKV-4 with a copy
// head adds what it copies to the logits, so only one without is sliced.
const std::string kGpt2 =
    "gpt2?layers=2&width=16&heads=2&vocab=200&context=12&batch=3&dropout=0&train=1";
const std::string kRwkv = "rwkv4?layers=2&width=16&vocab=200&context=12&copy=0&batch=2&train=1";

std::vector<Case> cases() {
  std::vector<Case> all{{kGpt2 + "&optimizer=sgd", 4'000, "9 slices", 6e-6, 1e-5},
                        {kGpt2 + "&precision=bf16&optimizer=sgd", 5'000, "3 slices", 4e-3, 0}};
  if (tested() == Tested::kEmulated) return all;
  all.push_back({kGpt2 + "&optimizer=sgd", 10'000, "3 slices", 6e-6, 1e-5});
  all.push_back({kGpt2 + "&dtype=f64", 3'500, "18 slices", 7e-8, 7e-8});
  all.push_back({kRwkv + "&dtype=f64", 20'000, "2 slices", 7e-8, 7e-8});
  all.push_back({kGpt2 + "&precision=f16&optimizer=sgd", 5'000, "3 slices", 5e-4, 0});
  return all;
}

INSTANTIATE_TEST_SUITE_P(Specs, SlicedModel, testing::ValuesIn(cases()),
                         [](const auto& info) { return str("n", info.index); });

/// Sums of 100 products, alone and added to another: no half holds them, f32 does to 1e-6.
TEST(WideProducts, OfHalvesKeepTheirSums) {
  for (const char* half : {"bf16", "f16"}) {
    const ir::Graph graph = ir::parse_graph(str("graph g(a: ", half, "[100,96], b: ", half,
                                                R"([100,160], c: f32[96,160]) {
      %p = matmul(a, b, transpose_a=true, wide=true) : f32[96,160]
      %q = matmul(a, b, transpose_a=true, wide=true) : f32[96,160]
      %s = add(c, %q) : f32[96,160]
      return %p, %s })"));
    Arrays feeds;
    for (ir::ValueId id : graph.feeds) feeds[graph.value(id).name] = random_feed(graph, id, 1);
    const Arrays made = run_compiled(graph, feeds);
    const Array &a = feeds.at("a"), &b = feeds.at("b");
    double worst = 0;
    for (std::int64_t m = 0; m < 96; ++m) {
      for (std::int64_t n = 0; n < 160; ++n) {
        double sum = 0;
        for (std::int64_t k = 0; k < 100; ++k) sum += a.real(k * 96 + m) * b.real(k * 160 + n);
        const std::int64_t at = m * 160 + n;
        worst = std::max(worst, std::abs(made.at("p").real(at) - sum));
        worst = std::max(worst, std::abs(made.at("s").real(at) - feeds.at("c").real(at) - sum));
      }
    }
    EXPECT_LT(worst, 1e-5) << half;
  }
}

TEST(SlicedModels, NeverHoldAllLogits) {
  const ir::Graph graph =
      models::build(
          "gpt2?layers=1&width=32&heads=2&vocab=4000&context=64&batch=4&dropout=0&train=1")
          .graphs.at(0);
  const auto target = target_under_test();
  CompileRequest whole, sliced;
  whole.plan.slice_bytes = 0;
  sliced.plan.slice_bytes = 1 << 20;  // 4 slices of f32[1,64,4000], 1,024,000 bytes each
  const program::Program before = compile(graph, *target, whole).program,
                         after = compile(graph, *target, sliced).program;
  const std::int64_t logits = 4 * 64 * 4000 * 4, weights = 4000 * 32 * 4;
  EXPECT_GE(before.arena_bytes, logits);
  // One slice's logits and gradient, what is added up, and little else.
  EXPECT_LE(after.arena_bytes, logits / 2 + 2 * weights + (1 << 20));
  for (const program::View& v : after.views) EXPECT_LT(v.type.bytes().hi(), logits / 2) << v.name;
}

}  // namespace
}  // namespace plait::test
