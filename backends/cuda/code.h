// A program's code on a GPU: kernels compiled, library calls prepared, all steps recorded once and
// replayed.
#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "backends/cuda/device.h"
#include "backends/cuda/placer.h"
#include "backends/cuda/target.h"
#include "backends/runtime.h"
#include "backends/target.h"
#include "codegen/cuda/print.h"

namespace plait::cuda {

/// Workspaces begin at multiples of this.
inline std::int64_t rounded(std::int64_t bytes) { return (bytes + 255) / 256 * 256; }

/// Shared memory of a call's second stage: a loop's threads have a slot each, products use none.
inline int finish_bytes(const LoopCall& call) {
  return std::min(call.block_bytes, codegen::cuda::kFinishBytes);
}

/// Bytes from a contraction's first buffer address to the end of its result.
std::int64_t result_bytes(const loop::BoundContraction& contraction, DType dtype);

/// Words of a generated call: buffers, scratch areas, the error bits, sizes.
inline std::size_t word_count(const LoopCall& call) {
  return call.arguments.size() + call.column_sizes.size() + 1 + call.function.parameters.size();
}

std::unique_ptr<Runtime> make_runtime(std::shared_ptr<Device> device,
                                      std::shared_ptr<const Libraries> libraries);
std::unique_ptr<Code> load_code(std::shared_ptr<Device> device,
                                std::shared_ptr<const Libraries> libraries,
                                std::shared_ptr<Placer> placer, const program::Program& program);

}  // namespace plait::cuda
