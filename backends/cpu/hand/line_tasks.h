// How kernels along an axis are cut into tasks: groups of lines of about kTaskElements elements,
// neighbours in memory together.
#pragma once

#include <algorithm>

#include "ops/infer.h"
#include "ops/lines.h"
#include "ops/op.h"

namespace plait::cpu {

/// Lines side by side: inner = first .. first + count - 1 of one outer.
struct LineBlock {
  std::int64_t outer, first;
  int count;
};

class LineTasks {
 public:
  static constexpr std::int64_t kTaskElements = 32768;
  static constexpr int kWidth = 64;  // lines of a block, at most

  LineTasks(const NodeView& node, std::int64_t axis)
      : lines_(ops::lines_along(sizes_of(node.in(0).shape),
                                ops::axis_of(node, axis, node.in(0).rank()))),
        per_outer_((lines_.inners + kWidth - 1) / kWidth),
        blocks_(lines_.outers * per_outer_) {
    const std::int64_t of_a_block = lines_.size * std::min<std::int64_t>(kWidth, lines_.inners);
    per_task_ = std::max<std::int64_t>(1, kTaskElements / std::max<std::int64_t>(1, of_a_block));
  }

  const ops::Lines& lines() const { return lines_; }
  std::int64_t tasks() const { return (blocks_ + per_task_ - 1) / per_task_; }

  /// Calls f(LineBlock) for the blocks of a task.
  template <class F>
  void each(std::int64_t task, F f) const {
    const std::int64_t end = std::min(blocks_, (task + 1) * per_task_);
    for (std::int64_t b = task * per_task_; b < end; ++b) {
      const std::int64_t first = b % per_outer_ * kWidth;
      f(LineBlock{b / per_outer_, first,
                  static_cast<int>(std::min<std::int64_t>(kWidth, lines_.inners - first))});
    }
  }

 private:
  ops::Lines lines_;
  std::int64_t per_outer_, blocks_, per_task_;
};

}  // namespace plait::cpu
