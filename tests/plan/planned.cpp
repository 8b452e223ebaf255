// Planning up to the choice of kernels.
#include "tests/plan/planned.h"

#include "backends/backends.h"
#include "ops/samples.h"
#include "passes/pipeline.h"
#include "plan/stages.h"

namespace plait::plan {

Planned planned_of(const ir::Graph& given) {
  const PipelineOptions passes{.requested = {"expand"}, .stop_after = {}, .after_each = {}};
  const ir::Graph graph = run_pipeline(given, passes).graph;
  const auto target = make_plan_target("null", {});
  Planning planning(graph, *target, {}, {});
  run_stages(planning, {.stop_after = "choose"});
  Planned out;
  out.largest = planning.largest;
  const auto elements = [&](const std::vector<ViewId>& views) {
    std::vector<Dim> counts;
    for (const ViewId v : views) {
      counts.push_back(planning.draft.views.at(v.index()).type.elements());
    }
    return counts;
  };
  for (const DraftStep& d : planning.draft.steps) {
    const std::string where = "%" + d.step.name;
    const auto* const product =
        d.step.calls.empty() ? nullptr : std::get_if<ProductCall>(&d.step.calls[0]);
    for (std::size_t i = 0; !product && i < d.kernels.size(); ++i) {
      out.kernels.push_back({where, d.kernels[i].kernel, elements(d.kernels[i].views)});
    }
    for (std::size_t i = 0; product && i < product->parts.size(); ++i) {
      std::vector<ViewId> views{product->a, product->b};
      if (d.kernels.empty()) {
        views.push_back(product->c);
      } else {
        const std::vector<ViewId>& more = d.kernels.at(i).views;
        views.insert(views.end(), more.begin(), more.end());
      }
      out.products.push_back({where, product->parts[i].contraction,
                              d.kernels.empty() ? nullptr : d.kernels.at(i).kernel,
                              elements(views)});
    }
  }
  return out;
}

std::vector<ir::Graph> sample_graphs(const Op& op, DType other) {
  std::vector<ir::Graph> out;
  for (const Sample& sample : samples_of(op)) {
    out.push_back(sample_graph(op, sample));
    bool any = false;
    for (const SampleOperand& o : sample.operands) any |= !o.absent && o.type.dtype == DType::f32;
    const bool first = any && !sample.operands[0].absent && is_float(sample.operands[0].type.dtype);
    if (any && (!first || op.dtypes.has(other))) out.push_back(sample_graph(op, sample, other));
  }
  return out;
}

}  // namespace plait::plan
