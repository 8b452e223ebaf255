// Oracles of the normalisations: every element finds the group it is normalised with and the
// parameter it meets; statistics are summed in long double.
#include <cmath>
#include <functional>

#include "ops/norm.h"
#include "tests/ops/index_walk.h"
#include "tests/ops/oracle.h"

namespace plait {
namespace {

using Inputs = std::vector<const Array*>;

const Array* operand(const Inputs& inputs, std::size_t i) {
  return i < inputs.size() ? inputs[i] : nullptr;
}

/// Which of the groups, or of the parameters, an element belongs to.
using Membership = std::function<std::int64_t(const Sizes& index)>;

struct Statistic {
  long double count = 0, mean = 0, var = 0, square = 0;
};

std::vector<Statistic> statistics_of(const Array& x, std::int64_t groups, const Membership& group) {
  std::vector<Statistic> all(static_cast<std::size_t>(groups));
  const auto of = [&](const Sizes& index) -> Statistic& {
    return all[static_cast<std::size_t>(group(index))];
  };
  for_each_index(x.sizes(), [&](const Sizes& index) {
    of(index).count += 1;
    of(index).mean += read(x, index);
    of(index).square += static_cast<long double>(read(x, index)) * read(x, index);
  });
  for (Statistic& s : all) s = {s.count, s.mean / s.count, 0, s.square / s.count};
  for_each_index(x.sizes(), [&](const Sizes& index) {
    Statistic& s = of(index);
    s.var += (read(x, index) - s.mean) * (read(x, index) - s.mean) / s.count;
  });
  return all;
}

/// (x - mean) / sqrt(var + eps), times weight plus bias; `centre` false: by the mean square.
std::vector<Array> normalised(const NodeView& node, const Inputs& inputs, std::int64_t groups,
                              const Membership& group, const Membership& parameter, double eps,
                              bool centre = true) {
  const Array& x = *inputs[0];
  const Array *weight = operand(inputs, 1), *bias = operand(inputs, 2);
  Array y = result_array(node);
  const std::vector<Statistic> all = statistics_of(x, groups, group);
  for_each_index(x.sizes(), [&](const Sizes& index) {
    const Statistic& s = all[static_cast<std::size_t>(group(index))];
    long double v = centre ? (read(x, index) - s.mean) / std::sqrt(s.var + eps)
                           : read(x, index) / std::sqrt(s.square + eps);
    if (weight) v *= weight->real(parameter(index));
    if (bias) v += bias->real(parameter(index));
    y.set(offset_of(y, index), static_cast<double>(v));
  });
  return {y};
}

/// The axes [from, to) of an index, as one number.
std::int64_t flattened(const Sizes& sizes, const Sizes& index, std::size_t from, std::size_t to) {
  std::int64_t flat = 0;
  for (std::size_t d = from; d < to; ++d) flat = flat * sizes[d] + index[d];
  return flat;
}

std::vector<Array> trailing(const NodeView& node, const Inputs& inputs, std::int64_t last,
                            double eps, bool centre) {
  const Sizes sizes = inputs[0]->sizes();
  const std::size_t rank = sizes.size(), split = rank - static_cast<std::size_t>(last);
  std::int64_t rows = 1;
  for (std::size_t d = 0; d < split; ++d) rows *= sizes[d];
  return normalised(
      node, inputs, rows, [=](const Sizes& i) { return flattened(sizes, i, 0, split); },
      [=](const Sizes& i) { return flattened(sizes, i, split, rank); }, eps, centre);
}

std::vector<Array> layer_norm(const NodeView& node, const Inputs& inputs) {
  const auto a = node.as<ops::LayerNorm>();
  return trailing(node, inputs, a.last, a.eps, true);
}

std::vector<Array> rms_norm(const NodeView& node, const Inputs& inputs) {
  const auto a = node.as<ops::RmsNorm>();
  return trailing(node, inputs, a.last, a.eps, false);
}

std::size_t channel_axis(const Array& x, const std::string& layout) {
  return layout == "NHWC" ? x.sizes().size() - 1 : 1;
}

std::vector<Array> group_norm(const NodeView& node, const Inputs& inputs) {
  const auto a = node.as<ops::GroupNorm>();
  const std::size_t axis = channel_axis(*inputs[0], a.layout);
  const std::int64_t per_group = inputs[0]->sizes()[axis] / a.groups;
  return normalised(
      node, inputs, inputs[0]->sizes()[0] * a.groups,
      [=](const Sizes& i) { return i[0] * a.groups + i[axis] / per_group; },
      [=](const Sizes& i) { return i[axis]; }, a.eps);
}

std::vector<Array> batch_norm(const NodeView& node, const Inputs& inputs) {
  const auto a = node.as<ops::BatchNorm>();
  const std::size_t axis = channel_axis(*inputs[0], a.layout);
  const std::int64_t channels = inputs[0]->sizes()[axis];
  const Membership channel = [=](const Sizes& i) { return i[axis]; };
  std::vector<Array> results = normalised(node, inputs, channels, channel, channel, a.eps);
  results.push_back(result_array(node, 1));
  results.push_back(result_array(node, 2));
  const std::vector<Statistic> all = statistics_of(*inputs[0], channels, channel);
  for (std::int64_t c = 0; c < channels; ++c) {
    const Statistic& s = all[static_cast<std::size_t>(c)];
    results[1].set(c, static_cast<double>(s.mean));
    results[2].set(c, static_cast<double>(s.var));
  }
  return results;
}

std::vector<Array> batch_norm_inference(const NodeView& node, const Inputs& inputs) {
  const auto a = node.as<ops::BatchNorm>();
  const Array& x = *inputs[0];
  const std::size_t axis = channel_axis(x, a.layout);
  Array y = result_array(node);
  for_each_index(x.sizes(), [&](const Sizes& index) {
    const std::int64_t c = index[axis];
    y.set(offset_of(y, index), (read(x, index) - inputs[3]->real(c)) /
                                       std::sqrt(inputs[4]->real(c) + a.eps) * inputs[1]->real(c) +
                                   inputs[2]->real(c));
  });
  return {y};
}

}  // namespace

std::vector<Oracle> norm_oracles() {
  return {{"layer_norm", layer_norm},
          {"rms_norm", rms_norm},
          {"group_norm", group_norm},
          {"batch_norm", batch_norm},
          {"batch_norm_inference", batch_norm_inference}};
}

}  // namespace plait
