// Profiles of a device's programs, on the emulated one, and what a device does at most.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "backends/cuda/ceilings.h"
#include "backends/cuda/emulate/emulated_device.h"
#include "backends/cuda/target.h"
#include "cli/profiled.h"
#include "ir/text.h"

namespace plait::test {
namespace {

const std::string kText =
    "graph g(x: f32[6,16]) state(w: f32[16,16] = xavier) {\n"
    "  %lin = linear(x, w, _)   : f32[6,16]\n"
    "  %act = tanh(%lin)        : f32[6,16]\n"
    "  %sums = sum(%act, axes=[1]) : f32[6]\n"
    "  return sums = %sums\n"
    "}\n";

TEST(DeviceProfile, StepsAreTimedApartAndInOneLaunch) {
  cli::Planned planned;
  planned.target = cuda::make_cuda_target(cuda::make_emulated_device(), nullptr, {});
  planned.graph = ir::parse_graph(kText, "g");
  planned.compiled = compile(planned.graph, *planned.target, {.use_cache = false});
  cli::Loaded loaded = cli::load(std::move(planned), 0, cli::FirstStates::kInitial);
  const profile::Profile p = cli::profiled(loaded, {.runs = 3});
  ASSERT_EQ(p.runs.size(), 3u);
  EXPECT_GT(p.launch_ms, 0);
  EXPECT_GT(p.apart_ms, 0);
  EXPECT_EQ(p.taken_us, 0);  // one kernel does what the steps do apart
  EXPECT_NE(profile::table_text(p).find("; in order in one launch "), std::string::npos);
  const auto trace = nlohmann::json::parse(profile::to_trace(p));
  EXPECT_EQ(trace["otherData"]["backend"], "cuda");
  EXPECT_GE(trace["traceEvents"].size(), 3 * (1 + p.steps.size()));
}

TEST(DeviceProfile, CeilingsAreMeasured) {
  const auto device = cuda::make_emulated_device();
  const std::int64_t before = device->free_bytes();
  const DeviceModel c = cuda::measure_ceilings(
      *device, nullptr, h200(), {.copy_bytes = 1 << 16, .halves = 32, .floats = 32, .runs = 1});
  EXPECT_EQ(c.name, "emulated");
  EXPECT_EQ(c.source, "measured");
  EXPECT_EQ(c.step_seconds, h200().step_seconds);
  EXPECT_GT(c.bytes_per_second, 0);
  ASSERT_EQ(c.operations_per_second.size(), 4u);
  for (const char* name : {"f16", "bf16", "tf32", "f32"}) {
    EXPECT_GT(c.operations_per_second.at(name), 0) << name;
  }
  EXPECT_EQ(device->free_bytes(), before);
  // There is no driver behind it: the processor's peaks are compared with.
  EXPECT_FALSE(cuda::ceilings_of(*device, nullptr, h200()).has_value());
}

}  // namespace
}  // namespace plait::test
