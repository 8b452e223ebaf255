// One operator of the document on its way into a graph: its operands as tensors, its attributes
// with their types, and what the ops of the graph need to agree on.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/error.h"
#include "io/aitemplate/record.h"
#include "io/aitemplate/sizes.h"
#include "ops/builder.h"

namespace plait::io::aitemplate {

/// An argument of a scalar op.
using Argument = std::variant<Tensor, double>;

struct Kernel {
  Builder& b;
  SizeTable& sizes;
  const std::string& file;
  const OperatorRecord& op;
  std::vector<Tensor> in;                   // as the operator sees them, through its accessors
  std::vector<std::vector<IntVar>> shapes;  // of its results, as the operator sees them
  /// A tensor or number of the document by name, for arguments that are not among the inputs.
  std::function<Argument(const std::string& name)> lookup;

  /// UserError with the operator's place in the document.
  template <class... Parts>
  [[noreturn]] void fail(const Parts&... parts) const {
    plait::fail(file, ":", op.at.line, ":", op.at.column, ": operator '", op.name, "' (", op.op,
                ") ", parts...);
  }
  void want_inputs(std::size_t least) const;

  // Attributes; UserError when one is missing or of another kind.
  const PyValue& attribute(std::string_view key) const;
  std::int64_t whole(std::string_view key) const;
  double real(std::string_view key, double otherwise) const;
  bool flag(std::string_view key, bool otherwise) const;
  /// A list or tuple of whole numbers, or one number as a list.
  std::vector<std::int64_t> wholes(std::string_view key) const;
  /// Height and width from one number or two.
  Sizes pair(std::string_view key, std::int64_t otherwise) const;

  Tensor add(const Op& op_of_graph, const std::vector<Tensor>& operands, ir::Attrs attrs = {});
  template <ir::AttrStruct A>
  Tensor add(const Op& op_of_graph, const std::vector<Tensor>& operands, const A& attrs) {
    return add(op_of_graph, operands, ir::encode(attrs));
  }
  /// Makes axes of two tensors one size where the document's numbers say so.
  void unify(const Tensor& a, int axis_a, const Tensor& b, int axis_b);
  /// All axes that broadcast together, counted from the end.
  void unify_broadcast(const Tensor& a, const Tensor& b);
  void pin(const Tensor& t, int axis);
  /// Windows of this many rows (or columns) must fit into the axis, padding included.
  void fit_window(const Tensor& t, int axis, std::int64_t window, std::int64_t padding);
  /// `x` with these sizes, as numbers or as expressions over what `x` has.
  Tensor reshape(const Tensor& x, const std::vector<IntVar>& shape);
  Tensor constant(double value, DType dtype) { return b.constant(value, dtype); }
};

/// Its results, or nothing when Plait has no op for it.
using Results = std::optional<std::vector<Tensor>>;
Results contraction(Kernel& k);  // conv2d, gemm and bmm with their epilogues
Results elementwise(Kernel& k);  // elementwise, fused_elementwise
Results layer(Kernel& k);        // reductions, norms, pooling
Results move(Kernel& k);         // reshapes, slices, joins and the like
Results plait_op(Kernel& k);     // an op of ours, by its own name and attributes

/// What follows in an epilogue's name: `relu`, `fast_gelu`, `hardswish`... Nothing when unknown.
std::optional<Tensor> activation(Kernel& k, std::string_view word, const Tensor& x);

}  // namespace plait::io::aitemplate
