// The table of kernels for a vector type V that widens 16-bit operands to f32.
#pragma once

#include "backends/cpu/contract/gather.h"
#include "backends/cpu/contract/micro.h"
#include "backends/cpu/contract/reorder.h"
#include "backends/cpu/contract/winograd_kernels.h"

namespace plait::cpu {
namespace {

inline void nothing() {}

template <class V>
inline constexpr WinogradKernels kWinograd = winograd_kernels<V>();

template <class V>
constexpr Kernels vector_kernels(const TileShape* shapes, int count) {
  return {.shapes = shapes,
          .shape_count = count,
          .pairs = false,
          .slides = false,
          .gather = {&gather<CopyF32<V>>, &gather<WidenBf16<V>>, &gather<WidenF16<V>>, nullptr},
          .store_f32 = &store_row_f32,
          .store_bf16 = &store_row_half<V, &V::narrow_bf16>,
          .store_f16 = &store_row_half<V, &V::narrow_f16>,
          .split_rows = nullptr,
          .split_panel = nullptr,
          .transpose32 = &transpose32,
          .transpose16 = &transpose16,
          .weave16 = nullptr,
          .all_finite = &all_finite,
          .begin = &nothing,
          .end = &nothing,
          .winograd = &kWinograd<V>};
}

}  // namespace
}  // namespace plait::cpu
