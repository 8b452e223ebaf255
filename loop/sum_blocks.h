// The blocks that a long sum of floats is made of: the terms of one are added up in f32, and the
// blocks in f64. A kernel's sizes decide, so that its printer and its interpreter add alike; those
// of a contraction decide for whoever computes it.
#pragma once

#include "loop/kernel.h"

namespace plait::loop {

/// Terms of a row's block: in vectors, so that a lane adds a few dozen of them. Terms of a
/// column's.
inline constexpr std::int64_t kRowBlock = 1024, kColumnBlock = 256;

/// A contraction's sum of more terms is long: below, there are no more blocks of k than terms in
/// one, and all are added up in f32.
inline constexpr std::int64_t kLongContraction = std::int64_t{1} << 18;

/// Where the loops over the inner indices are cut into blocks: index `at`, every `step` of it. No
/// step: they are not longer than a block.
struct RowBlocks {
  std::size_t at = 0;
  std::int64_t step = 0;
};
RowBlocks row_blocks(const Kernel& kernel);

/// Whether a sum of a row is longer than a block.
bool is_blocked_row(const Kernel& kernel, const Let& let);
/// Whether a sum of columns is made of blocks.
bool is_blocked_column(const Kernel& kernel, const Let& let);

}  // namespace plait::loop
