// What a library's call takes, about, and what it takes at least: of an H200.
#pragma once

#include <cstdint>

#include "base/dtype.h"
#include "loop/contraction.h"
#include "loop/kernel.h"

namespace plait::cuda {

/// Microseconds of a matrix product of halves or tf32 by a library, about.
double library_us(std::int64_t operations, DType dtype);

/// Microseconds of the kernel apart behind a product.
double behind_us(const loop::BoundContraction& contraction, DType product,
                 const loop::Kernel& epilogue);

/// The least microseconds of a product: its operations at the rate of its cores, or each of its
/// elements read or written once.
double ceiling_us(const loop::BoundContraction& contraction, DType product, bool tf32);

/// Whether a call takes so long beside its ceiling that others are to be tried.
bool is_far_below(double us, double ceiling_us);

}  // namespace plait::cuda
