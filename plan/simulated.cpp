// Steps and views of a draft as a schedule.
#include "plan/simulated.h"

#include "base/at.h"

namespace plait::plan {

program::Schedule schedule_of(const ir::Graph& graph, const Draft& draft,
                              const std::vector<program::Uses>& uses) {
  program::Schedule out;
  out.pieces.resize(draft.views.size());
  const auto piece_of = [&](ir::ValueId v) -> program::Schedule::Piece* {
    const ViewId view = at(v) < draft.view_of.size() ? draft.view_of[at(v)] : ViewId();
    return view.valid() ? &out.pieces[view.index()] : nullptr;
  };
  const auto bytes_of = [&](std::size_t view) { return draft.views[view].type.bytes().hi(); };
  for (std::size_t s = 0; s < uses.size(); ++s) {
    program::Schedule::Step& step = out.steps.emplace_back();
    step.seconds = draft.steps[s].step.seconds;
    for (ViewId v : uses[s].reads) step.reads.push_back(v.index());
    for (ViewId v : uses[s].writes) {
      step.writes.push_back(v.index());
      out.pieces[v.index()].bytes = bytes_of(v.index());
    }
  }
  for (ir::ValueId v : graph.feeds) {
    if (auto* piece = piece_of(v)) {
      piece->fed = true;
      piece->bytes = bytes_of(static_cast<std::size_t>(piece - out.pieces.data()));
    }
  }
  for (const ir::Fetch& f : graph.fetches) {
    if (auto* piece = piece_of(f.value)) piece->fetched = true;
  }
  for (const ir::NextState& n : graph.nexts) {
    if (auto* piece = piece_of(n.value)) piece->bytes = 0;
  }
  return out;
}

}  // namespace plait::plan
