// Facts of nodes, from their ops' entries.
#include "plan/facts.h"

#include <algorithm>
#include <unordered_map>

#include "loop/kernel.h"
#include "ops/table.h"

namespace plait::plan {
namespace {

using loop::ScalarOp;

// Operands of a concat that each point chooses among. More are copied each by itself: a choice
// looks at all of them for every point.
constexpr std::size_t kMostChoices = 2;

bool is_expensive(ScalarOp op) {
  switch (op) {
    case ScalarOp::kDiv:
    case ScalarOp::kSqrt:
    case ScalarOp::kFloorDiv:
    case ScalarOp::kMod:
      return true;
    default:
      return (op >= ScalarOp::kExp && op <= ScalarOp::kErfc) || op == ScalarOp::kPow ||
             op == ScalarOp::kAtan2;
  }
}

/// Which variable an index is, -1 for the number 0, -2 for anything else.
int plain_variable(const Dim& index, const loop::Nest& nest) {
  if (index.is(0)) return -1;
  for (std::size_t v = 0; v < nest.vars.size(); ++v) {
    if (index == loop::index_symbol(nest.vars[v].name, nest.vars[v].extent)) {
      return static_cast<int>(v);
    }
  }
  return -2;
}

LoadFacts load_facts(const loop::Access& access, const loop::Nest& nest) {
  LoadFacts out;
  out.plain = access.guards.empty();
  for (const Dim& index : access.index) {
    const int var = plain_variable(index, nest);
    if (var == -2) out.plain = false;
    out.var_of_dim.push_back(var);
  }
  if (!out.plain) out.var_of_dim.clear();
  return out;
}

/// A product of two loads, summed.
bool is_product_sum(const loop::Nest& nest) {
  if (nest.reduce != loop::Reduce::kSum) return false;
  const loop::ExprNode& n = nest.body.node();
  return n.op == ScalarOp::kMul && n.args[0]->op == ScalarOp::kLoad &&
         n.args[1]->op == ScalarOp::kLoad && n.args[0]->load != n.args[1]->load &&
         nest.loaded.empty();
}

// Terms, or sums, that are written out one by one.
constexpr std::int64_t kMostTaps = 64;

/// Which of a product's two factors an index of the nest moves: bits 0 and 1.
int factors_of(const loop::Nest& nest, const loop::IndexVar& v) {
  int factors = 0;
  for (std::size_t i = 0; i < 2; ++i) {
    const loop::Access& a = nest.loads[static_cast<std::size_t>(nest.body.node().args[i]->load)];
    for (const Dim& d : a.index) {
      if (loop::mentions(d, symbol_of(v))) factors |= 1 << i;
    }
  }
  return factors;
}

/// Whether an index of an operand is this variable and nothing else.
bool stands_alone(const loop::Nest& nest, const loop::IndexVar& v) {
  const Dim symbol = loop::index_symbol(v.name, v.extent);
  return std::any_of(nest.loads.begin(), nest.loads.end(), [&](const loop::Access& a) {
    return std::any_of(a.index.begin(), a.index.end(), [&](const Dim& d) { return d == symbol; });
  });
}

/// A product that walks no index of its second operand alone, over a short sum: a depthwise
/// convolution. Nothing is reused between results, so it is a window, not a matrix product.
bool is_window_of_products(const loop::Nest& nest) {
  std::int64_t points = 1;
  for (const loop::IndexVar& v : nest.vars) {
    if (v.reduced && !v.extent.is_const()) return false;
    if (v.reduced) points *= v.extent.value();
    if (points > kMostTaps) return false;
  }
  return std::none_of(nest.vars.begin(), nest.vars.end(), [&](const loop::IndexVar& v) {
    return !v.reduced && !v.extent.is(1) && factors_of(nest, v) == 2;
  });
}

/// The largest number by which an index of an operand is divided; 0: by none.
std::int64_t divisor_of(const Dim& d) {
  std::int64_t most = 0;
  if (d.is_const()) return most;
  for (const DimTerm& t : d.terms()) {
    for (const DimAtomPtr& f : t.factors) {
      if (f->kind == DimAtom::kFloorDiv && f->b.is_const()) most = std::max(most, f->b.value());
    }
  }
  return most;
}

/// The gradient of a depthwise convolution's weights: for each channel, which both factors walk, a
/// few sums, by where one factor stands over the other. Nothing is reused between channels, so it
/// is as many reductions, not a matrix product. `taps`: the indices within a channel.
bool is_taps(const loop::Nest& nest, std::vector<char>& taps) {
  constexpr std::int64_t kMostShared = 8;  // results of an element; more are a product's columns
  if (nest.finish) return false;
  for (const loop::Access& a : nest.loads) {
    for (const Dim& d : a.index) {
      if (divisor_of(d) > kMostShared) return false;
    }
  }
  taps.assign(nest.vars.size(), 0);
  std::int64_t points = 1;
  bool shared = false;
  for (std::size_t i = 0; i < nest.vars.size(); ++i) {
    const loop::IndexVar& v = nest.vars[i];
    if (v.reduced || v.extent.is(1)) continue;
    if (factors_of(nest, v) == 3) {
      shared = true;
      continue;
    }
    if (!v.extent.is_const() || stands_alone(nest, v)) return false;
    taps[i] = 1;
    points *= v.extent.value();
    if (points > kMostTaps) return false;
  }
  return shared;
}

Kind kind_of(NodeFacts& f) {
  const loop::Nest& nest = f.nest;
  if (nest.joined >= 0 && nest.loads.size() > kMostChoices) return Kind::kJoin;
  if (nest.reduce == loop::Reduce::kNone) {
    const bool bare = nest.body.node().op == ScalarOp::kLoad;
    return bare && nest.loads.size() == 1 && nest.loaded.empty() ? Kind::kMove : Kind::kPoint;
  }
  if (f.is_product) {
    if (is_window_of_products(nest)) return Kind::kWindow;
    return is_taps(nest, f.taps) ? Kind::kTaps : Kind::kContract;
  }
  for (const LoadFacts& l : f.loads) {
    if (!l.plain) return Kind::kWindow;
  }
  return nest.loaded.empty() ? Kind::kReduce : Kind::kWindow;
}

void count_operations(const loop::Expr& e, NodeFacts& f) {
  if (!e) return;
  for (const loop::Tape::Step& s : loop::flatten(e).steps) {
    if (loop::info(s.op).arity > 0) ++f.operations;
    f.expensive |= is_expensive(s.op);
  }
}

NodeFacts facts_of(const ir::Graph& graph, const ir::Node& node, Nodes nodes) {
  if (node.opaque) {
    fail("[", node.op, "] cannot be run: Plait lacks it, or this form of it (",
         describe(graph, node), ")");
  }
  const NodeView view = view_of(graph, node);
  NodeFacts f;
  const bool constant = view.op.inputs.empty() && !has_nest(view.op);
  if (constant || nodes == Nodes::kAsTheyAre) {
    f.kind = constant ? Kind::kConstant : Kind::kHand;
    return f;
  }
  if (!has_nest(view.op)) return f;  // a composite that is still there is kept whole
  f.nest = nest_of(view);
  for (const loop::IndexVar& v : f.nest.vars) f.out_rank += v.reduced ? 0 : 1;
  for (const loop::Access& a : f.nest.loads) f.loads.push_back(load_facts(a, f.nest));
  f.is_product = is_product_sum(f.nest);
  f.kind = kind_of(f);
  if (f.kind == Kind::kJoin) return f;  // of its choices none is left
  count_operations(f.nest.body, f);
  count_operations(f.nest.finish, f);
  // A cast converts: what reads it at other indices must not do so again and again for nothing.
  if (f.kind == Kind::kMove && view.in(0).dtype != view.out().dtype) f.kind = Kind::kPoint;
  return f;
}

/// Equal for nodes of one op, attributes and types. Of a constant nothing but its kind is asked.
std::string key_of(const ir::Graph& graph, const ir::Node& node) {
  std::string key = str(node.opaque ? "opaque " : "", node.op);
  for (ir::ValueId id : node.inputs) {
    key += ' ';
    if (id != ir::kNone) key += type_text(graph.type(id));
  }
  for (const auto& [name, value] : node.attrs) {
    key += str(" ", name, "=");
    if (!node.inputs.empty() || !std::holds_alternative<ir::Literal>(value)) {
      key += ir::attr_text(value);
    }
  }
  for (ir::ValueId id : node.outputs) key += " : " + type_text(graph.type(id));
  return key;
}

}  // namespace

Facts::Facts(const ir::Graph& graph, Nodes nodes) {
  std::unordered_map<std::string, std::size_t> known;
  number_.reserve(graph.nodes.size());
  for (const ir::Node& node : graph.nodes) {
    const auto [it, added] = known.emplace(key_of(graph, node), distinct_.size());
    if (added) distinct_.push_back(facts_of(graph, node, nodes));
    number_.push_back(it->second);
  }
}

DimBindings bindings_for(const loop::Nest& nest, const std::vector<Dim>& indices) {
  DimBindings by;
  for (std::size_t i = 0; i < indices.size() && i < nest.vars.size(); ++i) {
    by.emplace(symbol_of(nest.vars[i]), indices[i]);
  }
  return by;
}

}  // namespace plait::plan
