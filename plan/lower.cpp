// Lowering of loop groups and epilogues.
#include "plan/lower.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>

#include "ops/constant.h"
#include "ops/table.h"
#include "plan/space.h"

namespace plait::plan {
namespace {

using loop::Expr;
using loop::Kernel;
using loop::KernelOperand;
using loop::Let;
using loop::Level;
using loop::ScalarOp;

std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

/// The expression with loads renumbered and indices substituted; acc becomes `acc` where given.
Expr rebuilt(const Expr& e, int first_load, const DimBindings& by, const Expr& acc = {}) {
  const loop::ExprNode& n = e.node();
  if (n.op == ScalarOp::kLoad) return Expr::load(n.load + first_load);
  if (n.op == ScalarOp::kIndex) return Expr::index(n.index.substitute(by));
  if (n.op == ScalarOp::kAcc && acc) return acc;
  if (n.args.empty()) return e;
  std::vector<Expr> args;
  for (const auto& a : n.args) args.push_back(rebuilt(Expr::of(a), first_load, by, acc));
  return Expr(n.op, args);
}

Expr combined(loop::Reduce reduce, const Expr& a, const Expr& b) {
  switch (reduce) {
    case loop::Reduce::kMax:
      return max(a, b);
    case loop::Reduce::kMin:
      return min(a, b);
    case loop::Reduce::kProd:
      return a * b;
    default:
      return a + b;
  }
}

class Lowering {
 public:
  Lowering(const Sight& sight, const Group& group)
      : s_(sight), group_(group), id_(sight.grouping.group_of[at(group.nodes.front())]) {}

  Lowered loops() {
    check(group_.type != Group::Type::kHand, "a hand kernel has no loops");
    std::vector<int> order = memory_order();
    std::vector<Dim> extents = group_.space;
    std::vector<char> inner = group_.inner;
    bool split = group_.split;
    const ir::NodeId anchor = group_.nodes.front();
    at_.resize(extents.size());
    places_of_anchor_ = s_.grouping.places[at(anchor)];
    if (group_.type == Group::Type::kContract) {  // sums in rows of one result each
      inner.assign(extents.size(), 0);
      split = true;
      const loop::Nest& nest = facts(anchor).nest;
      for (std::size_t v = 0; v < nest.vars.size(); ++v) {
        if (!nest.vars[v].reduced || nest.vars[v].extent.is(1)) continue;
        places_of_anchor_[v] = static_cast<int>(extents.size());
        order.push_back(static_cast<int>(extents.size()));
        extents.push_back(nest.vars[v].extent);
        inner.push_back(1);
      }
      at_.resize(extents.size());
    }
    if (!split && !order.empty()) inner[at(order.back())] = 1;
    for (int p : order) {
      auto& list = inner[at(p)] ? k_.inner : k_.rows;
      list.push_back({str(inner[at(p)] ? "$i" : "$r", list.size()), extents[at(p)]});
      at_[at(p)] = loop_symbol(list.back());
    }
    return finish();
  }

  Lowered epilogue(const ContractPart& part, bool turned) {
    k_.epilogue = true;
    k_.batch_rows = static_cast<int>(part.batch.size());
    k_.rows = part.batch;
    const auto& rows = turned ? part.n : part.m;
    k_.rows.insert(k_.rows.end(), rows.begin(), rows.end());
    k_.inner = turned ? part.m : part.n;
    at_ = part.at;
    return finish();
  }

  Lowered apart(const ContractPart& part, DType dtype) {
    k_.epilogue = true;
    k_.buffers.push_back({dtype, false});
    values_.push_back(ir::kNone);
    const loop::Contraction& c = part.contraction;
    std::vector<std::pair<Dim, loop::KernelIndex>> indices;  // how far each moves in the result
    const auto add = [&](const auto& axes, const std::vector<loop::KernelIndex>& names) {
      for (std::size_t i = 0; i < axes.size(); ++i) indices.push_back({axes[i].c, names[i]});
    };
    add(c.batch, part.batch);
    add(c.m, part.m);
    add(c.n, part.n);
    std::stable_sort(indices.begin(), indices.end(),
                     [](const auto& x, const auto& y) { return x.first.hi() > y.first.hi(); });
    Dim offset = c.c0;
    for (const auto& [step, index] : indices) offset = offset + step * loop_symbol(index);
    product_ = loop::KernelLoad{0, offset};
    for (const auto& [step, index] : indices) k_.rows.push_back(index);
    k_.inner = {k_.rows.back()};
    k_.rows.pop_back();
    at_ = part.at;
    return finish();
  }

 private:
  const NodeFacts& facts(ir::NodeId n) const { return s_.facts[at(n)]; }
  ir::ValueId result(ir::NodeId n) const { return s_.graph.node(n).outputs[0]; }
  bool is_inside(ir::NodeId n) const {
    return n != ir::kNone && s_.grouping.group_of[at(n)] == id_;
  }

  static Dim loop_symbol(const loop::KernelIndex& index) {
    return Dim::symbol(index.symbol, 0, std::max<std::int64_t>(index.extent.hi() - 1, 0));
  }

  Lowered finish() {
    for (ir::NodeId n : group_.nodes) settle_stage(n);
    for (ir::NodeId n : group_.nodes) {
      const bool reduces = directions(n) != Direction::kNone;
      if (!reduces && !s_.grouping.stored[at(result(n))]) continue;
      const KernelOperand value = value_of(result(n), index_of(n), stage_[n], {});
      if (s_.grouping.stored[at(result(n))]) store(n, value);
    }
    for (const auto& [n, stage] : stage_) k_.stages = std::max(k_.stages, stage + 1);
    sort_lets();
    if (product_) k_.epilogue = false;
    collapse(k_);
    return {std::move(k_), std::move(values_)};
  }

  Direction directions(ir::NodeId n) const {
    if (group_.type == Group::Type::kContract && n == group_.nodes.front() && !k_.epilogue) {
      return Direction::kRow;
    }
    return s_.grouping.directions[at(n)];
  }

  /// Positions in the order of the memory of the largest value that the group stores or reads.
  std::vector<int> memory_order() {
    std::vector<int> order(group_.space.size());
    std::iota(order.begin(), order.end(), 0);
    std::vector<int> rank(group_.space.size(), -1);
    int next = static_cast<int>(group_.space.size());
    std::size_t most = 0;
    for (ir::NodeId n : group_.nodes) {
      const std::vector<int>& places = s_.grouping.places[at(n)];
      const Layout& layout = s_.layouts.at(result(n));
      std::size_t walked = 0;
      for (std::size_t d = 0; d < layout.size(); ++d) walked += places[d] >= 0;
      if (walked < most || walked == 0 || (walked == most && !s_.grouping.stored[at(result(n))])) {
        continue;
      }
      if (walked == most && ordered_) continue;
      most = walked;
      ordered_ = s_.grouping.stored[at(result(n))];
      std::fill(rank.begin(), rank.end(), -1);
      next = static_cast<int>(group_.space.size());
      for (std::size_t i = layout.size(); i-- > 0;) {
        const int p = places[at(layout[i])];
        if (p >= 0) rank[at(p)] = --next;
      }
    }
    for (std::size_t p = rank.size(); p-- > 0;) {
      if (rank[p] < 0) rank[p] = --next;
    }
    std::stable_sort(order.begin(), order.end(),
                     [&](int a, int b) { return rank[at(a)] < rank[at(b)]; });
    return order;
  }

  void settle_stage(ir::NodeId n) {
    int stage = 0;
    const auto visit = [&](ir::NodeId reader, auto&& self) -> void {
      for (ir::ValueId id : s_.graph.node(reader).inputs) {
        const ir::NodeId by = id == ir::kNone ? ir::kNone : s_.graph.value(id).producer;
        if (by == ir::kNone) continue;
        if (is_inside(by)) {
          const int after = directions(by) == Direction::kRow ? 1 : 0;
          stage = std::max(stage, stage_[by] + after);
        } else if (s_.grouping.is_virtual(by)) {
          self(by, self);
        }
      }
    };
    visit(n, visit);
    stage_[n] = stage;
  }

  std::vector<Dim> index_of(ir::NodeId n) const {
    const bool anchor = n == group_.nodes.front() && !places_of_anchor_.empty();
    const std::vector<int>& places = anchor ? places_of_anchor_ : s_.grouping.places[at(n)];
    std::vector<Dim> index;
    for (int p : places) index.push_back(p < 0 ? Dim(0) : at_[at(p)]);
    return index;
  }

  int buffer(ir::ValueId v, bool written) {
    const auto it = std::find(values_.begin(), values_.end(), v);
    const auto i = static_cast<std::size_t>(it - values_.begin());
    if (it == values_.end()) {
      values_.push_back(v);
      k_.buffers.push_back({s_.graph.type(v).dtype, false});
    }
    k_.buffers[i].written |= written;
    return static_cast<int>(i);
  }

  Dim offset(ir::ValueId v, const std::vector<Dim>& index) const {
    return offset_of(s_.graph.type(v).shape, s_.layouts.at(v), index);
  }

  void store(ir::NodeId n, const KernelOperand& value) {
    std::vector<Dim> index = index_of(n);
    index.resize(s_.graph.type(result(n)).shape.size());
    int let = value.let;
    if (value.kind != KernelOperand::kLet) let = add(copy_let(result(n), value, stage_[n]));
    k_.stores.push_back({let, buffer(result(n), true), offset(result(n), index)});
  }

  Let copy_let(ir::ValueId v, const KernelOperand& value, int stage) const {
    Let let;
    let.dtype = s_.graph.type(v).dtype;
    let.compute = compute_type(let.dtype);
    let.body = Expr::load(0);
    let.operands = {value};
    let.stage = stage;
    return let;
  }

  static DType compute_type(DType t) {
    return t == DType::f64 ? DType::f64 : is_float(t) ? DType::f32 : DType::i64;
  }

  /// f64 if any takes part, f32 if any float does, else i64.
  DType compute_of(ir::NodeId n) const {
    DType wide = compute_type(s_.graph.type(result(n)).dtype);
    for (const loop::Access& a : facts(n).nest.loads) {
      const DType t = compute_type(s_.graph.type(s_.graph.node(n).inputs[at(a.operand)]).dtype);
      if (t == DType::f64 || (t == DType::f32 && wide == DType::i64)) wide = t;
    }
    return wide;
  }

  int add(Let let) {
    k_.lets.push_back(std::move(let));
    return static_cast<int>(k_.lets.size()) - 1;
  }

  static KernelOperand as_operand(int let) {
    KernelOperand o;
    o.kind = KernelOperand::kLet;
    o.let = let;
    return o;
  }

  // --- values --------------------------------------------------------------------------------

  using Guards = std::vector<loop::Guard>;

  /// The element of a value at an index, as known in a stage. Where `guards` fail its value is of
  /// no account, but nothing is read.
  KernelOperand value_of(ir::ValueId v, const std::vector<Dim>& index, int stage,
                         const Guards& guards) {
    const ir::NodeId by = s_.graph.value(v).producer;
    if (by != ir::kNone && facts(by).kind == Kind::kConstant) {
      if (const auto number = scalar_of(by)) {
        KernelOperand o;
        o.number = *number;
        return o;
      }
    }
    const bool inside = is_inside(by);
    const bool again = inside && s_.grouping.stored[at(v)] && stage > stage_[by] &&
                       directions(by) == Direction::kNone;
    const bool in_memory = by == ir::kNone || facts(by).kind == Kind::kConstant ||
                           (!inside && !s_.grouping.is_virtual(by));
    if (in_memory || again) {
      KernelOperand o;
      o.kind = KernelOperand::kLoad;
      std::vector<Dim> element = index;
      element.resize(s_.graph.type(v).shape.size());
      o.load = {buffer(v, false), offset(v, element)};
      o.guards = guards;
      return o;
    }
    if (inside && directions(by) != Direction::kNone) return reduction(by);
    int when = stage;
    if (inside && stage > stage_[by] && facts(by).expensive && guards.empty()) when = stage_[by];
    const std::string key = key_of(v, index, when, guards);
    const auto known = made_.find(key);
    const int let = known != made_.end() ? known->second : point(by, index, when, guards);
    made_[key] = let;
    if (when < stage) k_.lets[at(let)].kept = true;
    return as_operand(let);
  }

  std::optional<double> scalar_of(ir::NodeId n) const {
    const ir::Type& type = s_.graph.type(result(n));
    if (!type.elements().is(1)) return std::nullopt;
    const auto& literal = s_.graph.node(n).attrs;
    const auto array = ir::decode<ops::Constant>(literal, "constant").value.array;
    if (is_float(type.dtype)) return array->real(0);
    const std::int64_t whole = array->integer(0);
    constexpr std::int64_t exact = std::int64_t(1) << 53;
    if (whole > exact || whole < -exact) return std::nullopt;
    return static_cast<double>(whole);
  }

  static std::string key_of(ir::ValueId v, const std::vector<Dim>& index, int stage,
                            const Guards& guards) {
    std::string key = str(v, '@', stage);
    for (const Dim& d : index) key += '|' + d.text();
    for (const loop::Guard& g : guards) {
      key += '?' + g.lo.text() + '<' + g.index.text() + '<' + g.hi.text();
    }
    return key;
  }

  KernelOperand operand(ir::NodeId n, const loop::Access& a, const DimBindings& by, int stage,
                        const Guards& outer) {
    std::vector<Dim> index;
    for (const Dim& d : a.index) index.push_back(d.substitute(by));
    Guards own, all = outer;
    for (const loop::Guard& g : a.guards) {
      own.push_back({g.index.substitute(by), g.lo.substitute(by), g.hi.substitute(by)});
      all.push_back(own.back());
    }
    KernelOperand o = value_of(s_.graph.node(n).inputs[at(a.operand)], index, stage, all);
    if (!own.empty() && o.kind != KernelOperand::kLoad) {
      if (o.kind == KernelOperand::kNumber) {
        Let number;
        number.dtype = number.compute =
            compute_type(s_.graph.type(s_.graph.node(n).inputs[at(a.operand)]).dtype);
        number.body = Expr(o.number);
        number.stage = stage;
        o = as_operand(add(number));
      }
      o.guards = own;
    }
    if (!own.empty()) o.otherwise = a.otherwise;
    return o;
  }

  Dim loaded(ir::NodeId n, const loop::LoadedIndex& l, const DimBindings& by, int stage,
             const Guards& outer) {
    Let let;
    let.dtype = let.compute = DType::i64;
    let.body = Expr::load(0);
    let.operands = {operand(n, l.from, by, stage, outer)};
    let.stage = stage;
    const std::string key =
        str("index ", n, ' ', l.name, ' ', key_of(0, values_in(by), stage, outer));
    const auto known = made_.find(key);
    if (known != made_.end()) return symbol_of_index(known->second);
    let.index = str("$g", indices_++);
    let.index_extent = l.extent;
    const int id = add(std::move(let));
    made_[key] = id;
    return symbol_of_index(id);
  }

  static std::vector<Dim> values_in(const DimBindings& by) {
    std::vector<Dim> out;
    for (const auto& [name, d] : by) out.push_back(d);
    return out;
  }

  Dim symbol_of_index(int let) const {
    const Let& l = k_.lets[at(let)];
    return Dim::symbol(l.index, 0, std::max<std::int64_t>(l.index_extent.hi() - 1, 0));
  }

  DimBindings with_loaded(ir::NodeId n, const DimBindings& by, int stage, const Guards& outer) {
    DimBindings with = by;
    for (const loop::LoadedIndex& l : facts(n).nest.loaded) {
      with.emplace("$" + l.name, loaded(n, l, by, stage, outer));
    }
    return with;
  }

  /// A node's value at an index: its formula, or its window written out.
  int point(ir::NodeId n, const std::vector<Dim>& index, int stage, const Guards& guards) {
    const NodeFacts& f = facts(n);
    Let let;
    let.dtype = s_.graph.type(result(n)).dtype;
    let.compute = compute_of(n);
    let.stage = stage;
    std::vector<Dim> outputs(
        index.begin(), index.begin() + std::min<std::ptrdiff_t>(
                                           f.out_rank, static_cast<std::ptrdiff_t>(index.size())));
    DimBindings by = bindings_for(f.nest, outputs);
    if (f.kind == Kind::kContract) {  // behind a contraction: the tile has the sum
      KernelOperand tile;
      tile.kind = product_ ? KernelOperand::kLoad : KernelOperand::kTile;
      if (product_) tile.load = *product_;
      add_operands_of(n, f.nest.finish, by, stage, guards, let);
      const int first = static_cast<int>(let.operands.size());
      let.operands.push_back(tile);
      let.body = f.nest.finish ? rebuilt(renumbered_, 0, by, Expr::load(first)) : Expr::load(first);
      return add(std::move(let));
    }
    if (f.nest.reduce == loop::Reduce::kNone) {
      by = with_loaded(n, by, stage, guards);
      for (const loop::Access& a : f.nest.loads)
        let.operands.push_back(operand(n, a, by, stage, guards));
      let.body = rebuilt(f.nest.body, 0, by);
      return add(std::move(let));
    }
    Expr sum;
    for (const std::vector<std::int64_t>& p : reduced_points(f.nest)) {
      DimBindings here = by;
      std::size_t next = 0;
      for (const loop::IndexVar& v : f.nest.vars) {
        if (v.reduced) here.insert_or_assign(symbol_of(v), Dim(p[next++]));
      }
      here = with_loaded(n, here, stage, guards);
      const int first = static_cast<int>(let.operands.size());
      for (const loop::Access& a : f.nest.loads)
        let.operands.push_back(operand(n, a, here, stage, guards));
      const Expr term = rebuilt(f.nest.body, first, here);
      sum = sum ? combined(f.nest.reduce, sum, term) : term;
    }
    let.body = f.nest.finish ? rebuilt(f.nest.finish, 0, by, sum) : sum;
    return add(std::move(let));
  }

  /// Only the loads that `e` reads; `renumbered_` is `e` over them.
  void add_operands_of(ir::NodeId n, const Expr& e, const DimBindings& by, int stage,
                       const Guards& guards, Let& let) {
    renumbered_ = {};
    if (!e) return;
    std::map<int, int> number;
    const auto walk = [&](const Expr& x, auto&& self) -> Expr {
      const loop::ExprNode& node = x.node();
      if (node.op == ScalarOp::kLoad) {
        if (!number.count(node.load)) {
          number[node.load] = static_cast<int>(let.operands.size());
          let.operands.push_back(operand(n, facts(n).nest.loads[at(node.load)], by, stage, guards));
        }
        return Expr::load(number[node.load]);
      }
      if (node.args.empty()) return x;
      std::vector<Expr> args;
      for (const auto& a : node.args) args.push_back(self(Expr::of(a), self));
      return Expr(node.op, args);
    };
    renumbered_ = walk(e, walk);
  }

  KernelOperand reduction(ir::NodeId n) {
    const auto known = reductions_.find(n);
    if (known != reductions_.end()) return as_operand(known->second);
    const NodeFacts& f = facts(n);
    const Direction dir = directions(n);
    Let let;
    let.dtype = s_.graph.type(result(n)).dtype;
    let.compute = compute_of(n);
    let.reduce = f.nest.reduce;
    let.stage = stage_[n];
    const DimBindings by = bindings_for(f.nest, index_of(n));
    add_operands_of(n, f.nest.body, by, let.stage, {}, let);
    let.body = rebuilt(renumbered_, 0, by);
    if (dir == Direction::kBoth) {  // each row first, then the rows
      Let row = let;
      row.dtype = let.compute;
      const int partial = add(std::move(row));
      let.operands = {as_operand(partial)};
      let.body = Expr::load(0);
      ++let.stage;
      k_.stages = std::max(k_.stages, let.stage + 1);
    }
    let.column = dir != Direction::kRow;
    if (f.nest.finish) {
      add_operands_of(n, f.nest.finish, by, let.stage, {}, let);
      let.finish = rebuilt(renumbered_, 0, by);
    }
    const int id = add(std::move(let));
    reductions_[n] = id;
    return as_operand(id);
  }

  /// Lets of one stage stand together, in the order in which they were made.
  void sort_lets() {
    std::vector<int> order(k_.lets.size()), number(k_.lets.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(),
                     [&](int a, int b) { return k_.lets[at(a)].stage < k_.lets[at(b)].stage; });
    std::vector<Let> sorted;
    for (std::size_t i = 0; i < order.size(); ++i) {
      number[at(order[i])] = static_cast<int>(i);
      sorted.push_back(std::move(k_.lets[at(order[i])]));
    }
    for (Let& let : sorted) {
      for (KernelOperand& o : let.operands) {
        if (o.kind == KernelOperand::kLet) o.let = number[at(o.let)];
      }
    }
    for (loop::KernelStore& s : k_.stores) s.let = number[at(s.let)];
    k_.lets = std::move(sorted);
  }

  const Sight& s_;
  const Group& group_;
  int id_;
  Kernel k_;
  std::optional<loop::KernelLoad> product_;  // where a kernel apart reads it
  std::vector<ir::ValueId> values_;
  std::vector<Dim> at_;  // per position of the space
  std::vector<int> places_of_anchor_;
  std::map<ir::NodeId, int> stage_;
  std::map<std::string, int> made_;
  std::map<ir::NodeId, int> reductions_;
  Expr renumbered_;
  int indices_ = 0;
  bool ordered_ = false;
};

}  // namespace

Lowered lower_loops(const Sight& sight, const Group& group) {
  return Lowering(sight, group).loops();
}

Lowered lower_epilogue(const Sight& sight, const Group& group, const ContractPart& part,
                       bool turned) {
  return Lowering(sight, group).epilogue(part, turned);
}

Lowered lower_apart(const Sight& sight, const Group& group, const ContractPart& part, DType dtype) {
  return Lowering(sight, group).apart(part, dtype);
}

bool is_bare(const Sight& sight, const Group& group) {
  const ir::NodeId anchor = group.nodes.front();
  return group.nodes.size() == 1 && !sight.facts[at(anchor)].nest.finish;
}

}  // namespace plait::plan
