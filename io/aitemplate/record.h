// What the document says, typed, in its own words: tensors and operators, and all that stands
// beside them. What is typed is what graphs and reports use; every other key is kept as printed.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "io/aitemplate/value.h"

namespace plait::io::aitemplate {

/// A dimension: one value is a number, several are the ends (and samples) of a range.
struct IntVar {
  std::optional<std::string> name;
  std::vector<std::int64_t> values;       // sorted
  std::optional<PyValue> symbolic_value;  // a number, or sympy's text
  std::vector<Entry> rest;
  At at;
  std::int64_t lo() const { return values.front(); }
  std::int64_t hi() const { return values.back(); }
  bool is_const() const { return lo() == hi(); }
  bool operator==(const IntVar&) const = default;
};

struct TensorRecord {
  std::string name, dtype;
  std::vector<IntVar> shape;
  std::vector<std::string> src_ops, dst_ops;  // who writes it, who reads it
  bool is_input = false, is_output = false;
  std::optional<bool> is_param, is_internal_constant;
  std::optional<std::int64_t> offset;  // bytes into the planned blob
  std::optional<PyValue> value;        // of a tensor that is one number
  std::optional<PyValue> data;         // values that were bound to it
  std::optional<PyValue> is_view_of;   // that tensor, printed whole
  std::vector<Entry> rest;
  At at;
  bool operator==(const TensorRecord&) const = default;
};

/// How an operand is addressed once a concat, split, slice or view was absorbed.
struct Accessor {
  std::optional<std::int64_t> stride_dim;            // of actual_shapes, the axis that is cut
  std::int64_t offset = 0;                           // elements from the tensor's start
  std::vector<IntVar> original_shapes;               // as the operator sees it
  std::optional<std::vector<IntVar>> actual_shapes;  // of the tensor that is read or written
  std::optional<std::int64_t> original_total_elements_from_stride_dim;
  std::optional<std::int64_t> actual_total_elements_from_stride_dim;
  std::vector<Entry> rest;
  At at;
  bool operator==(const Accessor&) const = default;
};

struct ExecPath {
  std::string predicate;
  PyValue kernel;
  bool operator==(const ExecPath&) const = default;
};

struct OperatorRecord {
  std::string name, op;
  std::vector<std::string> inputs, outputs;
  std::optional<std::vector<PyValue>> args;  // elementwise: names and numbers
  std::optional<PyValue> func;               // elementwise: `<FuncEnum.ADD: 1>`
  std::optional<std::vector<OperatorRecord>> elementwise_ops;
  std::optional<std::vector<Accessor>> input_accessors, output_accessors;
  std::optional<std::vector<std::string>> original_inputs;
  /// In order: a predicate over run-time sizes, and the kernel, empty before the search.
  std::optional<std::vector<ExecPath>> exec_path;
  std::optional<std::string> epilogue;
  std::optional<std::int64_t> epilogue_alignment, workspace;
  std::vector<Entry> rest;
  At at;
  const PyValue* find(std::string_view key) const;  // in `rest`; null also where it is None
  bool operator==(const OperatorRecord&) const = default;
};

struct Record {
  std::string file;  // for messages and sources; no part of equality
  std::vector<TensorRecord> tensors;
  std::vector<OperatorRecord> operators;
  bool operator==(const Record& o) const {
    return tensors == o.tensors && operators == o.operators;
  }
};

/// An entry of `rest` by its key; null when there is none or it is None.
const PyValue* find_entry(const std::vector<Entry>& rest, std::string_view key);
/// `ADD` of `<FuncEnum.ADD: 1>`; empty when it is something else.
std::string func_name(const OperatorRecord& op);
/// Names of tensors: texts, or tensors printed whole.
std::vector<std::string> names_in(const PyValue& list);
/// The tensor that this one is a view of; empty when none.
std::string view_of(const TensorRecord& tensor);

}  // namespace plait::io::aitemplate
