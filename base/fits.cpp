// Which numbers a dtype can hold.
#include "base/fits.h"

#include <cmath>
#include <limits>
#include <type_traits>

#include "base/convert.h"

namespace plait {
namespace {

struct Reach {
  double least, most;  // magnitudes, the least a subnormal one
};

Reach reach_of(DType dtype) {
  if (dtype == DType::f16) return {0x1p-24, 0x1.ffcp15};
  if (dtype == DType::bf16) return {0x1p-133, 0x1.fep127};
  if (dtype == DType::f32) return {0x1p-149, 0x1.fffffep127};
  return {0x1p-1074, std::numeric_limits<double>::max()};
}

template <class T>
std::string misfit_of(double value, DType dtype) {
  if constexpr (std::is_same_v<T, bool>) {
    return value == 0 || value == 1 ? "" : "bool holds 0 and 1";
  } else if constexpr (std::is_integral_v<T>) {
    using Limits = std::numeric_limits<T>;
    const double edge = std::ldexp(1.0, Limits::digits);  // one more than the greatest, exactly
    const double least = Limits::is_signed ? -edge : 0.0;
    if (std::floor(value) == value && value >= least && value < edge) return "";
    return str(dtype, " holds whole numbers from ", +Limits::min(), " to ", +Limits::max());
  } else {
    if (value == 0 || !std::isfinite(value)) return "";
    const double held = convert<double>(convert<T>(value));
    const Reach reach = reach_of(dtype);
    if (held == 0) return str(dtype, " holds nothing between 0 and ", reach.least);
    return std::isfinite(held) ? "" : str(dtype, " holds nothing above ", reach.most);
  }
}

}  // namespace

std::string misfit(double value, DType dtype) {
  return visit_dtype(dtype, [&]<class T>(TypeTag<T>) { return misfit_of<T>(value, dtype); });
}

}  // namespace plait
