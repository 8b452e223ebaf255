// What planning makes of a device: seconds of steps on the null target, by a model that the test
// gives, and programs for a GPU that is not there.
#include <gtest/gtest.h>

#include "backends/backends.h"
#include "backends/cuda/target.h"
#include "backends/runtime.h"
#include "base/error.h"
#include "ir/text.h"
#include "models/registry.h"
#include "program/simulate.h"
#include "run/compile.h"
#include "tests/raises.h"

namespace plait::plan {
namespace {

constexpr const char* kStep = R"(
graph g(x: f32[4,8], t: f32[4,3]) state(w: f32[3,8]) {
  %y = linear(x, w) : f32[4,3]
  %s = softmax(%y, axis=1) : f32[4,3]
  %d = sub(%s, t) : f32[4,3]
  %g = matmul(%d, x, transpose_a=true) : f32[3,8]
  %w2 = sub(w, %g) : f32[3,8]
  next w = %w2
  return loss = %d
})";

program::Program planned(const ir::Graph& graph, const Target& target) {
  return compile(graph, target, {.plan = {}, .use_cache = false}).program;
}

program::Program planned_by(const DeviceModel& device, const char* text = kStep) {
  return planned(ir::parse_graph(text), *make_plan_target("null", {.device = device}));
}

DeviceModel null_device() { return *built_in_device("null"); }

TEST(Predicted, StepsTakeWhatTheGivenDeviceSays) {
  DeviceModel device = device_model_from_text(to_text(null_device()), "given");
  device.name = "twice as fast";
  device.bytes_per_second = 2e9;
  const program::Program slow = planned_by(null_device()), fast = planned_by(device);
  EXPECT_EQ(fast.device, device);
  ASSERT_EQ(slow.steps.size(), fast.steps.size());
  for (std::size_t i = 0; i < slow.steps.size(); ++i) {
    const program::Step& s = slow.steps[i];
    EXPECT_GT(s.seconds, 0) << s.name;
    if (s.bound == "memory") EXPECT_DOUBLE_EQ(s.seconds, 2 * fast.steps[i].seconds) << s.name;
  }
  EXPECT_EQ(program::difference(slow, fast), "") << "costs are no part of what a program does";
}

TEST(Predicted, AStepOfOneLoopTakesItsBytes) {
  const program::Program p = planned_by(null_device(), R"(
graph g(x: f32[1000,1000]) {
  %y = relu(x) : f32[1000,1000]
  return %y
})");
  ASSERT_EQ(p.steps.size(), 1u);
  EXPECT_DOUBLE_EQ(p.steps[0].seconds, 8e6 / 1e9);
  EXPECT_EQ(p.steps[0].bound, "memory");
  EXPECT_DOUBLE_EQ(program::predicted_seconds(p), 8e-3 + 1e-6);
}

TEST(Predicted, PiecesOfAConcatTakeEachElementOnce) {
  const program::Program p = planned_by(null_device(), R"(
graph g(x: f32[100,500], y: f32[100,400], z: f32[100,100], u: f32[1000]) {
  %c = concat(x, y, z, axis=1) : f32[100,1000]
  %v = broadcast_to(u, shape=[100,1000]) : f32[100,1000]
  %m = mul(%c, %v) : f32[100,1000]
  return %m
})");
  ASSERT_EQ(p.steps.size(), 1u);
  EXPECT_EQ(p.steps[0].calls.size(), 3u);
  // Rows of `u` are read by each piece.
  EXPECT_DOUBLE_EQ(p.steps[0].seconds, (8e5 + 3 * 4e3) / 1e9);
}

TEST(Predicted, SecondsAndDeviceComeBackFromAFile) {
  const program::Program p = planned_by(null_device());
  const program::Program back = program::from_bytes(program::to_bytes(p), "p");
  EXPECT_EQ(back.device, p.device);
  for (std::size_t i = 0; i < p.steps.size(); ++i) {
    EXPECT_EQ(back.steps[i].seconds, p.steps[i].seconds);
    EXPECT_EQ(back.steps[i].bound, p.steps[i].bound);
  }
  EXPECT_EQ(program::to_bytes(back), program::to_bytes(p));
}

ir::Graph train_graph(const std::string& spec) { return models::build(spec).graphs.front(); }

TEST(Predicted, TheSimulatorsPeakIsTheLowerBoundOfTheArena) {
  const auto target = make_plan_target("null", {});
  for (const char* spec : {"mlp?train=1", "resnet50?train=1&batch=1",
                           "rwkv4?train=1&layers=2&width=64&vocab=100&context=16&copy=0&batch=1"}) {
    const program::Program p = planned(train_graph(spec), *target);
    EXPECT_EQ(program::occupancy_of(program::schedule_of(p)).peak_bytes, p.lower_bound_bytes)
        << spec;
  }
}

TEST(PlanWithoutADevice, HasOurOwnKernelsAndCannotRun) {
  const auto target =
      cuda::make_cuda_target(nullptr, nullptr, {.tf32 = true, .without = "there is no GPU"});
  EXPECT_EQ(target->identity(), "cuda NVIDIA H200, planned without a device, tf32");
  const ir::Graph graph = train_graph("resnet50?train=1&batch=2");
  const program::Program p = planned(graph, *target);
  bool unseen = false;
  for (const program::Step& s : p.steps) {
    EXPECT_GT(s.seconds, 0) << s.name;
    EXPECT_TRUE(s.kernel.starts_with("loop.") || s.kernel.starts_with("hand.")) << s.kernel;
  }
  for (const LogEntry& e : p.log) {
    unseen = unseen || e.why.starts_with("unseen: planned without a device");
  }
  EXPECT_TRUE(unseen);
  EXPECT_GT(program::predicted_seconds(p), 0);
  EXPECT_EQ(program::difference(planned(graph, *target), p), "");
  EXPECT_THROW(target->open(), RunError);
}

TEST(PlanWithoutADevice, IsCutForTheModelThatIsGiven) {
  DeviceModel small = h200();
  small.name = "half";
  small.processors = 66;
  const auto target = cuda::make_cuda_target(nullptr, nullptr, {.model = small, .without = "no"});
  EXPECT_EQ(target->identity(), "cuda half, planned without a device");
  EXPECT_EQ(target->device(), small);
}

}  // namespace
}  // namespace plait::plan
