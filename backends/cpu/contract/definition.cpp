// Which results have terms outside of the image, and sums term by term, in double.
#include "backends/cpu/contract/definition.h"

#include <algorithm>

#include "base/convert.h"

namespace plait::cpu {
namespace {

constexpr std::int64_t kTerms = 128;  // at a time, on the stack

double number(DType dtype, const void* data, std::int64_t at) {
  switch (dtype) {
    case DType::f32:
      return static_cast<const float*>(data)[at];
    case DType::bf16:
      return convert<float>(static_cast<const bf16*>(data)[at]);
    default:
      return convert<float>(static_cast<const f16*>(data)[at]);
  }
}

/// How far some axes move a coordinate at most, to both sides.
struct Reach {
  std::int64_t low = 0, high = 0;
  Reach(const std::vector<Axis>& axes, std::int32_t Axis::*step) {
    for (const Axis& axis : axes) {
      const std::int64_t all = (axis.extent - 1) * (axis.*step);
      (all < 0 ? low : high) += all;
    }
  }
  bool leaves(std::int64_t from, std::int64_t size) const {
    return from + low < 0 || from + high >= size;
  }
};

}  // namespace

Definition::Definition(const Problem& p, const Kernels& kernels)
    : kernels_(kernels),
      dtype_(p.dtype),
      guarded_(p.guarded),
      height_(p.height),
      width_(p.width),
      b0_(p.b0),
      a_batch_(walk(p.batch, Operand::kA, p.guarded)),
      a_m_(walk(p.m, Operand::kA, p.guarded)),
      a_k_(walk(p.k, Operand::kA, p.guarded)),
      b_batch_(walk(p.batch, Operand::kB, false)),
      b_n_(walk(p.n, Operand::kB, false)),
      b_k_(walk(p.k, Operand::kB, false)) {
  origin_.offset = p.a0;
  if (p.guarded) find_border(p);
}

void Definition::find_border(const Problem& p) {
  origin_.h = static_cast<std::int32_t>(p.h0);
  origin_.w = static_cast<std::int32_t>(p.w0);
  std::vector<Axis> moving = p.m;  // without the outermost axes, of images
  while (!moving.empty() && moving[0].h == 0 && moving[0].w == 0) moving.erase(moving.begin());
  const Walk one_image = walk(moving, Operand::kA, true);
  period_ = one_image.extent;
  // A batch that moves the image too: anywhere.
  std::vector<Axis> terms = p.k;
  terms.insert(terms.end(), p.batch.begin(), p.batch.end());
  const Reach h(terms, &Axis::h), w(terms, &Axis::w);
  Point at[kTerms];
  for (std::int64_t m = 0; m < period_; m += kTerms) {
    const std::int64_t count = std::min(kTerms, period_ - m);
    points(one_image, m, count, origin_, at);
    for (std::int64_t i = 0; i < count; ++i) {
      if (!h.leaves(at[i].h, height_) && !w.leaves(at[i].w, width_)) continue;
      if (border_.empty() || border_.back().end != m + i) border_.push_back({m + i, m + i});
      border_.back().end = m + i + 1;
    }
  }
}

void Definition::mend_border(const Tile& t, const void* a, const void* b) const {
  if (border_.empty()) return;
  for (std::int64_t image = t.m0 / period_ * period_; image < t.m1; image += period_) {
    auto run = std::partition_point(border_.begin(), border_.end(),
                                    [&](const Run& r) { return image + r.end <= t.m0; });
    for (; run != border_.end() && image + run->begin < t.m1; ++run) {
      mend_rows(t, std::max(t.m0, image + run->begin), std::min(t.m1, image + run->end), a, b);
    }
  }
}

void Definition::mend_all(const Tile& t, const void* a, const void* b) const {
  mend_rows(t, t.m0, t.m1, a, b);
}

void Definition::mend_rows(const Tile& t, std::int64_t m0, std::int64_t m1, const void* a,
                           const void* b) const {
  const std::int64_t rows = m1 - m0, cols = t.n1 - t.n0;
  float* const first = t.at + (m0 - t.m0) * t.m_step;
  const bool finite = t.n_step == 1 ? kernels_.all_finite(first, rows, cols, t.m_step)
                                    : kernels_.all_finite(first, cols, rows, t.n_step);
  if (finite) return;
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t j = 0; j < cols; ++j) {
      float& x = first[i * t.m_step + j * t.n_step];
      if (x != x) x = sum_of(t.batch, m0 + i, t.n0 + j, a, b);
    }
  }
}

float Definition::sum_of(std::int64_t batch, std::int64_t m, std::int64_t n, const void* a,
                         const void* b) const {
  Point at, left[kTerms], right[kTerms];
  points(a_batch_, batch, 1, origin_, &at);
  points(a_m_, m, 1, at, &at);
  const std::int64_t b_at = b0_ + b_batch_.offset(batch) + b_n_.offset(n);
  double sum = 0;
  for (std::int64_t k = 0; k < a_k_.extent; k += kTerms) {
    const std::int64_t count = std::min(kTerms, a_k_.extent - k);
    points(a_k_, k, count, at, left);
    points(b_k_, k, count, {b_at, 0, 0}, right);
    for (std::int64_t i = 0; i < count; ++i) {
      const Point& p = left[i];
      if (guarded_ && (p.h < 0 || p.h >= height_ || p.w < 0 || p.w >= width_)) continue;
      sum += number(dtype_, a, p.offset) * number(dtype_, b, right[i].offset);
    }
    if (sum != sum) break;  // it stays that
  }
  return static_cast<float>(sum);
}

}  // namespace plait::cpu
