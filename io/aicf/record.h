// What the document says, typed, in its own words: values, which are storage cells, and nodes,
// which read and write them in the order of their lines.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/dtype.h"
#include "base/shape.h"

namespace plait::io::aicf {

/// A storage cell: `  v001  0.W          shape=(8, 8) dtype=torch.float16 device=cuda:0`.
struct Value {
  std::int64_t id = 0;
  std::string name;
  Sizes shape;
  DType dtype = DType::f32;
  std::string device;
  bool operator==(const Value&) const = default;
};

/// Texts as they stand; a value may hold blanks and `=`.
struct Attr {
  std::string key, text;
  bool operator==(const Attr&) const = default;
};

using Cell = std::int32_t;  // index into Record::values

/// `  #008 SgdStep    (v001, v016) -> (v001)  {lr=0.01}`
struct Node {
  std::string op;
  std::vector<Cell> inputs, outputs;
  std::vector<Attr> attrs;

  /// Null when there is none of this key.
  const std::string* attr(std::string_view key) const;
  /// Nothing when there is none, or it is no number, no `True` and no `False`.
  std::optional<double> number(std::string_view key) const;
  std::optional<bool> flag(std::string_view key) const;
  bool operator==(const Node&) const = default;
};

struct Record {
  std::string name;
  std::vector<Value> values;  // ids ascend
  std::vector<Node> nodes;
  bool final_newline = false;  // AICF itself ends without one
  std::string file;            // where it was read; no part of what it says

  const Value& value(Cell cell) const { return values[static_cast<std::size_t>(cell)]; }
  const Node& node(std::size_t index) const { return nodes[index]; }
  /// The line on which a value or a node stands, from 1.
  int line_of_value(std::size_t index) const;
  int line_of_node(std::size_t index) const;

  bool operator==(const Record& o) const {
    return name == o.name && values == o.values && nodes == o.nodes &&
           final_newline == o.final_newline;
  }
};

/// `v001`
std::string id_text(std::int64_t id);
/// `#008`
std::string index_text(std::size_t index);
/// `(8,)`, as Python writes it.
std::string tuple_text(const Sizes& sizes);
/// `torch.float16`
std::string torch_name(DType dtype);
std::optional<DType> torch_dtype(std::string_view name);

}  // namespace plait::io::aicf
