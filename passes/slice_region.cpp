// Growing a region: downwards along large values, between its nodes, upwards to large operands.
#include "passes/slice_region.h"

#include <algorithm>

#include "base/at.h"
#include "ops/contraction.h"

namespace plait {
namespace {

using ir::NodeId;
using ir::ValueId;

// More nodes than this are a network, not what follows one product.
constexpr std::size_t kMostNodes = 64;
// What enters by rows or leaves has less than this part of the elements of the contraction's
// result: a head's input has, the input of a hidden layer has not.
constexpr std::int64_t kSmallPart = 4;

std::int64_t elements(const ir::Graph& graph, ValueId v) {
  const Dim n = graph.type(v).elements();
  return n.is_const() ? n.value() : 0;
}

/// Parts of a list of nodes in order: those that read the first one's result, and those that make
/// operands of these.
class Derivation {
 public:
  Derivation(const ir::Graph& graph, NodeId first, const Box& rows)
      : graph_(graph), first_(first), rows_(rows) {}

  /// The part of a node that reads parts of others; false with `why` where it has none.
  bool read(NodeId n) {
    const ir::Node& node = graph_.node(n);
    if (node.opaque) return refuse(n, "it is opaque");
    GivenBoxes given;
    for (ValueId v : node.inputs) {
      if (parts.partial.count(v)) return refuse(n, "it reads a sum over the rows");
      const auto it = parts.made.find(v);
      given.inputs.push_back(it == parts.made.end() ? nullptr : &it->second);
    }
    if (n == first_) given.outputs = {&rows_};
    return take(n, part_of(view_of(graph_, node), given));
  }

  /// The part of a node that makes what others need of it.
  bool make(NodeId n) {
    const ir::Node& node = graph_.node(n);
    if (node.opaque) return refuse(n, "it is opaque");
    GivenBoxes given;
    for (ValueId v : node.outputs) {
      const auto it = parts.needed.find(v);
      given.outputs.push_back(it == parts.needed.end() ? nullptr : &it->second);
    }
    NodePart part = part_of(view_of(graph_, node), given);
    const bool sums = part.combine != loop::Reduce::kNone;
    if (sums) return refuse(n, "it sums what it is made from");
    if (!take(n, std::move(part))) return false;
    for (ValueId v : node.outputs) parts.needed.erase(v);
    return true;
  }

  RegionParts parts;                        // without `nodes`
  std::unordered_map<NodeId, NodePart> of;  // by node
  std::string why;

 private:
  bool refuse(NodeId n, const std::string& reason) {
    why = str(describe(graph_, graph_.node(n)), ": ", reason);
    return false;
  }

  bool take(NodeId n, NodePart part) {
    if (!part.fits) return refuse(n, part.fits.why);
    const ir::Node& node = graph_.node(n);
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      const ValueId v = node.inputs[i];
      if (v == ir::kNone || parts.made.count(v)) continue;
      if (part.inputs[i] == whole_box(graph_.type(v).shape)) continue;
      const auto [known, added] = parts.needed.emplace(v, part.inputs[i]);
      if (!added && known->second != part.inputs[i]) {
        return refuse(n, "it reads other rows of an operand than others do");
      }
    }
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
      const ValueId v = node.outputs[i];
      if (part.combine != loop::Reduce::kNone) {
        parts.partial.emplace(v, part.combine);
      } else {
        parts.made.emplace(v, part.outputs[i]);
      }
    }
    of.insert_or_assign(n, std::move(part));
    return true;
  }

  const ir::Graph& graph_;
  const NodeId first_;
  const Box& rows_;
};

class Growth {
 public:
  Growth(const ir::Graph& graph, NodeId first, const Box& rows)
      : graph_(graph),
        first_(first),
        rows_(rows),
        readers_(graph.values.size()),
        size_(elements(graph, graph.node(first).outputs[0])) {
    for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
      for (ValueId v : graph.nodes[n].inputs) {
        if (v != ir::kNone) readers_[at(v)].push_back(static_cast<NodeId>(n));
      }
    }
    kept_.assign(graph.values.size(), 0);
    for (const ir::Fetch& f : graph.fetches) kept_[at(f.value)] = 1;
    for (const ir::NextState& n : graph.nexts) kept_[at(n.value)] = 1;
  }

  Region run() {
    region_.first = first_;
    inside_.assign(graph_.nodes.size(), 0);
    std::optional<Derivation> down = grow();
    if (!down) return std::move(region_);
    std::vector<ValueId> made;
    for (NodeId n : members()) {
      for (ValueId v : graph_.node(n).outputs) made.push_back(v);
    }
    pull(*down);
    for (ValueId v : made) leave(v, down->parts);
    for (const auto& [v, _] : down->parts.needed) enter(v);
    region_.nodes = members();
    if (region_.nodes.size() > kMostNodes) refuse("too much follows it");
    return std::move(region_);
  }

 private:
  void refuse(std::string why) {
    if (region_.fits) region_.fits = Decision::forbid(std::move(why));
  }
  void refuse_layers(ValueId v) {
    refuse(str(name(v), " is another large product: a network's layers"));
  }
  bool is_large(ValueId v) const { return elements(graph_, v) * kSmallPart >= size_; }
  std::string name(ValueId v) const {
    return (graph_.value(v).producer == ir::kNone ? "" : "%") + graph_.value(v).name;
  }
  std::vector<NodeId> members() const {
    std::vector<NodeId> all;
    for (std::size_t n = 0; n < inside_.size(); ++n) {
      if (inside_[n]) all.push_back(static_cast<NodeId>(n));
    }
    return all;
  }

  /// Nodes that read large values of the region, then those between its nodes, until none is left.
  std::optional<Derivation> grow() {
    std::vector<char> between(graph_.nodes.size(), 0);
    for (;;) {
      std::fill(inside_.begin(), inside_.end(), 0);
      Derivation d(graph_, first_, rows_);
      std::size_t count = 0;
      for (NodeId n = first_; at(n) < graph_.nodes.size(); ++n) {
        const ir::Node& node = graph_.node(n);
        const bool reads = std::any_of(node.inputs.begin(), node.inputs.end(), [&](ValueId v) {
          return d.parts.made.count(v) && is_large(v);
        });
        if (n != first_ && !reads && !between[at(n)]) continue;
        inside_[at(n)] = 1;
        if (!d.read(n)) refuse(d.why);
        if (n != first_ && is_contraction(node) && is_large(node.outputs[0]) &&
            d.parts.made.count(node.outputs[0])) {
          refuse_layers(node.outputs[0]);
        }
        if (++count > kMostNodes) refuse("too much follows it");
        if (!region_.fits) return std::nullopt;
      }
      if (!fill(between)) return d;
    }
  }

  /// Marks nodes that stand between two of the region; whether there are new ones.
  bool fill(std::vector<char>& between) const {
    std::vector<char> behind(graph_.nodes.size(), 0), before(graph_.nodes.size(), 0);
    for (std::size_t n = at(first_); n < graph_.nodes.size(); ++n) {
      behind[n] = inside_[n];
      for (ValueId v : graph_.nodes[n].inputs) {
        const NodeId by = v == ir::kNone ? ir::kNone : graph_.value(v).producer;
        behind[n] |= by != ir::kNone && behind[at(by)];
      }
    }
    bool found = false;
    for (std::size_t n = graph_.nodes.size(); n-- > at(first_);) {
      before[n] = inside_[n];
      for (ValueId v : graph_.nodes[n].outputs) {
        for (NodeId reader : readers_[at(v)]) before[n] |= before[at(reader)];
      }
      if (!behind[n] || !before[n] || inside_[n]) continue;
      found |= !between[n];
      between[n] = 1;
    }
    return found;
  }

  /// Large operands that nothing else reads are made slice by slice.
  void pull(Derivation& d) {
    for (std::size_t n = graph_.nodes.size(); n-- > 0;) {
      const ir::Node& node = graph_.nodes[n];
      if (inside_[n] || node.opaque || node.inputs.empty() || node.outputs.size() != 1) continue;
      const ValueId v = node.outputs[0];
      if (!d.parts.needed.count(v) || !is_large(v) || kept_[at(v)]) continue;
      const std::vector<NodeId>& readers = readers_[at(v)];
      const bool alone = std::all_of(readers.begin(), readers.end(),
                                     [&](NodeId r) { return inside_[at(r)] != 0; });
      Derivation tried = d;
      if (!alone || !tried.make(static_cast<NodeId>(n))) continue;
      d.parts = std::move(tried.parts);
      inside_[n] = 1;
      if (is_contraction(node)) refuse_layers(v);
    }
  }

  void leave(ValueId v, const RegionParts& parts) {
    const std::vector<NodeId>& readers = readers_[at(v)];
    const bool leaves = kept_[at(v)] || std::any_of(readers.begin(), readers.end(),
                                                    [&](NodeId r) { return !inside_[at(r)]; });
    if (!leaves) return;
    region_.leaving.push_back(v);
    const auto partial = parts.partial.find(v);
    if (partial != parts.partial.end()) {
      if (partial->second != loop::Reduce::kSum) refuse(str(name(v), " is no sum"));
    } else if (is_large(v)) {
      refuse(str(name(v), " is ", kept_[at(v)] ? "fetched, or a next state" : "read whole"));
    }
  }

  void enter(ValueId v) {
    if (is_large(v)) refuse(str(name(v), ", which it is made from, is no smaller"));
  }

  const ir::Graph& graph_;
  const NodeId first_;
  const Box& rows_;
  std::vector<std::vector<NodeId>> readers_;  // by value
  std::vector<char> kept_;                    // by value: fetched, or a next state
  const std::int64_t size_;                   // elements of the contraction's result
  std::vector<char> inside_;                  // by node
  Region region_;
};

}  // namespace

Region region_of(const ir::Graph& graph, NodeId first, const Box& rows) {
  return Growth(graph, first, rows).run();
}

std::optional<RegionParts> parts_of(const ir::Graph& graph, const Region& region, const Box& rows,
                                    std::string& why) {
  Derivation d(graph, region.first, rows);
  const auto reads_part = [&](NodeId n) {
    const auto& inputs = graph.node(n).inputs;
    return n == region.first || std::any_of(inputs.begin(), inputs.end(),
                                            [&](ValueId v) { return d.parts.made.count(v) > 0; });
  };
  for (NodeId n : region.nodes) {
    if (reads_part(n) && !d.read(n)) {
      why = d.why;
      return std::nullopt;
    }
  }
  for (std::size_t i = region.nodes.size(); i-- > 0;) {
    if (!d.of.count(region.nodes[i]) && !d.make(region.nodes[i])) {
      why = d.why;
      return std::nullopt;
    }
  }
  for (NodeId n : region.nodes) d.parts.nodes.push_back(std::move(d.of.at(n)));
  return std::move(d.parts);
}

}  // namespace plait
