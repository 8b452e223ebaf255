// Draft: groups as steps with calls, before anything is known of memory. Its views have no buffers
// yet.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "backends/target.h"
#include "plan/lower/lower.h"
#include "program/program.h"

namespace plait::plan {

using program::Step;
using program::ViewId;

/// A loop, or what follows a product, as it was printed.
struct StepKernel {
  std::shared_ptr<const loop::Kernel> kernel;
  std::vector<ViewId> views;  // per buffer; none: the product
};

struct DraftStep {
  Step step;
  std::vector<StepKernel> kernels;  // in the order of the calls, and of their parts
};

struct Draft {
  std::vector<DraftStep> steps;
  std::map<std::string, std::string> texts;  // functions by name
  std::vector<program::View> views;
  std::vector<ir::ValueId> values;  // per view: the graph's value that it holds
  std::vector<bool> copies;         // per view: it holds that value once more
  std::vector<ViewId> view_of;      // per value of the graph; none: no step touches it
  bool single_kernel = false;

  ir::ValueId value(ViewId view) const { return values[view.index()]; }
  bool is_copy(ViewId view) const { return copies[view.index()]; }
  /// The view of a value; none for kNone.
  ViewId view(const ir::Graph& graph, const Layouts& layouts, ir::ValueId value);
  /// A view for no value of the graph.
  ViewId add(program::View view);
  /// A view for what another one holds, in memory of its own.
  ViewId copy(ViewId of, const std::string& suffix);
};

/// Whether a step is one loop that reduces nothing.
bool is_pointwise(const DraftStep& d);

/// One more kernel of a step: `a` and `a` are a, `a` and `b` are a+.
void add_kernel(Step& step, const std::string& kernel);

/// Whether a step reads a value as the operand of a contraction or of a hand kernel, which may do
/// so at any time.
bool reads_whole(const Step& step, ViewId view);

Draft make_draft(const PlanContext& context, const Target& target, const DimBindings& largest,
                 Tuning& tuning, DecisionLog& log);

/// Copies one view's elements to another of the same type and layout.
DraftStep copy_step(ViewId from, ViewId to, const std::string& name, const Target& target,
                    Draft& draft);

}  // namespace plait::plan
