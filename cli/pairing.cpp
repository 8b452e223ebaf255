// Pairing inputs: names first, then position in the network.
#include "cli/pairing.h"

#include <algorithm>
#include <map>

#include "base/error.h"
#include "ops/contraction.h"

namespace plait::cli {
namespace {

/// An input with where it is first read.
struct Place {
  Input input;
  bool by_name_only = false;
  std::int64_t depth = 0;  // contractions on the longest way from an input, its reader included
  std::int64_t order = 0;  // of its first reader
};

std::vector<Place> places_of(const ir::Graph& graph) {
  std::vector<std::int64_t> depth(graph.values.size(), 0);
  std::vector<std::int64_t> first_order(graph.values.size(), -1), first_depth(graph.values.size());
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    const ir::Node& node = graph.nodes[n];
    std::int64_t deepest = 0;
    for (ir::ValueId in : node.inputs) {
      if (in != ir::kNone) deepest = std::max(deepest, depth[static_cast<std::size_t>(in)]);
    }
    if (is_contraction(node)) ++deepest;
    for (ir::ValueId out : node.outputs) depth[static_cast<std::size_t>(out)] = deepest;
    for (ir::ValueId in : node.inputs) {
      if (in == ir::kNone || first_order[static_cast<std::size_t>(in)] >= 0) continue;
      first_order[static_cast<std::size_t>(in)] = static_cast<std::int64_t>(n);
      first_depth[static_cast<std::size_t>(in)] = deepest;
    }
  }
  std::vector<Place> places;
  const auto add = [&](const std::string& name, ir::ValueId id, bool state, bool by_name_only) {
    const auto v = static_cast<std::size_t>(id);
    places.push_back({{name, graph.type(id), state}, by_name_only, first_depth[v], first_order[v]});
  };
  for (ir::ValueId id : graph.feeds) add(graph.value(id).name, id, false, false);
  for (const ir::StateUse& use : graph.states) {
    add(use.state.name, use.value, true, use.state.role != ir::Role::kParam);
  }
  return places;
}

/// The sizes that are not 1: a bias may be [64] or [1,64,1,1].
Shape solid(const Shape& shape) {
  Shape out;
  for (const Dim& d : shape) {
    if (!d.is(1)) out.push_back(d);
  }
  return out;
}

bool same_kind(const ir::Type& a, const ir::Type& b) {
  return solid(a.shape) == solid(b.shape) && is_float(a.dtype) == is_float(b.dtype);
}

/// Takes pairs out of both lists: the i-th with the i-th of those with the same key.
template <class Key>
void pair_by(std::vector<Place>& first, std::vector<Place>& second, Pairing& out, Key key) {
  std::map<decltype(key(first[0])), std::vector<Place*>> candidates;
  for (Place& p : second) candidates[key(p)].push_back(&p);
  std::map<decltype(key(first[0])), std::size_t> used;
  std::vector<Place> left;
  for (const Place& p : first) {
    const auto found = candidates.find(key(p));
    std::size_t& next = used[key(p)];
    if (found == candidates.end() || next == found->second.size() ||
        !same_kind(p.input.type, found->second[next]->input.type)) {
      left.push_back(p);
      continue;
    }
    Place& partner = *found->second[next++];
    out.pairs.emplace_back(p.input, partner.input);
    partner.order = -2;  // taken
  }
  first = std::move(left);
  std::erase_if(second, [](const Place& p) { return p.order == -2; });
}

}  // namespace

Pairing pair_inputs(const ir::Graph& first, const ir::Graph& second) {
  Pairing out;
  std::vector<Place> a = places_of(first), b = places_of(second);
  pair_by(a, b, out, [](const Place& p) { return p.input.name; });
  const auto by_order = [](const Place& x, const Place& y) { return x.order < y.order; };
  const auto set_aside = [](std::vector<Place>& from, std::vector<Input>& to) {
    for (const Place& p : from) {
      if (p.by_name_only || p.order < 0) to.push_back(p.input);
    }
    std::erase_if(from, [](const Place& p) { return p.by_name_only || p.order < 0; });
  };
  set_aside(a, out.only_first);
  set_aside(b, out.only_second);
  std::stable_sort(a.begin(), a.end(), by_order);
  std::stable_sort(b.begin(), b.end(), by_order);
  const auto kind = [](const Place& p) {
    return std::pair(shape_text(solid(p.input.type.shape)), is_float(p.input.type.dtype));
  };
  pair_by(a, b, out, [&](const Place& p) { return std::pair(kind(p), p.depth); });
  pair_by(a, b, out, kind);
  for (const Place& p : a) out.only_first.push_back(p.input);
  for (const Place& p : b) out.only_second.push_back(p.input);
  return out;
}

}  // namespace plait::cli
