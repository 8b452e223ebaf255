// Kernels: what AICF launches for a document, and how few would do.
#include "report/aicf_step.h"

#include <algorithm>
#include <numeric>

#include "base/error.h"
#include "io/aicf/format.h"
#include "ops/constant.h"
#include "ops/table.h"
#include "ops/update.h"
#include "passes/pipeline.h"

namespace plait::report {

using io::aicf::Cell;
using io::aicf::Node;
using io::aicf::Version;

AicfStep::AicfStep(const io::aicf::Record& of)
    : record(of),
      uses(io::aicf::cell_uses(of)),
      versions(io::aicf::versions(uses)),
      first_version(of.values.size() + 1, 0),
      graph(io::aicf::plain_graph(of)) {
  for (const Version& v : versions) ++first_version[static_cast<std::size_t>(v.cell) + 1];
  std::partial_sum(first_version.begin(), first_version.end(), first_version.begin());
}

const Version& AicfStep::version_read(Cell cell, std::int32_t node) const {
  const auto at = [&](std::size_t c) {
    return versions.begin() + static_cast<std::ptrdiff_t>(first_version[c]);
  };
  const auto begin = at(static_cast<std::size_t>(cell));
  const auto end = at(static_cast<std::size_t>(cell) + 1);
  const auto later =
      std::partition_point(begin, end, [&](const Version& v) { return v.writer < node; });
  check(later != begin, "node ", node, " reads a cell without content");
  return *std::prev(later);
}

std::int64_t AicfStep::bytes_of(Cell cell) const {
  const io::aicf::Value& v = record.value(cell);
  return element_count(v.shape) * static_cast<std::int64_t>(size_of(v.dtype));
}

std::string AicfStep::cell_text(Cell cell) const {
  return io::aicf::id_text(record.value(cell).id) + " " + record.value(cell).name;
}

std::string AicfStep::node_text(std::size_t index) const {
  return io::aicf::index_text(index) + " " + record.node(index).op;
}

std::size_t AicfStep::index_of(const ir::Node& node) const {
  const auto index = static_cast<std::size_t>(node.source.line - record.line_of_node(0));
  check(index < record.nodes.size(), "a node of line ", node.source.line, " of no line");
  return index;
}

namespace {

/// The kernels of each op, in order; a bias adds the last.
constexpr struct {
  std::string_view op;
  std::string_view kernels[2];
  std::string_view of_bias;
} kLowered[] = {
    {"Linear", {"gemm"}, "bias_add"},
    {"ReLU", {"relu"}, ""},
    {"Save", {"copy"}, ""},
    {"MseGrad", {"mse_grad"}, ""},
    {"LinearBwd", {"gemm", "gemm"}, "reduce_sum"},
    {"ReluBwd", {"relu_bwd"}, ""},
    {"SgdStep", {"sgd_step"}, ""},
    {"StepInc", {"step_inc"}, ""},
    {"BiasCorr", {"bias_corr"}, ""},
    {"AdamStep", {"adam_step"}, ""},
};

bool has_bias(const Node& node) {
  return (node.op == "Linear" && node.inputs.size() == 3) ||
         (node.op == "LinearBwd" && node.outputs.size() == 3);
}

/// By node: the relu that alone reads what the layer makes, or -1.
std::vector<std::int32_t> relus_of_layers(const AicfStep& step) {
  std::vector<std::int32_t> relus(step.record.nodes.size(), -1);
  for (const Version& v : step.versions) {
    if (v.writer < 0 || v.readers.size() != 1) continue;
    const auto writer = static_cast<std::size_t>(v.writer);
    const Node& layer = step.record.node(writer);
    const Node& reader = step.record.node(static_cast<std::size_t>(v.readers[0]));
    if (layer.op == "Linear" && has_bias(layer) && reader.op == "ReLU")
      relus[writer] = v.readers[0];
  }
  return relus;
}

}  // namespace

std::vector<AicfKernel> aicf_kernels(const AicfStep& step, bool fuse) {
  std::vector<std::int32_t> relus = relus_of_layers(step);
  if (!fuse) std::fill(relus.begin(), relus.end(), -1);
  std::vector<bool> fused(step.record.nodes.size(), false);
  std::vector<AicfKernel> kernels;
  for (std::size_t i = 0; i < step.record.nodes.size(); ++i) {
    if (fused[i]) continue;
    const Node& node = step.record.node(i);
    if (relus[i] >= 0) {
      kernels.push_back({"gemm_bias_relu", i});
      fused[static_cast<std::size_t>(relus[i])] = true;
      continue;
    }
    for (const auto& row : kLowered) {
      if (row.op != node.op) continue;
      for (std::string_view kind : row.kernels) {
        if (!kind.empty()) kernels.push_back({std::string(kind), i});
      }
      if (has_bias(node)) kernels.push_back({std::string(row.of_bias), i});
    }
  }
  return kernels;
}

namespace {

/// Whose kernel computes each value, node by node.
class KernelCount {
 public:
  explicit KernelCount(const ir::Graph& graph) : g_(graph), kernel_(graph.values.size(), kGiven) {}

  std::int64_t count() {
    for (const ir::Node& node : g_.nodes) add(node);
    for (const ir::NextState& next : g_.nexts) settle(next.value);
    for (const ir::Fetch& fetch : g_.fetches) settle(fetch.value);
    return count_;
  }

 private:
  // Not a kernel: given before the step; made from what is given, by whoever reads it.
  static constexpr std::int64_t kGiven = -2, kWaits = -1;

  void settle(ir::ValueId value) {
    std::int64_t& kernel = kernel_[static_cast<std::size_t>(value)];
    if (kernel == kWaits) kernel = count_++;
  }

  void add(const ir::Node& node) {
    const Op* op = node.opaque ? nullptr : find_op(node.op);
    const bool view = op && (op->traits & kView);
    const bool pointwise =
        op == &ops::sgd_update || op == &ops::adam_update || (op && (op->traits & kElementwise));
    std::int64_t kernel = kGiven;  // the latest of the operands': the others are done by then
    for (ir::ValueId in : node.inputs) {
      if (in == ir::kNone) continue;
      if (!view && !pointwise) settle(in);
      kernel = std::max(kernel, kernel_[static_cast<std::size_t>(in)]);
    }
    if (pointwise && !view) kernel = std::max(kernel, kWaits);
    if (!pointwise && !view && op != &ops::constant) kernel = count_++;
    for (ir::ValueId out : node.outputs) kernel_[static_cast<std::size_t>(out)] = kernel;
  }

  const ir::Graph& g_;
  std::vector<std::int64_t> kernel_;  // by value
  std::int64_t count_ = 0;
};

}  // namespace

std::int64_t fewest_kernels(const ir::Graph& graph) {
  const ir::Graph plain = run_pipeline(graph).graph;
  return KernelCount(plain).count();
}

}  // namespace plait::report
