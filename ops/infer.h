// Type inference shared by families: broadcasting, axes, and the messages for what does not fit.
#pragma once

#include <vector>

#include "ops/op.h"

namespace plait::ops {

/// One result of the broadcast shape and the operands' common dtype.
std::vector<ir::Type> elementwise(const NodeView& v);
/// The same, of bool.
std::vector<ir::Type> predicate(const NodeView& v);
/// The type of the first operand.
std::vector<ir::Type> same_as_input(const NodeView& v);

/// The common shape of two (numpy's rule, on canonical sizes); UserError names both.
Shape broadcast(const NodeView& v, const Shape& a, const Shape& b);
/// UserError unless operands i and j have one dtype.
void same_dtype(const NodeView& v, int i, int j);
/// UserError unless operand i has this rank.
void want_rank(const NodeView& v, int i, int rank);
/// UserError unless operand i has this shape; `what` says why it should.
void want_shape(const NodeView& v, int i, const Shape& shape, std::string_view what);
/// UserError unless operand i has one of these dtypes.
void want_dtype(const NodeView& v, int i, DTypeSet set, std::string_view what);

/// -1 becomes rank-1; UserError outside [-rank, rank).
std::int64_t axis_of(const NodeView& v, std::int64_t axis, int rank);
/// Normalised, sorted, distinct; all axes when `axes` is empty.
std::vector<std::int64_t> axes_of(const NodeView& v, const std::vector<std::int64_t>& axes,
                                  int rank);
/// Index variables a, b, c... for every dimension of a shape.
std::vector<Dim> index_all(loop::Nest& nest, const Shape& shape);

/// Attributes that several families share.
struct Axis {
  std::int64_t axis = -1;
  bool operator==(const Axis&) const = default;
  static constexpr auto fields() { return std::tuple{ir::Field{"axis", &Axis::axis}}; }
};
struct Reduction {
  std::vector<std::int64_t> axes;  // all when empty
  bool keep = false;               // reduced axes stay with size 1
  bool operator==(const Reduction&) const = default;
  static constexpr auto fields() {
    return std::tuple{ir::Field{"axes", &Reduction::axes}, ir::Field{"keep", &Reduction::keep}};
  }
};

}  // namespace plait::ops
