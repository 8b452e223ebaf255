// How a row of the table of words is written: a node as it sees it, and what it may answer.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "io/chainer/words.h"
#include "ops/constant.h"
#include "ops/table.h"

namespace plait::io::chainer {

/// A node with what a word for it depends on.
struct Told {
  const ir::Graph& graph;
  const ir::Node& node;
  NodeView view;

  const ir::Type& in(int i) const { return view.in(i); }
  /// The number of operand i, when it is a scalar constant.
  std::optional<double> constant(int i) const {
    const ir::NodeId maker = graph.value(node.inputs[static_cast<std::size_t>(i)]).producer;
    if (maker == ir::kNone || graph.node(maker).op != ops::constant.name) return {};
    const auto literal = ir::decode<ops::Constant>(graph.node(maker).attrs, "constant").value;
    if (literal.array->count() != 1) return {};
    return literal.array->real(0);
  }
  /// Whether nothing makes operand i, so that its shape must follow from the function.
  bool is_root(int i) const {
    return graph.value(node.inputs[static_cast<std::size_t>(i)]).producer == ir::kNone;
  }
  Sizes sizes(int i) const { return sizes_of(in(i).shape); }
};

using Word = std::optional<Words>;

struct WordRow {
  std::string_view op;
  Word (*word)(const Told&);
};

// The families; an op is in one of them.
std::span<const WordRow> layer_words();  // layers, activations, losses
std::span<const WordRow> array_words();  // arithmetic, reductions, moving elements

/// Whole numbers as a JSON list.
Value ints(const Sizes& sizes);
/// A word for a node's first operands.
Words word(std::string function, Members attributes, int operands);

/// A function of one float operand without attributes.
template <const char* kName>
Word plain(const Told& t) {
  if (!is_float(t.in(0).dtype)) return {};
  return word(kName, {}, 1);
}

template <const char* kName>
Word along_axis(const Told& t) {
  return word(kName, {{"axis", {t.view.as<ops::Axis>().axis}}}, 1);
}

}  // namespace plait::io::chainer
