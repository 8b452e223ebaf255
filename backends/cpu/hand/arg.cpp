// argmax and argmin: the first extremal element of each line, NaN before all numbers; neighbouring
// lines side by side.
#include "backends/cpu/hand/families.h"
#include "backends/cpu/hand/line_tasks.h"
#include "ops/scan.h"

namespace plait::cpu {
namespace {

/// What elements are compared as: halves as floats, everything else as it is.
template <class T>
using Compared = std::conditional_t<Half<T>, float, T>;

template <bool largest, class C>
bool beats(C rival, C best) {
  const bool beyond = largest ? rival > best : rival < best;
  return beyond | ((rival != rival) & (best == best));
}

/// Where the extremum of a line without gaps is: first its value, then the place that has it.
template <class T, bool largest>
std::int64_t first_extremum(const T* x, std::int64_t size) {
  constexpr std::int64_t kLanes = 16;
  Compared<T> best[kLanes];
  for (Compared<T>& b : best) b = x[0];
  const std::int64_t whole = size / kLanes * kLanes;
  for (std::int64_t i = 0; i < whole; i += kLanes) {
#pragma omp simd
    for (int j = 0; j < kLanes; ++j) {
      const Compared<T> rival = x[i + j];
      best[j] = beats<largest>(rival, best[j]) ? rival : best[j];
    }
  }
  Compared<T> value = best[0];
  for (const Compared<T> b : best) value = beats<largest>(b, value) ? b : value;
  for (std::int64_t i = whole; i < size; ++i) {
    value = beats<largest, Compared<T>>(x[i], value) ? Compared<T>(x[i]) : value;
  }
  std::int64_t i = 0;
  while (!(x[i] == value || (value != value && x[i] != x[i]))) ++i;
  return i;
}

template <class T, bool largest>
class Choose final : public HandKernel {
 public:
  explicit Choose(const NodeView& node) : tasks_(node, node.as<ops::Choice>().axis) {}
  std::int64_t tasks() const override { return tasks_.tasks(); }
  const char* run(std::int64_t task, const void* const* inputs, void* const* outputs,
                  const HandMemory&) const noexcept override {
    const auto* x = static_cast<const T*>(inputs[0]);
    auto* y = static_cast<std::int64_t*>(outputs[0]);  // [outers, inners]
    const ops::Lines& lines = tasks_.lines();
    tasks_.each(task, [&](const LineBlock& block) {
      Compared<T> best[LineTasks::kWidth];
      std::int64_t* where = y + block.outer * lines.inners + block.first;
      const std::int64_t first = lines.at(block.outer, 0, block.first);
      if (lines.inners == 1) {
        *where = first_extremum<T, largest>(x + first, lines.size);
        return;
      }
      for (int j = 0; j < block.count; ++j) {
        best[j] = x[first + j];
        where[j] = 0;
      }
      for (std::int64_t i = 1; i < lines.size; ++i) {
        const std::int64_t row = lines.at(block.outer, i, block.first);
        for (int j = 0; j < block.count; ++j) {
          const Compared<T> rival = x[row + j];
          const bool better = beats<largest>(rival, best[j]);
          best[j] = better ? rival : best[j];
          where[j] = better ? i : where[j];
        }
      }
    });
    return nullptr;
  }

 private:
  LineTasks tasks_;
};

template <bool largest>
std::unique_ptr<HandKernel> choose(const NodeView& node) {
  return visit_dtype(node.in(0).dtype, [&]<class T>(TypeTag<T>) -> std::unique_ptr<HandKernel> {
    return std::make_unique<Choose<T, largest>>(node);
  });
}

}  // namespace

std::unique_ptr<HandKernel> make_argmax(const NodeView& node) { return choose<true>(node); }
std::unique_ptr<HandKernel> make_argmin(const NodeView& node) { return choose<false>(node); }

}  // namespace plait::cpu
