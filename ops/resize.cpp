// Resizing: types, index maps in both directions, gradients.
#include "ops/resize.h"

#include <numeric>

#include "ops/spatial.h"

namespace plait::ops {
namespace {

/// from / to in lowest terms, as far as symbols allow: enlarging h to 2*h is 1 / 2.
struct Ratio {
  Dim from, to;
  Ratio(const Dim& a, const Dim& b) : from(a), to(b) {
    if (a.is_const() && b.is_const()) {
      const std::int64_t common = std::gcd(a.value(), b.value());
      from = a.value() / common;
      to = b.value() / common;
    } else if (plait::mod(b, a).is(0)) {
      from = 1;
      to = plait::floordiv(b, a);
    } else if (plait::mod(a, b).is(0)) {
      from = plait::floordiv(a, b);
      to = 1;
    }
  }
  /// The small image's position that large position `i` shows.
  Dim source(const Dim& i) const { return plait::floordiv(i * from, to); }
};

/// Who shows position `at`: the positions from ceil(at * to / from) to below the next one's first.
struct Shown {
  Dim by;
  std::vector<loop::Guard> guards;
};
Shown shown(loop::Nest& nest, const std::string& name, const Ratio& r, const Dim& at) {
  const Dim first = plait::ceildiv(at * r.to, r.from);
  const Dim next = plait::ceildiv(at * r.to + r.to, r.from);
  const Dim by = first + add_index(nest, name, plait::ceildiv(r.to, r.from), true);
  if (r.from.is(1)) return {by, {}};
  return {by, {{by, 0, next}}};
}

Image image(const ir::Type& type, const Resize& a) {
  return image_of(type.shape, a.layout == "NHWC");
}

Resize size_of_input(const GradCtx& g) {
  Resize a = g.as<Resize>();
  const Image x = image(g.type(), a);
  a.size = {x.h, x.w};
  return a;
}

}  // namespace

std::vector<ir::Type> infer_resize(const NodeView& v) {
  const auto a = v.as<Resize>();
  want_rank(v, 0, 4);
  want_size(v, "size", a.size);
  const bool nhwc = is_nhwc(v, a.layout);
  Image x = image(v.in(0), a);
  if (x.h.lo() < 1 || x.w.lo() < 1) v.fail("has no pixels: ", v.operand_text());
  x.h = a.size[0];
  x.w = a.size[1];
  return {{v.in(0).dtype, laid_out(x, nhwc)}};
}

loop::Nest nest_resize_nearest(const NodeView& v) {
  const auto a = v.as<Resize>();
  const bool nhwc = is_nhwc(v, a.layout);
  const Image x = image(v.in(0), a), y = image(v.out(), a);
  loop::Nest nest;
  const Image at = add_image(nest, y, nhwc, "nchw");
  const Image from{at.n, at.c, Ratio(x.h, y.h).source(at.h), Ratio(x.w, y.w).source(at.w)};
  nest.body = add_load(nest, {0, laid_out(from, nhwc)});
  return nest;
}

loop::Nest nest_resize_nearest_grad(const NodeView& v) {
  const auto a = v.as<Resize>();
  const bool nhwc = is_nhwc(v, a.layout);
  const Image dy = image(v.in(0), a), dx = image(v.out(), a);
  loop::Nest nest;
  const Image at = add_image(nest, dx, nhwc, "nchw");
  const Shown rows = shown(nest, "i", {dx.h, dy.h}, at.h);
  const Shown columns = shown(nest, "j", {dx.w, dy.w}, at.w);
  nest.body = add_load(nest, {0, laid_out({at.n, at.c, rows.by, columns.by}, nhwc),
                              joined(rows.guards, columns.guards)});
  nest.reduce = loop::Reduce::kSum;
  return nest;
}

Grads grad_resize_nearest(GradCtx& g) { return {resize_nearest_grad(g.dy(), size_of_input(g))}; }

Grads grad_resize_nearest_grad(GradCtx& g) { return {resize_nearest(g.dy(), size_of_input(g))}; }

}  // namespace plait::ops
