// Blocks of long sums.
#include "loop/sum_blocks.h"

#include <algorithm>

namespace plait::loop {
RowBlocks row_blocks(const Kernel& kernel) {
  std::int64_t inside = 1;
  for (std::size_t x = kernel.inner.size(); x-- > 0;) {
    const std::int64_t extent = std::max<std::int64_t>(1, kernel.inner[x].extent.hi());
    if (extent > kRowBlock / inside) return {x, std::max<std::int64_t>(1, kRowBlock / inside)};
    inside *= extent;
  }
  return {};
}

bool is_blocked_row(const Kernel& kernel, const Let& let) {
  return let.reduce == Reduce::kSum && let.compute == DType::f32 && !let.column &&
         let.level == Level::kInner && !inner_count(kernel).is(0) && row_blocks(kernel).step > 0;
}

bool is_blocked_column(const Kernel& kernel, const Let& let) {
  return let.column && let.reduce == Reduce::kSum && let.compute == DType::f32 &&
         row_count(kernel).hi() > 4 * kColumnBlock;
}

}  // namespace plait::loop
