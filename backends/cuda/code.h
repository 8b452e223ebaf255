// A program's code on a GPU: kernels compiled, library calls prepared, all steps recorded once and
// replayed.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "backends/cuda/device.h"
#include "backends/cuda/target.h"
#include "backends/target.h"

namespace plait::cuda {

/// What a text of a program begins with: the name of its function, for the one who loads it.
inline constexpr const char* kNameComment = "// ";

/// Workspaces begin at multiples of this.
inline std::int64_t rounded(std::int64_t bytes) { return (bytes + 255) / 256 * 256; }

/// Shared memory of a call's second stage: that of a loop's first; a product's tiles need none
/// there.
inline int finish_bytes(const LoopCall& call) {
  constexpr int kLoopsMost = 48 * 1024;
  return call.block_bytes <= kLoopsMost ? call.block_bytes : 0;
}

/// Of the f32 result that an epilogue of its own reads; 0 without one.
std::int64_t tile_bytes(const loop::BoundContraction& contraction, bool has_epilogue);

std::unique_ptr<Code> load_code(std::shared_ptr<Device> device,
                                std::shared_ptr<const Libraries> libraries,
                                const std::vector<std::vector<Call>>& steps,
                                const std::vector<std::string>& texts, bool whole);

}  // namespace plait::cuda
