// Grouping: one walk over the nodes. Each joins the kernel that made what it reads, where both walk
// one index space and no detour leads from that kernel through another one back to the node.
#include "plan/group.h"

#include <algorithm>
#include <set>

#include "loop/kernel.h"
#include "ops/table.h"
#include "plan/space.h"

namespace plait::plan {
namespace {

std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

class Grouper {
 public:
  Grouper(const ir::Graph& graph, const std::vector<NodeFacts>& facts, const Layouts& layouts,
          const GroupOptions& options, DecisionLog& log)
      : graph_(graph), facts_(facts), layouts_(layouts), options_(options), log_(log) {
    const std::size_t n = graph.nodes.size();
    out_.group_of.assign(n, -1);
    out_.places.resize(n);
    out_.directions.assign(n, Direction::kNone);
    out_.stored.assign(graph.values.size(), 0);
    readers_.resize(graph.values.size());
    for (std::size_t i = 0; i < n; ++i) {
      for (ir::ValueId id : graph.nodes[i].inputs) {
        if (id != ir::kNone) readers_[at(id)].push_back(static_cast<ir::NodeId>(i));
      }
    }
    kept_.assign(graph.values.size(), 0);
    for (const ir::Fetch& f : graph.fetches) kept_[at(f.value)] = 1;
    for (const ir::NextState& s : graph.nexts) kept_[at(s.value)] = 1;
  }

  Grouping run() {
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) real_.push_back(needs_kernel(i));
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
      if (real_[i]) place(static_cast<ir::NodeId>(i));
    }
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) mark_reads(static_cast<ir::NodeId>(i));
    for (std::size_t v = 0; v < kept_.size(); ++v) {
      const ir::NodeId by = graph_.values[v].producer;
      if (kept_[v] && by != ir::kNone && out_.group_of[at(by)] >= 0) out_.stored[v] = 1;
    }
    sort_groups();
    return std::move(out_);
  }

 private:
  const ir::Node& node(ir::NodeId n) const { return graph_.node(n); }
  const NodeFacts& facts(ir::NodeId n) const { return facts_[at(n)]; }
  Group& group(int g) { return out_.groups[at(g)]; }
  ir::ValueId result(ir::NodeId n) const { return node(n).outputs[0]; }

  /// Moves and cheap small values are made again wherever they are read, unless something needs
  /// them in memory.
  bool needs_kernel(std::size_t i) {
    const NodeFacts& f = facts_[i];
    if (f.kind == Kind::kConstant) return false;
    if (f.kind != Kind::kMove && f.kind != Kind::kPoint) return true;
    if (f.kind == Kind::kPoint && !is_cheap_and_small(i)) return true;
    const ir::ValueId v = graph_.nodes[i].outputs[0];
    if (kept_[at(v)]) return true;
    const auto wants_memory = [&](ir::NodeId reader) {
      const Kind kind = facts(reader).kind;
      if (kind == Kind::kHand) return true;
      return kind == Kind::kContract && !is_affine_view(v, reader);
    };
    return std::any_of(readers_[at(v)].begin(), readers_[at(v)].end(), wants_memory);
  }

  /// Whether a contraction reads it, as it is or moved.
  bool is_contracted(ir::ValueId v) const {
    return std::any_of(readers_[at(v)].begin(), readers_[at(v)].end(), [&](ir::NodeId reader) {
      const Kind kind = facts(reader).kind;
      return kind == Kind::kContract || (kind == Kind::kMove && is_contracted(result(reader)));
    });
  }

  /// One minus a vector that a whole matrix is multiplied with, say, or a state times a number.
  bool is_cheap_and_small(std::size_t i) {
    const NodeFacts& f = facts_[i];
    if (!options_.fuse || f.expensive || f.operations > 2 || !f.nest.loaded.empty()) return false;
    const Dim mine = graph_.type(graph_.nodes[i].outputs[0]).elements();
    for (const loop::Access& a : f.nest.loads) {
      const ir::NodeId by = graph_.value(graph_.nodes[i].inputs[at(a.operand)]).producer;
      if (!a.guards.empty() || (by != ir::kNone && real(by))) return false;
    }
    if (is_contracted(graph_.nodes[i].outputs[0])) return false;
    // Made where it is read, it costs nothing when that is one place. A single number is not worth
    // it: its state might have to be kept for a late reader.
    const auto& readers = readers_[at(graph_.nodes[i].outputs[0])];
    const bool once = mine.hi() > 1 && readers.size() == 1 &&
                      facts(readers[0]).kind == Kind::kPoint &&
                      point_count(facts(readers[0]).nest) == mine;
    for (ir::NodeId reader : readers) {
      const NodeFacts& r = facts(reader);
      if (once) continue;
      if (r.kind == Kind::kHand) return false;
      if (!((mine * 4 - point_count(r.nest)).hi() <= 0)) return false;
    }
    return true;
  }

  bool real(ir::NodeId n) const { return at(n) < real_.size() && real_[at(n)]; }

  /// Whether a contraction can read a moved value in place: through strides alone.
  bool is_affine_view(ir::ValueId v, ir::NodeId reader) {
    const NodeFacts& r = facts(reader);
    for (const loop::Access& a : r.nest.loads) {
      if (node(reader).inputs[at(a.operand)] != v) continue;
      const Origin o = origin_of(graph_, facts_, out_, v, a.index);
      if (o.guards.size() > 0) return false;
      const Dim offset = offset_of(graph_.type(o.value).shape, layouts_.at(o.value), o.index);
      for (const loop::IndexVar& var : r.nest.vars) {
        if (!loop::coefficient_of(offset, symbol_of(var)).is_linear) return false;
      }
    }
    return facts(graph_.value(v).producer).kind == Kind::kMove;
  }

  // --- joining -------------------------------------------------------------------------------

  void place(ir::NodeId n) {
    const Kind kind = facts(n).kind;
    const bool long_window = kind == Kind::kWindow && !is_unrolled(facts(n).nest);
    if (kind == Kind::kHand || kind == Kind::kContract || long_window || !options_.fuse) {
      return start(n);
    }
    std::vector<std::string> refused;
    for (int g : candidates(n)) {
      const Decision d = try_join(n, g);
      if (d) return;
      refused.push_back(str(name_of(g), ": ", d.why));
    }
    start(n);
    for (const std::string& why : refused) note(n, "not fused", why);
  }

  void note(ir::NodeId n, std::string what, std::string why) {
    log_.push_back({"group", describe(graph_, node(n)), std::move(what), std::move(why)});
  }

  std::string name_of(int g) { return "%" + graph_.value(result(group(g).nodes.front())).name; }

  void start(ir::NodeId n) {
    Group g;
    const NodeFacts& f = facts(n);
    g.type = f.kind == Kind::kHand       ? Group::Type::kHand
             : f.kind == Kind::kContract ? Group::Type::kContract
                                         : Group::Type::kLoop;
    g.nodes = {n};
    const int id = static_cast<int>(out_.groups.size());
    if (g.type != Group::Type::kHand) {
      const bool outputs_alone =
          g.type == Group::Type::kContract || (f.kind == Kind::kWindow && is_unrolled(f.nest));
      const std::size_t vars = outputs_alone ? at(f.out_rank) : f.nest.vars.size();
      std::vector<int> places(f.nest.vars.size(), -1);
      for (std::size_t v = 0; v < vars; ++v) {
        if (f.nest.vars[v].extent.is(1)) continue;
        places[v] = static_cast<int>(g.space.size());
        g.space.push_back(f.nest.vars[v].extent);
      }
      g.inner.assign(g.space.size(), 0);
      out_.places[at(n)] = places;
      if (f.kind == Kind::kWindow && !outputs_alone) {  // one row per result
        g.split = true;
        for (std::size_t v = 0; v < vars; ++v) {
          if (places[v] >= 0) g.inner[at(places[v])] = f.nest.vars[v].reduced;
        }
        out_.directions[at(n)] = Direction::kRow;
      }
      if (f.kind == Kind::kReduce) {
        const Decision fits = settle_direction(n, g, places, true, out_.directions[at(n)]);
        check(fits.yes, "a reduction does not fit its own space: ", fits.why);
      }
    }
    out_.groups.push_back(std::move(g));
    out_.group_of[at(n)] = id;
  }

  /// Kernels that made an operand, the contractions first, then those that read the same operand.
  std::vector<int> candidates(ir::NodeId n) {
    std::vector<int> made, siblings;
    const auto add = [](std::vector<int>& list, int g) {
      if (g >= 0 && std::find(list.begin(), list.end(), g) == list.end()) list.push_back(g);
    };
    for (const Read& r : reads_of(n)) {
      const ir::NodeId by = graph_.value(r.value).producer;
      if (by != ir::kNone) add(made, out_.group_of[at(by)]);
    }
    for (const Read& r : reads_of(n)) {
      if (!r.plain || !(graph_.type(r.value).elements() == point_count(facts(n).nest))) continue;
      for (ir::NodeId other : readers_[at(r.value)]) {
        if (other >= n) break;
        const int g = out_.group_of[at(other)];
        if (g >= 0 && group(g).type == Group::Type::kLoop) add(siblings, g);
      }
    }
    std::stable_sort(made.begin(), made.end(), [&](int a, int b) {
      const bool ca = group(a).type == Group::Type::kContract,
                 cb = group(b).type == Group::Type::kContract;
      return ca != cb ? ca : a > b;
    });
    for (int g : siblings) add(made, g);
    return made;
  }

  /// A load of a node, followed through moves that have no kernel.
  struct Read {
    ir::ValueId value;
    bool plain;
    std::vector<int> var_of_dim;  // where plain
  };

  std::vector<Read> reads_of(ir::NodeId n) {
    std::vector<Read> out;
    collect_reads(n, [&](const Origin& o) {
      Read r{o.value, o.guards.empty(), {}};
      const loop::Nest& nest = facts(n).nest;
      for (const Dim& index : o.index) {
        int var = index.is(0) ? -1 : -2;
        for (std::size_t v = 0; var == -2 && v < nest.vars.size(); ++v) {
          if (index == loop::index_symbol(nest.vars[v].name, nest.vars[v].extent)) {
            var = static_cast<int>(v);
          }
        }
        if (var == -2) r.plain = false;
        r.var_of_dim.push_back(var);
      }
      out.push_back(std::move(r));
    });
    return out;
  }

  /// Every value in memory (or in another kernel) that a node's elements come from.
  template <class F>
  void collect_reads(ir::NodeId n, F f) {
    const NodeFacts& facts = this->facts(n);
    const auto follow = [&](const loop::Access& a, auto&& self, const DimBindings& by,
                            ir::NodeId reader) -> void {
      std::vector<Dim> index;
      for (const Dim& d : a.index) index.push_back(d.substitute(by));
      Origin o = origin_of(graph_, facts_, out_, node(reader).inputs[at(a.operand)], index);
      if (!a.guards.empty()) o.guards.push_back(a.guards[0]);
      const ir::NodeId from = graph_.value(o.value).producer;
      if (from == ir::kNone || out_.group_of[at(from)] >= 0 ||
          facts_[at(from)].kind == Kind::kConstant) {
        return f(o);
      }
      // Made where it is read: its own operands are what is read.
      const loop::Nest& nest = this->facts(from).nest;
      const DimBindings inner = bindings_for(nest, o.index);
      for (const loop::Access& b : nest.loads) self(b, self, inner, from);
    };
    for (const loop::Access& a : facts.nest.loads) follow(a, follow, {}, n);
    for (const loop::LoadedIndex& l : facts.nest.loaded) follow(l.from, follow, {}, n);
    if (facts.kind == Kind::kHand) {
      for (ir::ValueId id : node(n).inputs) {
        if (id != ir::kNone) f(Origin{id, {}});
      }
    }
  }

  /// Whether all that is made of a node's result ends in reductions.
  bool is_summed_only(ir::NodeId n) const {
    const ir::ValueId v = result(n);
    if (facts(n).kind != Kind::kPoint || kept_[at(v)] || readers_[at(v)].empty()) return false;
    return std::all_of(readers_[at(v)].begin(), readers_[at(v)].end(), [&](ir::NodeId reader) {
      return facts(reader).kind == Kind::kReduce || is_summed_only(reader);
    });
  }

  Decision try_join(ir::NodeId n, int g) {
    Group& to = group(g);
    const NodeFacts& f = facts(n);
    if (to.type == Group::Type::kHand) return Decision::forbid("it is a hand kernel");
    const bool epilogue = to.type == Group::Type::kContract;
    if (to.type == Group::Type::kLoop && to.space.empty() && !point_count(f.nest).is(1)) {
      return Decision::forbid("it makes single numbers, which all points would make again");
    }
    if (epilogue && is_summed_only(n)) {
      return Decision::forbid("only sums read it: they make it where they are");
    }
    if (epilogue && f.kind != Kind::kPoint && f.kind != Kind::kMove) {
      return Decision::forbid("only pointwise work rides behind a contraction");
    }
    if (static_cast<int>(to.nodes.size()) >= options_.most_nodes) {
      return Decision::forbid(str("it has ", to.nodes.size(), " nodes already"));
    }
    std::vector<int> places;
    Group grown = to;
    Decision d = align(n, g, grown, places);
    if (!d) return d;
    const bool grew = grown.space.size() != to.space.size();
    if (epilogue && grew) {
      return Decision::forbid("it walks more indices than the contraction makes");
    }
    if (grew && last_in_memory(n, places) < static_cast<int>(to.space.size())) {
      return Decision::forbid("what the kernel makes once per row is the innermost in memory");
    }
    Direction direction = Direction::kNone;
    if (f.kind == Kind::kReduce) d = settle_direction(n, grown, places, false, direction);
    if (!d) return d;
    if (f.kind != Kind::kReduce) d = covers(n, grown, places, epilogue);
    if (!d) return d;
    if (touched(n, g) > options_.most_buffers) {
      return Decision::forbid(
          str("one kernel would touch more than ", options_.most_buffers, " buffers"));
    }
    if (detour(g, n)) return Decision::forbid("something it reads waits for that kernel itself");
    to = std::move(grown);
    to.nodes.push_back(n);
    out_.places[at(n)] = places;
    out_.directions[at(n)] = direction;
    out_.group_of[at(n)] = g;
    note(n, "fused", str("into ", name_of(g), ": both walk ", space_text(to.space)));
    return d;
  }

  static std::string space_text(const std::vector<Dim>& space) {
    return shape_text(Shape(space.begin(), space.end()));
  }

  /// Finds the position of every variable of n in the group's space, which may grow by inner ones.
  Decision align(ir::NodeId n, int g, Group& grown, std::vector<int>& places) {
    const NodeFacts& f = facts(n);
    Aligner aligner(f, grown);
    for (const Read& r : reads_of(n)) {
      const ir::NodeId by = graph_.value(r.value).producer;
      const bool inside = by != ir::kNone && out_.group_of[at(by)] == g;
      if (!inside) continue;
      if (!r.plain) {
        return Decision::forbid(
            str("reads %", graph_.value(r.value).name, " at other indices than it is computed at"));
      }
      const Direction dir = out_.directions[at(by)];
      if (dir == Direction::kColumn || dir == Direction::kBoth) {
        return Decision::forbid(str("needs %", graph_.value(r.value).name, " of all rows"));
      }
      aligner.pair(r.var_of_dim, out_.places[at(by)]);
    }
    for (const Read& r : reads_of(n)) {
      if (!r.plain || !aligner.ok()) continue;
      for (ir::NodeId other : readers_[at(r.value)]) {
        if (other >= n) break;
        if (out_.group_of[at(other)] != g) continue;
        for (const Read& theirs : reads_of(other)) {
          if (theirs.value != r.value || !theirs.plain) continue;
          aligner.pair_readers(r.var_of_dim, theirs.var_of_dim, out_.places[at(other)]);
        }
      }
    }
    return aligner.finish(places);
  }

  Decision covers(ir::NodeId n, Group& g, const std::vector<int>& places, bool epilogue) {
    std::vector<char> walked(g.space.size(), 0);
    for (std::size_t v = 0; v < at(facts(n).out_rank); ++v) {
      if (places[v] >= 0) walked[at(places[v])] = 1;
    }
    bool all = true, rows = true, any_inner = false;
    for (std::size_t p = 0; p < walked.size(); ++p) {
      all &= walked[p] != 0;
      if (g.split && !g.inner[p]) rows &= walked[p] != 0;
      if (g.split && g.inner[p]) any_inner |= walked[p] != 0;
    }
    if (all) return Decision::allow();
    if (epilogue) return Decision::forbid("it walks fewer indices than the contraction makes");
    if (g.split && rows && !any_inner) return Decision::allow();  // once per row
    return Decision::forbid("it walks fewer indices than the kernel");
  }

  /// Rows and inner part from what a reduction sums over.
  Decision settle_direction(ir::NodeId n, Group& g, const std::vector<int>& places, bool alone,
                            Direction& direction) {
    const NodeFacts& f = facts(n);
    std::vector<char> reduced(g.space.size(), 0), walked(g.space.size(), 0);
    for (std::size_t v = 0; v < f.nest.vars.size(); ++v) {
      if (places[v] < 0) continue;
      walked[at(places[v])] = 1;
      if (f.nest.vars[v].reduced) reduced[at(places[v])] = 1;
    }
    const auto all_of = [](const std::vector<char>& bits) {
      return std::all_of(bits.begin(), bits.end(), [](char b) { return b != 0; });
    };
    if (!all_of(walked)) return Decision::forbid("it reduces fewer indices than the kernel walks");
    const bool every = all_of(reduced);
    if (!g.split) {
      const int last = innermost(n, places);
      const bool row = last < 0 || reduced[at(last)];
      if (every) {
        std::fill(g.inner.begin(), g.inner.end(), 0);
        if (last >= 0) g.inner[at(last)] = 1;
      } else {
        for (std::size_t p = 0; p < reduced.size(); ++p) g.inner[p] = row == (reduced[p] != 0);
      }
      if (!alone && !every && !splits_whole(g)) {
        return Decision::forbid("a node of the kernel would stand in neither rows nor inner part");
      }
      g.split = true;
    }
    Direction dir = Direction::kNone;
    std::vector<char> outer(g.inner.size());
    for (std::size_t p = 0; p < outer.size(); ++p) outer[p] = !g.inner[p];
    if (every) {
      dir = Direction::kBoth;
      if (all_of(g.inner)) dir = Direction::kRow;
    } else if (reduced == g.inner) {
      dir = Direction::kRow;
    } else if (reduced == outer) {
      dir = Direction::kColumn;
    } else {
      return Decision::forbid("it reduces other indices than the kernel's inner ones");
    }
    direction = dir;
    return Decision::allow();
  }

  /// Members that walk part of the space walk exactly its rows.
  bool splits_whole(const Group& g) {
    for (ir::NodeId m : g.nodes) {
      std::vector<char> walked(g.space.size(), 0);
      for (int p : out_.places[at(m)]) {
        if (p >= 0) walked[at(p)] = 1;
      }
      bool all = true, rows = true;
      for (std::size_t p = 0; p < walked.size(); ++p) {
        all &= walked[p] != 0;
        rows &= (walked[p] != 0) == !g.inner[p];
      }
      if (!all && !rows) return false;
    }
    return true;
  }

  /// The position that is innermost in the memory of the largest operand.
  int innermost(ir::NodeId n, const std::vector<int>& places) {
    int best = -1;
    std::size_t best_rank = 0;
    for (const Read& r : reads_of(n)) {
      if (!r.plain || r.var_of_dim.size() < best_rank) continue;
      const Layout& layout = layouts_.at(r.value);
      for (std::size_t i = layout.size(); i-- > 0;) {
        const int var = r.var_of_dim[at(layout[i])];
        if (var < 0 || places[at(var)] < 0) continue;
        best = places[at(var)];
        best_rank = r.var_of_dim.size();
        break;
      }
    }
    return best;
  }

  /// The position of the axis of n's result that is innermost in memory.
  int last_in_memory(ir::NodeId n, const std::vector<int>& places) {
    const Layout& layout = layouts_.at(result(n));
    for (std::size_t i = layout.size(); i-- > 0;) {
      if (places[at(layout[i])] >= 0) return places[at(layout[i])];
    }
    return -1;
  }

  int touched(ir::NodeId n, int g) {
    std::set<ir::ValueId> values;
    for (ir::NodeId m : group(g).nodes) {
      for (const Read& r : reads_of(m)) {
        const ir::NodeId by = graph_.value(r.value).producer;
        if (by == ir::kNone || out_.group_of[at(by)] != g) values.insert(r.value);
      }
    }
    for (const Read& r : reads_of(n)) {
      const ir::NodeId by = graph_.value(r.value).producer;
      if (by == ir::kNone || out_.group_of[at(by)] != g) values.insert(r.value);
    }
    return static_cast<int>(values.size() + group(g).nodes.size() / 4);
  }

  /// Whether a path leads from group g through other kernels to node n.
  bool detour(int g, ir::NodeId n) {
    std::vector<ir::NodeId> work;
    ++stamp_;
    seen_.resize(graph_.nodes.size(), 0);
    const auto push_operands = [&](ir::NodeId m) {
      for (ir::ValueId id : node(m).inputs) {
        const ir::NodeId by = id == ir::kNone ? ir::kNone : graph_.value(id).producer;
        if (by != ir::kNone && out_.group_of[at(by)] != g) work.push_back(by);
      }
    };
    push_operands(n);
    while (!work.empty()) {
      const ir::NodeId m = work.back();
      work.pop_back();
      if (seen_[at(m)] == stamp_) continue;
      const int h = out_.group_of[at(m)];
      const std::vector<ir::NodeId> single{m};
      const std::vector<ir::NodeId>& members = h >= 0 ? group(h).nodes : single;
      for (ir::NodeId x : members) {
        seen_[at(x)] = stamp_;
        for (ir::ValueId id : node(x).inputs) {
          const ir::NodeId by = id == ir::kNone ? ir::kNone : graph_.value(id).producer;
          if (by == ir::kNone) continue;
          if (out_.group_of[at(by)] == g) return true;
          if (seen_[at(by)] != stamp_) work.push_back(by);
        }
      }
    }
    return false;
  }

  // --- what remains --------------------------------------------------------------------------

  void mark_reads(ir::NodeId n) {
    const int g = out_.group_of[at(n)];
    if (g < 0) return;
    collect_reads(n, [&](const Origin& o) {
      const ir::NodeId by = graph_.value(o.value).producer;
      if (by == ir::kNone || out_.group_of[at(by)] < 0) return;
      const bool anchor =
          group(g).type == Group::Type::kContract && facts(n).kind == Kind::kContract;
      if (out_.group_of[at(by)] != g || anchor) out_.stored[at(o.value)] = 1;
    });
    if (facts(n).kind == Kind::kHand) {
      for (ir::ValueId id : node(n).outputs) out_.stored[at(id)] = 1;
    }
  }

  /// Each after those it reads; as early in the graph's own order as that allows.
  void sort_groups() {
    const std::size_t count = out_.groups.size();
    std::vector<std::set<int>> needs(count), needed_by(count);
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
      const int g = out_.group_of[i];
      if (g < 0) continue;
      collect_reads(static_cast<ir::NodeId>(i), [&](const Origin& o) {
        const ir::NodeId by = graph_.value(o.value).producer;
        const int h = by == ir::kNone ? -1 : out_.group_of[at(by)];
        if (h < 0 || h == g) return;
        needs[at(g)].insert(h);
        needed_by[at(h)].insert(g);
      });
    }
    std::set<std::pair<ir::NodeId, int>> ready;
    std::vector<std::size_t> open(count);
    std::size_t live = 0;
    for (std::size_t g = 0; g < count; ++g) {
      open[g] = needs[g].size();
      if (out_.groups[g].nodes.empty()) continue;
      ++live;
      if (open[g] == 0) ready.insert({out_.groups[g].nodes.front(), static_cast<int>(g)});
    }
    std::vector<Group> sorted;
    std::vector<int> number(count, -1);
    while (!ready.empty()) {
      const int g = ready.begin()->second;
      ready.erase(ready.begin());
      number[at(g)] = static_cast<int>(sorted.size());
      sorted.push_back(std::move(out_.groups[at(g)]));
      for (int h : needed_by[at(g)]) {
        if (--open[at(h)] == 0) ready.insert({out_.groups[at(h)].nodes.front(), h});
      }
    }
    check(sorted.size() == live, "groups of nodes wait for each other");
    for (int& g : out_.group_of) {
      if (g >= 0) g = number[at(g)];
    }
    out_.groups = std::move(sorted);
  }

  const ir::Graph& graph_;
  const std::vector<NodeFacts>& facts_;
  const Layouts& layouts_;
  const GroupOptions& options_;
  DecisionLog& log_;
  Grouping out_;
  std::vector<std::vector<ir::NodeId>> readers_;
  std::vector<char> kept_;  // values that are fetched or a next state
  std::vector<char> real_;  // per node: has a kernel
  std::vector<int> seen_;
  int stamp_ = 0;
};

}  // namespace

Grouping group(const ir::Graph& graph, const std::vector<NodeFacts>& facts, const Layouts& layouts,
               const GroupOptions& options, DecisionLog& log) {
  return Grouper(graph, facts, layouts, options, log).run();
}

Origin origin_of(const ir::Graph& graph, const std::vector<NodeFacts>& facts,
                 const Grouping& grouping, ir::ValueId value, std::vector<Dim> index) {
  Origin o{value, std::move(index)};
  for (;;) {
    const ir::NodeId by = graph.value(o.value).producer;
    if (by == ir::kNone || !grouping.is_virtual(by)) return o;
    const NodeFacts& f = facts[static_cast<std::size_t>(by)];
    if (f.kind != Kind::kMove) return o;
    const loop::Access& a = f.nest.loads[0];
    const DimBindings bindings = bindings_for(f.nest, o.index);
    std::vector<Dim> next;
    for (const Dim& d : a.index) next.push_back(d.substitute(bindings));
    for (const loop::Guard& g : a.guards) {
      o.guards.push_back(
          {g.index.substitute(bindings), g.lo.substitute(bindings), g.hi.substitute(bindings)});
    }
    o.value = graph.node(by).inputs[static_cast<std::size_t>(a.operand)];
    o.index = std::move(next);
  }
}

}  // namespace plait::plan
