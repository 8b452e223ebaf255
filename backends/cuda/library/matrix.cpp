// Finding one axis each for batch, m, n and k, and the way each operand lies.
#include "backends/cuda/library/matrix.h"

#include <algorithm>
#include <vector>

namespace plait::cuda {
namespace {

constexpr std::int64_t kMostCalls = 64;

bool follows(const BoundAxis& outer, const BoundAxis& inner) {
  const auto chains = [&](std::int64_t BoundAxis::*step) {
    return outer.*step == inner.*step * inner.extent;
  };
  return chains(&BoundAxis::a) && chains(&BoundAxis::b) && chains(&BoundAxis::c) &&
         chains(&BoundAxis::h) && chains(&BoundAxis::w);
}

std::vector<BoundAxis> sorted(std::vector<BoundAxis> axes, std::int64_t BoundAxis::*by) {
  std::stable_sort(axes.begin(), axes.end(),
                   [&](const BoundAxis& x, const BoundAxis& y) { return x.*by > y.*by; });
  return axes;
}

/// An index of an operand: how many, how far apart.
struct Index {
  std::int64_t extent, step;
};

/// Column-major with `rows` next to each other.
bool lies(const Index& rows, const Index& cols, Matrix& out) {
  if (rows.extent > 1 && rows.step != 1) return false;
  if (cols.extent > 1 && cols.step < rows.extent) return false;
  out.rows = rows.extent;
  out.cols = cols.extent;
  out.ld = cols.extent > 1 ? cols.step : rows.extent;
  return true;
}

/// op(matrix) is `rows` by `cols`; `along_rows` is tried first.
bool lies_somehow(const Index& rows, const Index& cols, bool along_rows, Matrix& out) {
  for (const bool plain : {along_rows, !along_rows}) {
    out.transposed = !plain;
    if (plain ? lies(rows, cols, out) : lies(cols, rows, out)) return true;
  }
  return false;
}

}  // namespace

std::int64_t extent_of(const std::vector<BoundAxis>& axes) {
  std::int64_t count = 1;
  for (const BoundAxis& x : axes) count *= x.extent;
  return count;
}

std::vector<BoundAxis> joined(const std::vector<BoundAxis>& axes) {
  std::vector<BoundAxis> out;
  for (const BoundAxis& x : axes) {
    if (x.extent == 1) continue;
    if (out.empty() || !follows(out.back(), x)) {
      out.push_back(x);
      continue;
    }
    const std::int64_t extent = out.back().extent * x.extent;
    out.back() = x;
    out.back().extent = extent;
  }
  return out;
}

Decision find_product(const loop::BoundContraction& c, MatrixProduct& p) {
  if (c.guarded) return Decision::forbid("it reads a padded image");
  const std::vector<BoundAxis> m = joined(sorted(c.m, &BoundAxis::c));
  const std::vector<BoundAxis> n = joined(sorted(c.n, &BoundAxis::c));
  const std::vector<BoundAxis> k = joined(sorted(c.k, &BoundAxis::a));
  std::vector<BoundAxis> batch = joined(sorted(c.batch, &BoundAxis::c));
  if (m.size() > 1) return Decision::forbid("its m are not one axis");
  if (n.size() > 1) return Decision::forbid("its n are not one axis");
  if (k.size() > 1) return Decision::forbid("its k are not one axis");
  if (batch.size() > 2) return Decision::forbid("its batches are not two axes");
  const BoundAxis none;
  if (batch.size() == 2 && batch[0].extent > batch[1].extent) std::swap(batch[0], batch[1]);
  const BoundAxis mm = m.empty() ? none : m[0], nn = n.empty() ? none : n[0];
  const BoundAxis kk = k.empty() ? none : k[0], bb = batch.empty() ? none : batch.back();
  const BoundAxis oo = batch.size() < 2 ? none : batch[0];
  if (oo.extent > kMostCalls) return Decision::forbid("its batches are not one axis");

  p.b_is_left = lies({nn.extent, nn.c}, {mm.extent, mm.c}, p.result);
  if (!p.b_is_left && !lies({mm.extent, mm.c}, {nn.extent, nn.c}, p.result)) {
    return Decision::forbid("its result is contiguous along neither m nor n");
  }
  Matrix &a = p.b_is_left ? p.right : p.left, &b = p.b_is_left ? p.left : p.right;
  const Index am{mm.extent, mm.a}, ak{kk.extent, kk.a}, bn{nn.extent, nn.b}, bk{kk.extent, kk.b};
  // Runs along k where there is a choice: that is what tensor cores read best.
  const bool a_lies = p.b_is_left ? lies_somehow(ak, am, true, a) : lies_somehow(am, ak, false, a);
  const bool b_lies = p.b_is_left ? lies_somehow(bn, bk, false, b) : lies_somehow(bk, bn, true, b);
  if (!a_lies || !b_lies) {
    return Decision::forbid(str("operand ", a_lies ? "b" : "a", " is contiguous along no axis"));
  }
  p.rows = p.b_is_left ? nn.extent : mm.extent;
  p.cols = p.b_is_left ? mm.extent : nn.extent;
  p.depth = kk.extent;
  p.batch = bb.extent;
  p.outer = oo.extent;
  a.offset = c.a0, a.batch = bb.a, a.outer = oo.a;
  b.offset = c.b0, b.batch = bb.b, b.outer = oo.b;
  p.result.offset = c.c0, p.result.batch = bb.c, p.result.outer = oo.c;
  for (const BoundAxis& x : {bb, oo}) {
    if (x.a < 0 || x.b < 0 || x.c < 0) return Decision::forbid("its batches run backwards");
  }
  return Decision::allow();
}

}  // namespace plait::cuda
