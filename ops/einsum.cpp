// Einsum: its equation, its decomposition into matrix products, its gradient as einsums.
#include <algorithm>
#include <cctype>
#include <iterator>
#include <map>

#include "base/text.h"
#include "ops/compare.h"
#include "ops/constant.h"
#include "ops/contract.h"

namespace plait::ops {
namespace {

/// A letter per axis.
using Letters = std::string;

bool has(const Letters& letters, char c) { return letters.find(c) != Letters::npos; }

template <class Keep>
Letters filter(const Letters& letters, Keep keep) {
  Letters out;
  std::copy_if(letters.begin(), letters.end(), std::back_inserter(out), keep);
  return out;
}

Letters distinct(const Letters& letters) {
  Letters out;
  for (char c : letters) {
    if (!has(out, c)) out += c;
  }
  return out;
}

struct Equation {
  std::vector<Letters> operands;
  Letters result;

  /// The letters of all operands but one.
  Letters all_but(std::size_t skipped) const {
    Letters out;
    for (std::size_t i = 0; i < operands.size(); ++i) out += i == skipped ? "" : operands[i];
    return out;
  }
};

void check_result(const NodeView& v, const Letters& result, const Letters& known) {
  if (distinct(result) != result) v.fail("the result names an index twice: '", result, "'");
  for (char c : result) {
    if (!has(known, c)) v.fail("index ", c, " of the result is in no operand: '", result, "'");
  }
}

Equation parse_equation(const NodeView& v) {
  std::string text = v.as<Einsum>().equation;
  if (v.count() == 0) v.fail("takes at least 1 operand");
  std::erase(text, ' ');
  const auto arrow = text.find("->");
  Equation e;
  e.operands = split(text.substr(0, arrow), ',');
  if (static_cast<int>(e.operands.size()) != v.count()) {
    v.fail_hint("Write it as bij,bjk->bik", "equation '", text, "' has ", e.operands.size(),
                " operands, given ", v.count());
  }
  Letters known;
  for (const Letters& letters : e.operands) known += letters;
  e.result = arrow == std::string::npos ? "" : text.substr(arrow + 2);
  for (char c : known + e.result) {
    if (!std::isalpha(static_cast<unsigned char>(c))) {
      v.fail_hint("Indices are letters", "equation '", text, "' has a '", c, "'");
    }
  }
  if (arrow == std::string::npos) {
    const auto once = [&](char c) { return known.find(c) == known.rfind(c); };
    e.result = filter(known, once);
    std::sort(e.result.begin(), e.result.end());
  }
  check_result(v, e.result, known);
  return e;
}

/// A tensor whose axes are named.
struct Term {
  Tensor x;
  Letters at;

  Dim size(char c) const { return x.dim(static_cast<int>(at.find(c))); }
  Shape sizes(const Letters& letters) const {
    Shape shape;
    for (char c : letters) shape.push_back(size(c));
    return shape;
  }
};

/// 0, 1, 2... along one axis of `rank`, the others of size 1.
Tensor counting(Builder& b, std::size_t rank, std::size_t axis, const Dim& size) {
  Shape shape(rank, 1);
  shape[axis] = size;
  return iota.make(b, Iota{shape, static_cast<std::int64_t>(axis), DType::i64});
}

/// True where the indices of every axis agree with that of the first axis of the same letter;
/// empty when no letter repeats. Sizes are 1 along the axes it does not depend on.
Tensor diagonal_mask(Builder& b, const Letters& at, const Shape& shape) {
  Tensor mask;
  for (std::size_t i = 0; i < at.size(); ++i) {
    const std::size_t first = at.find(at[i]);
    if (first == i) continue;
    const Tensor row = counting(b, at.size(), first, shape[i]);
    const Tensor column = counting(b, at.size(), i, shape[i]);
    const Tensor same = equal(row, column);
    mask = mask ? logical_and(mask, same) : same;
  }
  return mask;
}

/// Keeps the diagonal of repeated letters, then sums over letters that nobody else needs.
Term reduced(const Term& t, const Letters& needed) {
  const Shape shape = t.x.shape();
  const Tensor mask = diagonal_mask(t.x.builder(), t.at, shape);
  Term out{mask ? where(mask, t.x, 0.0) : t.x, ""};
  std::vector<std::int64_t> axes;
  for (std::size_t i = 0; i < t.at.size(); ++i) {
    if (t.at.find(t.at[i]) == i && has(needed, t.at[i])) {
      out.at += t.at[i];
    } else {
      axes.push_back(static_cast<std::int64_t>(i));
    }
  }
  if (!axes.empty()) out.x = out.x.sum(axes);
  return out;
}

Term arranged(const Term& t, const Letters& order) {
  if (t.at == order) return t;
  std::vector<std::int64_t> axes;
  for (char c : order) axes.push_back(static_cast<std::int64_t>(t.at.find(c)));
  return {t.x.transpose(axes), order};
}

/// The axes in the order batch, rows, columns; the rows joined to one axis, the columns to another.
Tensor as_matrices(const Term& t, const Letters& batch, const Letters& rows,
                   const Letters& columns) {
  const Tensor x = arranged(t, batch + rows + columns).x;
  if (rows.size() == 1 && columns.size() == 1) return x;
  Shape shape = t.sizes(batch);
  shape.push_back(element_count(t.sizes(rows)));
  shape.push_back(element_count(t.sizes(columns)));
  return x.reshape(shape);
}

/// How the letters of two terms meet.
struct Meeting {
  Letters batch, left, right, summed;
};

Term product_of(const Term& a, const Term& b, const Meeting& m) {
  Tensor x = arranged(a, m.batch + m.left).x, y = arranged(b, m.batch + m.right).x;
  std::vector<std::int64_t> behind, between;
  const std::size_t lead = m.batch.size();
  for (std::size_t i = 0; i < m.right.size(); ++i) {
    behind.push_back(static_cast<std::int64_t>(lead + m.left.size() + i));
  }
  for (std::size_t i = 0; i < m.left.size(); ++i) {
    between.push_back(static_cast<std::int64_t>(lead + i));
  }
  if (!behind.empty()) x = x.unsqueeze(behind);
  if (!between.empty()) y = y.unsqueeze(between);
  return {x * y, m.batch + m.left + m.right};
}

/// A matrix product. Each side is laid out so that its innermost axis stays innermost if it can.
Term contraction_of(const Term& a, const Term& b, const Meeting& m, DType dtype) {
  const Matmul flags{has(m.left, a.at.back()), has(m.summed, b.at.back())};
  const Tensor left = flags.transpose_a ? as_matrices(a, m.batch, m.summed, m.left)
                                        : as_matrices(a, m.batch, m.left, m.summed);
  const Tensor right = flags.transpose_b ? as_matrices(b, m.batch, m.right, m.summed)
                                         : as_matrices(b, m.batch, m.summed, m.right);
  const Tensor x = narrow(left, dtype), y = narrow(right, dtype);
  const Tensor z = matmul(x, y, flags);
  Shape shape = a.sizes(m.batch + m.left);
  for (const Dim& d : b.sizes(m.right)) shape.push_back(d);
  return {z.shape() == shape ? z : z.reshape(shape), m.batch + m.left + m.right};
}

/// a times b, summed over the letters that are in both and not needed. dtype: of the contraction.
Term multiplied(const Term& a, const Term& b, const Letters& needed, DType dtype) {
  Meeting m;
  m.batch = filter(a.at, [&](char c) { return has(b.at, c) && has(needed, c); });
  m.summed = filter(a.at, [&](char c) { return has(b.at, c) && !has(needed, c); });
  m.left = filter(a.at, [&](char c) { return !has(b.at, c); });
  m.right = filter(b.at, [&](char c) { return !has(a.at, c); });
  return m.summed.empty() ? product_of(a, b, m) : contraction_of(a, b, m, dtype);
}

}  // namespace

std::vector<ir::Type> infer_einsum(const NodeView& v) {
  const Equation e = parse_equation(v);
  std::map<char, Dim> sizes;
  for (int i = 0; i < v.count(); ++i) {
    const Letters& letters = e.operands[static_cast<std::size_t>(i)];
    same_dtype(v, 0, i);
    if (static_cast<int>(letters.size()) != v.in(i).rank()) {
      v.fail("operand ", i, " has rank ", v.in(i).rank(), ", its indices are '", letters,
             "': ", v.operand_text());
    }
    for (std::size_t d = 0; d < letters.size(); ++d) {
      const auto [it, fresh] = sizes.emplace(letters[d], v.in(i).shape[d]);
      if (!(it->second == v.in(i).shape[d])) {
        v.fail("index ", letters[d], " is both ", it->second, " and ", v.in(i).shape[d], ": ",
               v.operand_text());
      }
    }
  }
  Shape shape;
  for (char c : e.result) shape.push_back(sizes.at(c));
  return {{v.in(0).dtype, shape}};
}

std::vector<Tensor> decompose_einsum(DecomposeCtx& c) {
  const Equation e = parse_equation(c.node);
  // Two operands are one contraction, which rounds once in any case: halves stay halves there.
  const DType dtype = e.operands.size() == 2 ? c.node.in(0).dtype : c.in(0).dtype();
  Term y = reduced({c.in(0), e.operands[0]}, e.all_but(0) + e.result);
  for (std::size_t i = 1; i < e.operands.size(); ++i) {
    Letters later = e.result;
    for (std::size_t j = i + 1; j < e.operands.size(); ++j) later += e.operands[j];
    const Term next = reduced({c.in(static_cast<int>(i)), e.operands[i]}, y.at + later);
    y = multiplied(y, next, later, dtype);
  }
  return {arranged(y, e.result).x};
}

// The gradient of an operand is the einsum with dy in its place, giving the letters that occur
// elsewhere. Letters that only this operand has were summed: they spread; repeated letters were
// read on a diagonal: the rest is zero.
Grads grad_einsum(GradCtx& g) {
  const Equation e = parse_equation(g.node);
  const DType dtype = g.type(0).dtype;
  const auto count = e.operands.size();
  Grads grads(count);
  for (std::size_t i = 0; i < count; ++i) {
    if (!g.wants(static_cast<int>(i))) continue;
    const Letters& at = e.operands[i];
    const Letters others = e.all_but(i) + e.result;
    const Letters found = filter(distinct(at), [&](char c) { return has(others, c); });
    std::vector<Operand> factors;
    std::string equation;
    for (std::size_t j = 0; j < count; ++j) {
      factors.push_back(narrow(j == i ? g.dy() : g.in(static_cast<int>(j)), dtype));
      equation += (j ? "," : "") + (j == i ? e.result : e.operands[j]);
    }
    Tensor dx = factors[0].tensor;
    if (count > 1 || found != e.result) {
      dx = einsum.all(factors, Einsum{equation + "->" + found})[0];
    }
    const Shape shape = g.type(static_cast<int>(i)).shape;
    Shape spread = shape;
    for (std::size_t d = 0; d < at.size(); ++d) {
      if (at.find(at[d]) != d || !has(found, at[d])) spread[d] = 1;
    }
    if (!(dx.shape() == spread)) dx = dx.reshape(spread);
    if (!(spread == shape)) dx = dx.broadcast_to(shape);
    const Tensor mask = diagonal_mask(g.b, at, shape);
    grads[i] = mask ? where(mask, dx, 0.0) : dx;
  }
  return grads;
}

}  // namespace plait::ops
