// Oracles of attention and its gradient: one pair of a query and a key at a time, in long double.
#include <cmath>
#include <limits>

#include "base/philox.h"
#include "ops/attention.h"
#include "tests/ops/index_walk.h"
#include "tests/ops/oracle.h"

namespace plait {
namespace {

using Inputs = std::vector<const Array*>;
using Real = long double;

constexpr Real kUnseen = -std::numeric_limits<Real>::infinity();

/// Sizes and operands; first: where mask, slopes, offsets and key begin among the operands.
struct Pairs {
  const Inputs& in;
  ops::Attention a;
  std::size_t first;
  std::int64_t heads = 1, groups = 1, batches = 1, queries, keys, width, columns;

  Pairs(const NodeView& node, const Inputs& inputs, std::size_t at)
      : in(inputs), a(node.as<ops::Attention>()), first(at) {
    const Sizes &q = inputs[0]->sizes(), &k = inputs[1]->sizes();
    const std::size_t rank = q.size();
    if (rank > 2) heads = q[rank - 3], groups = k[rank - 3];
    for (std::size_t i = 0; i + 3 < rank; ++i) batches *= q[i];
    queries = q[rank - 2], width = q[rank - 1], keys = k[rank - 2];
    columns = inputs[2]->sizes()[rank - 1];
    if (a.scale == 0) a.scale = 1 / std::sqrt(static_cast<double>(width));
  }
  const Array* operand(std::size_t i) const {
    return first + i < in.size() ? in[first + i] : nullptr;
  }
  std::int64_t q_row(std::int64_t b, std::int64_t h, std::int64_t i) const {
    return (b * heads + h) * queries + i;
  }
  std::int64_t k_row(std::int64_t b, std::int64_t h, std::int64_t j) const {
    return (b * groups + h / (heads / groups)) * keys + j;
  }
  static Real dot(const Array& x, std::int64_t row, const Array& y, std::int64_t other,
                  std::int64_t size) {
    Real sum = 0;
    for (std::int64_t d = 0; d < size; ++d) {
      sum += static_cast<Real>(x.real(row * size + d)) * y.real(other * size + d);
    }
    return sum;
  }

  bool in_one_document(std::int64_t b, std::int64_t i, std::int64_t j) const {
    const Array* offsets = operand(2);
    if (!offsets) return true;
    const std::int64_t count = offsets->sizes().back();
    const std::int64_t from = offsets->sizes().size() > 1 ? b * count : 0;
    for (std::int64_t n = 0; n < count; ++n) {
      const std::int64_t o = offsets->integer(from + n);
      if (std::min(i, j) < o && o <= std::max(i, j)) return false;
    }
    return true;
  }
  bool seen(std::int64_t b, std::int64_t i, std::int64_t j) const {
    const std::int64_t at = i + a.offset;
    if (a.causal && j > at) return false;
    if (a.window && (j <= at - a.window || (!a.causal && j >= at + a.window))) return false;
    return in_one_document(b, i, j);
  }
  double mask_at(const Array& mask, std::int64_t b, std::int64_t h, std::int64_t i,
                 std::int64_t j) const {
    Sizes all = in[0]->sizes();
    const std::size_t rank = all.size();
    Sizes index(rank, 0);
    index[rank - 1] = j, index[rank - 2] = i;
    if (rank > 2) index[rank - 3] = h;
    for (std::size_t d = rank > 3 ? rank - 3 : 0; d-- > 0;) index[d] = b % all[d], b /= all[d];
    Sizes own(index.end() - static_cast<std::ptrdiff_t>(mask.sizes().size()), index.end());
    for (std::size_t d = 0; d < own.size(); ++d) {
      if (mask.sizes()[d] == 1) own[d] = 0;
    }
    return read(mask, own);
  }
  Real score(std::int64_t b, std::int64_t h, std::int64_t i, std::int64_t j) const {
    if (!seen(b, i, j)) return kUnseen;
    Real s = dot(*in[0], q_row(b, h, i), *in[1], k_row(b, h, j), width) * a.scale;
    if (const Array* mask = operand(0)) {
      const double m = mask_at(*mask, b, h, i, j);
      if (mask->dtype() == DType::boolean && m == 0) return kUnseen;
      if (mask->dtype() != DType::boolean) s += m;
    }
    if (const Array* slopes = operand(1)) {
      s -= slopes->real(h) * static_cast<Real>(std::abs(i + a.offset - j));
    }
    return s;
  }
  /// 0, or what a kept weight is multiplied by.
  Real share(std::int64_t b, std::int64_t h, std::int64_t i, std::int64_t j) const {
    if (a.dropout == 0) return 1;
    const Array& key = *operand(3);
    const RandomKey k{static_cast<std::uint64_t>(key.integer(0)),
                      static_cast<std::uint64_t>(key.integer(1)),
                      static_cast<std::uint32_t>(a.stream)};
    const auto u = [](std::int64_t x) { return static_cast<std::uint64_t>(x); };
    const bool dropped =
        pair_bits(k, u(b * heads + h), u(i), u(j), u(queries), u(keys)) < pair_threshold(a.dropout);
    return dropped ? 0 : 1 / (1 - static_cast<Real>(a.dropout));
  }
  template <class F>
  void each_query(F f) const {
    for (std::int64_t b = 0; b < batches; ++b) {
      for (std::int64_t h = 0; h < heads; ++h) {
        for (std::int64_t i = 0; i < queries; ++i) f(b, h, i);
      }
    }
  }
};

std::vector<Array> attention(const NodeView& node, const Inputs& inputs) {
  const Pairs p(node, inputs, 3);
  Array y = result_array(node), lse = result_array(node, 1);
  p.each_query([&](std::int64_t b, std::int64_t h, std::int64_t i) {
    Real most = kUnseen, sum = 0;
    for (std::int64_t j = 0; j < p.keys; ++j) most = std::max(most, p.score(b, h, i, j));
    for (std::int64_t j = 0; j < p.keys; ++j) {
      if (p.score(b, h, i, j) != kUnseen) sum += std::exp(p.score(b, h, i, j) - most);
    }
    const std::int64_t row = p.q_row(b, h, i);
    const Real log_sum = sum > 0 ? std::log(sum) + most : kUnseen;
    lse.set(row, static_cast<double>(log_sum));
    for (std::int64_t d = 0; d < p.columns; ++d) {
      Real total = 0;
      for (std::int64_t j = 0; j < p.keys; ++j) {
        const Real weight = std::exp(p.score(b, h, i, j) - log_sum) * p.share(b, h, i, j);
        total += weight * inputs[2]->real(p.k_row(b, h, j) * p.columns + d);
      }
      y.set(row * p.columns + d, static_cast<double>(total));
    }
  });
  return {y, lse};
}

std::vector<Array> attention_backward(const NodeView& node, const Inputs& inputs) {
  const Pairs p(node, inputs, 6);
  const Array &q = *inputs[0], &k = *inputs[1], &v = *inputs[2], &y = *inputs[3], &dy = *inputs[5];
  std::vector<Array> grads{result_array(node, 0), result_array(node, 1), result_array(node, 2)};
  const auto add = [&](int i, std::int64_t at, Real by) {
    Array& x = grads[static_cast<std::size_t>(i)];
    x.set(at, static_cast<double>(x.real(at) + by));
  };
  p.each_query([&](std::int64_t b, std::int64_t h, std::int64_t i) {
    const std::int64_t row = p.q_row(b, h, i);
    const Array* dlse = p.operand(4);
    const Real mean = Pairs::dot(dy, row, y, row, p.columns) - (dlse ? dlse->real(row) : 0);
    for (std::int64_t j = 0; j < p.keys; ++j) {
      const std::int64_t other = p.k_row(b, h, j);
      const Real weight = std::exp(p.score(b, h, i, j) - inputs[4]->real(row));
      const Real share = p.share(b, h, i, j);
      const Real slope = Pairs::dot(dy, row, v, other, p.columns) * share;
      const Real ds = weight * (slope - mean) * p.a.scale;
      for (std::int64_t d = 0; d < p.width; ++d) {
        add(0, row * p.width + d, ds * k.real(other * p.width + d));
        add(1, other * p.width + d, ds * q.real(row * p.width + d));
      }
      for (std::int64_t d = 0; d < p.columns; ++d) {
        add(2, other * p.columns + d, weight * share * dy.real(row * p.columns + d));
      }
    }
  });
  return grads;
}

std::vector<Array> attention_keep(const NodeView& node, const Inputs& inputs) {
  const auto a = node.as<ops::AttentionKeep>();
  const RandomKey key{static_cast<std::uint64_t>(inputs[0]->integer(0)),
                      static_cast<std::uint64_t>(inputs[0]->integer(1)),
                      static_cast<std::uint32_t>(a.stream)};
  Array y = result_array(node);
  const auto u = [](std::int64_t x) { return static_cast<std::uint64_t>(x); };
  const std::size_t rank = y.sizes().size();
  std::int64_t n = 0;
  for_each_index(y.sizes(), [&](const Sizes& index) {
    const std::int64_t head = n / (y.sizes()[rank - 1] * y.sizes()[rank - 2]);
    const std::uint32_t bits = pair_bits(key, u(head), u(index[rank - 2]), u(index[rank - 1]),
                                         u(y.sizes()[rank - 2]), u(y.sizes()[rank - 1]));
    y.set_integer(n++, bits >= pair_threshold(a.p));
  });
  return {y};
}

}  // namespace

std::vector<Oracle> attention_oracles() {
  return {{"attention", attention},
          {"attention_backward", attention_backward},
          {"attention_keep", attention_keep}};
}

}  // namespace plait
