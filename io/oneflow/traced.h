// The traced ops as a graph that runs: one step's loss and the gradients of all parameters.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "io/import.h"
#include "io/oneflow/names.h"
#include "io/oneflow/record.h"
#include "io/oneflow/sizes.h"
#include "ops/builder.h"

namespace plait::io::oneflow {

/// The graph `traced`. Fetches the outputs, then `d_NAME` for each parameter whose gradient is
/// known. Adds notes to `import`.
ir::Graph traced_graph(const Record& record, const Names& names, const NamedSizes& sizes,
                       Import& import);

/// One op being made into nodes: its operands, attributes and results by the log's names.
struct OpContext {
  const TracedOp& op;
  Builder& b;
  const NamedSizes& sizes;
  std::unordered_map<std::string, Tensor>& tensors;
  /// Per product: the length it sums over, where that is a named size.
  std::unordered_map<ir::ValueId, Dim>& summed;
  std::unordered_map<double, Dim>& factors;  // numbers that stand for 1 / size
  Import& import;
  std::string where{};  // `FILE:LINE: op NAME (type): `

  template <class... Parts>
  [[noreturn]] void wrong(const Parts&... parts) const {
    plait::fail(where, parts...);
  }

  bool has(std::string_view key) const;
  Tensor in(std::string_view key) const;
  std::vector<Tensor> list(std::string_view key) const;

  /// UserError when the attribute is missing or of another kind.
  template <class T>
  const T& attr(std::string_view key) const {
    const T* value = find<T>(key);
    if (!value) wrong("has no attribute ", key, " of the kind that its type takes");
    return *value;
  }
  template <class T>
  T attr_or(std::string_view key, T otherwise) const {
    const T* value = find<T>(key);
    return value ? *value : otherwise;
  }
  template <class T>
  const T* find(std::string_view key) const {
    for (const Attribute& a : op.attributes) {
      if (a.key == key) return std::get_if<T>(&a.value);
    }
    return nullptr;
  }
  /// An axis in [0, rank).
  int axis(std::int64_t value, int rank) const;

  /// Appends a node whose first result is the log's tensor under `key`.
  Tensor out(std::string_view key, const Op& op, const std::vector<Tensor>& operands) const {
    return add(key, op, operands, {});
  }
  template <ir::AttrStruct A>
  Tensor out(std::string_view key, const Op& op, const std::vector<Tensor>& operands,
             const A& attrs) const {
    return add(key, op, operands, ir::encode(attrs));
  }

 private:
  Tensor add(std::string_view key, const Op& op, const std::vector<Tensor>& operands,
             ir::Attrs attrs) const;
};

/// How one op type becomes nodes.
struct OpRule {
  std::string_view type;
  void (*build)(const OpContext& c);
};
/// Null for a type that is not known here.
const OpRule* find_rule(std::string_view type);
const OpRule* find_forward_rule(std::string_view type);
const OpRule* find_backward_rule(std::string_view type);

}  // namespace plait::io::oneflow
