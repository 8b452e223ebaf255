// The kernel that places elements, and its launches.
#include "backends/cuda/placer.h"

#include <algorithm>

#include "backends/cuda/sources.h"
#include "base/error.h"

namespace plait::cuda {
namespace {

constexpr std::size_t kMostAxes = 8;
constexpr int kThreads = 256;
constexpr std::int64_t kPerThread = 4, kMostBlocks = 65536;

}  // namespace

Placer::~Placer() { device_->release(through_); }

bool Placer::takes(const HostLayout& layout) {
  return layout.sizes.size() <= kMostAxes && layout.sizes.size() == layout.order.size();
}

void Placer::launch(char* to, const char* from, std::int64_t first, std::int64_t count,
                    const HostLayout& layout) {
  if (count == 0) return;
  if (!module_) module_ = device_->compile({std::string(codegen::cuda_placer())}).modules[0];
  Launch out;
  out.function = module_->function(str("pl_place_", layout.width));
  out.threads = kThreads;
  const std::int64_t per_block = kThreads * kPerThread;
  out.blocks = std::min(kMostBlocks, (count + per_block - 1) / per_block);
  out.words = {reinterpret_cast<Word>(to), reinterpret_cast<Word>(from), static_cast<Word>(first),
               static_cast<Word>(count)};
  out.words.resize(4 + kMostAxes, 1);      // sizes
  out.words.resize(4 + 2 * kMostAxes, 0);  // steps
  const std::size_t rank = layout.sizes.size();
  Word step = 1;
  for (std::size_t i = rank; i-- > 0;) {
    const auto axis = static_cast<std::size_t>(layout.order[i]);
    out.words[4 + kMostAxes - rank + axis] = static_cast<Word>(layout.sizes[axis]);
    out.words[4 + 2 * kMostAxes - rank + axis] = step;
    step *= static_cast<Word>(layout.sizes[axis]);
  }
  device_->launch(out);
}

void Placer::place(char* to, const char* from, const HostLayout& layout) {
  launch(to, from, 0, layout.bytes() / layout.width, layout);
}

void Placer::write(char* to, const void* from, const HostLayout& layout) {
  if (!through_) through_ = device_->allocate(kThroughBytes, "arrays on their way to a layout");
  const std::int64_t all = layout.bytes() / layout.width, most = kThroughBytes / layout.width;
  for (std::int64_t first = 0; first < all; first += most) {
    const std::int64_t count = std::min(most, all - first);
    const char* part = static_cast<const char*>(from) + first * layout.width;
    device_->write(through_, part, count * layout.width);
    launch(to, through_, first, count, layout);
  }
}

}  // namespace plait::cuda
