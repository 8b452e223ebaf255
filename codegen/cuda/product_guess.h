// A contraction's form with what follows it and how many calls share a launch: what the guess of a
// kernel's time goes by.
#pragma once

#include "codegen/cuda/product.h"
#include "codegen/cuda/product_form.h"

namespace plait::codegen::cuda {

/// `epilogue` is null where the product is the result.
Form form_with(const loop::Contraction& contraction, const loop::Kernel* epilogue,
               const ProductOptions& options);

}  // namespace plait::codegen::cuda
