// Making the values of a kernel.
#include "plan/lower/values.h"

#include <algorithm>

#include "base/at.h"
#include "ops/constant.h"
#include "plan/lower/space.h"

namespace plait::plan {
namespace {

using loop::Expr;
using loop::KernelOperand;
using loop::Let;
using loop::ScalarOp;

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

KernelOperand as_operand(int let) {
  KernelOperand o;
  o.kind = KernelOperand::kLet;
  o.let = let;
  return o;
}

KernelOperand number_operand(double number) {
  KernelOperand o;
  o.number = number;
  return o;
}

std::string key_of(ir::ValueId v, const std::vector<Dim>& index, int stage,
                   const KernelValues::Guards& guards) {
  std::string key = str(v, '@', stage);
  for (const Dim& d : index) key += '|' + d.text();
  for (const loop::Guard& g : guards) {
    key += '?' + g.lo.text() + '<' + g.index.text() + '<' + g.hi.text();
  }
  return key;
}

std::vector<Dim> values_in(const DimBindings& by) {
  std::vector<Dim> out;
  for (const auto& [name, d] : by) out.push_back(d);
  return out;
}

}  // namespace

KernelOperand KernelValues::value_of(ir::ValueId v, const std::vector<Dim>& index, int stage,
                                     const Guards& guards) {
  const ir::NodeId by = frame_.context.graph.value(v).producer;
  if (by != ir::kNone && frame_.facts(by).kind == Kind::kConstant) {
    if (const auto number = scalar_of(by)) return number_operand(*number);
  }
  const bool inside = frame_.is_inside(by);
  const bool again = inside && frame_.context.grouping.stored[at(v)] &&
                     stage > frame_.stage_of[by] && frame_.direction(by) == Direction::kNone;
  const bool in_memory = by == ir::kNone || frame_.facts(by).kind == Kind::kConstant ||
                         (!inside && !frame_.context.grouping.is_virtual(by));
  if (in_memory || again) {
    KernelOperand o;
    o.kind = KernelOperand::kLoad;
    std::vector<Dim> element = index;
    element.resize(frame_.context.graph.type(v).shape.size());
    o.load = {frame_.buffer(v, false), frame_.offset(v, element)};
    o.guards = guards_of(element, guards);
    if (o.guards.empty() || loop::level_of(frame_.kernel, o.load.offset) == loop::Level::kInner) {
      return o;
    }
    // A guarded load of the row's is known before its inner loop, which has one branch less.
    return as_operand(
        once(o, frame_.context.graph.type(v).dtype, stage, key_of(v, index, stage, guards)));
  }
  if (inside && frame_.direction(by) != Direction::kNone) return reduction(by);
  int when = stage;
  if (inside && stage > frame_.stage_of[by] && frame_.facts(by).expensive && guards.empty()) {
    when = frame_.stage_of[by];
  }
  const std::string key = key_of(v, index, when, guards);
  const auto known = made_.find(key);
  const int let = known != made_.end() ? known->second : point(by, index, when, guards);
  made_[key] = let;
  if (when < stage) frame_.kernel.lets[at(let)].kept = true;
  return as_operand(let);
}

KernelValues::Guards KernelValues::guards_of(const std::vector<Dim>& index,
                                             const Guards& guards) const {
  std::map<std::string, Dim> walked;
  for (const Dim& d : index) d.collect_symbols(walked);
  for (const Let& let : frame_.kernel.lets) {
    if (!let.index.empty() && walked.count(let.index)) return guards;
  }
  Guards out;
  for (const loop::Guard& g : guards) {
    std::map<std::string, Dim> guarded;
    g.index.collect_symbols(guarded);
    const bool meets = std::any_of(guarded.begin(), guarded.end(),
                                   [&](const auto& s) { return walked.count(s.first) > 0; });
    if (meets || guarded.empty()) out.push_back(g);  // a number's guard may never hold
  }
  return out;
}

std::optional<double> KernelValues::scalar_of(ir::NodeId n) const {
  const ir::Type& type = frame_.context.graph.type(frame_.result(n));
  if (!type.elements().is(1)) return std::nullopt;
  const auto& literal = frame_.context.graph.node(n).attrs;
  const auto array = ir::decode<ops::Constant>(literal, "constant").value.array;
  if (is_float(type.dtype)) return array->real(0);
  const std::int64_t whole = array->integer(0);
  constexpr std::int64_t exact = std::int64_t(1) << 53;
  if (whole > exact || whole < -exact) return std::nullopt;
  return static_cast<double>(whole);
}

DType KernelValues::compute_of(ir::NodeId n) const {
  DType wide = loop::compute_type(frame_.context.graph.type(frame_.result(n)).dtype);
  for (const loop::Access& a : frame_.facts(n).nest.loads) {
    const DType t = loop::compute_type(
        frame_.context.graph.type(frame_.context.graph.node(n).inputs[at(a.operand)]).dtype);
    if (t == DType::f64 || (t == DType::f32 && wide == DType::i64)) wide = t;
  }
  return wide;
}

KernelOperand KernelValues::operand(ir::NodeId n, const loop::Access& a, const DimBindings& by,
                                    int stage, const Guards& outer) {
  std::vector<Dim> index;
  for (const Dim& d : a.index) index.push_back(d.substitute(by));
  Guards own, all = outer;
  for (const loop::Guard& g : a.guards) {
    const loop::Guard here{g.index.substitute(by), g.lo.substitute(by), g.hi.substitute(by)};
    if (here.index.lo() >= here.lo.hi() && here.index.hi() < here.hi.lo()) continue;  // it holds
    own.push_back(here);
    all.push_back(here);
  }
  KernelOperand o = value_of(frame_.context.graph.node(n).inputs[at(a.operand)], index, stage, all);
  if (!own.empty() && o.kind != KernelOperand::kLoad) {
    if (o.kind == KernelOperand::kNumber) {
      Let number;
      number.dtype = number.compute = loop::compute_type(
          frame_.context.graph.type(frame_.context.graph.node(n).inputs[at(a.operand)]).dtype);
      number.body = Expr(o.number);
      number.stage = stage;
      o = as_operand(frame_.add(number));
    }
    o.guards = own;
  }
  if (!own.empty()) o.otherwise = a.otherwise;
  if (!own.empty() && o.kind == KernelOperand::kLoad) o.guards = all;
  return is_never(o) ? number_operand(o.otherwise) : o;
}

/// Guarded elements of a buffer that has none: no address of it may be read, not even as the one
/// that stands in where a guard of the row fails.
bool KernelValues::is_never(const KernelOperand& o) const {
  return o.kind == KernelOperand::kLoad && !o.guards.empty() &&
         frame_.context.graph.type(frame_.values[at(o.load.buffer)]).elements().is(0);
}

Dim KernelValues::loaded(ir::NodeId n, const loop::LoadedIndex& l, const DimBindings& by, int stage,
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
  const int id = frame_.add(std::move(let));
  made_[key] = id;
  return symbol_of_index(id);
}

Dim KernelValues::symbol_of_index(int let) const {
  const Let& l = frame_.kernel.lets[at(let)];
  return loop::symbol_of({l.index, l.index_extent});
}

DimBindings KernelValues::with_loaded(ir::NodeId n, const DimBindings& by, int stage,
                                      const Guards& outer) {
  DimBindings with = by;
  for (const loop::LoadedIndex& l : frame_.facts(n).nest.loaded) {
    with.emplace("$" + l.name, loaded(n, l, by, stage, outer));
  }
  return with;
}

int KernelValues::point(ir::NodeId n, const std::vector<Dim>& index, int stage,
                        const Guards& guards) {
  const NodeFacts& f = frame_.facts(n);
  Let let;
  let.dtype = frame_.context.graph.type(frame_.result(n)).dtype;
  let.compute = compute_of(n);
  let.stage = stage;
  std::vector<Dim> outputs(
      index.begin(), index.begin() + std::min<std::ptrdiff_t>(
                                         f.out_rank, static_cast<std::ptrdiff_t>(index.size())));
  DimBindings by = bindings_for(f.nest, outputs);
  if (f.kind == Kind::kContract) {  // behind a contraction: the tile has the sum
    KernelOperand tile;
    tile.kind = frame_.product ? KernelOperand::kLoad : KernelOperand::kTile;
    if (frame_.product) tile.load = *frame_.product;
    add_operands_of(n, f.nest.finish, by, stage, guards, let);
    const int first = static_cast<int>(let.operands.size());
    let.operands.push_back(tile);
    let.body = f.nest.finish ? rebuilt(renumbered_, 0, by, Expr::load(first)) : Expr::load(first);
    return frame_.add(std::move(let));
  }
  if (f.kind == Kind::kJoin) {
    const loop::Access piece{frame_.piece->operand, frame_.piece->index};
    let.operands = {operand(n, piece, by, stage, guards)};
    let.body = Expr::load(0);
    return frame_.add(std::move(let));
  }
  if (f.nest.reduce == loop::Reduce::kNone) {
    by = with_loaded(n, by, stage, guards);
    for (const loop::Access& a : f.nest.loads)
      let.operands.push_back(operand(n, a, by, stage, guards));
    let.body = rebuilt(f.nest.body, 0, by);
    return frame_.add(std::move(let));
  }
  if (f.is_product) return window_of_products(n, by, guards, std::move(let));
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
  return frame_.add(std::move(let));
}

void KernelValues::add_operands_of(ir::NodeId n, const Expr& e, const DimBindings& by, int stage,
                                   const Guards& guards, Let& let) {
  renumbered_ = {};
  if (!e) return;
  std::map<int, int> number;
  const auto walk = [&](const Expr& x, auto&& self) -> Expr {
    const loop::ExprNode& node = x.node();
    if (node.op == ScalarOp::kLoad) {
      if (!number.count(node.load)) {
        number[node.load] = static_cast<int>(let.operands.size());
        let.operands.push_back(
            operand(n, frame_.facts(n).nest.loads[at(node.load)], by, stage, guards));
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

/// The value of an operand as a statement that others share.
int KernelValues::once(const KernelOperand& o, DType dtype, int stage, const std::string& key) {
  const auto known = made_.find(key);
  if (known != made_.end()) return known->second;
  Let let;
  let.dtype = dtype;
  let.compute = loop::compute_type(dtype);
  let.stage = stage;
  let.body = Expr::load(0);
  let.operands = {o};
  return made_[key] = frame_.add(std::move(let));
}

KernelOperand KernelValues::term(ir::NodeId n, const DimBindings& by, int stage,
                                 const Guards& outer) {
  const loop::Nest& nest = frame_.facts(n).nest;
  Let product;
  product.dtype = product.compute = compute_of(n);
  product.stage = stage;
  product.body = Expr::load(0) * Expr::load(1);
  Guards guards;
  for (std::size_t i = 0; i < 2; ++i) {
    const loop::Access& a = nest.loads[at(nest.body.node().args[i]->load)];
    KernelOperand o = operand(n, a, by, stage, outer);
    if (o.kind == KernelOperand::kNumber && !a.guards.empty()) return number_operand(0);
    guards.insert(guards.end(), o.guards.begin(), o.guards.end());
    if (o.kind == KernelOperand::kLoad && o.guards.empty()) {  // other terms may share it
      const DType held = frame_.kernel.buffers[at(o.load.buffer)].dtype;
      const std::string key = str("load ", o.load.buffer, '@', stage, ' ', o.load.offset.text());
      o = as_operand(once(o, held, stage, key));
    }
    product.operands.push_back(std::move(o));
  }
  KernelOperand out = as_operand(frame_.add(std::move(product)));
  out.guards = std::move(guards);
  return out;
}

int KernelValues::window_of_products(ir::NodeId n, const DimBindings& by, const Guards& guards,
                                     Let let) {
  const loop::Nest& nest = frame_.facts(n).nest;
  Let link = let;
  link.dtype = let.compute;
  for (const std::vector<std::int64_t>& p : reduced_points(nest)) {
    DimBindings here = by;
    std::size_t next = 0;
    for (const loop::IndexVar& v : nest.vars) {
      if (v.reduced) here.insert_or_assign(symbol_of(v), Dim(p[next++]));
    }
    std::vector<KernelOperand> operands;
    if (link.body) operands.push_back(as_operand(frame_.add(link)));
    operands.push_back(term(n, here, let.stage, guards));
    link.body = operands.size() > 1 ? Expr::load(0) + Expr::load(1) : Expr::load(0);
    link.operands = std::move(operands);
  }
  if (!nest.finish) {
    link.dtype = let.dtype;
    return frame_.add(std::move(link));
  }
  const KernelOperand sum = as_operand(frame_.add(std::move(link)));
  add_operands_of(n, nest.finish, by, let.stage, guards, let);
  let.body = rebuilt(renumbered_, 0, by, Expr::load(static_cast<int>(let.operands.size())));
  let.operands.push_back(sum);
  return frame_.add(std::move(let));
}

KernelOperand KernelValues::reduction(ir::NodeId n, const DimBindings& tap) {
  std::string name = str(n);
  for (const auto& [symbol, index] : tap) name += str(' ', symbol, index);
  const auto known = reductions_.find(name);
  if (known != reductions_.end()) return as_operand(known->second);
  const NodeFacts& f = frame_.facts(n);
  const Direction dir = frame_.direction(n);
  Let let;
  let.dtype = frame_.context.graph.type(frame_.result(n)).dtype;
  let.compute = compute_of(n);
  let.reduce = f.nest.reduce;
  let.stage = frame_.stage_of[n];
  DimBindings by = bindings_for(f.nest, frame_.index_of(n));
  for (const auto& [symbol, index] : tap) by.insert_or_assign(symbol, index);
  if (f.kind == Kind::kTaps) {
    let.operands = {term(n, by, let.stage, {})};
    let.body = Expr::load(0);
  } else {
    add_operands_of(n, f.nest.body, by, let.stage, {}, let);
    let.body = rebuilt(renumbered_, 0, by);
  }
  if (dir == Direction::kBoth) {  // each row first, then the rows
    Let row = let;
    row.dtype = let.compute;
    const int partial = frame_.add(std::move(row));
    let.operands = {as_operand(partial)};
    let.body = Expr::load(0);
    ++let.stage;
    frame_.kernel.stages = std::max(frame_.kernel.stages, let.stage + 1);
  }
  let.column = dir != Direction::kRow;
  if (f.nest.finish) {
    add_operands_of(n, f.nest.finish, by, let.stage, {}, let);
    let.finish = rebuilt(renumbered_, 0, by);
  }
  const int id = frame_.add(std::move(let));
  reductions_[name] = id;
  return as_operand(id);
}

}  // namespace plait::plan
