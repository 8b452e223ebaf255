// Oracles of softmax and losses: one row at a time, in long double.
#include <algorithm>
#include <cmath>
#include <limits>

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
  if (most == -std::numeric_limits<long double>::infinity()) return most;
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

}  // namespace

std::vector<Oracle> loss_oracles() {
  return {{"softmax", soft<false>},
          {"log_softmax", soft<true>},
          {"cross_entropy", cross_entropy},
          {"mse_loss", mse_loss}};
}

}  // namespace plait
