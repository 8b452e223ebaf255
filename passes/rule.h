// What a simplification rule is: a name, a line for people, and a function from a node to what may
// stand for it. Rules are run-time data; simplify.cpp applies them, rules_*.cpp list them.
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <variant>
#include <vector>

#include "ops/op.h"

namespace plait {

/// A value that exists, or a node to stand in place of the one matched.
using Replacement = std::variant<ir::ValueId, ir::Node>;

/// A node with operands in `graph` that is about to be appended to it.
struct Match {
  const ir::Graph& graph;
  const Op& op;
  const ir::Node& node;
  const std::vector<ir::Type>& results;

  bool is(const Op& o) const { return &op == &o; }
  int count() const { return static_cast<int>(node.inputs.size()); }
  ir::ValueId operand(int i) const { return node.inputs[static_cast<std::size_t>(i)]; }
  const ir::Type& in(int i = 0) const { return graph.type(operand(i)); }
  const ir::Type& out() const { return results[0]; }
  template <ir::AttrStruct A>
  A as() const {
    return ir::decode<A>(node.attrs, op.name);
  }

  /// The node that makes operand i when it is of this op, else null.
  const ir::Node* made_by(int i, const Op& o) const;
  /// The number that every element of an operand is, where that is known; -0.0 is not 0.0.
  std::optional<double> uniform(int i) const;

  /// This operand as the result, spread over the result's shape where it is smaller.
  Replacement only(int i) const;
  /// Another node in place of this one.
  Replacement instead(const Op& o, std::vector<ir::ValueId> inputs, ir::Attrs attrs = {}) const;
  Replacement with_inputs(std::vector<ir::ValueId> inputs) const {
    return instead(op, std::move(inputs), node.attrs);
  }
};

/// Changes no bit of any result that is not NaN: neither a -0.0 nor an infinity, in any dtype.
struct Rule {
  std::string_view name;
  std::string_view doc;
  std::optional<Replacement> (*apply)(const Match& m);
};

std::span<const Rule> arithmetic_rules();
std::span<const Rule> choice_rules();
std::span<const Rule> cast_rules();
std::span<const Rule> move_rules();
std::span<const Rule> piece_rules();

}  // namespace plait
