// Comparison of graphs field by field.
#include "tests/ir/same_graph.h"

namespace plait::ir {
namespace {

bool same_dim(const Dim& a, const Dim& b) { return a == b && a.lo() == b.lo() && a.hi() == b.hi(); }

bool same_type(const Type& a, const Type& b) {
  if (!(a == b)) return false;
  for (std::size_t i = 0; i < a.shape.size(); ++i) {
    if (!same_dim(a.shape[i], b.shape[i])) return false;
  }
  return true;
}

/// Reals print exactly, so their text compares them, and makes a NaN equal itself.
bool same_attrs(const Attrs& a, const Attrs& b) {
  if (std::distance(a.begin(), a.end()) != std::distance(b.begin(), b.end())) return false;
  for (auto x = a.begin(), y = b.begin(); x != a.end(); ++x, ++y) {
    if (x->first != y->first || x->second.index() != y->second.index()) return false;
    if (attr_text(x->second) != attr_text(y->second)) return false;
    const auto* literal = std::get_if<Literal>(&x->second);
    if (literal && !(*literal == std::get<Literal>(y->second))) return false;
    const auto* dim = std::get_if<Dim>(&x->second);
    if (dim && !same_dim(*dim, std::get<Dim>(y->second))) return false;
  }
  return true;
}

std::vector<std::string> names_of(const Graph& g, const std::vector<ValueId>& ids) {
  std::vector<std::string> names;
  for (ValueId id : ids) names.push_back(id == kNone ? "" : g.value(id).name);
  return names;
}

std::string node_difference(const Graph& a, const Graph& b, const Node& x, const Node& y) {
  if (x.op != y.op) return "op";
  if (names_of(a, x.inputs) != names_of(b, y.inputs)) return "inputs";
  if (names_of(a, x.outputs) != names_of(b, y.outputs)) return "outputs";
  if (!same_attrs(x.attrs, y.attrs)) return "attrs";
  if (x.path != y.path) return "path";
  if (!(x.source == y.source)) return "source";
  return x.opaque == y.opaque ? "" : "opaque";
}

bool same_state(const Graph& a, const Graph& b, const StateUse& x, const StateUse& y) {
  return x.state.name == y.state.name && same_type(x.state.type, y.state.type) &&
         x.state.role == y.state.role && x.state.init.kind == y.state.init.kind &&
         same_attrs(x.state.init.attrs, y.state.init.attrs) &&
         a.value(x.value).name == b.value(y.value).name;
}

}  // namespace

std::string difference(const Graph& a, const Graph& b) {
  if (a.name != b.name) return "name";
  if (a.values.size() != b.values.size()) return "number of values";
  for (const Value& v : a.values) {
    const ValueId id = b.find_value(v.name);
    if (id == kNone) return "no value " + v.name;
    if (!same_type(v.type, b.type(id))) return "type of " + v.name;
    if (v.producer != b.value(id).producer) return "producer of " + v.name;
  }
  if (names_of(a, a.feeds) != names_of(b, b.feeds)) return "feeds";
  if (a.nodes.size() != b.nodes.size()) return "number of nodes";
  for (std::size_t i = 0; i < a.nodes.size(); ++i) {
    const std::string what = node_difference(a, b, a.nodes[i], b.nodes[i]);
    if (!what.empty()) return str("node ", i, ": ", what);
  }
  if (a.states.size() != b.states.size()) return "number of states";
  for (std::size_t i = 0; i < a.states.size(); ++i) {
    if (!same_state(a, b, a.states[i], b.states[i])) return "state " + a.states[i].state.name;
  }
  if (a.nexts.size() != b.nexts.size()) return "number of nexts";
  for (std::size_t i = 0; i < a.nexts.size(); ++i) {
    if (a.nexts[i].state != b.nexts[i].state) return str("state of next ", i);
    if (a.value(a.nexts[i].value).name != b.value(b.nexts[i].value).name) return str("next ", i);
  }
  if (a.fetches.size() != b.fetches.size()) return "number of fetches";
  for (std::size_t i = 0; i < a.fetches.size(); ++i) {
    if (a.fetches[i].name != b.fetches[i].name) return str("name of fetch ", i);
    if (a.value(a.fetches[i].value).name != b.value(b.fetches[i].value).name) {
      return str("fetch ", i);
    }
  }
  return "";
}

}  // namespace plait::ir
