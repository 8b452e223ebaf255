// Every node as its entry defines it.
#include "backends/ref/target.h"

#include <cstring>

#include "backends/stepwise.h"
#include "base/text.h"
#include "ir/text.h"
#include "ops/evaluate.h"
#include "ops/table.h"

namespace plait {
namespace {

/// Of a step, for messages.
std::string origin_of(const program::Program& program, const program::Step& step) {
  const ir::Graph graph = ir::parse_graph(program.graph_text, program.graph_name);
  return describe(graph, graph.node(graph.value(graph.find_value(step.name)).producer));
}

void run_node(const program::Program& program, const program::Step& step, const DimBindings& sizes,
              const Memory& memory) {
  const auto& call = std::get<HandCall>(step.calls.at(0));
  const auto fixed = [&](ir::Type type) {
    type.shape = shape_of(sizes_of(type.shape, sizes));
    return type;
  };
  const std::size_t count = call.inputs.size();
  std::vector<ir::Type> types(count);
  std::vector<Array> arrays(count);
  std::vector<const Array*> inputs(count, nullptr);
  NodeView node{
      op_named(call.op), std::vector<const ir::Type*>(count, nullptr), {}, call.attrs, ""};
  for (std::size_t i = 0; i < count; ++i) {
    if (!call.input_views[i].valid()) continue;
    types[i] = fixed(call.inputs[i]);
    arrays[i] = Array(types[i].dtype, sizes_of(types[i].shape));
    const std::size_t bytes = arrays[i].byte_count();
    if (bytes > 0) std::memcpy(arrays[i].data(), memory.at(program, call.input_views[i]), bytes);
    node.inputs[i] = &types[i];
    inputs[i] = &arrays[i];
  }
  for (const ir::Type& type : call.outputs) node.outputs.push_back(fixed(type));
  std::vector<Array> results;
  try {
    results = evaluate(node, inputs);
  } catch (const RunError& e) {
    throw RunError(str(e.what(), " (", origin_of(program, step), ")"));
  }
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (!call.output_views[i].valid() || results[i].byte_count() == 0) continue;
    std::memcpy(memory.at(program, call.output_views[i]), results[i].data(),
                results[i].byte_count());
  }
}

/// Of no device: as round as that of `null`.
DeviceModel device_of_ref() {
  DeviceModel m = *built_in_device("null");
  m.name = m.backend = "ref";
  return m;
}

[[noreturn]] void no_kernels() { throw Bug("ref runs nodes, not generated kernels"); }

class RefTarget : public Target {
 public:
  std::string_view name() const override { return "ref"; }
  std::string identity() const override { return "ref"; }
  int threads() const override { return 1; }
  const DeviceModel& device() const override { return device_; }
  bool is_node_by_node() const override { return true; }
  Decision has_hand(const std::string&) const override { return Decision::allow(); }

  PrintedLoop print(const loop::Kernel&, bool) const override { no_kernels(); }
  PrintedLoop print(const loop::Contraction&, const loop::Kernel*, bool,
                    const std::string&) const override {
    no_kernels();
  }
  Choice choose(const loop::Contraction&, const loop::Kernel*, bool, const Work&,
                const DimBindings&, Tuning&) const override {
    no_kernels();
  }
  Choice choose(const LoopCall&, const Work&, const DimBindings&) const override { no_kernels(); }
  Choice choose(const HandCall& call, const Work& work, const DimBindings&) const override {
    Choice out;
    out.kernel = "ref." + call.op;
    out.why = "its definition";
    out.predicted = {work.bytes / device_.bytes_per_second, "memory"};
    return out;
  }

  std::unique_ptr<Runtime> open() const override { return make_stepwise_runtime(run_node); }

 private:
  DeviceModel device_ = device_of_ref();
};

}  // namespace

std::unique_ptr<Target> make_ref_target() { return std::make_unique<RefTarget>(); }

}  // namespace plait
