// The lines of a row-major array along one axis, for ops that are written out.
#pragma once

#include <concepts>

#include "base/array.h"

namespace plait::ops {

/// Element i of line (outer, inner) lies at (outer * size + i) * inners + inner.
struct Lines {
  std::int64_t outers = 1, size = 1, inners = 1;
  std::int64_t at(std::int64_t outer, std::int64_t i, std::int64_t inner) const {
    return (outer * size + i) * inners + inner;
  }
};

inline Lines lines_along(const Sizes& sizes, std::int64_t axis) {
  Lines lines;
  for (std::size_t d = 0; d < sizes.size(); ++d) {
    const auto i = static_cast<std::int64_t>(d);
    (i < axis ? lines.outers : i == axis ? lines.size : lines.inners) *= sizes[d];
  }
  return lines;
}

/// Calls f with the double or int64 in which elements of this dtype are computed.
template <class F>
void visit_wide(DType dtype, F f) {
  if (is_float(dtype)) {
    f(TypeTag<double>{});
  } else {
    f(TypeTag<std::int64_t>{});
  }
}

template <class T>
T element(const Array& a, std::int64_t i) {
  if constexpr (std::floating_point<T>) {
    return a.real(i);
  } else {
    return a.integer(i);
  }
}

template <class T>
void set_element(Array& a, std::int64_t i, T value) {
  if constexpr (std::floating_point<T>) {
    a.set(i, value);
  } else {
    a.set_integer(i, value);
  }
}

}  // namespace plait::ops
