// What a program's parts say of it.
#include "program/program.h"

#include <algorithm>
#include <set>

namespace plait::program {

Uses uses_of(const Step& step) {
  Uses uses;
  std::set<ViewId> read, written;
  for (const Call& call : step.calls) {
    each_argument(call, [&](ViewId view, Access access) {
      const bool reads = access == Access::kRead;
      if (!(reads ? read : written).insert(view).second) return;
      (reads ? uses.reads : uses.writes).push_back(view);
    });
  }
  return uses;
}

DimBindings largest(const std::map<std::string, Dim>& symbols) {
  DimBindings out;
  for (const auto& [name, symbol] : symbols) out.emplace(name, Dim(symbol.hi()));
  return out;
}

}  // namespace plait::program
