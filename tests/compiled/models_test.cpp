// Every model, compiled: against PyTorch's fixtures, with any number of threads, without
// allocating, in the memory that was planned, and with a batch that changes without another
// compilation.
#include <optional>

#include "backends/backends.h"
#include "ir/text.h"
#include "ops/initializers.h"
#include "run/executor.h"
#include "tests/compiled/allocations.h"
#include "tests/compiled/compiled_case.h"
#include "tests/models/fixture.h"

namespace plait::test {
namespace {

constexpr int kSteps = 10;

// As in tests/models: PyTorch's own f32 is within 6e-6 of its f64 gradients and 1e-5 of its final
// weights, and sums in f32 as the compiled kernels do.
struct Tolerance {
  double output, losses, final;
};
Tolerance tolerance(DType dtype) {
  return dtype == DType::f32 ? Tolerance{6e-6, 6e-6, 1e-5} : Tolerance{7e-8, 7e-8, 7e-8};
}

Session session_of(const Fixture& fixture, ir::Package package, const std::string& prefix) {
  Session made(std::move(package), target_under_test());
  for (const auto& [name, value] : fixture.under(prefix)) {
    made.set_state(name, value.cast(made.state(name).dtype()));
  }
  return made;
}

class CompiledModel : public CompiledCase,
                      public testing::WithParamInterface<std::tuple<std::string, DType>> {};

TEST_P(CompiledModel, TrainsAndEvaluatesAsPyTorch) {
  const Fixture fixture(std::get<0>(GetParam()), std::get<1>(GetParam()));
  std::optional<QuickCompiler> quick;  // f32 is compiled as users have it
  if (fixture.dtype == DType::f64) quick.emplace();
  const Tolerance allowed = tolerance(fixture.dtype);
  Session session = session_of(fixture, models::build(fixture.spec), "state.");
  const ir::Graph& train = session.package().graphs.at(0);
  const ir::Graph& eval = session.package().graphs.at(1);
  const Arrays before = session.run({"eval", fixture.feeds(eval), {}});
  EXPECT_LT(deviation(before.at(eval.fetches[1].name), fixture.file.tensor("output")),
            allowed.output);
  Array losses(DType::f64, {kSteps});
  for (int i = 0; i < kSteps; ++i) {
    losses.set(i, session.run({"train", fixture.feeds(train), {"loss"}}).at("loss").real(0));
  }
  EXPECT_LT(deviation(losses, fixture.file.tensor("losses")), allowed.losses);
  for (const auto& [name, want] : fixture.under("final.")) {
    if (name.ends_with("attn.c_attn.bias")) continue;  // a third of it is rounding: tests/models
    EXPECT_LT(deviation(session.state(name), want), allowed.final) << name;
  }
}

std::vector<std::tuple<std::string, DType>> fixtures() {
  if (tested() == Tested::kEmulated) {
    return {{"mlp", DType::f32}, {"conv_add", DType::f64}, {"rwkv4", DType::f32}};
  }
  std::vector<std::tuple<std::string, DType>> all;
  for (const char* name :
       {"mlp", "conv_add", "resnet50", "vgg19", "rwkv4", "rwkv4_nocopy", "gpt2", "unet"}) {
    for (DType dtype : {DType::f32, DType::f64}) all.emplace_back(name, dtype);
  }
  return all;
}

INSTANTIATE_TEST_SUITE_P(Fixtures, CompiledModel, testing::ValuesIn(fixtures()),
                         [](const auto& info) {
                           return str(std::get<0>(info.param), "_", std::get<1>(info.param));
                         });

std::vector<const char*> small_models() {
  const char* conv_add = "conv_add?train=1&dtype=bf16&image=9&channels=8&filters=16";
  if (tested() == Tested::kEmulated) return {conv_add};
  return {
      "mlp?train=1&dtype=f32",
      conv_add,
      "resnet50?batch=2&image=32&width=8&train=1",
      "vgg19?batch=2&image=32&width=8&hidden=32&train=1",
      "rwkv4?layers=2&width=32&vocab=64&context=16&copy=8&batch=2&train=1",
  };
}

class SmallModel : public CompiledCase, public testing::WithParamInterface<const char*> {};

Arrays states_after(const char* spec, int threads, int steps) {
  Session session(models::build(spec), target_under_test(threads), 3);
  const ir::Graph& graph = session.package().graphs.at(0);
  Arrays feeds;
  for (ir::ValueId id : graph.feeds) feeds[graph.value(id).name] = random_feed(graph, id, 1);
  for (int i = 0; i < steps; ++i) session.run({graph.name, feeds, {}});
  Arrays out;
  for (const std::string& name : session.state_names()) out[name] = session.state(name);
  return out;
}

TEST_P(SmallModel, TheNumberOfThreadsChangesNoBit) {
  const Arrays one = states_after(GetParam(), 1, 3);
  EXPECT_EQ(differing_bits(one, states_after(GetParam(), 2, 3)), "");
  EXPECT_EQ(differing_bits(one, states_after(GetParam(), 3, 3)), "");
}

TEST_P(SmallModel, StepsAllocateNothingAndUseWhatWasPlanned) {
  const ir::Graph graph = models::build(GetParam()).graphs.at(0);
  const auto target = target_under_test();
  Executor executor(compile(graph, *target).program, target->open());
  const program::Program& program = executor.program();
  for (const program::StateBinding& s : program.states) {
    executor.memory().set_state(s.state.name, initial_value(s.state, 0));
  }
  const auto feed = [&] {
    for (ir::ValueId id : graph.feeds) {
      executor.set_feed(graph.value(id).name, random_feed(graph, id, 1));
    }
  };
  for (int i = 0; i < 2; ++i) {  // the first loads kernels, the second may record them
    feed();
    executor.run();
  }
  feed();
  const long before = allocations();
  executor.run();
  if (tested() != Tested::kEmulated) {
    EXPECT_EQ(allocations() - before, 0);
  }
  // Only what lies in the last page of the arena may be untouched.
  EXPECT_EQ(executor.resident_arena_bytes(), program.arena_bytes);
  EXPECT_LE(static_cast<double>(program.arena_bytes),
            1.02 * static_cast<double>(program.lower_bound_bytes));
  EXPECT_EQ(program.peak_bytes(),
            program.states_bytes + program.arena_bytes + program.scratch_bytes);
}

INSTANTIATE_TEST_SUITE_P(Specs, SmallModel, testing::ValuesIn(small_models()),
                         [](const auto& info) {
                           return std::string(info.param, std::string_view(info.param).find('?'));
                         });

TEST_F(SmallModel, TheMlpStepIsOneFunction) {
  const ir::Graph graph = models::build("mlp?train=1&dtype=f32").graphs.at(0);
  const auto target = target_under_test();
  const Executor executor(compile(graph, *target).program, target->open());
  EXPECT_TRUE(executor.program().single_kernel);
  EXPECT_TRUE(executor.code().has_whole());
  for (const program::Step& s : executor.program().steps) {
    EXPECT_TRUE(s.kernel.starts_with("loop.")) << s.kernel;
  }
}

TEST_F(SmallModel, AResidualAddRidesBehindItsConvolution) {
  if (tested() != Tested::kCpu) GTEST_SKIP() << "it names kernels of the cpu";
  const ir::Graph graph = models::build("conv_add?dtype=f32").graphs.at(0);
  const auto target = target_under_test();
  const program::Program program = compile(graph, *target).program;
  ASSERT_EQ(program.steps.size(), 1u);
  EXPECT_TRUE(program.steps[0].kernel.starts_with("winograd.")) << program.steps[0].kernel;
  const ir::Graph half = models::build("conv_add?dtype=bf16").graphs.at(0);
  const program::Program other = compile(half, *target).program;
  ASSERT_EQ(other.steps.size(), 1u);
  EXPECT_TRUE(other.steps[0].kernel.starts_with("gemm.")) << other.steps[0].kernel;
}

TEST_F(SmallModel, OneProgramServesEveryBatchOfItsRange) {
  const std::string text = R"(
    symbol batch = 1..64
    graph g(x: f32[batch,12]) state(w: f32[20,12] = uniform(hi=0.5, lo=-0.5), b: f32[20]) {
      %h = linear(x, w, b)       : f32[batch,20]
      %r = relu(%h)              : f32[batch,20]
      %s = softmax(%r, axis=1)   : f32[batch,20]
      %m = mean(%s, axes=[0])    : f32[20]
      return %s, %m
    })";
  const ir::Graph graph = ir::parse_graph(text);
  Session session({{graph}}, target_under_test(), 5);
  for (std::int64_t batch : {7, 1, 64, 7}) {
    const ir::Graph fixed = substitute(graph, {{"batch", Dim(batch)}});
    Session reference({{fixed}}, make_target("ref"), 5);
    const Arrays feeds{
        {"x", random_feed(fixed, fixed.feeds[0], static_cast<std::uint64_t>(batch))}};
    const Arrays got = session.run({"g", feeds, {}}), want = reference.run({"g", feeds, {}});
    for (const auto& [name, array] : want) {
      EXPECT_LT(deviation(got.at(name), array), 1e-6) << name << " of batch " << batch;
    }
  }
  const Arrays large{{"x", Array(DType::f32, {65, 12})}};
  EXPECT_THROW(session.run({"g", large, {}}), UserError);
}

}  // namespace
}  // namespace plait::test
