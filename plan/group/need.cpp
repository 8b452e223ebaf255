// Who needs a kernel, decided in the order of the nodes: what a node reads is decided before it.
#include "plan/group/need.h"

#include <algorithm>
#include <unordered_map>

#include "base/at.h"
#include "loop/kernel.h"
#include "plan/lower/space.h"

namespace plait::plan {
namespace {

// What has no kernel is computed wherever it is read, through no more nodes than this.
constexpr int kMostNodes = 64;
// Readers that are asked before one node is decided.
constexpr std::size_t kMostAsked = 4096;

class Need {
 public:
  Need(const GroupContext& context, const GroupOptions& options, const std::vector<char>& again)
      : context_(context), options_(options), again_(again) {}

  std::vector<char> run() {
    find_contracted();
    for (std::size_t i = 0; i < context_.graph.nodes.size(); ++i) {
      cheap_.clear();
      const int nodes = nodes_of(i);
      real_.push_back(nodes > kMostNodes || needs_kernel(i));
      nodes_.push_back(real_.back() ? 0 : nodes);
    }
    return std::move(real_);
  }

 private:
  /// Nodes without a kernel that one is computed through, itself included; one that is read twice
  /// counts twice.
  int nodes_of(std::size_t i) const {
    int nodes = 1;
    for (ir::ValueId id : context_.graph.nodes[i].inputs) {
      const ir::NodeId by = id == ir::kNone ? ir::kNone : context_.graph.value(id).producer;
      if (by != ir::kNone) nodes = std::min(nodes + nodes_[at(by)], kMostNodes + 1);
    }
    return nodes;
  }

  /// Moves and cheap small values are made again wherever they are read, unless something needs
  /// them in memory.
  bool needs_kernel(std::size_t i) {
    const NodeFacts& f = context_.all_facts[i];
    if (f.kind == Kind::kConstant || again_[i]) return false;
    if (f.kind != Kind::kMove && f.kind != Kind::kPoint) return true;
    if (f.kind == Kind::kPoint && !is_cheap_and_small(i) && !is_cheap_and_shifted(i)) return true;
    const ir::ValueId v = context_.graph.nodes[i].outputs[0];
    if (context_.kept[at(v)]) return true;
    const auto wants_memory = [&](ir::NodeId reader) {
      const Kind kind = context_.facts(reader).kind;
      if (kind == Kind::kHand) return true;
      return kind == Kind::kContract && !is_affine_view(v, reader);
    };
    return std::any_of(context_.readers[at(v)].begin(), context_.readers[at(v)].end(),
                       wants_memory);
  }

  /// Which values a contraction reads, as they are or moved: from the last node back.
  void find_contracted() {
    contracted_.assign(context_.graph.values.size(), 0);
    for (std::size_t i = context_.graph.nodes.size(); i-- > 0;) {
      const Kind kind = context_.all_facts[i].kind;
      const bool moved =
          kind == Kind::kMove && contracted_[at(context_.graph.nodes[i].outputs[0])] != 0;
      if (kind != Kind::kContract && !moved) continue;
      for (ir::ValueId id : context_.graph.nodes[i].inputs) {
        if (id != ir::kNone) contracted_[at(id)] = 1;
      }
    }
  }

  /// One minus a vector that a whole matrix is multiplied with, say, or a state times a number.
  bool is_cheap_and_small(std::size_t i) {
    const auto [known, added] = cheap_.try_emplace(i, false);
    if (!added) return known->second;
    if (cheap_.size() > kMostAsked) return false;
    const bool cheap = find_cheap_and_small(i);
    return cheap_[i] = cheap;
  }
  bool find_cheap_and_small(std::size_t i) {
    const NodeFacts& f = context_.all_facts[i];
    if (!options_.fuse || f.expensive || f.operations > 2 || !f.nest.loaded.empty()) return false;
    const Dim mine = context_.graph.type(context_.graph.nodes[i].outputs[0]).elements();
    for (const loop::Access& a : f.nest.loads) {
      const ir::NodeId by =
          context_.graph.value(context_.graph.nodes[i].inputs[at(a.operand)]).producer;
      if (!a.guards.empty() || (by != ir::kNone && real(by))) return false;
    }
    if (contracted_[at(context_.graph.nodes[i].outputs[0])]) return false;
    // Made where it is read, it costs nothing when that is one place. A single number is not worth
    // it: its state might have to be kept for a late reader.
    const auto& readers = context_.readers[at(context_.graph.nodes[i].outputs[0])];
    const bool once = mine.hi() > 1 && readers.size() == 1 &&
                      context_.facts(readers[0]).kind == Kind::kPoint &&
                      point_count(context_.facts(readers[0]).nest) == mine;
    for (ir::NodeId reader : readers) {
      const NodeFacts& r = context_.facts(reader);
      if (once) continue;
      if (r.kind == Kind::kHand) return false;
      const bool spreads = (mine * 4 - point_count(r.nest)).hi() <= 0;
      if (!spreads && !(r.kind == Kind::kPoint && is_cheap_and_small(at(reader)))) return false;
    }
    return !readers.empty();
  }

  /// Reads its neighbours, for one reader: where that makes it, it can stand beside others that
  /// read the same.
  bool is_cheap_and_shifted(std::size_t i) const {
    const NodeFacts& f = context_.all_facts[i];
    const auto& readers = context_.readers[at(context_.graph.nodes[i].outputs[0])];
    if (!options_.fuse || f.expensive || f.operations > 2 || !f.nest.loaded.empty()) return false;
    if (readers.size() != 1 || context_.facts(readers[0]).kind != Kind::kPoint) return false;
    if (!(point_count(context_.facts(readers[0]).nest) == point_count(f.nest))) return false;
    const auto shifts = [&](const loop::Access& a) {
      const ir::NodeId by =
          context_.graph.value(context_.graph.nodes[i].inputs[at(a.operand)]).producer;
      return by != ir::kNone && !real(by) && context_.facts(by).kind == Kind::kMove &&
             !context_.facts(by).nest.loads[0].guards.empty();
    };
    return std::any_of(f.nest.loads.begin(), f.nest.loads.end(), shifts);
  }

  bool real(ir::NodeId n) const { return at(n) < real_.size() && real_[at(n)]; }

  /// Whether a contraction can read a moved value in place: through strides alone.
  bool is_affine_view(ir::ValueId v, ir::NodeId reader) {
    const NodeFacts& r = context_.facts(reader);
    for (const loop::Access& a : r.nest.loads) {
      if (context_.node(reader).inputs[at(a.operand)] != v) continue;
      const Origin o = origin_of(context_.graph, context_.all_facts, context_.grouping, v, a.index);
      if (o.guards.size() > 0) return false;
      const Dim offset =
          offset_of(context_.graph.type(o.value).shape, context_.layouts.at(o.value), o.index);
      for (const loop::IndexVar& var : r.nest.vars) {
        if (!loop::coefficient_of(offset, symbol_of(var)).is_linear) return false;
      }
    }
    return context_.facts(context_.graph.value(v).producer).kind == Kind::kMove;
  }

  const GroupContext& context_;
  const GroupOptions& options_;
  const std::vector<char>& again_;
  std::vector<char> real_;        // per node decided so far: has a kernel
  std::vector<int> nodes_;        // per node decided so far: nodes_of(), 0 with a kernel
  std::vector<char> contracted_;  // per value
  std::unordered_map<std::size_t, bool> cheap_;  // answers while one node is decided
};

}  // namespace

std::vector<char> needs_kernel(const GroupContext& context, const GroupOptions& options,
                               const std::vector<char>& again) {
  return Need(context, options, again).run();
}

}  // namespace plait::plan
