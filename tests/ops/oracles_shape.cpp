// Oracles of the ops that move elements: each output element is found by walking its coordinates.
#include <functional>

#include "ops/constant.h"
#include "ops/shape.h"
#include "tests/ops/oracles.h"

namespace plait {
namespace {

using Coordinates = std::vector<std::int64_t>;

Coordinates coordinates(std::int64_t flat, const Sizes& sizes) {
  Coordinates c(sizes.size());
  for (std::size_t i = sizes.size(); i-- > 0;) {
    c[i] = flat % sizes[i];
    flat /= sizes[i];
  }
  return c;
}

std::int64_t flat_of(const Coordinates& c, const Sizes& sizes) {
  std::int64_t flat = 0;
  for (std::size_t i = 0; i < sizes.size(); ++i) flat = flat * sizes[i] + c[i];
  return flat;
}

Array output(const NodeView& node, int i = 0) {
  const DType t = node.out(i).dtype;
  return Array(is_float(t) ? DType::f64 : t, sizes_of(node.out(i).shape));
}

void copy_element(const Array& from, std::int64_t i, Array& to, std::int64_t o) {
  if (is_float(to.dtype())) {
    to.set(o, from.real(i));
  } else {
    to.set_integer(o, from.integer(i));
  }
}

/// Every output element read from the input coordinates that `source` computes.
std::vector<Array> moved(const NodeView& node, const Array& x,
                         const std::function<Coordinates(const Coordinates&)>& source) {
  Array y = output(node);
  for (std::int64_t o = 0; o < y.count(); ++o) {
    copy_element(x, flat_of(source(coordinates(o, y.sizes())), x.sizes()), y, o);
  }
  return {y};
}

std::size_t positive(std::int64_t axis, std::size_t rank) {
  return static_cast<std::size_t>(axis < 0 ? axis + static_cast<std::int64_t>(rank) : axis);
}

std::vector<Array> same_order(const NodeView& node, const std::vector<const Array*>& in) {
  Array y = output(node);
  for (std::int64_t i = 0; i < y.count(); ++i) copy_element(*in[0], i, y, i);
  return {y};
}

std::vector<Array> transposed(const NodeView& node, const std::vector<const Array*>& in) {
  const auto order = node.as<ops::Order>().order;
  return moved(node, *in[0], [&](const Coordinates& o) {
    Coordinates i(o.size());
    for (std::size_t k = 0; k < o.size(); ++k) i[positive(order[k], o.size())] = o[k];
    return i;
  });
}

std::vector<Array> broadcasted(const NodeView& node, const std::vector<const Array*>& in) {
  const Sizes& from = in[0]->sizes();
  return moved(node, *in[0], [&](const Coordinates& o) {
    Coordinates i(o.end() - static_cast<std::ptrdiff_t>(from.size()), o.end());
    for (std::size_t k = 0; k < i.size(); ++k) i[k] = from[k] == 1 ? 0 : i[k];
    return i;
  });
}

std::vector<Array> sliced(const NodeView& node, const std::vector<const Array*>& in) {
  const auto a = node.as<ops::Slice>();
  return moved(node, *in[0], [&](const Coordinates& o) {
    Coordinates i = o;
    for (std::size_t k = 0; k < a.axes.size(); ++k) {
      const std::size_t axis = positive(a.axes[k], o.size());
      std::int64_t start = a.starts[k].value();
      if (start < 0) start += in[0]->sizes()[axis];
      i[axis] = start + o[axis] * (a.steps.empty() ? 1 : a.steps[k]);
    }
    return i;
  });
}

/// Scatters the input into a filled output: the opposite direction of the op's nest.
std::vector<Array> padded(const NodeView& node, const std::vector<const Array*>& in) {
  const auto a = node.as<ops::Pad>();
  Array y = output(node);
  for (std::int64_t o = 0; o < y.count(); ++o) y.set(o, a.value);
  for (std::int64_t i = 0; i < in[0]->count(); ++i) {
    Coordinates c = coordinates(i, in[0]->sizes());
    bool inside = true;
    for (std::size_t k = 0; k < c.size(); ++k) {
      c[k] = c[k] * (a.interior.empty() ? 1 : a.interior[k] + 1) + a.low[k].value();
      inside &= c[k] >= 0 && c[k] < y.sizes()[k];
    }
    if (inside) copy_element(*in[0], i, y, flat_of(c, y.sizes()));
  }
  return {y};
}

std::vector<Array> flipped(const NodeView& node, const std::vector<const Array*>& in) {
  auto axes = node.as<ops::Axes>().axes;
  if (axes.empty()) {
    for (std::size_t k = 0; k < in[0]->sizes().size(); ++k) axes.push_back(static_cast<int>(k));
  }
  return moved(node, *in[0], [&](const Coordinates& o) {
    Coordinates i = o;
    for (std::int64_t axis : axes) {
      const std::size_t k = positive(axis, o.size());
      i[k] = in[0]->sizes()[k] - 1 - o[k];
    }
    return i;
  });
}

std::vector<Array> joined(const NodeView& node, const std::vector<const Array*>& in) {
  Array y = output(node);
  const std::size_t axis = positive(node.as<ops::Axis>().axis, y.sizes().size());
  std::int64_t start = 0;
  for (const Array* x : in) {
    for (std::int64_t i = 0; i < x->count(); ++i) {
      Coordinates c = coordinates(i, x->sizes());
      c[axis] += start;
      copy_element(*x, i, y, flat_of(c, y.sizes()));
    }
    start += x->sizes()[axis];
  }
  return {y};
}

std::vector<Array> pieces(const NodeView& node, const std::vector<const Array*>& in) {
  std::vector<Array> ys;
  const std::size_t axis = positive(node.as<ops::Split>().axis, in[0]->sizes().size());
  std::int64_t start = 0;
  for (std::size_t k = 0; k < node.outputs.size(); ++k) {
    ys.push_back(output(node, static_cast<int>(k)));
    Array& y = ys.back();
    for (std::int64_t o = 0; o < y.count(); ++o) {
      Coordinates c = coordinates(o, y.sizes());
      c[axis] += start;
      copy_element(*in[0], flat_of(c, in[0]->sizes()), y, o);
    }
    start += y.sizes()[axis];
  }
  return ys;
}

std::vector<Array> literal(const NodeView& node, const std::vector<const Array*>&) {
  const Array& value = *node.as<ops::Constant>().value.array;
  return {is_float(value.dtype()) ? value.cast(DType::f64) : value};
}

std::vector<Array> counted(const NodeView& node, const std::vector<const Array*>&) {
  Array y = output(node);
  const std::size_t axis = positive(node.as<ops::Iota>().axis, y.sizes().size());
  for (std::int64_t o = 0; o < y.count(); ++o) {
    y.set(o, static_cast<double>(coordinates(o, y.sizes())[axis]));
  }
  return {y};
}

std::vector<Array> size_itself(const NodeView& node, const std::vector<const Array*>&) {
  return {
      Array::scalar(node.out().dtype, static_cast<double>(node.as<ops::DimValue>().value.value()))};
}

}  // namespace

std::vector<Oracle> shape_oracles() {
  return {{"reshape", same_order},
          {"squeeze", same_order},
          {"unsqueeze", same_order},
          {"transpose", transposed},
          {"broadcast_to", broadcasted},
          {"slice", sliced},
          {"pad", padded},
          {"flip", flipped},
          {"concat", joined},
          {"split", pieces},
          {"constant", literal},
          {"iota", counted},
          {"dim", size_itself}};
}

}  // namespace plait
