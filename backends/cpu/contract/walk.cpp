// Merging axes, and ranges of a flattened index as points and segments.
#include "backends/cpu/contract/walk.h"

#include <algorithm>

namespace plait::cpu {
namespace {

std::int64_t step_of(const Axis& axis, Operand operand) {
  return operand == Operand::kA ? axis.a : operand == Operand::kB ? axis.b : axis.c;
}

/// Folds `inner` into `outer` when stepping through both is stepping through one longer axis.
bool merge(WalkAxis& outer, const WalkAxis& inner) {
  if (outer.step != inner.extent * inner.step) return false;
  const bool inner_rests = inner.h == 0 && inner.w == 0;
  const bool outer_rests = outer.h == 0 && outer.w == 0;
  WalkAxis whole{outer.extent * inner.extent, inner.step, 1, outer.h, outer.w};
  if (inner_rests && !outer_rests) {
    whole.every = static_cast<std::int32_t>(outer.every * inner.extent);
  } else if (!inner_rests) {
    return false;
  }
  outer = whole;
  return true;
}

/// The place of one index: the inner axis' position, and where the outer ones are.
struct Place {
  std::int64_t inner = 0;
  Point at{0, 0, 0};
};

Place place(const Walk& walk, std::int64_t index) {
  Place result;
  for (std::size_t i = walk.axes.size(); i-- > 0;) {
    const WalkAxis& axis = walk.axes[i];
    const std::int64_t position = i == 0 ? index : index % axis.extent;
    index = i == 0 ? 0 : index / axis.extent;
    if (i + 1 == walk.axes.size()) {
      result.inner = position;
      continue;
    }
    const std::int64_t moves = position / axis.every;
    result.at.offset += position * axis.step;
    result.at.h += static_cast<std::int32_t>(moves * axis.h);
    result.at.w += static_cast<std::int32_t>(moves * axis.w);
  }
  return result;
}

}  // namespace

std::int64_t Walk::offset(std::int64_t index) const {
  const Place p = place(*this, index);
  return p.at.offset + p.inner * inner().step;
}

Walk walk(const std::vector<Axis>& axes, Operand operand, bool guarded) {
  Walk result;
  for (const Axis& axis : axes) {
    result.extent *= axis.extent;
    if (axis.extent == 1) continue;
    WalkAxis next{axis.extent, step_of(axis, operand), 1, 0, 0};
    if (guarded) {
      next.h = axis.h;
      next.w = axis.w;
    }
    result.axes.push_back(next);
  }
  for (std::size_t i = result.axes.size(); i-- > 1;) {
    if (merge(result.axes[i - 1], result.axes[i])) {
      result.axes.erase(result.axes.begin() + static_cast<std::ptrdiff_t>(i));
    }
  }
  if (result.axes.empty()) result.axes.push_back({});
  return result;
}

void points(const Walk& walk, std::int64_t first, std::int64_t count, const Point& base,
            Point* out) {
  const WalkAxis inner = walk.inner();
  for (std::int64_t done = 0; done < count;) {
    const Place p = place(walk, first + done);
    const std::int64_t run = std::min(inner.extent - p.inner, count - done);
    std::int64_t phase = p.inner % inner.every;
    Point at{base.offset + p.at.offset + p.inner * inner.step,
             base.h + p.at.h + static_cast<std::int32_t>(p.inner / inner.every * inner.h),
             base.w + p.at.w + static_cast<std::int32_t>(p.inner / inner.every * inner.w)};
    for (std::int64_t i = 0; i < run; ++i) {
      out[done + i] = at;
      at.offset += inner.step;
      if (++phase == inner.every) {
        phase = 0;
        at.h += inner.h;
        at.w += inner.w;
      }
    }
    done += run;
  }
}

std::int64_t segments(const Walk& walk, std::int64_t first, std::int64_t count, std::int64_t panel,
                      std::int64_t panel_step, Segment* out) {
  const WalkAxis inner = walk.inner();
  std::int64_t made = 0;
  for (std::int64_t done = 0; done < count;) {
    const Place p = place(walk, first + done);
    std::int64_t run = std::min(inner.extent - p.inner, count - done);
    std::int64_t dest = done;
    if (panel > 0) {
      run = std::min(run, panel - done % panel);
      dest = done / panel * panel_step + done % panel;
    }
    const std::int64_t moves = p.inner / inner.every, last = (p.inner + run - 1) / inner.every;
    out[made++] = {.offset = p.at.offset + p.inner * inner.step,
                   .dest = dest,
                   .count = static_cast<std::int32_t>(run),
                   .phase = static_cast<std::int32_t>(p.inner % inner.every),
                   .h = p.at.h + static_cast<std::int32_t>(moves * inner.h),
                   .w = p.at.w + static_cast<std::int32_t>(moves * inner.w),
                   .last_h = p.at.h + static_cast<std::int32_t>(last * inner.h),
                   .last_w = p.at.w + static_cast<std::int32_t>(last * inner.w)};
    done += run;
  }
  return made;
}

}  // namespace plait::cpu
