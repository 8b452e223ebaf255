// What an epilogue adds to a product, and the variants by their guessed time.
#include "codegen/cuda/product_guess.h"

#include <algorithm>

#include "codegen/cuda/product_element.h"
#include "codegen/cuda/product_shape.h"
#include "loop/statements.h"

namespace plait::codegen::cuda {
namespace {

/// An epilogue's part of an element's time: its bytes, through one multiprocessor, and its
/// statements. What a product alone stores is not counted.
double element_us(DType product, const loop::Kernel& epilogue, const TileTimes& times) {
  const ElementBytes bytes = element_bytes(epilogue);
  const int more = bytes.loaded + bytes.stored - static_cast<int>(size_of(product));
  return times.epilogue_byte_us * std::max(0, more) +
         times.epilogue_statement_us * static_cast<double>(epilogue.lets.size());
}

}  // namespace

Form form_with(const loop::Contraction& contraction, const loop::Kernel* epilogue,
               const ProductOptions& options) {
  Form form = form_of(contraction, epilogue == nullptr);
  form.calls = options.calls;
  form.device = options.device;
  if (epilogue) form.element_us = element_us(form.dtype, *epilogue, form.device->tiles);
  if (form.swapped) form.element_us *= 4;  // its elements are stored one by one
  const int put = !epilogue ? form.put : form.swapped ? 1 : element_lanes(*epilogue);
  form.packed =
      put > 1 && is_half(form.dtype) && (!epilogue || loop::rounds_first(*epilogue, form.dtype));
  return form;
}

std::vector<std::string> product_variants(const loop::Contraction& contraction,
                                          const DimBindings& largest, const ProductOptions& options,
                                          const loop::Kernel* epilogue) {
  std::vector<std::string> texts;
  const Form form = form_with(contraction, epilogue, options);
  for (const Shape& s : shapes_for(form, largest, options.tf32, options.pairs)) {
    texts.push_back(to_text(s));
  }
  return texts;
}

bool has_pairs(const std::string& variant) {
  const std::optional<Shape> shape = shape_from_text(variant);
  return shape && shape->core == Core::kPair;
}

double product_us(const loop::Contraction& contraction, const loop::Kernel* epilogue,
                  const DimBindings& largest, const ProductOptions& options) {
  const Form form = form_with(contraction, epilogue, options);
  return cost(form, shapes_for(form, largest, options.tf32, options.pairs).front(), largest);
}

}  // namespace plait::codegen::cuda
