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

std::pair<std::int64_t, std::int64_t> range_of(const Program& program, ViewId view) {
  const Buffer& b = program.buffer_of(view);
  const std::int64_t region = b.region == Region::kArena      ? program.states_bytes
                              : b.region == Region::kConstant ? program.table_bytes()
                                                              : 0;
  const std::int64_t begin = b.offset + region;
  return {begin, begin + b.bytes};
}

DimBindings largest(const std::map<std::string, Dim>& symbols) {
  DimBindings out;
  for (const auto& [name, symbol] : symbols) out.emplace(name, Dim(symbol.hi()));
  return out;
}

}  // namespace plait::program
