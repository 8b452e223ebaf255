// The table of kernels whose operands stay 16 bits wide, b in pairs along k, for a vector type V
// that converts.
#pragma once

#include "backends/cpu/contract/gather.h"
#include "backends/cpu/contract/reorder.h"
#include "backends/cpu/contract/split.h"

namespace plait::cpu {
namespace {

inline void nothing_round_tasks() {}

/// `end`: behind every task.
template <class V>
constexpr Kernels half_kernels(const TileShape* shapes, int count, bool slides = false,
                               void (*end)() = &nothing_round_tasks) {
  return {.shapes = shapes,
          .shape_count = count,
          .pairs = true,
          .slides = slides,
          .gather = {&gather<CopyF32<V>>, nullptr, &gather<WidenF16<V>>, &gather<CopyBf16>},
          .store_f32 = &store_row_f32,
          .store_bf16 = &store_row_half<V, &V::narrow_bf16>,
          .store_f16 = &store_row_half<V, &V::narrow_f16>,
          .split_rows = &split_rows<V>,
          .split_panel = &split_panel<V>,
          .transpose32 = &transpose32,
          .transpose16 = &transpose16,
          .weave16 = &weave16,
          .all_finite = &all_finite,
          .begin = &nothing_round_tasks,
          .end = end,
          .winograd = nullptr};
}

}  // namespace
}  // namespace plait::cpu
