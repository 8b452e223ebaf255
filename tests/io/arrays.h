// Arrays of every dtype, for round trips.
#pragma once

#include <vector>

#include "base/array.h"

namespace plait::test {

/// Counts from -3 up in `sizes`; unsigned and bool wrap.
inline Array counting(DType dtype, Sizes sizes) {
  Array a(dtype, std::move(sizes));
  for (std::int64_t i = 0; i < a.count(); ++i) {
    if (is_float(dtype)) {
      a.set(i, static_cast<double>(i - 3) * 0.75);
    } else {
      a.set_integer(i, dtype == DType::boolean ? i % 3 == 0 : i - 3);
    }
  }
  return a;
}

inline std::vector<DType> all_dtypes() {
  std::vector<DType> all;
  for (std::size_t t = 0; t < kDTypeCount; ++t) all.push_back(static_cast<DType>(t));
  return all;
}

}  // namespace plait::test
