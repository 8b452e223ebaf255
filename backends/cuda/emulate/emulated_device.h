// A device without one, for tests: the same kernel text runs on the CPU, one thread of a block at a
// time, in an order that differs from block to block. Memory is fenced and begins as 0xCD bytes;
// launches of different streams run last stream first, feeds come as late as they may. Slow, and
// strict.
#pragma once

#include <memory>

#include "backends/cuda/device.h"

namespace plait::cuda {

/// A kernel that writes beyond a buffer or whose threads wait for each other in vain is a Bug that
/// names it.
std::shared_ptr<Device> make_emulated_device(std::int64_t memory_bytes = std::int64_t{4} << 30);

}  // namespace plait::cuda
