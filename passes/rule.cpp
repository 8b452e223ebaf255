// What rules ask of a node.
#include "passes/rule.h"

#include <cstring>

#include "ops/constant.h"
#include "ops/shape.h"
#include "ops/table.h"

namespace plait {
namespace {

bool all_equal(const Array& a) {
  const std::size_t size = size_of(a.dtype());
  for (std::size_t at = size; at < a.byte_count(); at += size) {
    if (std::memcmp(a.data(), a.data() + at, size) != 0) return false;
  }
  return a.count() > 0;
}

/// The node that makes a value; null for feeds, states and results of opaque nodes.
const ir::Node* maker(const ir::Graph& graph, ir::ValueId id) {
  if (id == ir::kNone || graph.value(id).producer == ir::kNone) return nullptr;
  const ir::Node& node = graph.node(graph.value(id).producer);
  return node.opaque ? nullptr : &node;
}

}  // namespace

const ir::Node* Match::made_by(int i, const Op& o) const {
  const ir::Node* node = maker(graph, operand(i));
  return node && node->op == o.name ? node : nullptr;
}

std::optional<double> Match::uniform(int i) const {
  const ir::Node* node = maker(graph, operand(i));
  // A view of equal elements has equal elements.
  while (node && is_view(*node)) node = maker(graph, node->inputs[0]);
  if (!node || node->op != ops::constant.name) return std::nullopt;
  const auto literal = ir::decode<ops::Constant>(node->attrs, node->op).value;
  return all_equal(*literal.array) ? std::optional(literal.array->real(0)) : std::nullopt;
}

Replacement Match::only(int i) const {
  if (in(i) == out()) return operand(i);
  return instead(ops::broadcast_to, {operand(i)}, ir::encode(ops::ShapeTo{out().shape}));
}

Replacement Match::instead(const Op& o, std::vector<ir::ValueId> inputs, ir::Attrs attrs) const {
  return ir::Node{std::string(o.name), std::move(inputs), {},   std::move(attrs),
                  node.path,           node.source,       false};
}

}  // namespace plait
