// Contractions: sizes from symbols.
#include "loop/contraction.h"

namespace plait::loop {
namespace {

std::vector<AxisOf<std::int64_t>> bind(const std::vector<AxisOf<Dim>>& axes,
                                       const DimBindings& bindings) {
  std::vector<AxisOf<std::int64_t>> out;
  for (const AxisOf<Dim>& x : axes) {
    out.push_back({evaluate(x.extent, bindings), evaluate(x.a, bindings), evaluate(x.b, bindings),
                   evaluate(x.c, bindings), evaluate(x.h, bindings), evaluate(x.w, bindings)});
  }
  return out;
}

}  // namespace

BoundContraction bind(const Contraction& c, const DimBindings& bindings) {
  BoundContraction out;
  out.dtype = c.dtype;
  out.batch = bind(c.batch, bindings);
  out.m = bind(c.m, bindings);
  out.n = bind(c.n, bindings);
  out.k = bind(c.k, bindings);
  out.a0 = evaluate(c.a0, bindings);
  out.b0 = evaluate(c.b0, bindings);
  out.c0 = evaluate(c.c0, bindings);
  out.guarded = c.guarded;
  out.h0 = evaluate(c.h0, bindings);
  out.w0 = evaluate(c.w0, bindings);
  out.height = evaluate(c.height, bindings);
  out.width = evaluate(c.width, bindings);
  return out;
}

Dim operations(const Contraction& c) {
  Dim total = 2;
  for (const auto* axes : {&c.batch, &c.m, &c.n, &c.k}) {
    for (const AxisOf<Dim>& x : *axes) total = total * x.extent;
  }
  return total;
}

}  // namespace plait::loop
