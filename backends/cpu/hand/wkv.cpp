// wkv and wkv_backward: tasks over channels (and the batch, forwards); the lanes are in
// wkv_lanes.h.
#include <algorithm>

#include "backends/cpu/hand/families.h"
#include "backends/cpu/hand/lanes.h"

namespace plait::cpu {
namespace {

WkvSizes sizes_of_node(const NodeView& node) {
  const Sizes k = sizes_of(node.in(0).shape);  // [B,T,C]
  return {k[0], k[1], k[2]};
}

/// In the tables of LaneKernels.
std::size_t which(const NodeView& node) {
  const DType rows = node.in(0).dtype;
  return static_cast<std::size_t>(rows) + (node.in(2).dtype != rows ? 2 : 0);
}

/// The operands as the lanes take them: null behind the last that is given.
template <int N>
struct Operands {
  const void* all[N] = {};
  Operands(const void* const* inputs, int count) { std::copy_n(inputs, count, all); }
};

class Wkv final : public HandKernel {
 public:
  explicit Wkv(const NodeView& node)
      : sizes_(sizes_of_node(node)), count_(node.count()), run_(lane_kernels().wkv[which(node)]) {}
  std::int64_t tasks() const override { return sizes_.batch * sizes_.forward_blocks(); }
  const char* run(std::int64_t task, const void* const* inputs, void* const* outputs,
                  const HandMemory&) const noexcept override {
    run_(sizes_, task, Operands<7>(inputs, count_).all, outputs);
    return nullptr;
  }

 private:
  WkvSizes sizes_;
  int count_;
  WkvForward run_;
};

class WkvBack final : public HandKernel {
 public:
  explicit WkvBack(const NodeView& node)
      : sizes_(sizes_of_node(node)),
        count_(node.count()),
        wide_bytes_(static_cast<std::int64_t>(size_of(compute_dtype(node.in(0).dtype)))),
        run_(lane_kernels().wkv_backward[which(node)]) {}
  std::int64_t tasks() const override { return sizes_.backward_blocks(); }
  std::int64_t scratch_bytes() const override { return sizes_.kept() * wide_bytes_; }
  const char* run(std::int64_t task, const void* const* inputs, void* const* outputs,
                  const HandMemory& memory) const noexcept override {
    run_(sizes_, task, Operands<11>(inputs, count_).all, outputs, memory.scratch);
    return nullptr;
  }

 private:
  WkvSizes sizes_;
  int count_;
  std::int64_t wide_bytes_;
  WkvBackward run_;
};

}  // namespace

std::unique_ptr<HandKernel> make_wkv(const NodeView& node) { return std::make_unique<Wkv>(node); }
std::unique_ptr<HandKernel> make_wkv_backward(const NodeView& node) {
  return std::make_unique<WkvBack>(node);
}

}  // namespace plait::cpu
