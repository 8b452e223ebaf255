// run --trace-kernels: the ids it lists are those of the kernels that were launched.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "backends/cuda/emulate/emulated_device.h"
#include "backends/cuda/target.h"
#include "base/text.h"
#include "cli/kernel_trace.h"
#include "io/file.h"
#include "ir/text.h"
#include "run/session.h"
#include "tests/cli/program.h"
#include "tests/cli/traced_device.h"
#include "tests/temporary.h"

namespace plait::test {
namespace {

const std::string kText =
    "graph g(x: f16[6,16]) state(w: f16[16,16] = xavier, n: f16[16]) {\n"
    "  %lin = linear(x, w, _)      : f16[6,16] @ fc\n"
    "  %act = relu(%lin)           : f16[6,16] @ fc\n"
    "  %soft = softmax(%act, axis=1) : f16[6,16] @ head\n"
    "  %total = sum(%soft, axes=[0]) : f16[16]\n"
    "  %next = add(n, %total)      : f16[16]\n"
    "  next n = %next\n"
    "  return soft = %soft\n"
    "}\n";

/// `loop.row.0123abcd` is the function k_row_0123abcd and more of its hash.
std::string function_begin(const std::string& id) {
  const std::vector<std::string> parts = split(id, '.');
  EXPECT_EQ(parts.size(), 3u) << id;
  EXPECT_EQ(parts[0], "loop");
  return "k_" + parts[1] + "_" + parts[2];
}

class KernelTrace : public ::testing::Test {
 protected:
  void SetUp() override { io::write_file(file, {kText}); }
  const TemporaryFolder folder;
  const std::string file = folder / "g.plait", plan = folder / "g.plan";
};

TEST_F(KernelTrace, NamesEveryStepInOrder) {
  const Outcome o = plait("run " + file + " --backend cpu --threads 1 --trace-kernels --json");
  ASSERT_EQ(o.code, 0) << o.err;
  const cli::Json run = cli::Json::parse(o.out);
  const cli::Json explained =
      cli::Json::parse(plait("explain " + file + " --threads 1 --json").out);
  ASSERT_EQ(run["kernels"].size(), explained["steps"].size());
  EXPECT_EQ(run["one_function"], true);
  for (std::size_t s = 0; s < run["kernels"].size(); ++s) {
    for (const char* key : {"step", "kernel", "name", "path", "nodes"}) {
      EXPECT_EQ(run["kernels"][s][key], explained["steps"][s][key]) << key;
    }
  }
}

TEST_F(KernelTrace, OfAPlanTheSame) {
  ASSERT_EQ(plait("compile " + file + " --threads 1 -o " + plan).code, 0);
  const std::string flags = " --backend cpu --threads 1 --trace-kernels --json";
  const auto kernels = [&](const std::string& from) {
    return cli::Json::parse(plait("run " + from + flags).out)["kernels"];
  };
  EXPECT_EQ(kernels(plan), kernels(file));
}

TEST_F(KernelTrace, AsTextBehindTheResults) {
  const Outcome o = plait("run " + file + " --backend cpu --threads 1 --trace-kernels");
  ASSERT_EQ(o.code, 0) << o.err;
  const std::size_t table = o.out.find("\nstep  kernel ");
  ASSERT_NE(table, std::string::npos) << o.out;
  EXPECT_LT(o.out.find("soft "), table);
  EXPECT_NE(o.out.find(", run as one kernel\n"), std::string::npos) << o.out;
  EXPECT_NE(o.out.find("%lin", table), std::string::npos) << o.out;
  EXPECT_NE(o.out.find("  fc\n", table), std::string::npos) << o.out;
}

TEST_F(KernelTrace, EveryBufferIsBoundOnce) {
  const cli::Json p = cli::Json::parse(plait("plan " + file + " --threads 1 --json").out);
  std::vector<int> bound(p["buffers"].size(), 0);
  for (const char* kind : {"feeds", "states", "static"}) {
    for (const cli::Json& entry : p["bindings"][kind]) {
      ++bound[entry["buffer"].get<std::size_t>()];
    }
  }
  EXPECT_EQ(bound, std::vector<int>(bound.size(), 1));
  EXPECT_EQ(p["bindings"]["feeds"][0]["name"], "x");
  EXPECT_EQ(p["bindings"]["states"].size(), 2u);
  const std::string text = plait("plan " + file + " --threads 1").out;
  EXPECT_NE(text.find("\nBound to fixed addresses: 1 feed, 2 states, "), std::string::npos) << text;
  EXPECT_NE(text.find("\nstatic, fetched  lin "), std::string::npos) << text;
}

TEST_F(KernelTrace, OnRefTheseAreTheNodes) {
  const Outcome o = plait("run " + file + " --backend ref --trace-kernels");
  EXPECT_EQ(o.code, 0) << o.err;
  EXPECT_NE(o.out.find("ref.linear"), std::string::npos) << o.out;
}

TEST_F(KernelTrace, OnADeviceTheseAreTheLaunches) {
  const auto device = std::make_shared<TracedDevice>(cuda::make_emulated_device());
  const std::unique_ptr<Target> target = cuda::make_cuda_target(device, nullptr, {});
  const ir::Graph graph = ir::parse_graph(kText, "g");
  const program::Program program = compile(graph, *target, {.use_cache = false}).program;
  const cli::Json trace = cli::kernel_trace_json(program);
  ASSERT_EQ(trace.size(), program.steps.size());
  ASSERT_TRUE(program.single_kernel);
  EXPECT_NE(cli::kernel_trace_text(program).find(", run as one kernel\n"), std::string::npos);

  Executor executor(program, target->open());
  executor.set_feed("x", random_feed(graph, graph.feeds[0], 0));
  device->launched.clear();
  executor.run_steps([&](std::size_t) { device->launched.clear(); },
                     [&](std::size_t s) {
                       ASSERT_FALSE(device->launched.empty());
                       const std::string begin = function_begin(trace[s]["kernel"]);
                       for (const std::string& name : device->launched) {
                         EXPECT_TRUE(name.starts_with(begin)) << name << " in step " << trace[s];
                       }
                     });
  device->launched.clear();
  executor.run();
  executor.wait();
  EXPECT_EQ(device->launched, std::vector<std::string>{"plait_single_kernel"});
}

}  // namespace
}  // namespace plait::test
