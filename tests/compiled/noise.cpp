// Evaluating with noise, and comparing within what noise did.
#include "tests/compiled/noise.h"

#include <cmath>
#include <limits>
#include <set>

#include "base/at.h"
#include "ops/evaluate.h"
#include "ops/table.h"
#include "passes/expand.h"
#include "tests/ops/harness.h"
#include "tests/passes/random_draw.h"

namespace plait::test {
namespace {

using loop::Reduce;
using loop::ScalarOp;

constexpr int kRounds = 8;
constexpr double kRoundings = 4;
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

bool has_exact_formula(const loop::Expr& e) {
  if (!e) return true;
  for (const loop::Tape::Step& s : loop::flatten(e).steps) {
    const bool inexact = (s.op >= ScalarOp::kExp && s.op <= ScalarOp::kErfc) ||
                         s.op == ScalarOp::kPow || s.op == ScalarOp::kAtan2;
    if (inexact && s.op != ScalarOp::kSqrt) return false;
  }
  return true;
}

/// Whether the order of its work shows in its result.
bool sums_floats(const ir::Graph& graph, const ir::Node& node) {
  if (!is_float(graph.type(node.outputs[0]).dtype)) return false;
  const NodeView view = view_of(graph, node);
  if (!has_nest(view.op)) return !view.op.inputs.empty();
  const loop::Nest nest = nest_of(view);
  return nest.reduce == Reduce::kSum || nest.reduce == Reduce::kProd;
}

/// The definition alone says every bit of the result: steps that IEEE rounds once, in an order.
bool is_exact(const ir::Graph& graph, const ir::Node& node) {
  if (!is_float(graph.type(node.outputs[0]).dtype)) return true;
  const NodeView view = view_of(graph, node);
  if (!has_nest(view.op)) return view.op.inputs.empty();
  const loop::Nest nest = nest_of(view);
  if (nest.reduce == Reduce::kNone) return has_exact_formula(nest.body);
  const bool picks = nest.reduce == Reduce::kMax || nest.reduce == Reduce::kMin;
  return picks && nest.body.node().op == ScalarOp::kLoad && has_exact_formula(nest.finish);
}

std::vector<char> inexact_values(const ir::Graph& graph) {
  std::vector<char> inexact(graph.values.size(), 0);
  for (const ir::Node& node : graph.nodes) {
    bool any = !is_exact(graph, node);
    for (ir::ValueId id : node.inputs) any |= id != ir::kNone && inexact[at(id)];
    for (ir::ValueId id : node.outputs) inexact[at(id)] = any;
  }
  return inexact;
}

/// How many terms a node adds up.
double terms_of(const ir::Graph& graph, const ir::Node& node) {
  const NodeView view = view_of(graph, node);
  double terms = 1;
  if (has_nest(view.op)) {
    for (const loop::IndexVar& v : nest_of(view).vars) {
      if (v.reduced) terms *= static_cast<double>(std::max<std::int64_t>(1, v.extent.value()));
    }
  } else if (!node.inputs.empty() && node.inputs[0] != ir::kNone) {
    terms = static_cast<double>(graph.type(node.inputs[0]).elements().value());
  }
  return terms;
}

/// Whether steps inside its formula may cancel: what they lose is a part of 1, not of the result.
bool may_cancel(const ir::Graph& graph, const ir::Node& node) {
  const NodeView view = view_of(graph, node);
  return has_nest(view.op) && loop::operation_count(nest_of(view).body) > 1;
}

/// Moved by up to `roundings` of each element, or of `least` where that is more; halves by one
/// unit of theirs besides.
Array moved(Array a, double roundings, double least, Draw& draw) {
  if (!is_float(a.dtype())) return a;
  const double unit = a.dtype() == DType::f64 ? 0x1p-53 : 0x1p-24;
  for (std::int64_t i = 0; i < a.count(); ++i) {
    const double x = a.real(i);
    double by = roundings * unit * draw.uniform(-1, 1) * std::max(least, std::abs(x));
    if (is_half(a.dtype())) {
      by += x * (draw.below(3) - 1) * (a.dtype() == DType::f16 ? 0x1p-11 : 0x1p-8);
    }
    if (std::isfinite(x)) a.set(i, x + by);
  }
  return a;
}

/// The graph by definition; with `draw`, noise round every inexact node.
NamedArrays evaluate_moved(const ir::Graph& graph, const NamedArrays& inputs, Draw& draw) {
  std::vector<Array> values(graph.values.size());
  for (ir::ValueId id : graph.feeds) values[at(id)] = inputs.at(graph.value(id).name);
  for (const ir::StateUse& use : graph.states) values[at(use.value)] = inputs.at(use.state.name);
  for (const ir::Node& node : graph.nodes) {
    const bool exact = is_exact(graph, node);
    // Sums of n terms in another order are off by about sqrt(n) roundings of what is summed, and of
    // the sum where all terms have one sign.
    const double terms = exact ? 1 : std::sqrt(std::max(1.0, terms_of(graph, node)));
    const double least = !exact && may_cancel(graph, node) ? 1 : 0;
    std::vector<Array> near;
    std::vector<const Array*> operands;
    near.reserve(node.inputs.size());
    for (ir::ValueId id : node.inputs) {
      if (id != ir::kNone && !exact)
        near.push_back(moved(values[at(id)], kRoundings * terms, 0, draw));
      operands.push_back(id == ir::kNone ? nullptr : exact ? &values[at(id)] : &near.back());
    }
    std::vector<Array> results = evaluate(view_of(graph, node), operands);
    for (std::size_t i = 0; i < results.size(); ++i) {
      values[at(node.outputs[i])] =
          exact ? std::move(results[i])
                : moved(results[i], std::max(kRoundings, terms), least, draw);
    }
  }
  NamedArrays out;
  for (const ir::Fetch& f : graph.fetches) out[f.name] = values[at(f.value)];
  for (const ir::NextState& n : graph.nexts) out["next " + n.state] = values[at(n.value)];
  return out;
}

/// How far b is from a; NaN where one is of another kind.
double distance(double a, double b, bool is_real) {
  if (a == b || (std::isnan(a) && std::isnan(b))) return 0;
  if (!is_real || !std::isfinite(a) || !std::isfinite(b)) return kNan;
  return std::abs(a - b);
}

/// What the smallest numbers of a dtype are apart; 0 for integers.
double smallest(DType dtype) {
  switch (dtype) {
    case DType::f64:
      return 0x1p-1074;
    case DType::f32:
      return 0x1p-149;
    case DType::f16:
      return 0x1p-24;
    case DType::bf16:
      return 0x1p-133;
    default:
      return 0;
  }
}

void widen(Expected::Result& r, const Array& noisy) {
  for (std::int64_t i = 0; i < r.value.count(); ++i) {
    const double d = distance(r.value.real(i), noisy.real(i), is_float(r.value.dtype()));
    double& by = r.by[at(i)];
    by = std::isnan(d) || std::isnan(by) ? kNan : std::max(by, 8 * d);
  }
}

}  // namespace

Expected expected_of(const ir::Graph& graph, const NamedArrays& inputs, std::uint64_t seed) {
  DecisionLog log;
  const ir::Graph parts = expand(graph, log);
  const std::vector<char> inexact = inexact_values(parts);
  Expected out;
  for (auto& [name, array] : evaluate_graph(graph, inputs)) {
    out.results[name] = {array, std::vector<double>(at(array.count()), 0), true};
  }
  for (const ir::Fetch& f : parts.fetches) out.results.at(f.name).exact = !inexact[at(f.value)];
  for (const ir::NextState& n : parts.nexts) {
    out.results.at("next " + n.state).exact = !inexact[at(n.value)];
  }
  for (auto& [name, r] : out.results) {
    for (std::int64_t i = 0; i < r.value.count() && !r.exact; ++i) {
      const double x = r.value.real(i);
      if (!std::isfinite(x)) continue;
      r.by[at(i)] = tolerance(r.value.dtype()) * std::abs(x) + 8 * smallest(r.value.dtype());
    }
  }
  Draw draw(seed);
  for (int round = 0; round < kRounds; ++round) {
    for (const auto& [name, array] : evaluate_moved(parts, inputs, draw)) {
      widen(out.results.at(name), array);
    }
  }
  return out;
}

Agreement agreement(const Expected& expected, const NamedArrays& got) {
  Agreement out;
  for (const auto& [name, r] : expected.results) {
    const auto found = got.find(name);
    if (found == got.end() || type_text(found->second) != type_text(r.value)) {
      out.first = name + " is missing or of another type";
      return out;
    }
    if (r.exact) {
      out.compared += r.value.count();
      const std::string where = difference({{name, r.value}}, {{name, found->second}});
      if (!where.empty() && out.first.empty()) out.first = "exactly " + where;
      continue;
    }
    for (std::int64_t i = 0; i < r.value.count(); ++i) {
      if (std::isnan(r.by[at(i)])) {
        ++out.open;
        continue;
      }
      ++out.compared;
      const double a = r.value.real(i), b = found->second.real(i);
      if (distance(a, b, is_float(r.value.dtype())) <= r.by[at(i)]) continue;
      if (!out.first.empty()) continue;
      out.first = str("element ", i, " of ", name, " ", type_text(r.value), " is ", real_text(b),
                      ", expected ", real_text(a), " within ", real_text(r.by[at(i)]));
    }
  }
  return out;
}

std::set<std::string> order_free(const ir::Graph& graph) {
  DecisionLog log;
  const ir::Graph parts = expand(graph, log);
  std::vector<char> summed(parts.values.size(), 0);
  for (const ir::Node& node : parts.nodes) {
    bool any = sums_floats(parts, node);
    for (ir::ValueId id : node.inputs) any |= id != ir::kNone && summed[at(id)];
    for (ir::ValueId id : node.outputs) summed[at(id)] = any;
  }
  std::set<std::string> out;
  for (const ir::Fetch& f : parts.fetches) {
    if (!summed[at(f.value)]) out.insert(f.name);
  }
  for (const ir::NextState& n : parts.nexts) {
    if (!summed[at(n.value)]) out.insert("next " + n.state);
  }
  return out;
}

}  // namespace plait::test
