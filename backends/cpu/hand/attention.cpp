// attention and attention_backward: a node's shape and operands for the kernels of attention.h.
#include "backends/cpu/hand/attention.h"

#include <algorithm>
#include <optional>

#include "backends/cpu/contract/blocking.h"
#include "backends/cpu/hand/attention_lanes.h"
#include "backends/cpu/hand/families.h"
#include "ops/attention.h"

namespace plait::cpu {
namespace {

/// Places of what the two ops both have, in their operands.
struct Places {
  int mask, slopes, documents, key;
};
constexpr Places kForward{3, 4, 5, 6}, kBackward{6, 7, 8, 9};
constexpr int kY = 3, kLse = 4, kDy = 5, kDlse = 10;

const AttentionLanes& lanes_of(Isa isa) {
  return isa >= Isa::kAvx512Bf16 ? attention_lanes_avx512bf16()
         : isa == Isa::kAvx512   ? attention_lanes_avx512()
         : isa == Isa::kAvx2     ? attention_lanes_avx2()
                                 : attention_lanes_portable();
}

bool is_backward(const NodeView& node) { return node.outputs.size() == 3; }
Places places(const NodeView& node) { return is_backward(node) ? kBackward : kForward; }

/// Of [B.., heads, rows, depth] without gaps.
RowStrides packed(std::int64_t heads, std::int64_t rows, std::int64_t depth) {
  return {heads * rows * depth, rows * depth, depth};
}

std::int64_t product(const Sizes& sizes, std::size_t first, std::size_t end) {
  std::int64_t all = 1;
  for (std::size_t i = first; i < end; ++i) all *= sizes[i];
  return all;
}

/// `mask` broadcasts to `scores`, [B.., H, T, S].
AttentionMask mask_of(const ir::Type& type, const Sizes& scores) {
  AttentionMask m;
  m.present = true;
  m.dtype = type.dtype;
  const Sizes own = sizes_of(type.shape);
  Sizes steps(scores.size(), 0);
  std::int64_t step = 1;
  for (std::size_t i = 0; i < own.size(); ++i) {
    const std::size_t from_end = own.size() - 1 - i, axis = scores.size() - 1 - i;
    if (own[from_end] != 1) steps[axis] = step;
    step *= own[from_end];
  }
  const std::size_t rank = scores.size(), lead = rank > 3 ? rank - 3 : 0;
  m.key = steps[rank - 1];
  m.row = steps[rank - 2];
  m.head = rank > 2 ? steps[rank - 3] : 0;
  m.batch.assign(1, 0);
  for (std::size_t axis = 0; axis < lead; ++axis) {  // the inner axes beside each place so far
    std::vector<std::int64_t> next;
    for (std::int64_t begin : m.batch) {
      for (std::int64_t i = 0; i < scores[axis]; ++i) next.push_back(begin + i * steps[axis]);
    }
    m.batch = std::move(next);
  }
  return m;
}

}  // namespace

AttentionShape attention_shape(const NodeView& node) {
  const auto a = node.as<ops::Attention>();
  const Places at = places(node);
  const Sizes q = sizes_of(node.in(0).shape), k = sizes_of(node.in(1).shape);
  const std::size_t rank = q.size(), lead = rank > 3 ? rank - 3 : 0;
  AttentionShape s;
  s.backward = is_backward(node);
  s.dtype = node.in(0).dtype;
  s.batch = product(q, 0, lead);
  s.heads = rank > 2 ? q[rank - 3] : 1;
  s.kv_heads = rank > 2 ? k[rank - 3] : 1;
  s.queries = q[rank - 2];
  s.keys = k[rank - 2];
  s.depth = q[rank - 1];
  s.value_depth = sizes_of(node.in(2).shape)[rank - 1];
  s.q = s.dq = packed(s.heads, s.queries, s.depth);
  s.k = s.dk = packed(s.kv_heads, s.keys, s.depth);
  s.v = s.dv = packed(s.kv_heads, s.keys, s.value_depth);
  s.y = s.dy = packed(s.heads, s.queries, s.value_depth);
  s.scale = ops::attention_scale(node);
  s.causal = a.causal;
  s.offset = a.offset;
  s.window = a.window;
  if (node.has(at.mask)) {
    Sizes scores(q.begin(), q.end() - 1);
    scores.push_back(s.keys);
    s.mask = mask_of(node.in(at.mask), scores);
  }
  s.slopes = node.has(at.slopes);
  if (s.slopes) s.slopes_dtype = node.in(at.slopes).dtype;
  if (node.has(at.documents)) {
    const Sizes documents = sizes_of(node.in(at.documents).shape);
    s.documents = documents.back();
    s.documents_batch = documents.size() > 1 ? s.documents : 0;
    s.wide_documents = node.in(at.documents).dtype == DType::i64;
  }
  s.dropout = a.dropout;
  s.stream = static_cast<std::uint32_t>(a.stream);
  s.lse_dtype = s.dlse_dtype = compute_dtype(s.dtype);
  if (is_backward(node)) s.lse_dtype = node.in(kLse).dtype;
  if (is_backward(node) && node.has(kDlse)) s.dlse_dtype = node.in(kDlse).dtype;
  return s;
}

AttentionOperands attention_operands(bool backward, int count, const void* const* inputs,
                                     void* const* outputs) {
  const Places at = backward ? kBackward : kForward;
  const auto in = [&](int i) { return i < count ? inputs[i] : nullptr; };
  AttentionOperands o;
  o.q = in(0);
  o.k = in(1);
  o.v = in(2);
  o.mask = in(at.mask);
  o.slopes = in(at.slopes);
  o.documents = in(at.documents);
  o.key = static_cast<const std::int64_t*>(in(at.key));
  if (!backward) {
    o.y_out = outputs[0];
    o.lse_out = outputs[1];
    return o;
  }
  o.y = in(kY);
  o.lse = in(kLse);
  o.dy = in(kDy);
  o.dlse = in(kDlse);
  o.dq = outputs[0];
  o.dk = outputs[1];
  o.dv = outputs[2];
  return o;
}

AttentionBlocking attention_blocking(const AttentionShape& shape, Isa isa) {
  const bool half = shape.dtype == DType::bf16;
  if (!half && !(isa == Isa::kAmx && has_f32_tiles())) isa = std::min(isa, Isa::kAvx512);
  return AttentionBlocking(shape, kernels_of(isa), lanes_of(isa));
}

namespace {

/// A kernel, and one that splits nothing for where a number is not finite.
template <class Kernel>
struct WithFallback {
  explicit WithFallback(AttentionBlocking blocking) : kernel(blocking) {
    if (blocking.parts == 1) return;
    const Isa isa = std::min(detect_isa(), Isa::kAvx512);
    blocking.use(kernels_of(isa), lanes_of(isa));
    fallback.emplace(std::move(blocking));
  }
  std::int64_t scratch_bytes() const {
    return std::max(kernel.scratch_bytes(), fallback ? fallback->scratch_bytes() : 0);
  }
  template <class... Args>
  void run(const Args&... args) const noexcept {
    if (!kernel.run(args...)) fallback->run(args...);
  }
  Kernel kernel;
  std::optional<Kernel> fallback;
};

class AttentionKernel final : public HandKernel {
 public:
  AttentionKernel(AttentionBlocking blocking, int count)
      : kernels_(std::move(blocking)), count_(count) {}
  std::int64_t tasks() const override { return kernels_.kernel.tasks(); }
  std::int64_t scratch_bytes() const override { return kernels_.scratch_bytes(); }
  const char* run(std::int64_t task, const void* const* inputs, void* const* outputs,
                  const HandMemory& memory) const noexcept override {
    kernels_.run(task, attention_operands(false, count_, inputs, outputs), memory.scratch);
    return nullptr;
  }

 private:
  WithFallback<AttentionForward> kernels_;
  int count_;
};

class AttentionBackwardKernel final : public HandKernel {
 public:
  AttentionBackwardKernel(AttentionBlocking blocking, int count)
      : kernels_(std::move(blocking)), count_(count) {}
  std::int64_t tasks() const override { return kernels_.kernel.tasks(); }
  std::int64_t scratch_bytes() const override { return kernels_.scratch_bytes(); }
  std::int64_t shared_bytes() const override { return kernels_.kernel.shared_bytes(); }
  const char* run(std::int64_t task, const void* const* inputs, void* const* outputs,
                  const HandMemory& memory) const noexcept override {
    kernels_.run(task, attention_operands(true, count_, inputs, outputs), memory.scratch,
                 memory.shared);
    return nullptr;
  }
  std::int64_t finish_tasks() const override { return kernels_.kernel.finish_tasks(); }
  void finish(std::int64_t task, const void* const* inputs, void* const* outputs,
              const HandMemory& memory) const noexcept override {
    kernels_.kernel.finish(task, attention_operands(true, count_, inputs, outputs), memory.shared);
  }

 private:
  WithFallback<AttentionBackward> kernels_;
  int count_;
};

/// f64: a task is a head.
class AttentionRowsKernel final : public HandKernel {
 public:
  AttentionRowsKernel(AttentionShape shape, bool backward, int count)
      : shape_(std::move(shape)), backward_(backward), count_(count) {}
  std::int64_t tasks() const override { return shape_.batch * heads(); }
  std::int64_t scratch_bytes() const override { return 2 * shape_.keys * 8; }
  const char* run(std::int64_t task, const void* const* inputs, void* const* outputs,
                  const HandMemory& memory) const noexcept override {
    const auto rows = backward_ ? attention_backward_rows : attention_rows;
    rows(shape_, task / heads(), task % heads(),
         attention_operands(backward_, count_, inputs, outputs), memory.scratch);
    return nullptr;
  }

 private:
  std::int64_t heads() const { return backward_ ? shape_.kv_heads : shape_.heads; }
  AttentionShape shape_;
  bool backward_;
  int count_;
};

}  // namespace

std::unique_ptr<HandKernel> attention_kernel(const NodeView& node, AttentionBlocking blocking) {
  if (is_backward(node)) {
    return std::make_unique<AttentionBackwardKernel>(std::move(blocking), node.count());
  }
  return std::make_unique<AttentionKernel>(std::move(blocking), node.count());
}

std::unique_ptr<HandKernel> make_attention(const NodeView& node) {
  AttentionShape shape = attention_shape(node);
  if (shape.dtype != DType::f64) {
    return attention_kernel(node, attention_blocking(shape, detect_isa()));
  }
  return std::make_unique<AttentionRowsKernel>(std::move(shape), is_backward(node), node.count());
}

}  // namespace plait::cpu
