// Matrix products and linear layers: types, index maps, gradients.
#include "ops/contract.h"

namespace plait::ops {
namespace {

/// Indices of batch axes: letters other than m, n and k.
std::string batch_name(std::size_t i) {
  constexpr std::string_view letters = "bcdefghij";
  return i < letters.size() ? std::string(1, letters[i]) : str("b", i);
}

/// The last two sizes as the product sees them.
struct Matrix {
  Dim rows, columns;
};
Matrix matrix_of(const Shape& shape, bool transposed) {
  const Dim &x = shape[shape.size() - 2], &y = shape[shape.size() - 1];
  return transposed ? Matrix{y, x} : Matrix{x, y};
}
Shape batch_of(const Shape& shape) { return {shape.begin(), shape.end() - 2}; }

/// [..., n] as [rows, n].
Tensor as_matrix(const Tensor& x) {
  if (x.rank() == 2) return x;
  const Shape lead(x.shape().begin(), x.shape().end() - 1);
  return x.reshape({element_count(lead), x.dim(-1)});
}

/// Of a wide product: operands as its f32 gradient is, gradients as the halves.
Tensor in_dtype(const Tensor& x, DType dtype) { return x.dtype() == dtype ? x : x.cast(dtype); }

/// Which of the two matrices the writer may have meant to transpose.
std::string_view transpose_hint(const Matrix& a, const Matrix& b) {
  return a.rows == b.rows && !(a.columns == b.columns) ? "Transpose a?" : "Transpose b?";
}

}  // namespace

std::vector<ir::Type> infer_matmul(const NodeView& v) {
  const auto t = v.as<Matmul>();
  same_dtype(v, 0, 1);
  const Shape &a = v.in(0).shape, &b = v.in(1).shape;
  if (a.size() < 2 || b.size() < 2) {
    v.fail_hint("Unsqueeze a vector to a matrix",
                "operands must have at least two axes: ", v.operand_text());
  }
  const Matrix x = matrix_of(a, t.transpose_a), y = matrix_of(b, t.transpose_b);
  if (!(x.columns == y.rows)) {
    v.fail_hint(transpose_hint(x, y), "inner sizes differ: ", v.operand_text());
  }
  Shape shape = broadcast(v, batch_of(a), batch_of(b));
  shape.push_back(x.rows);
  shape.push_back(y.columns);
  const DType dtype = v.in(0).dtype;
  return {{t.wide && is_half(dtype) ? DType::f32 : dtype, shape}};
}

loop::Nest nest_matmul(const NodeView& v) {
  const auto t = v.as<Matmul>();
  const Shape& shape = v.out().shape;
  loop::Nest nest;
  std::vector<Dim> batch;
  for (std::size_t i = 0; i + 2 < shape.size(); ++i) {
    batch.push_back(add_index(nest, batch_name(i), shape[i]));
  }
  const Dim m = add_index(nest, "m", shape[shape.size() - 2]);
  const Dim n = add_index(nest, "n", shape[shape.size() - 1]);
  const Dim k = add_index(nest, "k", matrix_of(v.in(0).shape, t.transpose_a).columns, true);
  const auto access = [&](int operand, const Dim& row, const Dim& column) {
    const Shape& from = v.in(operand).shape;
    const std::size_t lead = shape.size() - from.size();
    loop::Access a{operand, {}};
    for (std::size_t i = 0; i + 2 < from.size(); ++i) {
      a.index.push_back(from[i] == shape[lead + i] ? batch[lead + i] : Dim(0));
    }
    a.index.push_back(row);
    a.index.push_back(column);
    return a;
  };
  const loop::Expr a = add_load(nest, t.transpose_a ? access(0, k, m) : access(0, m, k));
  const loop::Expr b = add_load(nest, t.transpose_b ? access(1, n, k) : access(1, k, n));
  nest.body = a * b;
  nest.reduce = loop::Reduce::kSum;
  return nest;
}

// da = dy.b^T and db = a^T.dy, each transposed where its operand was. A matrix b that meets a batch
// of a is one product over all rows instead of a batch of products that is summed.
Grads grad_matmul(GradCtx& g) {
  const auto t = g.as<Matmul>();
  const Shape a_shape = g.type(0).shape, b_shape = g.type(1).shape;
  const Tensor dy = g.dy();
  Tensor da, db;
  if (g.wants(0)) {
    const Tensor b = in_dtype(g.in(1), dy.dtype());
    da = t.transpose_a ? matmul(b, dy, Matmul{t.transpose_b, true})
                       : matmul(dy, b, Matmul{false, !t.transpose_b});
    da = in_dtype(sum_to(da, a_shape), g.type(0).dtype);
  }
  if (g.wants(1)) {
    const bool by_rows = b_shape.size() == 2 && !t.transpose_a;
    const Tensor a = in_dtype(by_rows ? as_matrix(g.in(0)) : g.in(0), dy.dtype());
    const Tensor slope = by_rows ? as_matrix(dy) : dy;
    db = t.transpose_b ? matmul(slope, a, Matmul{true, t.transpose_a})
                       : matmul(a, slope, Matmul{!t.transpose_a, false});
    db = in_dtype(sum_to(db, b_shape), g.type(1).dtype);
  }
  return {da, db};
}

std::vector<ir::Type> infer_linear(const NodeView& v) {
  same_dtype(v, 0, 1);
  want_rank(v, 1, 2);
  const Shape &x = v.in(0).shape, &w = v.in(1).shape;
  if (x.empty()) v.fail("operand x must have at least one axis: ", v.operand_text());
  if (!(x.back() == w[1])) {
    v.fail_hint("w is [out, in]", "inner sizes differ: ", v.operand_text());
  }
  if (v.has(2)) {
    same_dtype(v, 0, 2);
    want_shape(v, 2, {w[0]}, "one number per row of w");
  }
  Shape shape = x;
  shape.back() = w[0];
  return {{v.in(0).dtype, shape}};
}

loop::Nest nest_linear(const NodeView& v) {
  const Shape& shape = v.out().shape;
  loop::Nest nest;
  std::vector<Dim> at;
  for (std::size_t i = 0; i + 1 < shape.size(); ++i) {
    at.push_back(add_index(nest, i + 2 == shape.size() ? "m" : batch_name(i), shape[i]));
  }
  const Dim n = add_index(nest, "n", shape.back());
  const Dim k = add_index(nest, "k", v.in(1).shape[1], true);
  at.push_back(k);
  const loop::Expr x = add_load(nest, {0, at});
  const loop::Expr w = add_load(nest, {1, {n, k}});
  nest.body = x * w;
  nest.reduce = loop::Reduce::kSum;
  if (v.has(2)) nest.finish = loop::Expr::acc() + add_load(nest, {2, {n}});
  return nest;
}

Grads grad_linear(GradCtx& g) {
  const Shape x_shape = g.type(0).shape;
  const Tensor dy = g.dy();
  const Shape dy_shape = dy.shape();
  const Tensor rows = dy_shape.size() == 1 ? dy.reshape({1, dy_shape[0]}) : dy;
  Grads grads(static_cast<std::size_t>(g.node.count()));
  if (g.wants(0)) {
    const Tensor dx = matmul(rows, g.in(1));
    grads[0] = dx.shape() == x_shape ? dx : dx.reshape(x_shape);
  }
  if (g.wants(1)) {
    const Tensor x = g.in(0);
    const Tensor x_rows = x.rank() == 1 ? x.reshape({1, x_shape[0]}) : as_matrix(x);
    grads[1] = matmul(as_matrix(rows), x_rows, Matmul{true, false});
  }
  if (g.node.has(2) && g.wants(2)) grads[2] = sum_to(dy, {dy_shape.back()});
  return grads;
}

}  // namespace plait::ops
