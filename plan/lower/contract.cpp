// A contraction's nest as data: which indices both operands share, which one has alone, which are
// summed; offsets as strides; the guards of a padded image as coordinates. Where an index enters
// through a quotient (groups, strided gradients) it is split until all is affine.
#include <algorithm>
#include <numeric>
#include <optional>

#include "base/at.h"
#include "plan/lower/lower.h"
#include "plan/lower/space.h"

namespace plait::plan {
namespace {

struct Var {
  std::string symbol;
  Dim extent;
  bool reduced;
};

/// A guard of a; where it is b's as well, b has no element at the indices that fail.
struct FormGuard : loop::Guard {
  bool of_both = false;
};

/// A contraction on its way to being affine.
struct Form {
  std::vector<Var> vars;
  Dim a, b, c;  // offsets
  std::vector<FormGuard> guards;
  std::vector<Dim> out;  // index of each output variable of the nest

  void substitute(const DimBindings& by) {
    a = a.substitute(by);
    b = b.substitute(by);
    c = c.substitute(by);
    for (FormGuard& g : guards) {
      g = {{g.index.substitute(by), g.lo.substitute(by), g.hi.substitute(by)}, g.of_both};
    }
    for (Dim& d : out) d = d.substitute(by);
  }
};

Dim symbol(const std::string& name, const Dim& extent) {
  return Dim::symbol(name, 0, std::max<std::int64_t>(extent.hi() - 1, 0));
}

/// The first quotient or remainder by a number that stands in an expression.
const DimAtom* quotient_in(const Dim& d) {
  if (d.is_const()) return nullptr;
  for (const DimTerm& t : d.terms()) {
    for (const DimAtomPtr& f : t.factors) {
      if ((f->kind == DimAtom::kFloorDiv || f->kind == DimAtom::kMod) && f->b.is_const()) {
        if (const DimAtom* inner = quotient_in(f->a)) return inner;
        return f.get();
      }
    }
  }
  return nullptr;
}

const DimAtom* quotient_in(const Form& f) {
  for (const Dim* d : {&f.a, &f.b, &f.c}) {
    if (const DimAtom* q = quotient_in(*d)) return q;
  }
  for (const loop::Guard& g : f.guards) {
    if (const DimAtom* q = quotient_in(g.index)) return q;
  }
  return nullptr;
}

/// Guards over summed indices alone shorten those; ones that always hold go.
void tighten(Form& f) {
  std::vector<FormGuard> rest;
  for (const FormGuard& g : f.guards) {
    if (g.index.lo() >= g.lo.hi() && g.index.hi() < g.hi.lo()) continue;
    if (g.index.hi() < g.lo.lo() || g.index.lo() >= g.hi.hi()) {  // never: nothing is summed
      f.vars.push_back({"$never", 0, true});
      continue;
    }
    bool done = false;
    for (Var& v : f.vars) {
      const loop::Linear l = loop::coefficient_of(g.index, v.symbol);
      const Dim base = g.index - l.coefficient * symbol(v.symbol, v.extent);
      if (!v.reduced || !l.is_linear || !l.coefficient.is_const() || !base.is_const()) continue;
      if (!g.hi.is_const() || !g.lo.is_const() || !v.extent.is_const()) continue;
      const std::int64_t step = l.coefficient.value();
      if (step <= 0 || base.value() < g.lo.value()) continue;
      const std::int64_t count =
          std::max<std::int64_t>(0, (g.hi.value() - base.value() + step - 1) / step);
      const Dim extent = std::min(count, v.extent.value());
      const Var shorter{v.symbol + "'", extent, true};
      f.substitute({{v.symbol, symbol(shorter.symbol, extent)}});
      v = shorter;
      done = true;
      break;
    }
    if (!done) rest.push_back(g);
  }
  f.guards = std::move(rest);
}

/// Indices [from, to) of a variable that pass a guard.
struct Passing {
  std::size_t var;
  std::int64_t from, to;
};

/// Which those of a guard over one variable are, where sizes are numbers.
std::optional<Passing> passing(const Form& f, const loop::Guard& g) {
  for (std::size_t i = 0; i < f.vars.size(); ++i) {
    const Var& v = f.vars[i];
    const loop::Linear l = loop::coefficient_of(g.index, v.symbol);
    if (!l.is_linear || !l.coefficient.is_const() || l.coefficient.is(0)) continue;
    const Dim base = g.index - l.coefficient * symbol(v.symbol, v.extent);
    if (!base.is_const() || !g.lo.is_const() || !g.hi.is_const() || !v.extent.is_const()) continue;
    Passing p{i, v.extent.value(), 0};
    for (std::int64_t x = 0; x < v.extent.value(); ++x) {
      const std::int64_t index = l.coefficient.value() * x + base.value();
      if (index < g.lo.value() || index >= g.hi.value()) continue;
      p.from = std::min(p.from, x);
      p.to = x + 1;
    }
    p.from = std::min(p.from, p.to);
    return p;
  }
  return std::nullopt;
}

/// The form for the indices [from, to) of a variable.
Form cut(Form f, std::size_t v, std::int64_t from, std::int64_t to) {
  const Var var = f.vars[v];
  f.vars[v] = {str(var.symbol, "c", from), to - from, var.reduced};
  f.substitute({{var.symbol, symbol(f.vars[v].symbol, to - from) + Dim(from)}});
  return f;
}

class Splitter {
 public:
  /// Affine forms that together are the given one; `why` says what stands in the way.
  std::vector<Form> run(Form form, std::string& why) {
    tighten(form);
    const DimAtom* q = quotient_in(form);
    if (!q) return without_shared(std::move(form), why);
    if (++depth_ > 64) {
      why = "its indices have too many quotients";
      return {};
    }
    const std::int64_t by = q->b.value();
    for (std::size_t v = 0; v < form.vars.size(); ++v) {
      if (!loop::mentions(q->a, form.vars[v].symbol)) continue;
      if (const auto tiled = tile(form, v, by)) return run(*tiled, why);
      if (form.vars[v].reduced || by > 8) continue;
      std::vector<Form> all;
      for (std::int64_t r = 0; r < by; ++r) {
        for (Form& f : run(phase(form, v, by, r), why)) all.push_back(std::move(f));
        if (!why.empty()) return {};
      }
      return all;
    }
    why = str("its index ", q->name, " is not affine");
    return {};
  }

 private:
  /// Only a is guarded where forms are computed: what b's guards leave is set apart.
  std::vector<Form> without_shared(Form form, std::string& why) {
    const auto shared = std::find_if(form.guards.begin(), form.guards.end(),
                                     [](const FormGuard& g) { return g.of_both; });
    if (shared == form.guards.end()) return {std::move(form)};
    const std::optional<Passing> p = passing(form, *shared);
    if (!p) {
      why = "both operands are guarded";
      return {};
    }
    const Var var = form.vars[p->var];
    if (var.reduced) return run(cut(form, p->var, p->from, p->to), why);
    const std::int64_t ends[] = {0, p->from, p->to, var.extent.value()};
    std::vector<Form> all;
    for (std::size_t i = 0; i < 3; ++i) {  // before, passing, behind
      if (ends[i] == ends[i + 1]) continue;
      for (Form& f : run(cut(form, p->var, ends[i], ends[i + 1]), why)) all.push_back(std::move(f));
      if (!why.empty()) return {};
    }
    return all;
  }

  /// x = by * q + r with both free, when that makes the quotients plain.
  std::optional<Form> tile(const Form& form, std::size_t v, std::int64_t by) {
    const Var var = form.vars[v];
    if (!mod(var.extent, by).is(0)) return std::nullopt;
    Form f = form;
    const Var outer{var.symbol + "q", floordiv(var.extent, by), var.reduced};
    const Var inner{var.symbol + "r", by, var.reduced};
    f.vars[v] = outer;
    f.vars.insert(f.vars.begin() + static_cast<std::ptrdiff_t>(v) + 1, inner);
    f.substitute({{var.symbol, symbol(outer.symbol, outer.extent) * Dim(by) +
                                   symbol(inner.symbol, inner.extent)}});
    const auto still = [&](const Dim& d) {
      const DimAtom* q = quotient_in(d);
      return q && (loop::mentions(q->a, outer.symbol) || loop::mentions(q->a, inner.symbol));
    };
    bool plain = !still(f.a) && !still(f.b) && !still(f.c);
    // A guard on the remainder holds for some phases and fails for others: those are set apart.
    for (const FormGuard& g : f.guards) {
      plain = plain && !still(g.index) && !loop::mentions(g.index, inner.symbol);
    }
    return plain ? std::optional(f) : std::nullopt;
  }

  /// Every by-th index, from r.
  static Form phase(Form f, std::size_t v, std::int64_t by, std::int64_t r) {
    const Var var = f.vars[v];
    const Dim extent = floordiv(max(Dim(0), var.extent - r + by - 1), by);
    f.vars[v] = {str(var.symbol, "p", r), extent, false};
    f.substitute({{var.symbol, symbol(f.vars[v].symbol, extent) * Dim(by) + Dim(r)}});
    return f;
  }

  int depth_ = 0;
};

struct Coefficients {
  Dim a, b, c, h, w;
};

class Assembly {
 public:
  Assembly(const Form& form, DType dtype) : f_(form) { part_.contraction.dtype = dtype; }

  std::optional<ContractPart> run(std::string& why) {
    loop::Contraction& c = part_.contraction;
    if (f_.guards.size() > 2) {
      why = "more than two of its indices are guarded";
      return std::nullopt;
    }
    c.guarded = !f_.guards.empty();
    c.height = c.width = 1;
    if (c.guarded) {
      c.height = f_.guards[0].hi - f_.guards[0].lo;
      if (f_.guards.size() > 1) c.width = f_.guards[1].hi - f_.guards[1].lo;
    }
    DimBindings origin;
    for (const Var& v : f_.vars) {
      if (!add(v, why)) return std::nullopt;
      origin.emplace(v.symbol, Dim(0));
    }
    c.a0 = f_.a.substitute(origin);
    c.b0 = f_.b.substitute(origin);
    c.c0 = f_.c.substitute(origin);
    if (c.guarded) {
      c.h0 = (f_.guards[0].index - f_.guards[0].lo).substitute(origin);
      if (f_.guards.size() > 1) {
        c.w0 = (f_.guards[1].index - f_.guards[1].lo).substitute(origin);
      }
    }
    keep_one_column();
    order_rows();
    part_.at = f_.out;
    return std::move(part_);
  }

 private:
  bool add(const Var& v, std::string& why) {
    if (v.extent.is(1)) {
      for (Dim* d : {&f_.a, &f_.b, &f_.c}) *d = d->substitute({{v.symbol, Dim(0)}});
      for (Dim& d : f_.out) d = d.substitute({{v.symbol, Dim(0)}});
      for (loop::Guard& g : f_.guards) g.index = g.index.substitute({{v.symbol, Dim(0)}});
      return true;
    }
    loop::AxisOf<Dim> x;
    x.extent = v.extent;
    const auto take = [&](const Dim& from, Dim& into) {
      const loop::Linear l = loop::coefficient_of(from, v.symbol);
      if (!l.is_linear) why = str("its offset ", from, " is not affine");
      into = l.coefficient;
      return l.is_linear;
    };
    if (!take(f_.a, x.a) || !take(f_.b, x.b) || !take(f_.c, x.c)) return false;
    if (!f_.guards.empty() && !take(f_.guards[0].index, x.h)) return false;
    if (f_.guards.size() > 1 && !take(f_.guards[1].index, x.w)) return false;
    loop::Contraction& c = part_.contraction;
    const bool in_a = !x.a.is(0) || !x.h.is(0) || !x.w.is(0), in_b = !x.b.is(0);
    const loop::KernelIndex index{v.symbol, v.extent};
    if (v.reduced) {
      c.k.push_back(x);
    } else if (in_a && in_b) {
      c.batch.push_back(x);
      part_.batch.push_back(index);
    } else if (in_b) {
      c.n.push_back(x);
      part_.n.push_back(index);
    } else {
      c.m.push_back(x);
      part_.m.push_back(index);
    }
    return true;
  }

  /// Columns of one index; further ones are batches of contractions. The column is the one that
  /// lies densest in the result.
  void keep_one_column() {
    loop::Contraction& c = part_.contraction;
    while (c.n.size() > 1) {
      std::size_t outer = 0;
      for (std::size_t i = 0; i < c.n.size(); ++i) {
        if (c.n[i].c.hi() > c.n[outer].c.hi()) outer = i;
      }
      c.batch.push_back(c.n[outer]);
      part_.batch.push_back(part_.n[outer]);
      c.n.erase(c.n.begin() + static_cast<std::ptrdiff_t>(outer));
      part_.n.erase(part_.n.begin() + static_cast<std::ptrdiff_t>(outer));
    }
    if (c.n.empty()) {
      c.n.push_back({});
      part_.n.push_back({"$none", 1});
    }
  }

  /// Rows in the order of the result's memory, so that neighbours are neighbours there.
  void order_rows() {
    std::vector<loop::AxisOf<Dim>>& axes = part_.contraction.m;
    std::vector<std::size_t> order(axes.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return axes[a].c.hi() > axes[b].c.hi(); });
    std::vector<loop::AxisOf<Dim>> sorted;
    std::vector<loop::KernelIndex> names;
    for (std::size_t i : order) {
      sorted.push_back(axes[i]);
      names.push_back(part_.m[i]);
    }
    axes = std::move(sorted);
    part_.m = std::move(names);
  }

  Form f_;
  ContractPart part_;
};

}  // namespace

Contracted contraction_of(const PlanContext& s, const Group& group) {
  const ir::NodeId anchor = group.nodes.front();
  const ir::Node& node = s.graph.node(anchor);
  const loop::Nest& nest = s.facts[at(anchor)].nest;
  const loop::ExprNode& body = nest.body.node();
  Contracted out;
  out.c = node.outputs[0];
  const auto refuse = [&](std::string why) {
    out.fits = Decision::forbid(std::move(why));
    return out;
  };

  Form form;
  for (const loop::IndexVar& v : nest.vars)
    form.vars.push_back({symbol_of(v), v.extent, v.reduced});
  std::vector<loop::Guard> guards[2];
  ir::ValueId values[2];
  Dim offsets[2];
  for (std::size_t i = 0; i < 2; ++i) {
    const loop::Access& access = nest.loads[at(body.args[i]->load)];
    if (access.otherwise != 0) return refuse("its padding is not 0");
    const Origin o =
        origin_of(s.graph, s.facts, s.grouping, node.inputs[at(access.operand)], access.index);
    values[i] = o.value;
    offsets[i] = offset_of(s.graph.type(o.value).shape, s.layouts.at(o.value), o.index);
    guards[i] = access.guards;
    guards[i].insert(guards[i].end(), o.guards.begin(), o.guards.end());
  }
  // Guards that both have are about weights' taps. The image is the one with more of them.
  const std::size_t image = guards[1].size() > guards[0].size() ? 1 : 0;
  out.a = values[image];
  out.b = values[1 - image];
  form.a = offsets[image];
  form.b = offsets[1 - image];
  for (const loop::Guard& g : guards[image]) form.guards.push_back({g});
  for (const loop::Guard& g : guards[1 - image]) {
    const auto shared = std::find_if(form.guards.begin(), form.guards.end(), [&](const auto& x) {
      return x.index == g.index && x.lo == g.lo && x.hi == g.hi;
    });
    if (shared == form.guards.end()) return refuse("both operands are guarded");
    shared->of_both = true;
  }
  std::vector<Dim> index;
  for (std::size_t v = 0; v < at(s.facts[at(anchor)].out_rank); ++v) {
    index.push_back(loop::index_symbol(nest.vars[v].name, nest.vars[v].extent));
  }
  form.c = offset_of(s.graph.type(out.c).shape, s.layouts.at(out.c), index);
  const std::vector<int>& places = s.grouping.places[at(anchor)];
  form.out.assign(group.space.size(), 0);
  for (std::size_t v = 0; v < index.size(); ++v) {
    if (places[v] >= 0) form.out[at(places[v])] = index[v];
  }

  std::string why;
  std::optional<ContractPart> nothing;
  for (const Form& f : Splitter().run(form, why)) {
    std::optional<ContractPart> part = Assembly(f, s.graph.type(out.a).dtype).run(why);
    if (!part) return refuse(why);
    const bool empty = std::any_of(f.vars.begin(), f.vars.end(),
                                   [](const Var& v) { return !v.reduced && v.extent.is(0); });
    if (empty) {
      nothing = std::move(part);
    } else {
      out.parts.push_back(std::move(*part));
    }
  }
  // What is computed behind a contraction of no elements is still a step, of no elements.
  if (out.parts.empty() && nothing) out.parts.push_back(std::move(*nothing));
  if (!why.empty()) return refuse(why);
  const DType a = s.graph.type(out.a).dtype, c = s.graph.type(out.c).dtype;
  const bool widens = is_half(a) && c == DType::f32;
  if (a != s.graph.type(out.b).dtype || (a != c && !widens)) {
    return refuse("its operands' dtypes differ");
  }
  return out;
}

}  // namespace plait::plan
