// Oracles of gathers and scatters: for each element of the result, where it comes from.
#include "ops/index.h"
#include "tests/ops/index_walk.h"
#include "tests/ops/oracle.h"

namespace plait {
namespace {

using Inputs = std::vector<const Array*>;

std::ptrdiff_t step(std::size_t n) { return static_cast<std::ptrdiff_t>(n); }

/// The index into x of the element that index `at` of a gather shows.
Sizes gathered(const Array& x, const Array& indices, std::size_t axis, const Sizes& at) {
  const auto first = at.begin() + step(axis), last = first + step(indices.sizes().size());
  Sizes from(at.begin(), first);
  from.push_back(indices.integer(offset_of(indices, Sizes(first, last))));
  from.insert(from.end(), last, at.end());
  check(from.size() == x.sizes().size(), "the oracle of gather lost an axis");
  return from;
}

/// The same for take_along.
Sizes taken(const Array& indices, std::size_t axis, const Sizes& at) {
  Sizes from = at;
  from[axis] = indices.integer(offset_of(indices, at));
  return from;
}

std::vector<Array> gather_at(const NodeView& node, const Inputs& inputs, std::size_t axis) {
  Array y = result_array(node);
  for_each_index(y.sizes(), [&](const Sizes& at) {
    y.set(offset_of(y, at), read(*inputs[0], gathered(*inputs[0], *inputs[1], axis, at)));
  });
  return {y};
}

std::vector<Array> gather(const NodeView& node, const Inputs& inputs) {
  const std::size_t rank = inputs[0]->sizes().size();
  return gather_at(node, inputs, axis_index(node.as<ops::GatherAxis>().axis, rank));
}

std::vector<Array> embedding(const NodeView& node, const Inputs& inputs) {
  return gather_at(node, inputs, 0);
}

std::vector<Array> take_along(const NodeView& node, const Inputs& inputs) {
  const std::size_t axis = axis_index(node.as<ops::Axis>().axis, inputs[0]->sizes().size());
  Array y = result_array(node);
  for_each_index(y.sizes(), [&](const Sizes& at) {
    y.set(offset_of(y, at), read(*inputs[0], taken(*inputs[1], axis, at)));
  });
  return {y};
}

/// x plus updates[at] at place(at).
template <class Place>
std::vector<Array> scatter(const NodeView& node, const Inputs& inputs, Place place) {
  Array y = result_array(node);
  for (std::int64_t i = 0; i < y.count(); ++i) y.set(i, inputs[0]->real(i));
  for_each_index(inputs[2]->sizes(), [&](const Sizes& at) {
    const std::int64_t i = offset_of(y, place(at));
    y.set(i, y.real(i) + read(*inputs[2], at));
  });
  return {y};
}

std::vector<Array> scatter_add(const NodeView& node, const Inputs& inputs) {
  const Array& x = *inputs[0];
  const std::size_t axis = axis_index(node.as<ops::GatherAxis>().axis, x.sizes().size());
  return scatter(node, inputs, [&](const Sizes& at) { return gathered(x, *inputs[1], axis, at); });
}

std::vector<Array> scatter_add_along(const NodeView& node, const Inputs& inputs) {
  const std::size_t axis = axis_index(node.as<ops::Axis>().axis, inputs[0]->sizes().size());
  return scatter(node, inputs, [&](const Sizes& at) { return taken(*inputs[1], axis, at); });
}

std::vector<Array> one_hot(const NodeView& node, const Inputs& inputs) {
  Array y = result_array(node);
  for_each_index(y.sizes(), [&](const Sizes& at) {
    const Sizes id(at.begin(), at.end() - 1);
    y.set(offset_of(y, at), read(*inputs[0], id) == static_cast<double>(at.back()));
  });
  return {y};
}

std::vector<Array> gather_columns(const NodeView& node, const Inputs& inputs) {
  Array y = result_array(node);
  for_each_index(y.sizes(), [&](const Sizes& at) {
    const std::int64_t column = inputs[1]->integer(offset_of(*inputs[1], {at[0], at[2]}));
    y.set(offset_of(y, at), read(*inputs[0], {at[0], at[1], column}));
  });
  return {y};
}

std::vector<Array> scatter_columns(const NodeView& node, const Inputs& inputs) {
  const Array &c = *inputs[0], &ids = *inputs[1];
  Array y = result_array(node);
  for_each_index(y.sizes(), [&](const Sizes& at) {
    double sum = 0;
    for (std::int64_t j = 0; j < c.sizes()[2]; ++j) {
      if (ids.integer(offset_of(ids, {at[0], j})) == at[2]) sum += read(c, {at[0], at[1], j});
    }
    y.set(offset_of(y, at), sum);
  });
  return {y};
}

}  // namespace

std::vector<Oracle> index_oracles() {
  return {{"gather", gather},
          {"embedding", embedding},
          {"take_along", take_along},
          {"scatter_add", scatter_add},
          {"scatter_add_along", scatter_add_along},
          {"one_hot", one_hot},
          {"gather_columns", gather_columns},
          {"scatter_columns", scatter_columns}};
}

}  // namespace plait
