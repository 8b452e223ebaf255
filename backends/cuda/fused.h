// What a library can do behind a contraction, found in its epilogue: a vector added along n, a
// tensor added, negatives set to 0.
#pragma once

#include <optional>
#include <string>

#include "backends/cuda/library/library.h"
#include "loop/contraction.h"
#include "loop/kernel.h"

namespace plait::cuda {

/// Numbers are those of the epilogue's buffers; -1: not there.
struct Fused {
  int bias = -1;
  int residual = -1;  // lies as the result does
  bool relu = false;
  int result = -1;
  DType dtype = DType::f32;  // of the result: the product's own, or f32 of halves
  friend bool operator==(const Fused&, const Fused&) = default;
};

/// Nothing when the epilogue does anything else.
std::optional<Fused> find_fused(const loop::Contraction& contraction, const loop::Kernel& epilogue);

LibraryEpilogue epilogue_of(const std::optional<Fused>& fused);

/// A variant of a step that a library runs: the call's id, and what it does behind the product.
struct LibraryVariant {
  std::string id;
  std::optional<Fused> fused{};
  std::optional<DType> separate_epilogue{};  // of the product that a kernel behind the call reads
};
/// What a call writes, its own product being of a dtype: that, or what follows wants.
inline DType result_dtype(const LibraryVariant& v, DType product) {
  return v.fused ? v.fused->dtype : v.separate_epilogue.value_or(product);
}
std::string to_text(const LibraryVariant& variant);
LibraryVariant library_variant(const std::string& text);

}  // namespace plait::cuda
