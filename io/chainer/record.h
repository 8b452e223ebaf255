// What the document says, typed, in its own words: variables with their sizes, operations with the
// attributes of the Chainer function that made them. Nothing here knows a graph.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace plait::io::chainer {

struct Member;

/// A JSON value; a number with a point or an exponent is a double, also when it is whole.
struct Value {
  std::variant<std::monostate, bool, std::int64_t, double, std::string, std::vector<Value>,
               std::vector<Member>>
      data;
  friend bool operator==(const Value& a, const Value& b);
};

struct Member {
  std::string name;
  Value value;
  bool operator==(const Member&) const = default;
};
inline bool operator==(const Value& a, const Value& b) { return a.data == b.data; }
using Members = std::vector<Member>;  // in the order of the text

/// Null when there is none of this name.
const Value* find(const Members& members, std::string_view name);
/// Of a JSON object; UserError says at which column it is not one, or that it is nested too deeply.
Members parse_members(std::string_view json);
/// As Python's json.dumps writes it.
std::string json_text(const Value& value);
std::string json_text(const Members& members);

struct Variable {
  std::int64_t id = 0;
  std::int64_t bytes = 0;
  std::string name;  // `_` for what a function made, `/...` for parameters, else a fed array
  int line = 0;
  bool operator==(const Variable&) const = default;
  bool is_parameter() const { return name.starts_with('/'); }
};

/// What an operation reads of a variable: its array (a forward input), its gradient, or the array
/// kept from the forward, which was an input or an output there.
enum class Tag { kArray, kGradient, kInput, kOutput };
std::string_view tag_text(Tag tag);

struct Input {
  int variable = 0;  // index into Record::variables
  Tag tag = Tag::kArray;
  bool operator==(const Input&) const = default;
};

struct Operation {
  bool backward = false;
  std::vector<Input> inputs;
  std::vector<int> outputs;  // indices of variables; a backward makes their gradients
  std::string function;
  Members attributes;
  std::string text;  // the attributes as the document has them
  /// Which arrays the backward needs, by position; nothing where the document says null.
  std::optional<std::vector<std::int64_t>> retained_inputs, retained_outputs;
  std::int64_t rank = -1;  // depth in the graph; -1 when the document does not say
  int line = 0;            // of the word forward or backward
  bool operator==(const Operation&) const = default;
};

struct Record {
  std::string file;  // for messages
  std::vector<Variable> variables;
  std::vector<Operation> operations;
  bool operator==(const Record&) const = default;
};

}  // namespace plait::io::chainer
