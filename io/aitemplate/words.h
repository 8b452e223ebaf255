// A node of a graph in AITemplate's words.
#pragma once

#include <string>
#include <vector>

#include "io/aitemplate/record.h"
#include "ir/graph.h"

namespace plait::io::aitemplate {

/// The scalar functions of FuncEnum that are one op of ours.
struct NamedOp {
  std::string_view func, op;
};
inline constexpr NamedOp kUnaryFuncs[] = {
    {"TANH", "tanh"},   {"COS", "cos"},     {"SIN", "sin"},
    {"SIGN", "sign"},   {"ABS", "abs"},     {"LOGE", "log"},
    {"EXP", "exp"},     {"SQRT", "sqrt"},   {"SIGMOID", "sigmoid"},
    {"RELU", "relu"},   {"SILU", "silu"},   {"GELU", "gelu"},
    {"FLOOR", "floor"}, {"LOG1P", "log1p"}, {"RECIPROCAL", "reciprocal"}};
inline constexpr NamedOp kBinaryFuncs[] = {
    {"ADD", "add"},     {"SUB", "sub"},     {"MUL", "mul"}, {"DIV", "div"},
    {"MAX", "maximum"}, {"MIN", "minimum"}, {"POW", "pow"}, {"FLOOR_DIV", "floor_div"}};

/// What a node needs from the record around it.
struct Sentence {
  const ir::Graph& graph;
  const ir::Node& node;
  const std::vector<std::string>& names;  // of all values, in the document
  const std::vector<bool>& numbers;       // values that the document holds as one number
  OperatorRecord& op;                     // name and outputs are set; gets the rest

  const ir::Type& in(std::size_t i) const { return graph.type(node.inputs[i]); }
  const ir::Type& out() const { return graph.type(node.outputs[0]); }
  void set(std::string key, PyValue value) {
    op.rest.push_back({PyValue::of(std::move(key)), std::move(value)});
  }
};

/// Fills the operator; false when AITemplate has no word for the node as it is.
bool in_words(Sentence& s);

// The words of contractions; false as above.
bool conv2d_word(Sentence& s);
bool linear_word(Sentence& s);
bool matmul_word(Sentence& s);

PyValue numbers_value(const std::vector<std::int64_t>& list);
/// One number when both are equal, else a pair.
PyValue pair_value(const Sizes& pair);
/// Height and width; nothing when top and bottom or left and right differ.
std::optional<Sizes> symmetric(const Sizes& padding);

std::vector<IntVar> int_vars(const Shape& shape, const std::string& tensor);

}  // namespace plait::io::aitemplate
