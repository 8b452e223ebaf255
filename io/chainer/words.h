// A node of a graph in Chainer's words: the function, its attributes and which operands it has. An
// op that Chainer lacks keeps Plait's name, with its attributes and the types of its operands, so
// that it can be read back.
#pragma once

#include <vector>

#include "io/chainer/record.h"
#include "ops/op.h"

namespace plait::io::chainer {

struct Words {
  std::string function;
  Members attributes;
  std::vector<int> operands;   // positions of the node's operands that become inputs
  int outputs = 1;             // how many of its first results are told
  bool keeps_nothing = false;  // the backward needs no array, whatever the op's gradient says
};

/// `node` must not be opaque.
Words words_of(const ir::Graph& graph, const ir::Node& node);

/// The attributes of a Plait op as JSON members, and back.
Value attr_value(const ir::AttrValue& value);
/// UserError when it is none.
ir::AttrValue value_attr(const Value& value);

inline constexpr std::string_view kShapes = "_in_shapes", kDTypes = "_in_dtypes",
                                  kPositions = "_in_positions";

}  // namespace plait::io::chainer
