// NaN in constants. The text form has one NaN: so has a program, which then comes out the same from
// its graph as it was and from that graph's text.
#pragma once

#include <cmath>
#include <limits>

#include "base/array.h"

namespace plait::plan {

/// The same numbers; every NaN is quiet and has no sign.
inline Array with_one_nan(Array x) {
  if (!is_float(x.dtype())) return x;
  for (std::int64_t i = 0; i < x.count(); ++i) {
    if (std::isnan(x.real(i))) x.set(i, std::numeric_limits<double>::quiet_NaN());
  }
  return x;
}

}  // namespace plait::plan
