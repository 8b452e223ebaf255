// The vectorised inner parts of the hand kernels, compiled once per instruction set (lanes_*.cpp)
// from the same source. None of them contracts a multiplication and an addition, so that all of
// them compute the same bits.
#pragma once

#include <array>
#include <cstdint>

#include "base/philox.h"

namespace plait::cpu {

/// A wkv node's sizes and how it is cut: a task takes neighbouring channels, of one batch forwards,
/// and of all batches for the gradient, which sums over them.
struct WkvSizes {
  static constexpr std::int64_t kForward = 64, kBackward = 16;  // channels of a task

  std::int64_t batch, time, channels;

  std::int64_t forward_blocks() const { return (channels + kForward - 1) / kForward; }
  std::int64_t backward_blocks() const { return (channels + kBackward - 1) / kBackward; }
  /// What the gradient keeps, in numbers of the type computed in: a, b, o before each step, and the
  /// exponential of its advance.
  std::int64_t kept() const { return time * 4 * kBackward; }
};

/// Task (n, block) of wkv. in: k, v [B,T,C]; w, u [C]; a0, b0, o0 [B,C] or null.
/// out: y [B,T,C]; a, b, o [B,C]; null where nobody reads it.
using WkvForward = void (*)(const WkvSizes& sizes, std::int64_t task, const void* const* in,
                            void* const* out);
/// Task (block) of wkv_backward. in: as wkv, then dy [B,T,C]; da, db, do [B,C] or null.
/// out: dk, dv [B,T,C]; dw, du [C]; da0, db0, do0 [B,C], or null. scratch: sizes.kept() numbers.
using WkvBackward = void (*)(const WkvSizes& sizes, std::int64_t task, const void* const* in,
                             void* const* out, void* scratch);

struct LaneKernels {
  // By dtype: f64, f32, f16, bf16; then f16 and bf16 with f32 beside k, v, y and their gradients.
  std::array<WkvForward, 6> wkv;
  std::array<WkvBackward, 6> wkv_backward;
  /// The words of random_bits for elements first, first+1...; two may be null, as may be both of
  /// three and four.
  void (*random_words)(const RandomKey& key, std::uint64_t first, int count, std::uint32_t* one,
                       std::uint32_t* two, std::uint32_t* three, std::uint32_t* four);
  /// Standard normals from two words each, as random_normal makes them.
  void (*normals)(const std::uint32_t* one, const std::uint32_t* two, int count, double* out);
};

/// Each file's own; call only those this machine can run.
const LaneKernels& lane_kernels_sse2();
const LaneKernels& lane_kernels_avx2();
const LaneKernels& lane_kernels_avx512();

/// The widest that this machine runs.
const LaneKernels& lane_kernels();

}  // namespace plait::cpu
