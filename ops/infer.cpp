// Type inference shared by families.
#include "ops/infer.h"

#include <algorithm>

namespace plait::ops {
namespace {

/// Without the mark of an operand that may be left out or repeats.
std::string_view operand_name(const NodeView& v, int i) {
  const std::string_view name = v.op.inputs[std::min(i, v.op.inputs.size() - 1)];
  return name.substr(0, name.find_first_of("?."));
}

}  // namespace

Shape broadcast(const NodeView& v, const Shape& a, const Shape& b) {
  Shape out(std::max(a.size(), b.size()));
  for (std::size_t i = 0; i < out.size(); ++i) {  // from the last axis
    const Dim x = i < a.size() ? a[a.size() - 1 - i] : Dim(1);
    const Dim y = i < b.size() ? b[b.size() - 1 - i] : Dim(1);
    if (!(x == y) && !x.is(1) && !y.is(1)) {
      v.fail("sizes ", x, " and ", y, " do not broadcast: ", v.operand_text());
    }
    out[out.size() - 1 - i] = x.is(1) ? y : x;
  }
  return out;
}

void same_dtype(const NodeView& v, int i, int j) {
  if (v.in(i).dtype != v.in(j).dtype) {
    v.fail_hint("Cast one of them", "operand dtypes differ: ", v.operand_text());
  }
}

void want_rank(const NodeView& v, int i, int rank) {
  if (v.in(i).rank() != rank) {
    v.fail("operand ", operand_name(v, i), " must have rank ", rank, ": ", v.operand_text());
  }
}

void want_shape(const NodeView& v, int i, const Shape& shape, std::string_view what) {
  if (!(v.in(i).shape == shape)) {
    v.fail("operand ", operand_name(v, i), " must be ", shape_text(shape), " (", what,
           "): ", v.operand_text());
  }
}

void want_dtype(const NodeView& v, int i, DTypeSet set, std::string_view what) {
  if (!set.has(v.in(i).dtype)) {
    v.fail("operand ", operand_name(v, i), " must be ", what, ": ", v.operand_text());
  }
}

std::vector<ir::Type> elementwise(const NodeView& v) {
  Shape shape = v.in(0).shape;
  for (int i = 1; i < v.count(); ++i) {
    same_dtype(v, 0, i);
    shape = broadcast(v, shape, v.in(i).shape);
  }
  return {{v.in(0).dtype, shape}};
}

std::vector<ir::Type> predicate(const NodeView& v) {
  return {{DType::boolean, elementwise(v)[0].shape}};
}

std::vector<ir::Type> same_as_input(const NodeView& v) { return {{v.in(0).dtype, v.in(0).shape}}; }

std::int64_t axis_of(const NodeView& v, std::int64_t axis, int rank) {
  if (axis < -rank || axis >= rank) {
    v.fail("axis ", axis, " is outside a rank of ", rank, v.count() ? ": " : "", v.operand_text());
  }
  return axis < 0 ? axis + rank : axis;
}

std::vector<std::int64_t> axes_of(const NodeView& v, const std::vector<std::int64_t>& axes,
                                  int rank) {
  std::vector<std::int64_t> out;
  for (std::int64_t a : axes) out.push_back(axis_of(v, a, rank));
  if (axes.empty()) {
    for (int i = 0; i < rank; ++i) out.push_back(i);
  }
  std::sort(out.begin(), out.end());
  if (std::adjacent_find(out.begin(), out.end()) != out.end()) {
    v.fail("axes name one axis twice: ", v.operand_text());
  }
  return out;
}

std::vector<Dim> index_all(loop::Nest& nest, const Shape& shape) {
  std::vector<Dim> index;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    index.push_back(add_index(nest, std::string(1, static_cast<char>('a' + i)), shape[i]));
  }
  return index;
}

}  // namespace plait::ops
