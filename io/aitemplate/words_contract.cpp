// Convolutions and matrix products in AITemplate's words, with what it prints about their kernels.
#include "base/error.h"
#include "base/text.h"
#include "io/aitemplate/attrs.h"
#include "io/aitemplate/words.h"
#include "ops/contract.h"
#include "ops/conv.h"

namespace plait::io::aitemplate {
namespace {

/// `M == 8`, or `M >= 1 && M <= 64` for a range.
std::string condition(std::string_view letter, const Dim& dim) {
  if (dim.is_const()) return str(letter, " == ", dim);
  return str(letter, " >= ", dim.lo(), " && ", letter, " <= ", dim.hi());
}

void set_kernel(Sentence& s, std::vector<std::string> conditions) {
  const Dim& last = s.out().shape.back();
  const auto widest = static_cast<std::int64_t>(16 / size_of(s.out().dtype));
  std::int64_t alignment = last.is_const() ? widest : 1;
  while (alignment > 1 && last.value() % alignment) alignment /= 2;
  s.op.epilogue = "LinearCombination";
  s.op.epilogue_alignment = alignment;
  s.op.workspace = 0;
  s.op.exec_path = std::vector<ExecPath>{{join(conditions, " && "), PyValue::of("")}};
  s.set("split_k", {});
}

}  // namespace

PyValue numbers_value(const std::vector<std::int64_t>& list) {
  std::vector<PyValue> items;
  for (std::int64_t n : list) items.push_back(PyValue::of(n));
  return PyValue::list(std::move(items));
}

PyValue pair_value(const Sizes& pair) {
  if (pair[0] == pair[1]) return PyValue::of(pair[0]);
  PyValue v = numbers_value(pair);
  v.kind = PyValue::kTuple;
  return v;
}

std::optional<Sizes> symmetric(const Sizes& padding) {
  if (padding.size() == 2) return padding;
  if (padding.size() != 4 || padding[0] != padding[1] || padding[2] != padding[3]) {
    return std::nullopt;
  }
  return Sizes{padding[0], padding[2]};
}

bool conv2d_word(Sentence& s) {
  const auto a = ir::decode<ops::Conv2d>(s.node.attrs, s.node.op);
  const std::optional<Sizes> pad = symmetric(a.padding);
  if (!pad) return false;
  const bool nhwc = a.layout == "NHWC";
  const Shape &x = s.in(0).shape, &w = s.in(1).shape;
  const std::size_t row = nhwc ? 1 : 2, channel = nhwc ? 3 : 1;
  s.op.op = s.node.inputs.size() > 2 ? "conv2d_bias" : "conv2d";
  s.set("CO", py_of_dim(w[0]));
  s.set("KH", py_of_dim(w[row]));
  s.set("KW", py_of_dim(w[row + 1]));
  s.set("dilate", pair_value(a.dilation));
  s.set("group", PyValue::of(a.groups));
  s.set("pad", pair_value(*pad));
  s.set("stride", pair_value(a.stride));
  s.set("dim_lower_bounds",
        numbers_value({x[0].lo(), x[row].lo(), x[row + 1].lo(), x[channel].lo()}));
  // AITemplate has NHWC alone; another layout is said.
  if (!nhwc) s.set("layout", PyValue::of(a.layout));
  set_kernel(s, {condition("NI", x[0]), condition("HI", x[row]), condition("WI", x[row + 1]),
                 condition("CI", x[channel])});
  return true;
}

bool linear_word(Sentence& s) {
  s.op.op = s.node.inputs.size() > 2 ? "gemm_rcr_bias" : "gemm_rcr";
  const Shape &x = s.in(0).shape, &w = s.in(1).shape;
  Dim rows = 1;
  for (std::size_t i = 0; i + 1 < x.size(); ++i) rows = rows * x[i];
  set_kernel(s, {condition("M", rows), condition("N", w[0]), condition("K", w[1])});
  return true;
}

bool matmul_word(Sentence& s) {
  const auto a = ir::decode<ops::Matmul>(s.node.attrs, s.node.op);
  const Shape &x = s.in(0).shape, &y = s.in(1).shape;
  const std::size_t rank = x.size();
  if (rank != y.size() || !is_float(s.in(0).dtype) || a.wide) return false;
  const Dim &m = x[rank - (a.transpose_a ? 1 : 2)], &k = x[rank - (a.transpose_a ? 2 : 1)],
            &n = y[rank - (a.transpose_b ? 2 : 1)];
  std::vector<std::string> sizes{condition("M", m), condition("N", n), condition("K", k)};
  if (rank == 3 && x[0] == y[0]) {
    s.op.op = str("bmm_", a.transpose_a ? "c" : "r", a.transpose_b ? "c" : "r", "r");
    sizes.insert(sizes.begin(), condition("B", x[0]));
  } else if (rank == 2 && !a.transpose_a && !a.transpose_b) {
    s.op.op = "gemm_rrr";
  } else {
    return false;
  }
  set_kernel(s, sizes);
  return true;
}

}  // namespace plait::io::aitemplate
