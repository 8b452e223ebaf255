// Grouping: one walk over the nodes. Each joins the kernel that made what it reads, where both walk
// one index space and no detour leads from that kernel through another one back to the node.
#include "plan/group/group.h"

#include <algorithm>
#include <set>

#include "base/at.h"
#include "loop/kernel.h"
#include "plan/group/context.h"
#include "plan/group/fit.h"
#include "plan/group/need.h"
#include "plan/group/order.h"
#include "plan/group/recompute.h"
#include "plan/group/sort.h"
#include "plan/lower/space.h"

namespace plait::plan {
namespace {

template <class T>
bool add_once(std::vector<T>& list, T item) {
  if (std::find(list.begin(), list.end(), item) != list.end()) return false;
  list.push_back(item);
  return true;
}

class Grouper {
 public:
  Grouper(const ir::Graph& graph, const Facts& facts, const Layouts& layouts,
          const GroupOptions& options, DecisionLog& log)
      : context_(graph, facts, layouts, out_), options_(options), log_(log) {
    const std::size_t n = graph.nodes.size();
    out_.group_of.assign(n, -1);
    out_.places.resize(n);
    out_.directions.assign(n, Direction::kNone);
    out_.stored.assign(graph.values.size(), 0);
  }

  /// `again`: nodes that are made where they are read.
  void run(const std::vector<char>& again) {
    find_summed_only();
    find_contractions();
    const std::vector<char> real = needs_kernel(context_, options_, again);
    for (std::size_t i = 0; i < real.size(); ++i) {
      if (!real[i]) continue;
      place(static_cast<ir::NodeId>(i));
      context_.placed(static_cast<ir::NodeId>(i));
    }
    mark_stored(context_, out_);
    sort_groups(context_, out_);
  }

  const GroupContext& context() const { return context_; }
  Grouping take() { return std::move(out_); }

 private:
  Group& group(int g) { return out_.groups[at(g)]; }

  void place(ir::NodeId n) {
    needs_ = groups_read_by(n);
    const Kind kind = context_.facts(n).kind;
    const bool long_window = kind == Kind::kWindow && !is_unrolled(context_.facts(n).nest);
    if (kind == Kind::kHand || kind == Kind::kContract || kind == Kind::kJoin || long_window ||
        !options_.fuse) {
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
    log_.push_back(
        {"group", describe(context_.graph, context_.node(n)), std::move(what), std::move(why)});
  }

  std::string name_of(int g) {
    return "%" + context_.graph.value(context_.result(group(g).nodes.front())).name;
  }

  void start(ir::NodeId n) {
    Group g;
    const NodeFacts& f = context_.facts(n);
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
        if (f.kind == Kind::kTaps && f.taps[v]) continue;
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
      if (is_reduction(f.kind)) {
        const Decision fits =
            settle_direction(context_, n, g, places, true, out_.directions[at(n)]);
        check(fits.yes, "a reduction does not fit its own iteration space: ", fits.why);
      }
    }
    out_.groups.push_back(std::move(g));
    out_.group_of[at(n)] = id;
    order_.add(needs_);
  }

  /// Kernels that made an operand, the contractions first, then those that read the same operand.
  std::vector<int> candidates(ir::NodeId n) {
    std::vector<int> made, siblings;
    const auto add = [](std::vector<int>& list, int g) {
      if (g >= 0 && std::find(list.begin(), list.end(), g) == list.end()) list.push_back(g);
    };
    for (const Read& r : reads_of(context_, n)) {
      const ir::NodeId by = context_.graph.value(r.value).producer;
      if (by != ir::kNone) add(made, out_.group_of[at(by)]);
    }
    const Dim points = point_count(context_.facts(n).nest);
    for (const Read& r : reads_of(context_, n)) {
      if (!r.plain || !(context_.graph.type(r.value).elements() == points)) continue;
      for (int g : context_.takers[at(r.value)]) {
        if (group(g).type == Group::Type::kLoop) add(siblings, g);
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

  /// Whether all that is made of a node's result ends in reductions: from the last node back.
  void find_summed_only() {
    summed_only_.assign(context_.graph.nodes.size(), 0);
    for (std::size_t i = summed_only_.size(); i-- > 0;) {
      const ir::ValueId v = context_.result(static_cast<ir::NodeId>(i));
      const auto& readers = context_.readers[at(v)];
      if (context_.all_facts[i].kind != Kind::kPoint || context_.kept[at(v)]) continue;
      summed_only_[i] =
          !readers.empty() && std::all_of(readers.begin(), readers.end(), [&](ir::NodeId reader) {
            return context_.facts(reader).kind == Kind::kReduce || summed_only_[at(reader)];
          });
    }
  }

  Decision try_join(ir::NodeId n, int g) {
    Group& to = group(g);
    const NodeFacts& f = context_.facts(n);
    if (to.type == Group::Type::kHand) return Decision::forbid("it is a hand kernel");
    const bool epilogue = to.type == Group::Type::kContract;
    if (to.type == Group::Type::kLoop && to.space.empty() && !point_count(f.nest).is(1)) {
      return Decision::forbid("it computes scalars, which every point would recompute");
    }
    if (epilogue && summed_only_[at(n)]) {
      return Decision::forbid("only sums read it: they recompute it");
    }
    if (epilogue && f.kind != Kind::kPoint && f.kind != Kind::kMove) {
      return Decision::forbid("only pointwise work rides behind a contraction");
    }
    if (static_cast<int>(to.nodes.size()) >= options_.most_nodes) {
      return Decision::forbid(str("it has ", to.nodes.size(), " nodes already"));
    }
    std::vector<int> places;
    Group grown = to;
    Decision d = align(context_, n, g, grown, places);
    if (!d) return d;
    const bool grew = grown.space.size() != to.space.size();
    if (epilogue && grew) {
      return Decision::forbid("its iteration space is larger than the contraction's");
    }
    if (grew && last_in_memory(context_, n, places) < static_cast<int>(to.space.size())) {
      return Decision::forbid("what the kernel makes once per row is the innermost in memory");
    }
    Direction direction = Direction::kNone;
    if (is_reduction(f.kind)) d = settle_direction(context_, n, grown, places, false, direction);
    if (!d) return d;
    const int columns = columns_of(to);
    if (sums_columns(direction) && columns > 0 && columns + sums_of(n) > options_.most_columns) {
      return Decision::forbid(str("it sums ", options_.most_columns, " columns already"));
    }
    if (!is_reduction(f.kind)) d = covers(context_, n, grown, places, epilogue);
    if (!d) return d;
    if (!walks_pieces(n, to, places)) {
      return Decision::forbid("it does not iterate over the pieces of a concat one by one");
    }
    if (touched(n, g) > options_.most_buffers) {
      return Decision::forbid(
          str("one kernel would touch more than ", options_.most_buffers, " buffers"));
    }
    if (is_detour(g)) return Decision::forbid("something it reads waits for that kernel itself");
    constexpr std::int64_t kWorthAPass = 32 << 20;  // bytes that another pass over the result saves
    if (epilogue && waits_for_long(n, g) && ends_in(g) - bytes_read_inside(n, g) > kWorthAPass) {
      return Decision::forbid("what it waits for comes much later, and its operands would be kept");
    }
    to = std::move(grown);
    to.nodes.push_back(n);
    out_.places[at(n)] = places;
    out_.directions[at(n)] = direction;
    out_.group_of[at(n)] = g;
    std::erase(needs_, g);
    order_.extend(g, needs_);
    note(n, "fused", str("into ", name_of(g), ": same iteration space ", space_text(to.space)));
    return d;
  }

  /// Whether a node can run where the operands of the join that a kernel begins with run one by
  /// one.
  bool walks_pieces(ir::NodeId n, const Group& to, const std::vector<int>& places) {
    const ir::NodeId join = to.nodes.front();
    if (context_.facts(join).kind != Kind::kJoin) return true;
    const int axis = out_.places[at(join)][at(context_.facts(join).nest.joined)];
    for (std::size_t v = 0; v < places.size(); ++v) {
      if (places[v] == axis) return axis >= 0 && !context_.facts(n).nest.vars[v].reduced;
    }
    return false;
  }

  static std::string space_text(const std::vector<Dim>& space) {
    return shape_text(Shape(space.begin(), space.end()));
  }

  static bool sums_columns(Direction d) { return d == Direction::kColumn || d == Direction::kBoth; }
  int sums_of(ir::NodeId n) const { return static_cast<int>(taps_of(context_.facts(n)).size()); }
  int columns_of(const Group& g) const {
    int columns = 0;
    for (ir::NodeId m : g.nodes) columns += sums_columns(out_.directions[at(m)]) ? sums_of(m) : 0;
    return columns;
  }

  int touched(ir::NodeId n, int g) {
    std::set<ir::ValueId> values;
    const auto add = [&](ir::NodeId m) {
      if (context_.facts(m).kind == Kind::kJoin) return;  // one operand at a time
      for (const Read& r : reads_of(context_, m)) {
        const ir::NodeId by = context_.graph.value(r.value).producer;
        if (by == ir::kNone || out_.group_of[at(by)] != g) values.insert(r.value);
      }
    };
    for (ir::NodeId m : group(g).nodes) add(m);
    add(n);
    return static_cast<int>(values.size() + group(g).nodes.size() / 4);
  }

  /// The groups that a node reads, through nodes without a kernel.
  std::vector<int> groups_read_by(ir::NodeId n) {
    std::vector<int> out;
    std::vector<ir::NodeId> work{n}, own;
    while (!work.empty()) {
      const ir::NodeId reader = work.back();
      work.pop_back();
      for (ir::ValueId id : context_.node(reader).inputs) {
        const ir::NodeId by = id == ir::kNone ? ir::kNone : context_.graph.value(id).producer;
        if (by == ir::kNone) continue;
        const int g = out_.group_of[at(by)];
        auto& list = g < 0 ? own : out;
        if (!add_once<int>(list, g < 0 ? by : g) || g >= 0) continue;
        work.push_back(by);
      }
    }
    return out;
  }

  /// Whether something that node n reads waits for group g.
  bool is_detour(int g) {
    std::vector<int> others = needs_;
    std::erase(others, g);
    return order_.leads(g, others);
  }

  /// The last contraction that each node is computed from; -1: none.
  void find_contractions() {
    from_.assign(context_.graph.nodes.size(), ir::kNone);
    for (std::size_t i = 0; i < from_.size(); ++i) {
      if (context_.all_facts[i].kind == Kind::kContract) from_[i] = static_cast<ir::NodeId>(i);
      for (ir::ValueId id : context_.graph.nodes[i].inputs) {
        const ir::NodeId by = id == ir::kNone ? ir::kNone : context_.graph.value(id).producer;
        if (by != ir::kNone) from_[i] = std::max(from_[i], from_[at(by)]);
      }
    }
  }

  /// Whether a node is computed from what comes long after a group began.
  bool waits_for_long(ir::NodeId n, int g) const {
    constexpr ir::NodeId kLong = 64;  // nodes: more than one layer of a network and its gradient
    return from_[at(n)] > out_.groups[at(g)].nodes.front() + kLong;
  }

  /// Bytes of what steps made for a group and nothing reads behind it.
  std::int64_t ends_in(int g) const {
    const std::vector<ir::NodeId>& nodes = out_.groups[at(g)].nodes;
    std::set<ir::ValueId> ending;
    for (ir::NodeId n : nodes) {
      for (const Read& r : reads_of(context_, n)) {
        const ir::NodeId by = context_.graph.value(r.value).producer;
        if (by == ir::kNone || out_.group_of[at(by)] == g || context_.kept[at(r.value)]) continue;
        const auto& readers = context_.readers[at(r.value)];
        const bool ends = std::all_of(readers.begin(), readers.end(), [&](ir::NodeId reader) {
          return reader <= nodes.front() || out_.group_of[at(reader)] == g;
        });
        if (ends) ending.insert(r.value);
      }
    }
    return bytes_of(ending);
  }

  /// Bytes of a group's values that a node reads: they would be stored.
  std::int64_t bytes_read_inside(ir::NodeId n, int g) const {
    std::set<ir::ValueId> inside;
    for (const Read& r : reads_of(context_, n)) {
      const ir::NodeId by = context_.graph.value(r.value).producer;
      if (by != ir::kNone && out_.group_of[at(by)] == g) inside.insert(r.value);
    }
    return bytes_of(inside);
  }

  std::int64_t bytes_of(const std::set<ir::ValueId>& values) const {
    std::int64_t bytes = 0;
    for (ir::ValueId v : values) bytes += context_.graph.type(v).bytes().hi();
    return bytes;
  }

  Grouping out_;
  GroupContext context_;
  const GroupOptions& options_;
  DecisionLog& log_;
  GroupOrder order_;
  std::vector<int> needs_;         // groups that the node in hand reads
  std::vector<char> summed_only_;  // per node
  std::vector<ir::NodeId> from_;   // per node: the last contraction that it is computed from
};

}  // namespace

Grouping group(const ir::Graph& graph, const Facts& facts, const Layouts& layouts,
               const GroupOptions& options, DecisionLog& log) {
  constexpr int kRounds = 3;
  std::vector<char> again(graph.nodes.size(), 0);
  for (int round = 0;; ++round) {
    DecisionLog tried;
    Grouper grouper(graph, facts, layouts, options, tried);
    grouper.run(again);
    bool more = false;
    if (options.fuse && round < kRounds) {
      const std::vector<char> found = recomputed_where_read(grouper.context(), log);
      for (std::size_t n = 0; n < again.size(); ++n) {
        more = more || (found[n] && !again[n]);
        again[n] = again[n] || found[n];
      }
    }
    if (more) continue;  // without those, others may be worth making again where they are read
    log.insert(log.end(), tried.begin(), tried.end());
    return grouper.take();
  }
}

}  // namespace plait::plan
