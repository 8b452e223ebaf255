// Numbers for random graphs, what the graphs compute by definition, and comparing results.
#include <cmath>
#include <cstring>
#include <limits>

#include "ops/evaluate.h"
#include "ops/table.h"
#include "random_draw.h"
#include "random_graph.h"

namespace plait::test {
namespace {

template <class T>
T special_number(Draw& draw) {
  if constexpr (std::is_same_v<T, bool>) {
    return draw.chance(50);
  } else if constexpr (std::integral<T>) {
    using Limits = std::numeric_limits<T>;
    return draw.of(std::vector<T>{0, 1, 2, Limits::min(), Limits::max()});
  } else {
    constexpr double inf = std::numeric_limits<double>::infinity();
    return T(draw.of(std::vector<double>{0.0, -0.0, 1, -1, inf, -inf, std::nan(""), 1e-40, 65504}));
  }
}

Array random_array(const ir::Type& type, Draw& draw, bool special) {
  Array a(type.dtype, sizes_of(type.shape));
  for (std::int64_t i = 0; i < a.count(); ++i) {
    const double x = is_float(type.dtype) ? draw.uniform(-2, 2) : draw.below(9) - 4;
    a.set_integer(i, 0);
    if (special && draw.chance(40)) {
      visit_dtype(type.dtype, [&]<class T>(TypeTag<T>) {
        a.as<T>()[static_cast<std::size_t>(i)] = special_number<T>(draw);
      });
    } else {
      a.set(i, x);
    }
  }
  return a;
}

template <class T>
bool same(T a, T b) {
  if constexpr (!std::integral<T>) {
    if (std::isnan(static_cast<double>(a)) && std::isnan(static_cast<double>(b))) return true;
  }
  return std::memcmp(&a, &b, sizeof(T)) == 0;
}

std::string first_difference(const Array& a, const Array& b) {
  if (type_text(a) != type_text(b)) return type_text(a) + " and " + type_text(b);
  return visit_dtype(a.dtype(), [&]<class T>(TypeTag<T>) -> std::string {
    for (std::int64_t i = 0; i < a.count(); ++i) {
      const auto at = static_cast<std::size_t>(i);
      if (same(a.as<T>()[at], b.as<T>()[at])) continue;
      return str("element ", i, " of ", type_text(a), " is ", real_text(a.real(i)), " and ",
                 real_text(b.real(i)));
    }
    return "";
  });
}

}  // namespace

NamedArrays random_inputs(const ir::Graph& graph, std::uint64_t seed, bool special) {
  Draw draw(seed);
  NamedArrays inputs;
  auto add = [&](ir::ValueId id) {
    inputs[graph.value(id).name] = random_array(graph.type(id), draw, special);
  };
  for (ir::ValueId id : graph.feeds) add(id);
  for (const ir::StateUse& use : graph.states) add(use.value);
  return inputs;
}

NamedArrays evaluate_graph(const ir::Graph& graph, const NamedArrays& inputs) {
  std::vector<Array> values(graph.values.size());
  auto at = [&](ir::ValueId id) -> Array& { return values[static_cast<std::size_t>(id)]; };
  for (ir::ValueId id : graph.feeds) at(id) = inputs.at(graph.value(id).name);
  for (const ir::StateUse& use : graph.states) at(use.value) = inputs.at(use.state.name);
  for (const ir::Node& node : graph.nodes) {
    std::vector<const Array*> operands;
    for (ir::ValueId id : node.inputs) operands.push_back(id == ir::kNone ? nullptr : &at(id));
    std::vector<Array> results = evaluate(view_of(graph, node), operands);
    for (std::size_t i = 0; i < results.size(); ++i) at(node.outputs[i]) = std::move(results[i]);
  }
  NamedArrays results;
  for (const ir::Fetch& f : graph.fetches) results[f.name] = at(f.value);
  for (const ir::NextState& n : graph.nexts) results["next " + n.state] = at(n.value);
  return results;
}

std::string difference(const NamedArrays& a, const NamedArrays& b) {
  if (a.size() != b.size()) return str(a.size(), " results and ", b.size());
  for (const auto& [name, array] : a) {
    const auto it = b.find(name);
    if (it == b.end()) return name + " is missing";
    const std::string found = first_difference(array, it->second);
    if (!found.empty()) return name + ": " + found;
  }
  return "";
}

}  // namespace plait::test
