// Values for feeds that nobody gave. Whole numbers that end up as an index must lie within what
// they index: that is read off the nests of the ops that use them.
#include <algorithm>
#include <cmath>
#include <limits>

#include "base/hash.h"
#include "base/philox.h"
#include "ops/table.h"
#include "run/index_bound.h"
#include "run/session.h"

namespace plait {
namespace {

constexpr std::int64_t kUnbounded = std::numeric_limits<std::int64_t>::max();

/// Where the elements of a feed travel unchanged, and the smallest extent that they index.
struct Travel {
  const ir::Graph& graph;
  std::vector<bool> carries;  // per value: its elements may be the feed's
  std::int64_t bound = kUnbounded;

  explicit Travel(const ir::Graph& g) : graph(g), carries(g.values.size(), false) {}
  bool carried(ir::ValueId id) const {
    return id != ir::kNone && carries[static_cast<std::size_t>(id)];
  }
  void carry(ir::ValueId id) { carries[static_cast<std::size_t>(id)] = true; }
};

/// Whether the result of a formula can be one of the carried operands itself.
bool passes_on(const loop::ExprNode& e, const std::vector<bool>& carried_loads) {
  const auto passes = [&](std::size_t i) { return passes_on(*e.args[i], carried_loads); };
  switch (e.op) {
    case loop::ScalarOp::kLoad:
      return carried_loads[static_cast<std::size_t>(e.load)];
    case loop::ScalarOp::kSelect:
      return passes(1) || passes(2);
    case loop::ScalarOp::kMax:
    case loop::ScalarOp::kMin:
      return passes(0) || passes(1);
    default:
      return false;
  }
}

void follow_nest(Travel& t, const ir::Node& node) {
  const loop::Nest nest = nest_of(view_of(t.graph, node));
  const auto operand = [&](const loop::Access& a) {
    return node.inputs[static_cast<std::size_t>(a.operand)];
  };
  for (const loop::LoadedIndex& index : nest.loaded) {
    if (t.carried(operand(index.from))) t.bound = std::min(t.bound, index.extent.hi());
  }
  std::vector<bool> carried_loads;
  for (const loop::Access& load : nest.loads) carried_loads.push_back(t.carried(operand(load)));
  if (nest.reduce == loop::Reduce::kNone && passes_on(nest.body.node(), carried_loads)) {
    t.carry(node.outputs[0]);
  }
}

void follow(Travel& t);

void follow_parts(Travel& t, const ir::Node& node) {
  const ir::Graph parts = decomposition_of(view_of(t.graph, node));
  Travel inside(parts);
  std::size_t feed = 0;
  for (ir::ValueId id : node.inputs) {
    if (id == ir::kNone) continue;
    if (t.carried(id)) inside.carry(parts.feeds[feed]);
    ++feed;
  }
  follow(inside);
  t.bound = std::min(t.bound, inside.bound);
  for (std::size_t i = 0; i < parts.fetches.size(); ++i) {
    if (inside.carried(parts.fetches[i].value)) t.carry(node.outputs[i]);
  }
}

void follow(Travel& t) {
  for (const ir::Node& node : t.graph.nodes) {
    const bool reads = std::any_of(node.inputs.begin(), node.inputs.end(),
                                   [&](ir::ValueId id) { return t.carried(id); });
    if (!reads || node.opaque) continue;
    const Op& op = op_named(node.op);
    if (has_nest(op)) {
      follow_nest(t, node);
    } else if (op.decompose) {
      follow_parts(t, node);
    }
  }
}

/// Whole numbers are drawn below this.
std::int64_t draw_below(const ir::Graph& graph, ir::ValueId feed) {
  const std::optional<std::int64_t> bound = index_bound(graph, feed);
  if (!bound) return 2;
  const DType dtype = graph.type(feed).dtype;
  const auto most = visit_dtype(dtype, []<class T>(TypeTag<T>) -> std::int64_t {
    if constexpr (std::integral<T>) return std::numeric_limits<T>::max();
    return kUnbounded;
  });
  return std::clamp<std::int64_t>(*bound, 1, most);
}

}  // namespace

std::optional<std::int64_t> index_bound(const ir::Graph& graph, ir::ValueId feed) {
  Travel travel(graph);
  travel.carry(feed);
  follow(travel);
  return travel.bound == kUnbounded ? std::nullopt : std::optional(travel.bound);
}

Array random_feed(const ir::Graph& graph, ir::ValueId feed, std::uint64_t seed) {
  const ir::Value& value = graph.value(feed);
  Array array(value.type.dtype, sizes_of(value.type.shape));
  const RandomKey key{seed, 0, fnv1a32(value.name)};
  const DType dtype = value.type.dtype;
  const std::int64_t below = is_int(dtype) ? draw_below(graph, feed) : 2;
  for (std::int64_t i = 0; i < array.count(); ++i) {
    const double u = random_uniform(key, static_cast<std::uint64_t>(i));
    if (is_float(dtype)) {
      array.set(i, 2 * u - 1);
    } else {
      array.set_integer(i, static_cast<std::int64_t>(std::floor(u * static_cast<double>(below))));
    }
  }
  return array;
}

}  // namespace plait
