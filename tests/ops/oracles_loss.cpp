// Oracles of softmax, losses and attention: one row at a time, in long double.
#include <algorithm>
#include <cmath>
#include <limits>

#include "ops/attention.h"
#include "ops/loss.h"
#include "ops/softmax.h"
#include "tests/ops/index_walk.h"
#include "tests/ops/oracle.h"

namespace plait {
namespace {

using Inputs = std::vector<const Array*>;
using Row = std::vector<long double>;

long double log_sum_exp(const Row& row) {
  const long double most = *std::max_element(row.begin(), row.end());
  long double sum = 0;
  for (long double x : row) sum += std::exp(x - most);
  return std::log(sum) + most;
}

/// The elements along an axis, at the other coordinates of `index`.
Row row_at(const Array& x, Sizes index, std::size_t axis) {
  Row row;
  for (index[axis] = 0; index[axis] < x.sizes()[axis]; ++index[axis]) row.push_back(read(x, index));
  return row;
}

template <bool logarithm>
std::vector<Array> soft(const NodeView& node, const Inputs& inputs) {
  const Array& x = *inputs[0];
  const std::size_t axis = axis_index(node.as<ops::Axis>().axis, x.sizes().size());
  Array y = result_array(node);
  for_each_index(x.sizes(), [&](const Sizes& index) {
    const long double log_p = read(x, index) - log_sum_exp(row_at(x, index, axis));
    y.set(offset_of(y, index), static_cast<double>(logarithm ? log_p : std::exp(log_p)));
  });
  return {y};
}

std::vector<Array> cross_entropy(const NodeView& node, const Inputs& inputs) {
  const auto a = node.as<ops::CrossEntropy>();
  const Array &logits = *inputs[0], &targets = *inputs[1];
  const std::size_t axis = axis_index(a.axis, logits.sizes().size());
  Array y = result_array(node);
  long double total = 0, counted = 0;
  std::int64_t next = 0;
  Sizes positions = logits.sizes();
  positions[axis] = 1;
  for_each_index(positions, [&](const Sizes& index) {
    const std::int64_t at = next++, target = targets.integer(at);
    if (target == a.ignore_index) return;
    const Row row = row_at(logits, index, axis);
    long double loss = 0;
    for (std::size_t c = 0; c < row.size(); ++c) {
      const long double share =
          a.label_smoothing / static_cast<long double>(row.size()) +
          (static_cast<std::int64_t>(c) == target ? 1 - a.label_smoothing : 0);
      loss += share * (log_sum_exp(row) - row[c]);
    }
    total += loss;
    counted += 1;
    if (a.reduction == "none") y.set(at, static_cast<double>(loss));
  });
  if (a.reduction == "sum") y.set(0, static_cast<double>(total));
  if (a.reduction == "mean") y.set(0, static_cast<double>(total / counted));
  return {y};
}

std::vector<Array> mse_loss(const NodeView& node, const Inputs& inputs) {
  const auto a = node.as<ops::MseLoss>();
  Array y = result_array(node);
  long double total = 0;
  for (std::int64_t i = 0; i < inputs[0]->count(); ++i) {
    const double d = inputs[0]->real(i) - inputs[1]->real(i);
    total += static_cast<long double>(d) * d;
    if (a.reduction == "none") y.set(i, d * d);
  }
  if (a.reduction == "sum") y.set(0, static_cast<double>(total));
  if (a.reduction == "mean") {
    y.set(0, static_cast<double>(total / static_cast<long double>(inputs[0]->count())));
  }
  return {y};
}

/// Element of an array that broadcasts to where `index` is an index.
double read_broadcast(const Array& array, const Sizes& index) {
  Sizes own(index.end() - static_cast<std::ptrdiff_t>(array.sizes().size()), index.end());
  for (std::size_t d = 0; d < own.size(); ++d) {
    if (array.sizes()[d] == 1) own[d] = 0;
  }
  return read(array, own);
}

/// The weights of the keys for the query at `index` (its last coordinate is free).
Row weights_of(const NodeView& node, const Inputs& inputs, Sizes index) {
  const auto a = node.as<ops::Attention>();
  const Array &q = *inputs[0], &k = *inputs[1];
  const std::size_t last = index.size() - 1;
  const std::int64_t query = index[last - 1], width = q.sizes()[last];
  const double scale = a.scale == 0 ? 1 / std::sqrt(static_cast<double>(width)) : a.scale;
  Row scores;
  for (std::int64_t key = 0; key < k.sizes()[last - 1]; ++key) {
    long double score = 0;
    for (std::int64_t d = 0; d < width; ++d) {
      Sizes at_q = index, at_k = index;
      at_q[last] = at_k[last] = d;
      at_k[last - 1] = key;
      score += static_cast<long double>(read(q, at_q)) * read(k, at_k);
    }
    score *= scale;
    index[last] = key;
    const bool masked = inputs.size() > 3 && inputs[3];
    if (masked && inputs[3]->dtype() != DType::boolean) score += read_broadcast(*inputs[3], index);
    const bool hidden =
        masked && inputs[3]->dtype() == DType::boolean && read_broadcast(*inputs[3], index) == 0;
    const bool seen = !hidden && !(a.causal && key > query);
    scores.push_back(seen ? score : -std::numeric_limits<long double>::infinity());
  }
  const long double lse = log_sum_exp(scores);
  for (long double& s : scores) s = std::exp(s - lse);
  return scores;
}

std::vector<Array> attention(const NodeView& node, const Inputs& inputs) {
  const Array& v = *inputs[2];
  Array y = result_array(node);
  for_each_index(y.sizes(), [&](const Sizes& index) {
    const Row weights = weights_of(node, inputs, index);
    long double sum = 0;
    Sizes from = index;
    for (std::size_t key = 0; key < weights.size(); ++key) {
      from[from.size() - 2] = static_cast<std::int64_t>(key);
      sum += weights[key] * read(v, from);
    }
    y.set(offset_of(y, index), static_cast<double>(sum));
  });
  return {y};
}

}  // namespace

std::vector<Oracle> loss_oracles() {
  return {{"softmax", soft<false>},
          {"log_softmax", soft<true>},
          {"cross_entropy", cross_entropy},
          {"mse_loss", mse_loss},
          {"attention", attention}};
}

}  // namespace plait
