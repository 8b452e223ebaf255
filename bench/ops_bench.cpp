// The perf mode of the op harness: every op of the table on the first sample of its entry, on the
// reference backend. Faster backends are held against these rows.
#include <benchmark/benchmark.h>

#include "ops/evaluate.h"
#include "ops/samples.h"
#include "ops/table.h"

namespace plait {
namespace {

void run_sample(benchmark::State& state, const Op* op) {
  const Sample sample = samples_of(*op)[0];
  const ir::Graph graph = sample_graph(*op, sample);
  const std::vector<Array> feeds = sample_feeds(sample, DType::f32, 1);
  const ir::Node& node = graph.nodes[0];
  std::vector<const Array*> inputs;
  std::size_t next = 0;
  for (ir::ValueId id : node.inputs) inputs.push_back(id == ir::kNone ? nullptr : &feeds[next++]);
  const NodeView view = view_of(graph, node);
  for (auto _ : state) benchmark::DoNotOptimize(evaluate(view, inputs));
  state.counters["operations"] = static_cast<double>(operations_of(graph, node).value());
  state.counters["bytes"] = static_cast<double>(bytes_of(graph, node).value());
}

}  // namespace
}  // namespace plait

int main(int argc, char** argv) {
  for (const plait::Op* op : plait::all_ops()) {
    benchmark::RegisterBenchmark(std::string(op->name).c_str(), plait::run_sample, op);
  }
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
