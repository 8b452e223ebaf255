// Memory that could not be planned, and the shape that was missing.
#include <algorithm>
#include <set>

#include "base/error.h"
#include "report/megengine_facts.h"

namespace plait::report {

using namespace io::megengine;

namespace {

const std::optional<InferTag>& tag_of(const Index& index, int var, bool shape) {
  return shape ? index.var(var).shape : index.var(var).value;
}

/// Follows what could not be inferred back to vars that nothing describes.
std::vector<int> undescribed(const Index& index, const std::vector<int>& from) {
  std::vector<int> roots;
  std::set<std::pair<int, bool>> seen;
  std::vector<std::pair<int, bool>> open;
  for (int var : from) open.emplace_back(var, true);
  while (!open.empty()) {
    const auto [var, shape] = open.back();
    open.pop_back();
    if (!seen.emplace(var, shape).second) continue;
    const auto& tag = tag_of(index, var, shape);
    if (!tag) continue;
    if (tag->infer_type == "NO_DESC") roots.push_back(var);
    if (tag->infer_type != "MISSING_INP") continue;
    for (const InferTag::Dep& dep : tag->deps) {
      open.emplace_back(index.var_of(dep.var), dep.kind == "SHAPE");
    }
  }
  std::sort(roots.begin(), roots.end());
  roots.erase(std::unique(roots.begin(), roots.end()), roots.end());
  return roots;
}

}  // namespace

void add_dynamic_memory(Page& page, const Index& index) {
  std::vector<int> waiting;
  Finding found;
  std::int64_t bytes = 0;
  for (std::size_t i = 0; i < index.record.vars.size(); ++i) {
    const Var& var = index.record.vars[i];
    if (!var.has_flag(kDynamicFlag)) continue;
    const int v = static_cast<int>(i);
    found.nodes.push_back(var.name);
    if (index.owner_of(v) == v) bytes += io::megengine::bytes_of(index, v, 4).value_or(0);
    if (var.shape && var.shape->infer_type == "MISSING_INP") waiting.push_back(v);
  }
  if (found.nodes.empty()) return;
  found.what = str(found.nodes.size(), " vars, ", bytes_text(bytes),
                   ", are allocated while the graph runs instead of in a static plan.");
  const std::vector<int> roots = undescribed(index, waiting);
  if (!roots.empty()) {
    std::vector<std::string> names;
    for (int root : roots) {
      const Operator& op = index.op(index.producer_of(root));
      names.push_back(str(index.var(root).name, " (var ", index.var(root).id, ", of operator ",
                          op.id, ", ", op.type, ")"));
      if (names.size() == 8) break;
    }
    found.what += str(" ", roots.size() == 1 ? "One shape is" : str(roots.size(), " shapes are"),
                      " not known before the run: ", join(names, ", "), "; ", waiting.size(),
                      " of them wait for ", roots.size() == 1 ? "it." : "those.");
    found.advice =
        "Say that shape, or its range, when the graph is built, and all of it can be "
        "planned once.";
  }
  page.findings.push_back(std::move(found));
}

}  // namespace plait::report
