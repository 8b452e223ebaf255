// From a contraction to the form that its kernel is printed from.
#include "codegen/cuda/product_form.h"

#include <algorithm>
#include <cmath>

#include "loop/sum_blocks.h"

namespace plait::codegen::cuda {
namespace {

using Steps = std::vector<Dim Axis::*>;

void drop_points(std::vector<Axis>& axes) {
  std::erase_if(axes, [](const Axis& x) { return x.extent.is(1); });
}

/// Neighbours become one where each step of the outer is all of the inner.
void merge(std::vector<Axis>& axes, const Steps& steps) {
  for (std::size_t i = axes.size(); i-- > 1;) {
    const Axis outer = axes[i - 1], inner = axes[i];
    const bool one = std::all_of(steps.begin(), steps.end(),
                                 [&](Dim Axis::*s) { return outer.*s == inner.*s * inner.extent; });
    if (!one) continue;
    axes[i - 1] = inner;
    axes[i - 1].extent = outer.extent * inner.extent;
    axes.erase(axes.begin() + static_cast<std::ptrdiff_t>(i));
  }
}

/// Elements of one access along the last of `line`, when every other step keeps it aligned.
int width_along(const Form& f, const FormOperand& x, const std::vector<Axis>& rows,
                const std::vector<Axis>& line) {
  if (line.empty() || !(line.back().*x.step).is(1)) return 1;
  if (x.guarded && (!line.back().h.is(0) || !line.back().w.is(0))) return 1;
  const int size = static_cast<int>(size_of(f.dtype));
  for (int v = 16 / size; v > 1 && v * size >= 4; v /= 2) {
    bool fits = mod(line.back().extent, v).is(0) && mod(x.origin, v).is(0);
    for (const auto* axes : {&f.batch, &rows, &f.k}) {
      for (const Axis& axis : *axes) {
        fits = fits && (&axis == &line.back() || mod(axis.*x.step, v).is(0));
      }
    }
    if (fits) return v;
  }
  return 1;
}

void choose_access(const Form& f, FormOperand& x, const std::vector<Axis>& rows) {
  const int k = width_along(f, x, rows, f.k), r = width_along(f, x, rows, rows);
  x.vector = std::max(k, r);
  const bool dense_k = (f.k.back().*x.step).is(1);
  const bool dense_rows = !rows.empty() && (rows.back().*x.step).is(1);
  x.along_k = k > r || (k == r && (k > 1 || dense_k || !dense_rows));
  x.linear = rows.size() <= 1 && !x.guarded;
}

/// The last axis of k is the one that lets the operands be read widest.
void order_k(Form& f) {
  std::vector<Axis> best;
  int most = -1;
  for (std::size_t i = f.k.size(); i-- > 0;) {
    Form tried = f;
    std::rotate(tried.k.begin() + static_cast<std::ptrdiff_t>(i),
                tried.k.begin() + static_cast<std::ptrdiff_t>(i) + 1, tried.k.end());
    merge(tried.k, {&Axis::a, &Axis::b, &Axis::h, &Axis::w});
    choose_access(tried, tried.a, tried.rows);
    choose_access(tried, tried.b, tried.columns);
    const int score = tried.a.vector + tried.b.vector;
    if (score <= most) continue;
    most = score;
    best = tried.k;
  }
  f.k = best;
}

/// Neighbouring columns that one store of up to 16 bytes takes.
int store_width(const Form& f) {
  if (f.columns.empty() || !f.columns.back().c.is(1)) return 1;
  for (int v = 16 / static_cast<int>(size_of(f.dtype)); v > 1; v /= 2) {
    bool fits = mod(f.columns.back().extent, v).is(0) && mod(f.c0, v).is(0);
    for (const auto* axes : {&f.batch, &f.rows, &f.columns}) {
      for (const Axis& axis : *axes) {
        fits = fits && (&axis == &f.columns.back() || mod(axis.c, v).is(0));
      }
    }
    if (fits) return v;
  }
  return 1;
}

double span(const std::vector<Axis>& axes, Dim Axis::*step) {
  double sum = 0;
  for (const Axis& x : axes) {
    const double most = std::max(std::abs(static_cast<double>((x.*step).hi())),
                                 std::abs(static_cast<double>((x.*step).lo())));
    sum += most * static_cast<double>(x.extent.hi());
  }
  return sum;
}

double count(const std::vector<Axis>& axes) {
  double n = 1;
  for (const Axis& x : axes) n *= static_cast<double>(x.extent.hi());
  return n;
}

bool needs_wide(const Form& f) {
  constexpr double kMost = 2147480000.0;  // a tile less than 2^31
  return span(f.rows, f.a.step) + span(f.k, f.a.step) >= kMost ||
         span(f.columns, f.b.step) + span(f.k, f.b.step) >= kMost || count(f.rows) >= kMost ||
         count(f.columns) >= kMost || count(f.k) >= kMost;
}

}  // namespace

Dim extent_of(const std::vector<Axis>& axes) {
  Dim size = 1;
  for (const Axis& x : axes) size = size * x.extent;
  return size;
}

Form form_of(const loop::Contraction& c, bool stores) {
  Form f;
  f.dtype = c.dtype;
  f.batch = c.batch;
  f.rows = c.m;
  f.columns = c.n;
  f.k = c.k;
  f.c0 = c.c0;
  f.h0 = c.h0;
  f.w0 = c.w0;
  f.height = c.height;
  f.width = c.width;
  f.a = {0, &Axis::a, c.a0, c.guarded, true, false, 1};
  f.b = {1, &Axis::b, c.b0, false, true, false, 1};
  for (auto* axes : {&f.batch, &f.rows, &f.columns, &f.k}) drop_points(*axes);
  f.swapped =
      !f.rows.empty() && f.rows.back().c.is(1) && (f.columns.empty() || !f.columns.back().c.is(1));
  if (f.swapped) {
    std::swap(f.rows, f.columns);
    std::swap(f.a, f.b);
  }
  const auto with_c = [&](Steps steps) {
    if (stores) steps.push_back(&Axis::c);
    return steps;
  };
  merge(f.batch, with_c({&Axis::a, &Axis::b, &Axis::h, &Axis::w}));
  merge(f.rows, with_c({f.a.step, &Axis::h, &Axis::w}));
  merge(f.columns, with_c({f.b.step, &Axis::h, &Axis::w}));
  // One index where nothing is summed: several would be told apart by dividing by none.
  if (extent_of(f.k).is(0)) f.k.assign(1, {0});
  if (f.k.empty()) f.k.push_back({});
  order_k(f);
  choose_access(f, f.a, f.rows);
  choose_access(f, f.b, f.columns);
  if (stores) f.put = store_width(f);
  f.wide = needs_wide(f);
  f.long_sums = f.dtype == DType::f32 && extent_of(f.k).hi() > loop::kLongContraction;
  return f;
}

}  // namespace plait::codegen::cuda
