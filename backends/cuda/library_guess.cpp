// Times from a device's rates, and the elements that a contraction touches.
#include "backends/cuda/library_guess.h"

#include <algorithm>
#include <cstdlib>

#include "codegen/cuda/product_element.h"

namespace plait::cuda {
namespace {

// A call is far below its ceiling where it takes so many times as long, and more than this.
constexpr double kFarBelow = 5, kWorthTryingUs = 50;

using Axis = loop::AxisOf<std::int64_t>;

double points_of(const loop::BoundContraction& c) {
  double elements = 1;
  for (const auto* axes : {&c.batch, &c.m, &c.n}) {
    for (const Axis& x : *axes) elements *= static_cast<double>(x.extent);
  }
  return elements;
}

double products_of(const loop::BoundContraction& c) {
  double products = points_of(c);
  for (const Axis& x : c.k) products *= static_cast<double>(x.extent);
  return products;
}

/// Elements of an operand that its axes reach: no more than they have points, nor than lie between
/// the first and the last of them.
double distinct(const loop::BoundContraction& c, std::int64_t Axis::*step) {
  double points = 1, last = 0;
  for (const auto* axes : {&c.batch, &c.m, &c.n, &c.k}) {
    for (const Axis& x : *axes) {
      if (x.*step == 0) continue;
      points *= static_cast<double>(x.extent);
      last += static_cast<double>((x.extent - 1) * std::abs(x.*step));
    }
  }
  return std::min(points, last + 1);
}

}  // namespace

std::string arithmetic_of(DType dtype, bool tf32) {
  return dtype == DType::f32 && tf32 ? "tf32" : std::string(name_of(dtype));
}

double library_us(const DeviceModel& device, std::int64_t operations, DType dtype) {
  const double rate = device.operations(arithmetic_of(dtype, true)) * 1e-6;
  return device.step_seconds * 1e6 + static_cast<double>(operations) / rate;
}

double behind_us(const DeviceModel& device, const loop::BoundContraction& c, DType product,
                 const loop::Kernel& epilogue) {
  const codegen::cuda::ElementBytes moved = codegen::cuda::element_bytes(epilogue);
  const auto bytes =
      static_cast<double>(moved.loaded + moved.stored) + static_cast<double>(size_of(product));
  return (device.step_seconds + points_of(c) * bytes / device.bytes_per_second) * 1e6;
}

double ceiling_us(const DeviceModel& device, const loop::BoundContraction& c, DType product,
                  bool tf32) {
  const double rate = device.operations(arithmetic_of(c.dtype, tf32));
  const double read =
      (distinct(c, &Axis::a) + distinct(c, &Axis::b)) * static_cast<double>(size_of(c.dtype));
  const double written = distinct(c, &Axis::c) * static_cast<double>(size_of(product));
  return std::max(2 * products_of(c) / rate, (read + written) / device.bytes_per_second) * 1e6;
}

bool is_far_below(double us, double ceiling_us) {
  return us > kWorthTryingUs && us > kFarBelow * ceiling_us;
}

}  // namespace plait::cuda
