// cumsum, cumprod and linear_scan: lines walked in order, neighbouring lines side by side. In
// double or in wrapping 64-bit integers, each element rounded once: the reference's bits.
#include "ops/scan.h"
#include "backends/cpu/hand/families.h"
#include "backends/cpu/hand/line_tasks.h"
#include "backends/cpu/hand/wide.h"

namespace plait::cpu {
namespace {

template <class T>
struct Sum {
  static constexpr int kStart = 0;
  static Wide<T> next(Wide<T> acc, Wide<T> x) { return acc + x; }
};
template <class T>
struct Product {
  static constexpr int kStart = 1;
  static Wide<T> next(Wide<T> acc, Wide<T> x) { return acc * x; }
};

template <class T, class Step>
class Running final : public HandKernel {
 public:
  explicit Running(const NodeView& node, const ops::Cumulative& a)
      : tasks_(node, a.axis), reverse_(a.reverse), exclusive_(a.exclusive) {}
  std::int64_t tasks() const override { return tasks_.tasks(); }
  const char* run(std::int64_t task, const void* const* inputs, void* const* outputs,
                  const HandMemory&) const noexcept override {
    const auto* x = static_cast<const T*>(inputs[0]);
    auto* y = static_cast<T*>(outputs[0]);
    const ops::Lines& lines = tasks_.lines();
    tasks_.each(task, [&](const LineBlock& block) {
      Wide<T> acc[LineTasks::kWidth];
      std::fill_n(acc, LineTasks::kWidth, Wide<T>(Step::kStart));
      for (std::int64_t s = 0; s < lines.size; ++s) {
        const std::int64_t step = reverse_ ? lines.size - 1 - s : s;
        const std::int64_t row = lines.at(block.outer, step, block.first);
        for (int j = 0; j < block.count; ++j) {
          const Wide<T> next = Step::next(acc[j], widen(x[row + j]));
          y[row + j] = narrow<T>(exclusive_ ? acc[j] : next);
          acc[j] = next;
        }
      }
    });
    return nullptr;
  }

 private:
  LineTasks tasks_;
  bool reverse_, exclusive_;
};

template <class T>
class LinearScan final : public HandKernel {
 public:
  explicit LinearScan(const NodeView& node, const ops::Recurrence& r)
      : tasks_(node, r.axis), reverse_(r.reverse) {}
  std::int64_t tasks() const override { return tasks_.tasks(); }
  const char* run(std::int64_t task, const void* const* inputs, void* const* outputs,
                  const HandMemory&) const noexcept override {
    const auto *a = static_cast<const T*>(inputs[0]), *b = static_cast<const T*>(inputs[1]);
    auto* y = static_cast<T*>(outputs[0]);
    const ops::Lines& lines = tasks_.lines();
    tasks_.each(task, [&](const LineBlock& block) {
      double acc[LineTasks::kWidth] = {};
      for (std::int64_t s = 0; s < lines.size; ++s) {
        const std::int64_t step = reverse_ ? lines.size - 1 - s : s;
        const std::int64_t row = lines.at(block.outer, step, block.first);
        for (int j = 0; j < block.count; ++j) {
          acc[j] = widen(a[row + j]) * acc[j] + widen(b[row + j]);
          y[row + j] = narrow<T>(acc[j]);
        }
      }
    });
    return nullptr;
  }

 private:
  LineTasks tasks_;
  bool reverse_;
};

template <template <class> class Step>
std::unique_ptr<HandKernel> running(const NodeView& node) {
  return visit_dtype(node.in(0).dtype, [&]<class T>(TypeTag<T>) -> std::unique_ptr<HandKernel> {
    return std::make_unique<Running<T, Step<T>>>(node, node.as<ops::Cumulative>());
  });
}

}  // namespace

std::unique_ptr<HandKernel> make_cumsum(const NodeView& node) { return running<Sum>(node); }
std::unique_ptr<HandKernel> make_cumprod(const NodeView& node) { return running<Product>(node); }

std::unique_ptr<HandKernel> make_linear_scan(const NodeView& node) {
  return visit_dtype(node.in(0).dtype, [&]<class T>(TypeTag<T>) -> std::unique_ptr<HandKernel> {
    if constexpr (std::floating_point<T> || Half<T>) {
      return std::make_unique<LinearScan<T>>(node, node.as<ops::Recurrence>());
    } else {
      throw Bug(str("linear_scan of ", node.in(0).dtype));
    }
  });
}

}  // namespace plait::cpu
