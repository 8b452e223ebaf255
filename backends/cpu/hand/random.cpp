// uniform, normal, bernoulli and attention's dropout: the draws of base/philox.h, whose lanes are
// in draw_lanes.h. A task draws kTask elements.
#include <algorithm>
#include <cmath>

#include "backends/cpu/hand/families.h"
#include "backends/cpu/hand/lanes.h"
#include "backends/cpu/hand/wide.h"
#include "ops/attention.h"
#include "ops/random.h"

namespace plait::cpu {
namespace {

constexpr std::int64_t kTask = 16384;
constexpr int kPiece = 256;  // elements whose words are drawn at once

/// What the three have in common. write(words, count, place) turns a piece into elements.
class Draws : public HandKernel {
 public:
  Draws(const NodeView& node, std::int64_t stream, bool two_words)
      : count_(element_count(sizes_of(node.out().shape))),
        stream_(static_cast<std::uint32_t>(stream)),
        two_words_(two_words) {}
  std::int64_t tasks() const override { return (count_ + kTask - 1) / kTask; }
  const char* run(std::int64_t task, const void* const* inputs, void* const* outputs,
                  const HandMemory&) const noexcept override {
    const auto* key = static_cast<const std::int64_t*>(inputs[0]);  // [2]: seed, step
    const RandomKey draws{static_cast<std::uint64_t>(key[0]), static_cast<std::uint64_t>(key[1]),
                          stream_};
    std::uint32_t one[kPiece], two[kPiece];
    const std::int64_t end = std::min(count_, (task + 1) * kTask);
    for (std::int64_t i = task * kTask; i < end; i += kPiece) {
      const int count = static_cast<int>(std::min<std::int64_t>(kPiece, end - i));
      lanes_.random_words(draws, static_cast<std::uint64_t>(i), count, one,
                          two_words_ ? two : nullptr, nullptr, nullptr);
      write(one, two, count, i, outputs[0]);
    }
    return nullptr;
  }

 protected:
  virtual void write(const std::uint32_t* one, const std::uint32_t* two, int count,
                     std::int64_t first, void* out) const noexcept = 0;
  const LaneKernels& lanes_ = lane_kernels();

 private:
  std::int64_t count_;
  std::uint32_t stream_;
  bool two_words_;
};

template <class T>
class UniformDraws final : public Draws {
 public:
  UniformDraws(const NodeView& node, const ops::Uniform& a)
      : Draws(node, a.stream, false), low_(a.lo), range_(a.hi - a.lo) {}

 private:
  void write(const std::uint32_t* one, const std::uint32_t*, int count, std::int64_t first,
             void* out) const noexcept override {
    T* y = static_cast<T*>(out) + first;
    for (int j = 0; j < count; ++j) {
      const double unit = static_cast<double>(static_cast<std::int32_t>(one[j] >> 8)) * 0x1p-24;
      y[j] = narrow<T>(low_ + range_ * unit);
    }
  }
  double low_, range_;
};

template <class T>
class NormalDraws final : public Draws {
 public:
  NormalDraws(const NodeView& node, const ops::Normal& a)
      : Draws(node, a.stream, true), mean_(a.mean), std_(a.std) {}

 private:
  void write(const std::uint32_t* one, const std::uint32_t* two, int count, std::int64_t first,
             void* out) const noexcept override {
    double standard[kPiece];
    lanes_.normals(one, two, count, standard);
    T* y = static_cast<T*>(out) + first;
    for (int j = 0; j < count; ++j) y[j] = narrow<T>(mean_ + std_ * standard[j]);
  }
  double mean_, std_;
};

class BernoulliDraws final : public Draws {
 public:
  /// word / 2^24 < p, with both sides times 2^24, which is exact.
  BernoulliDraws(const NodeView& node, const ops::Bernoulli& a)
      : Draws(node, a.stream, false),
        below_(static_cast<std::uint32_t>(std::ceil(std::ldexp(a.p, 24)))) {}

 private:
  void write(const std::uint32_t* one, const std::uint32_t*, int count, std::int64_t first,
             void* out) const noexcept override {
    std::uint8_t* y = static_cast<std::uint8_t*>(out) + first;
    for (int j = 0; j < count; ++j) y[j] = (one[j] >> 8) < below_;
  }
  std::uint32_t below_;
};

/// Draws<T> for the T that stores this float dtype.
template <template <class> class Draws, class Attrs>
std::unique_ptr<HandKernel> drawing(const NodeView& node) {
  const auto attrs = node.as<Attrs>();
  return visit_dtype(attrs.dtype, [&]<class T>(TypeTag<T>) -> std::unique_ptr<HandKernel> {
    if constexpr (std::floating_point<T> || Half<T>) {
      return std::make_unique<Draws<T>>(node, attrs);
    } else {
      throw Bug(str("random numbers of dtype ", attrs.dtype));
    }
  });
}

/// A task is a row of pairs. Only where attention is expanded: one draw for a pair.
class PairDraws final : public HandKernel {
 public:
  PairDraws(const NodeView& node, const ops::AttentionKeep& a)
      : stream_(static_cast<std::uint32_t>(a.stream)), threshold_(pair_threshold(a.p)) {
    const Sizes sizes = sizes_of(node.out().shape);
    queries_ = sizes[sizes.size() - 2], keys_ = sizes.back();
    rows_ = keys_ == 0 ? 0 : element_count(sizes) / keys_;
  }
  std::int64_t tasks() const override { return rows_; }
  const char* run(std::int64_t task, const void* const* inputs, void* const* outputs,
                  const HandMemory&) const noexcept override {
    const auto* key = static_cast<const std::int64_t*>(inputs[0]);  // [2]: seed, step
    const RandomKey draws{static_cast<std::uint64_t>(key[0]), static_cast<std::uint64_t>(key[1]),
                          stream_};
    const auto u = [](std::int64_t x) { return static_cast<std::uint64_t>(x); };
    auto* y = static_cast<std::uint8_t*>(outputs[0]) + task * keys_;
    for (std::int64_t j = 0; j < keys_; ++j) {
      y[j] = pair_bits(draws, u(task / queries_), u(task % queries_), u(j), u(queries_),
                       u(keys_)) >= threshold_;
    }
    return nullptr;
  }

 private:
  std::uint32_t stream_, threshold_;
  std::int64_t queries_ = 0, keys_ = 0, rows_ = 0;
};

}  // namespace

std::unique_ptr<HandKernel> make_attention_keep(const NodeView& node) {
  return std::make_unique<PairDraws>(node, node.as<ops::AttentionKeep>());
}

std::unique_ptr<HandKernel> make_uniform(const NodeView& node) {
  return drawing<UniformDraws, ops::Uniform>(node);
}
std::unique_ptr<HandKernel> make_normal(const NodeView& node) {
  return drawing<NormalDraws, ops::Normal>(node);
}
std::unique_ptr<HandKernel> make_bernoulli(const NodeView& node) {
  return std::make_unique<BernoulliDraws>(node, node.as<ops::Bernoulli>());
}

}  // namespace plait::cpu
