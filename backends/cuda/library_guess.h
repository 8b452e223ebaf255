// What a library's call takes, about, and what it takes at least.
#pragma once

#include <cstdint>
#include <string>

#include "base/device_model.h"
#include "base/dtype.h"
#include "loop/contraction.h"
#include "loop/kernel.h"

namespace plait::cuda {

/// How products of a dtype multiply, as DeviceModel::operations names it.
std::string arithmetic_of(DType dtype, bool tf32);

/// Microseconds of a matrix product of halves or tf32 by a library, about.
double library_us(const DeviceModel& device, std::int64_t operations, DType dtype);

/// Microseconds of the kernel apart behind a product.
double behind_us(const DeviceModel& device, const loop::BoundContraction& contraction,
                 DType product, const loop::Kernel& epilogue);

/// The least microseconds of a product: its operations at the rate of its cores, or each of its
/// elements read or written once.
double ceiling_us(const DeviceModel& device, const loop::BoundContraction& contraction,
                  DType product, bool tf32);

/// Whether a call takes so long beside its ceiling that others are to be tried.
bool is_far_below(double us, double ceiling_us);

}  // namespace plait::cuda
