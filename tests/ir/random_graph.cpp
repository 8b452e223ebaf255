// Random packages of graphs.
#include "tests/ir/random_graph.h"

#include <bit>
#include <cmath>
#include <limits>

namespace plait::ir {

std::string RandomGraphs::name() {
  static const std::vector<std::string> odd{"weird name",
                                            "quote\"s",
                                            "back\\slash",
                                            "two\nlines",
                                            "\x1b[31mred\r",
                                            "# no comment",
                                            "%",
                                            "%x",
                                            "_",
                                            "__",
                                            ":",
                                            "a:",
                                            ":a",
                                            "a:b",
                                            "next",
                                            "return",
                                            "opaque",
                                            "on",
                                            "as",
                                            "state",
                                            "graph",
                                            "symbol",
                                            "true",
                                            "f32",
                                            "-5",
                                            "1e5",
                                            "inf",
                                            "tab\tbed",
                                            "\r",
                                            "caf\xc3\xa9",
                                            "(",
                                            ")",
                                            "a=b",
                                            "a,b",
                                            "x[0]",
                                            "{}",
                                            "blocks.3.att/key:0",
                                            "$",
                                            "..",
                                            "-",
                                            std::string("nul\0byte", 8),
                                            "\xff"};
  if (below(3) == 0) return odd[static_cast<std::size_t>(below(static_cast<int>(odd.size())))];
  return std::string(1, static_cast<char>('a' + below(26))) + std::to_string(below(1000));
}

std::string RandomGraphs::fresh(const Graph& g) {
  for (;;) {
    std::string candidate = name();
    if (g.find_value(candidate) == kNone) return candidate;
  }
}

Dim RandomGraphs::dim(int depth) {
  if (depth == 0) {
    if (symbols_.empty() || below(2)) return Dim(below(9) - 2);
    return symbols_[static_cast<std::size_t>(below(static_cast<int>(symbols_.size())))];
  }
  const Dim a = dim(depth - 1), b = dim(below(depth));
  switch (below(6)) {
    case 0:
      return a + b;
    case 1:
      return a - b;
    case 2:
      return a * b;
    case 3:
      return below(2) ? min(a, b) : max(a, b);
    case 4:
      return floordiv(a, 1 + below(5));
    default:
      return mod(a, 1 + below(5));
  }
}

Dim RandomGraphs::size() {
  const Dim d = dim(below(3));
  return d.lo() >= 0 ? d : Dim(below(100));
}

Type RandomGraphs::type() {
  Type t;
  t.dtype = static_cast<DType>(below(kDTypeCount));
  for (int n = below(4); n > 0; --n) t.shape.push_back(size());
  if (below(5) == 0) t.place = place(t.rank());
  return t;
}

Place RandomGraphs::place(int rank) {
  Place p;
  p.device = below(4) ? "cuda" : "odd device";
  std::int64_t cells = 1;
  for (int n = below(3); n >= 0; --n) {
    p.mesh.push_back(1 + below(3));
    cells *= p.mesh.back();
    const auto kind = static_cast<Layout::Kind>(rank ? below(3) : 1 + below(2));
    p.axes.push_back({kind, kind == Layout::kSplit ? below(rank) : 0});
  }
  if (below(8) == 0) {
    p.mesh.clear();
    p.axes.clear();
    cells = 1;
  }
  for (int r = 0; r < cells; ++r) p.ranks.push_back(r + 3);
  return p;
}

double RandomGraphs::real() {
  constexpr double special[] = {0.0,
                                -0.0,
                                1.0,
                                1e-5,
                                1e300,
                                std::numeric_limits<double>::infinity(),
                                -std::numeric_limits<double>::infinity(),
                                std::numeric_limits<double>::quiet_NaN(),
                                5e-324,
                                100000.0};
  if (below(2)) return special[below(10)];
  const double x = std::bit_cast<double>(random_());
  return std::isnan(x) ? 0.5 : x;
}

Literal RandomGraphs::literal() {
  Sizes sizes;
  for (int n = below(3); n > 0; --n) sizes.push_back(below(4));
  Array a(static_cast<DType>(below(kDTypeCount)), sizes);
  for (std::int64_t i = 0; i < a.count(); ++i) {
    if (is_float(a.dtype())) {
      a.set(i, real());
    } else {
      a.set_integer(i, static_cast<std::int64_t>(random_()));
    }
  }
  return {std::make_shared<const Array>(std::move(a))};
}

AttrValue RandomGraphs::value() {
  switch (below(10)) {
    case 0:
      return below(2) == 0;
    case 1:
      return dim(below(4));
    case 2:
      return real();
    case 3:
      return name();
    case 4:
      return static_cast<DType>(below(kDTypeCount));
    case 5: {
      Shape dims;
      for (int n = below(4); n > 0; --n) dims.push_back(dim(below(3)));
      return dims;
    }
    case 6: {
      std::vector<double> list;
      for (int n = 1 + below(3); n > 0; --n) list.push_back(real());
      return list;
    }
    case 7: {
      std::vector<std::string> list;
      for (int n = 1 + below(3); n > 0; --n) list.push_back(name());
      return list;
    }
    case 8:
      return Dim(static_cast<std::int64_t>(below(2) ? random_() : 1ULL << 63));
    default:
      return literal();
  }
}

Attrs RandomGraphs::attrs() {
  Attrs out;
  for (int n = below(4); n > 0; --n) out.set(below(20) ? name() : "", value());
  return out;
}

void RandomGraphs::add_inputs(Graph& g) {
  for (int n = below(4); n > 0; --n) g.add_feed(fresh(g), type());
  for (int n = below(4); n > 0; --n) {
    State s{fresh(g), type(), static_cast<Role>(below(4)), {}};
    if (below(2)) s.init = {below(2) ? "zeros" : name(), attrs()};
    g.add_state(std::move(s));
  }
}

void RandomGraphs::add_node(Graph& g) {
  Node n;
  n.op = name();
  n.opaque = below(5) == 0;
  for (int k = below(4); k > 0; --k) {
    n.inputs.push_back(g.values.empty() || below(5) == 0 ? kNone : any_value(g));
  }
  n.attrs = attrs();
  if (below(2)) n.path = name();
  if (below(3) == 0) n.source = {below(5) ? "models/mlp.cpp" : name(), below(1000)};
  std::vector<Type> types;
  std::vector<std::string> names;
  for (int k = below(3); k >= 0; --k) types.push_back(type());
  if (below(2)) {
    names.push_back(fresh(g));
  } else {
    n.op = "op" + std::to_string(below(9));
  }
  for (std::size_t k = names.size(); k < types.size(); ++k) names.push_back(g.fresh_name("r"));
  g.add_node(std::move(n), types, std::move(names));
}

Graph RandomGraphs::graph(std::string graph_name) {
  Graph g;
  g.name = std::move(graph_name);
  add_inputs(g);
  for (int n = below(8); n > 0; --n) add_node(g);
  for (const StateUse& s : g.states) {
    for (std::size_t id = 0; id < g.values.size(); ++id) {
      if (!(g.values[id].type == s.state.type) || below(2)) continue;
      g.nexts.push_back({s.state.name, static_cast<ValueId>(id)});
      break;
    }
  }
  for (int n = g.values.empty() ? 0 : below(4); n > 0; --n) {
    const ValueId id = any_value(g);
    Fetch f{below(2) ? g.value(id).name : name() + std::to_string(n), id};
    bool taken = false;
    for (const Fetch& other : g.fetches) taken |= other.name == f.name;
    if (!taken) g.fetches.push_back(std::move(f));
  }
  return g;
}

Package RandomGraphs::package() {
  symbols_.clear();
  const char* const names[] = {"batch", "t", "_", "E5", "on"};
  for (int n = below(6); n > 0; --n) {
    const int lo = below(3);
    symbols_.push_back(Dim::symbol(names[n - 1], lo, lo + below(100)));
  }
  Package out;
  for (int n = below(4); n > 0; --n) {
    out.graphs.push_back(graph(name() + std::to_string(n)));
    // The graphs of a package share one table of states; these declare theirs independently.
    try {
      static_cast<void>(state_table(out));
    } catch (const UserError&) {
      out.graphs.pop_back();
    }
  }
  return out;
}

}  // namespace plait::ir
