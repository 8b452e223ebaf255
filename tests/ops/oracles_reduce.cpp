// Oracles of the reductions and scans: every element visited, in double.
#include <algorithm>
#include <cmath>

#include "ops/reduce.h"
#include "ops/scan.h"
#include "tests/ops/index_walk.h"
#include "tests/ops/oracle.h"

namespace plait {
namespace {

using Inputs = std::vector<const Array*>;
using Values = std::vector<double>;

/// Sorts the elements of x by the element of the result they belong to.
std::vector<Values> groups_of(const NodeView& node, const Array& x) {
  const auto a = node.as<ops::Reduction>();
  std::vector<bool> reduced(x.sizes().size(), a.axes.empty());
  for (std::int64_t axis : a.axes) reduced[axis_index(axis, reduced.size())] = true;
  std::vector<Values> groups(static_cast<std::size_t>(result_array(node).count()));
  for_each_index(x.sizes(), [&](const Sizes& index) {
    std::int64_t group = 0;
    for (std::size_t d = 0; d < index.size(); ++d) {
      if (!reduced[d]) group = group * x.sizes()[d] + index[d];
    }
    groups[static_cast<std::size_t>(group)].push_back(read(x, index));
  });
  return groups;
}

template <double (*f)(const Values&)>
std::vector<Array> reduce(const NodeView& node, const Inputs& inputs) {
  Array y = result_array(node);
  const std::vector<Values> groups = groups_of(node, *inputs[0]);
  for (std::int64_t i = 0; i < y.count(); ++i) y.set(i, f(groups[static_cast<std::size_t>(i)]));
  return {y};
}

double sum_of(const Values& v) {
  double s = 0;
  for (double x : v) s += x;
  return s;
}
double mean_of(const Values& v) { return sum_of(v) / static_cast<double>(v.size()); }
double max_of(const Values& v) { return *std::max_element(v.begin(), v.end()); }
double min_of(const Values& v) { return *std::min_element(v.begin(), v.end()); }
double prod_of(const Values& v) {
  double p = 1;
  for (double x : v) p *= x;
  return p;
}
double any_of(const Values& v) {
  return std::any_of(v.begin(), v.end(), [](double x) { return x != 0; });
}
double all_of(const Values& v) {
  return std::all_of(v.begin(), v.end(), [](double x) { return x != 0; });
}
double logsumexp_of(const Values& v) {
  const double most = max_of(v);
  if (std::isinf(most)) return most;
  long double s = 0;
  for (double x : v) s += std::exp(static_cast<long double>(x) - most);
  return static_cast<double>(std::log(s) + most);
}

/// y[i] from the elements that a cumulative op combines into it.
template <double (*f)(const Values&)>
std::vector<Array> cumulative(const NodeView& node, const Inputs& inputs) {
  const auto a = node.as<ops::Cumulative>();
  const Array& x = *inputs[0];
  Array y = result_array(node);
  const std::size_t axis = axis_index(a.axis, x.sizes().size());
  for_each_index(x.sizes(), [&](const Sizes& index) {
    Values values;
    Sizes from = index;
    for (from[axis] = 0; from[axis] < x.sizes()[axis]; ++from[axis]) {
      const std::int64_t ahead = a.reverse ? from[axis] - index[axis] : index[axis] - from[axis];
      if (ahead > 0 || (ahead == 0 && !a.exclusive)) values.push_back(read(x, from));
    }
    y.set(offset_of(y, index), f(values));
  });
  return {y};
}

/// The recurrence unrolled: y[i] is the sum over j of b[j] times the coefficients after j up to i.
std::vector<Array> linear_scan(const NodeView& node, const Inputs& inputs) {
  const auto r = node.as<ops::Recurrence>();
  const Array &a = *inputs[0], &b = *inputs[1];
  Array y = result_array(node);
  const std::size_t axis = axis_index(r.axis, a.sizes().size());
  const std::int64_t step = r.reverse ? 1 : -1;
  for_each_index(a.sizes(), [&](const Sizes& index) {
    double sum = 0, weight = 1;
    Sizes from = index;
    for (; from[axis] >= 0 && from[axis] < a.sizes()[axis]; from[axis] += step) {
      sum += weight * read(b, from);
      weight *= read(a, from);
    }
    y.set(offset_of(y, index), sum);
  });
  return {y};
}

template <bool largest>
std::vector<Array> arg_extremum(const NodeView& node, const Inputs& inputs) {
  const auto a = node.as<ops::Choice>();
  const Array& x = *inputs[0];
  Array y = result_array(node);
  const std::size_t axis = axis_index(a.axis, x.sizes().size());
  Sizes lines = x.sizes();
  lines[axis] = 1;
  std::int64_t line = 0;
  for_each_index(lines, [&](const Sizes& index) {
    Sizes from = index;
    Values values;
    for (; from[axis] < x.sizes()[axis]; ++from[axis]) values.push_back(read(x, from));
    const auto nan = std::find_if(values.begin(), values.end(), [](double v) { return v != v; });
    const auto best = nan != values.end() ? nan
                      : largest           ? std::max_element(values.begin(), values.end())
                                          : std::min_element(values.begin(), values.end());
    y.set_integer(line++, best - values.begin());
  });
  return {y};
}

}  // namespace

std::vector<Oracle> reduce_oracles() {
  return {{"sum", reduce<sum_of>},        {"mean", reduce<mean_of>},
          {"max", reduce<max_of>},        {"min", reduce<min_of>},
          {"prod", reduce<prod_of>},      {"any", reduce<any_of>},
          {"all", reduce<all_of>},        {"logsumexp", reduce<logsumexp_of>},
          {"cumsum", cumulative<sum_of>}, {"cumprod", cumulative<prod_of>},
          {"linear_scan", linear_scan},   {"argmax", arg_extremum<true>},
          {"argmin", arg_extremum<false>}};
}

}  // namespace plait
