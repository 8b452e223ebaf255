// Layouts: classes of images that must agree, and which of them want their channels last.
#include "plan/layout.h"

#include <algorithm>
#include <numeric>

#include "base/at.h"
#include "loop/kernel.h"

namespace plait::plan {
namespace {

class Classes {
 public:
  explicit Classes(std::size_t count) : parent_(count) {
    std::iota(parent_.begin(), parent_.end(), 0);
  }
  int find(int x) {
    while (parent_[at(x)] != x) x = parent_[at(x)] = parent_[at(parent_[at(x)])];
    return x;
  }
  void join(int a, int b) { parent_[at(find(a))] = find(b); }

 private:
  std::vector<int> parent_;
};

/// Which variables an index is made of: bit 0 those of the output, bit 1 reduced ones.
int parts_of(const Dim& index, const loop::Nest& nest) {
  int parts = 0;
  for (const loop::IndexVar& v : nest.vars) {
    if (loop::mentions(index, symbol_of(v))) parts |= v.reduced ? 2 : 1;
  }
  return parts;
}

/// An image whose channels stand before its rows and columns: those two are walked alike, the
/// channels in another way.
bool channels_first(const loop::Access& access, const loop::Nest& nest) {
  if (access.index.size() != 4) return false;
  const int c = parts_of(access.index[1], nest), h = parts_of(access.index[2], nest),
            w = parts_of(access.index[3], nest);
  return h == w && c != h && h != 0 && c != 0;
}

/// Axis d of the operand is walked by nothing but axis d of the output (and reduced indices).
bool keeps_axes(const loop::Access& access, const loop::Nest& nest) {
  for (std::size_t d = 0; d < access.index.size(); ++d) {
    std::size_t axis = 0;
    for (const loop::IndexVar& v : nest.vars) {
      if (v.reduced) continue;
      if (axis != d && loop::mentions(access.index[d], symbol_of(v))) return false;
      ++axis;
    }
  }
  return true;
}

}  // namespace

bool Layouts::is_default(ir::ValueId id) const {
  return std::is_sorted(at(id).begin(), at(id).end());
}

Layout default_layout(std::size_t rank) {
  Layout layout(rank);
  std::iota(layout.begin(), layout.end(), 0);
  return layout;
}

std::vector<Dim> strides_of(const Shape& shape, const Layout& layout) {
  std::vector<Dim> strides(shape.size(), 0);
  Dim step = 1;
  for (std::size_t i = layout.size(); i-- > 0;) {
    strides[at(layout[i])] = step;
    step = step * shape[at(layout[i])];
  }
  return strides;
}

Layouts choose_layouts(const ir::Graph& graph, const Facts& facts) {
  Classes classes(graph.values.size());
  std::vector<char> wanted(graph.values.size(), 0), fixed(graph.values.size(), 0);
  const auto is_image = [&](ir::ValueId id) { return graph.type(id).shape.size() == 4; };
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    const ir::Node& node = graph.nodes[n];
    const NodeFacts& f = facts[n];
    if (f.kind == Kind::kHand) {
      for (const auto* list : {&node.inputs, &node.outputs}) {
        for (ir::ValueId id : *list) {
          if (id != ir::kNone) fixed[at(id)] = 1;
        }
      }
      continue;
    }
    const ir::ValueId out = node.outputs[0];
    bool channels = false;
    for (const loop::Access& a : f.nest.loads) {
      channels |= f.kind == Kind::kContract && channels_first(a, f.nest);
      const ir::ValueId in = node.inputs[at(a.operand)];
      if (f.kind != Kind::kContract && is_image(in) && is_image(out) && keeps_axes(a, f.nest)) {
        classes.join(in, out);
      }
    }
    if (!channels) continue;
    wanted[at(out)] |= is_image(out);
    for (ir::ValueId id : node.inputs) {
      if (id != ir::kNone) wanted[at(id)] |= is_image(id);
    }
  }
  for (const ir::NextState& n : graph.nexts)
    classes.join(graph.find_state(n.state)->value, n.value);

  std::vector<char> want(graph.values.size(), 0), keep(graph.values.size(), 0);
  for (std::size_t v = 0; v < graph.values.size(); ++v) {
    const auto root = at(classes.find(static_cast<int>(v)));
    want[root] |= wanted[v];
    keep[root] |= fixed[v];
  }
  Layouts out;
  for (std::size_t v = 0; v < graph.values.size(); ++v) {
    const auto root = at(classes.find(static_cast<int>(v)));
    const std::size_t rank = graph.values[v].type.shape.size();
    const bool last = rank == 4 && want[root] && !keep[root];
    out.of.push_back(last ? Layout{0, 2, 3, 1} : default_layout(rank));
  }
  return out;
}

}  // namespace plait::plan
