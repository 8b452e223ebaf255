// Nests: construction and their text as an index map.
#include "loop/nest.h"

#include <algorithm>

namespace plait::loop {

Dim index_symbol(const std::string& name, const Dim& extent) {
  // `$` keeps an index apart from a size symbol of the same name.
  return Dim::symbol("$" + name, 0, std::max<std::int64_t>(extent.hi() - 1, 0));
}

Dim add_index(Nest& nest, const std::string& name, const Dim& extent, bool reduced) {
  nest.vars.push_back({name, extent, reduced});
  return index_symbol(name, extent);
}

Dim add_loaded(Nest& nest, const std::string& name, const Dim& extent, Access from) {
  nest.loaded.push_back({name, extent, std::move(from)});
  return index_symbol(name, extent);
}

Expr add_load(Nest& nest, Access access) {
  nest.loads.push_back(std::move(access));
  return Expr::load(static_cast<int>(nest.loads.size()) - 1);
}

std::string map_text(const Nest& nest) {
  auto indices = [](const std::vector<Dim>& list) {
    std::string out;
    for (const Dim& d : list) {
      std::string t = d.text();
      std::erase(t, '$');
      out += t.size() == 1 ? t : "[" + t + "]";
    }
    return out;
  };
  std::string out;
  for (const LoadedIndex& l : nest.loaded) out += l.name + "=" + indices(l.from.index) + ";";
  for (std::size_t i = 0; i < nest.loads.size(); ++i) {
    out += (i ? "," : "") + indices(nest.loads[i].index);
  }
  out += "->";
  for (const IndexVar& v : nest.vars) {
    if (!v.reduced) out += v.name.size() == 1 ? v.name : "[" + v.name + "]";
  }
  return out;
}

Dim point_count(const Nest& nest) {
  Dim n = 1;
  for (const IndexVar& v : nest.vars) n = n * v.extent;
  return n;
}

}  // namespace plait::loop
