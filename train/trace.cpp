// Running a graph while looking at every result.
#include "train/trace.h"

#include <cmath>

#include "backends/backends.h"
#include "base/text.h"
#include "ir/text.h"
#include "train/states.h"

namespace plait::train {

Tracer::Tracer(const Session& session, const RunRequest& request, int threads)
    : target_(make_target("cpu", threads)) {
  CompileRequest unfused;
  unfused.plan.fuse = false;
  const ir::Graph wanted = wanted_graph(session.package(), request);
  executor_ = std::make_unique<Executor>(compile(wanted, *target_, unfused).program, target_->open());
  const program::Program& program = executor_->program();
  graph_ = ir::parse_graph(program.graph_text, program.graph_name);
  for (std::size_t i = 0; i < program.views.size(); ++i) {
    views_.emplace(program.views[i].name, program::ViewId(i));
  }
  for (const program::StateBinding& s : program.states) {
    executor_->memory().set_state(s.state.name, session.state(s.state.name));
  }
}

void Tracer::set_state(const std::string& name, const Array& value) {
  executor_->memory().set_state(name, value);
}

Tracer::Kind Tracer::kind_of(const Array& array) {
  if (all_finite(array)) return kFinite;
  for (std::int64_t i = 0; i < array.count(); ++i) {
    if (std::isnan(array.real(i))) return kNan;
  }
  return kInfinite;
}

std::vector<program::ViewId> Tracer::results_of(const program::Step& step) const {
  std::vector<program::ViewId> results;
  for (const std::string& name : step.nodes) {
    const auto found = views_.find(name);
    if (found != views_.end()) results.push_back(found->second);
  }
  return results;
}

std::string Tracer::describe(program::ViewId view) const {
  const program::View& value = executor_->program().view(view);
  const ir::ValueId id = graph_.find_value(value.name);
  if (id == ir::kNone || graph_.value(id).producer == ir::kNone) return value.name;
  const ir::Node& node = graph_.node(graph_.value(id).producer);
  return str("[", node.op, "] of ", value.type, ": ", ir::describe(graph_, node));
}

std::optional<std::string> Tracer::run(const Arrays& feeds) {
  for (const auto& [name, array] : feeds) executor_->set_feed(name, array);
  std::string nan, infinite;
  const auto look = [&](std::size_t i) {
    if (!nan.empty()) return;
    for (const program::ViewId view : results_of(executor_->program().steps[i])) {
      const Kind kind = kind_of(executor_->value(view));
      if (kind == kNan && nan.empty()) nan = describe(view);
      if (kind == kInfinite && infinite.empty()) infinite = describe(view);
    }
  };
  executor_->run_steps([](std::size_t) {}, look);
  if (nan.empty() && infinite.empty()) return std::nullopt;
  if (nan.empty()) return "the first infinite value was made by " + infinite;
  std::string said = "the first NaN was made by " + nan;
  if (!infinite.empty()) said += "; before it, the first infinite value by " + infinite;
  return said;
}

}  // namespace plait::train
