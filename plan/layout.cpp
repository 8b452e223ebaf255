// Layouts: classes of images that must agree, and which of them want their channels last.
#include "plan/layout.h"

#include <algorithm>
#include <numeric>

#include "base/at.h"
#include "loop/kernel.h"
#include "ops/shape.h"

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

/// Of a class of images; where two meet, the later one holds.
enum class Wish { kNone, kOutputsLast, kChannelsLast };

class Wishes {
 public:
  explicit Wishes(const ir::Graph& graph) : graph_(graph), wishes_(graph.values.size()) {}

  bool is_image(ir::ValueId id) const { return graph_.type(id).shape.size() == 4; }
  Wish of(std::size_t value) const { return wishes_[value]; }

  void add(const ir::Node& node, const NodeFacts& f) {
    if (f.kind == Kind::kWindow && f.is_product) return add_depthwise(node, f);
    if (f.kind == Kind::kTaps) return add_taps(node, f);
    if (f.kind != Kind::kContract) return;
    const auto& loads = f.nest.loads;
    if (std::none_of(loads.begin(), loads.end(),
                     [&](const loop::Access& a) { return channels_first(a, f.nest); })) {
      return;
    }
    for (ir::ValueId id : node.inputs) wish(id, Wish::kChannelsLast);
    wish(node.outputs[0], Wish::kChannelsLast);
  }

 private:
  void wish(ir::ValueId id, Wish w) {
    if (id != ir::kNone && is_image(id)) wishes_[at(id)] = std::max(wishes_[at(id)], w);
  }

  /// Whether a variable of the nest moves an axis of an operand.
  static bool walks(const NodeFacts& f, const loop::Access& a, std::size_t axis, std::size_t var) {
    return loop::mentions(a.index[axis], symbol_of(f.nest.vars[var]));
  }

  /// The gradient of a depthwise convolution's weights: the nest's first variable is the channel.
  void add_taps(const ir::Node& node, const NodeFacts& f) {
    const ir::ValueId out = node.outputs[0];
    if (!is_image(out) || graph_.type(out).shape[0].lo() < kFewest) return;
    wish(out, Wish::kOutputsLast);
    for (const loop::Access& a : f.nest.loads) {
      const ir::ValueId id = node.inputs[at(a.operand)];
      if (is_image(id) && walks(f, a, kChannel, 0)) wish(id, Wish::kChannelsLast);
    }
  }

  /// A depthwise convolution runs along its channels, where they fill a register. Its weights, the
  /// operand that no image of the batch moves, then follow each other by the channel they are for.
  void add_depthwise(const ir::Node& node, const NodeFacts& f) {
    const ir::ValueId out = node.outputs[0];
    if (!is_image(out)) return;
    for (const loop::Access& a : f.nest.loads) {
      const ir::ValueId weights = node.inputs[at(a.operand)];
      if (!is_image(weights) || walks(f, a, 0, kBatch)) continue;
      if (graph_.type(weights).shape[0].lo() < kFewest) continue;
      wish(weights, Wish::kOutputsLast);
      if (!walks(f, a, 0, kChannel)) continue;
      for (ir::ValueId id : node.inputs) {
        if (id != weights) wish(id, Wish::kChannelsLast);
      }
      wish(out, Wish::kChannelsLast);
    }
  }

  static constexpr std::int64_t kFewest = 16;             // channels that fill a register
  static constexpr std::size_t kBatch = 0, kChannel = 1;  // of an image whose channels come first

  const ir::Graph& graph_;
  std::vector<Wish> wishes_;
};

}  // namespace

bool Layouts::is_default(ir::ValueId id) const {
  return std::is_sorted(at(id).begin(), at(id).end());
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

Layouts choose_layouts(const ir::Graph& graph, const Facts& facts, const Pinned& pinned) {
  Classes classes(graph.values.size());
  std::vector<char> fixed(graph.values.size(), 0);
  Wishes wishes(graph);
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
    if (pinned.copies.count(static_cast<ir::NodeId>(n))) continue;
    const ir::ValueId out = node.outputs[0];
    for (const loop::Access& a : f.nest.loads) {
      const ir::ValueId in = node.inputs[at(a.operand)];
      if (f.kind != Kind::kContract && wishes.is_image(in) && wishes.is_image(out) &&
          keeps_axes(a, f.nest)) {
        classes.join(in, out);
      }
    }
    wishes.add(node, f);
  }
  for (const ir::NextState& n : graph.nexts)
    classes.join(graph.find_state(n.state)->value, n.value);

  std::vector<Wish> want(graph.values.size(), Wish::kNone);
  std::vector<char> keep(graph.values.size(), 0);
  for (std::size_t v = 0; v < graph.values.size(); ++v) {
    const auto root = at(classes.find(static_cast<int>(v)));
    want[root] = std::max(want[root], wishes.of(v));
    keep[root] |= fixed[v];
  }
  std::map<std::size_t, Layout> given;  // by class
  for (const auto& [value, layout] : pinned.of) {
    given.emplace(at(classes.find(value)), layout);
  }
  Layouts out;
  for (std::size_t v = 0; v < graph.values.size(); ++v) {
    const auto root = at(classes.find(static_cast<int>(v)));
    const std::size_t rank = graph.values[v].type.shape.size();
    const bool is_free = rank == 4 && !keep[root];
    const auto known = given.find(root);
    if (is_free && known != given.end()) {
      out.of.push_back(known->second);
      continue;
    }
    out.of.push_back(is_free && want[root] == Wish::kChannelsLast  ? Layout{0, 2, 3, 1}
                     : is_free && want[root] == Wish::kOutputsLast ? Layout{1, 2, 3, 0}
                                                                   : default_layout(rank));
  }
  for (const auto& [value, layout] : pinned.of) out.of[at(value)] = layout;
  return out;
}

LayoutClashes clashes_in(const ir::Graph& graph, const Facts& facts, const Layouts& layouts) {
  LayoutClashes out;
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    if (facts[n].kind != Kind::kHand) continue;
    for (ir::ValueId id : graph.nodes[n].inputs) {
      if (id != ir::kNone && !layouts.is_default(id)) out.states.insert(id);
    }
  }
  for (std::size_t i = 0; i < graph.nexts.size(); ++i) {
    const ir::NextState& next = graph.nexts[i];
    if (layouts.at(next.value) != layouts.at(graph.find_state(next.state)->value)) {
      out.nexts.insert(i);
    }
  }
  return out;
}

ir::Graph with_copies(ir::Graph graph, const LayoutClashes& clashes, const Layouts& layouts,
                      Pinned& pinned) {
  const auto copy_of = [&](ir::ValueId value) {
    ir::Node copy;
    copy.op = ops::copy.name;
    copy.inputs = {value};
    const std::string name = graph.fresh_name(graph.value(value).name + ".laid");
    return graph.node(graph.add_node(std::move(copy), {graph.type(value)}, {name})).outputs[0];
  };
  const std::size_t given = graph.nodes.size();
  for (const ir::ValueId state : clashes.states) {
    const ir::ValueId copy = copy_of(state);
    for (std::size_t n = 0; n < given; ++n) {
      std::replace(graph.nodes[n].inputs.begin(), graph.nodes[n].inputs.end(), state, copy);
    }
  }
  // Those are read by all: they stand first.
  const std::size_t reads = graph.nodes.size() - given;
  const auto end = graph.nodes.end();
  std::rotate(graph.nodes.begin(), end - static_cast<std::ptrdiff_t>(reads), end);
  for (ir::Value& v : graph.values) {
    if (v.producer == ir::kNone) continue;
    const std::size_t n = at(v.producer);
    v.producer = static_cast<ir::NodeId>(n < given ? n + reads : n - given);
  }
  for (std::size_t i = 0; i < reads; ++i) pinned.copies.insert(static_cast<ir::NodeId>(i));
  for (const std::size_t i : clashes.nexts) {
    const ir::ValueId state = graph.find_state(graph.nexts[i].state)->value;
    graph.nexts[i].value = copy_of(graph.nexts[i].value);
    for (const ir::ValueId v : {state, graph.nexts[i].value}) {
      pinned.of.emplace(v, layouts.at(state));
    }
    pinned.copies.insert(static_cast<ir::NodeId>(graph.nodes.size() - 1));
  }
  return graph;
}

}  // namespace plait::plan
