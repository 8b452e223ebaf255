// Offsets and alignment.
#include "plan/lower/space.h"

#include <algorithm>

#include "base/at.h"
#include "loop/kernel.h"

namespace plait::plan {
namespace {

constexpr int kOpen = -2;
constexpr std::int64_t kMostPoints = 64;

/// q*c*(x//c) + q*(x%c) = q*x, wherever both terms stand in the sum.
Dim join_quotients(Dim d) {
  for (bool changed = true; changed && !d.is_const();) {
    changed = false;
    for (const DimTerm& t : d.terms()) {
      if (t.factors.size() != 1 || t.factors[0]->kind != DimAtom::kMod) continue;
      const DimAtom& atom = *t.factors[0];
      const Dim whole = floordiv(atom.a, atom.b) * atom.b * Dim(t.coefficient);
      const Dim rest = d - whole - dim_of(t.factors[0]) * Dim(t.coefficient);
      if (rest.terms().size() + 1 >= d.terms().size() && !rest.is_const()) continue;
      d = rest + atom.a * Dim(t.coefficient);
      changed = true;
      break;
    }
  }
  return d;
}

}  // namespace

Dim offset_of(const Shape& shape, const Layout& layout, const std::vector<Dim>& index) {
  const std::vector<Dim> strides = strides_of(shape, layout);
  Dim offset = 0;
  for (std::size_t d = 0; d < index.size(); ++d) offset = offset + index[d] * strides[d];
  return join_quotients(offset);
}

bool is_unrolled(const loop::Nest& nest) {
  std::int64_t points = 1;
  for (const loop::IndexVar& v : nest.vars) {
    if (!v.reduced) continue;
    if (!v.extent.is_const()) return false;
    points *= v.extent.value();
    if (points > kMostPoints) return false;
  }
  return points >= 1;
}

std::vector<std::vector<std::int64_t>> reduced_points(const loop::Nest& nest) {
  std::vector<std::vector<std::int64_t>> points{{}};
  for (const loop::IndexVar& v : nest.vars) {
    if (!v.reduced) continue;
    std::vector<std::vector<std::int64_t>> next;
    for (const auto& p : points) {
      for (std::int64_t i = 0; i < v.extent.value(); ++i) {
        next.push_back(p);
        next.back().push_back(i);
      }
    }
    points = std::move(next);
  }
  return points;
}

std::vector<DimBindings> taps_of(const NodeFacts& facts) {
  std::vector<DimBindings> points{{}};
  for (std::size_t v = 0; v < facts.taps.size() && facts.kind == Kind::kTaps; ++v) {
    if (!facts.taps[v]) continue;
    std::vector<DimBindings> next;
    for (const DimBindings& p : points) {
      for (std::int64_t i = 0; i < facts.nest.vars[v].extent.value(); ++i) {
        next.push_back(p);
        next.back().emplace(symbol_of(facts.nest.vars[v]), Dim(i));
      }
    }
    points = std::move(next);
  }
  return points;
}

Aligner::Aligner(const NodeFacts& facts, Group& group)
    : facts_(facts), group_(group), places_(facts.nest.vars.size(), kOpen) {
  for (std::size_t v = 0; v < places_.size(); ++v) {
    const loop::IndexVar& var = facts.nest.vars[v];
    const bool outside = (var.reduced && facts.kind == Kind::kWindow) ||
                         (facts.kind == Kind::kTaps && facts.taps[v]);
    if (outside || var.extent.is(1)) places_[v] = -1;
  }
}

void Aligner::set(int var, int position) {
  if (places_[at(var)] == position) return;
  if (places_[at(var)] != kOpen) {
    why_ = "it iterates over its operands in different orders";
  } else if (!(facts_.nest.vars[at(var)].extent == group_.space[at(position)])) {
    why_ = "the sizes differ";
  } else {
    places_[at(var)] = position;
  }
}

void Aligner::pair(const std::vector<int>& var_of_dim, const std::vector<int>& positions) {
  for (std::size_t d = 0; d < var_of_dim.size() && ok(); ++d) {
    if (positions[d] < 0) continue;
    if (var_of_dim[d] < 0) {
      why_ = "it reads one slice of what the kernel makes";
    } else {
      set(var_of_dim[d], positions[d]);
    }
  }
}

void Aligner::pair_readers(const std::vector<int>& mine, const std::vector<int>& theirs,
                           const std::vector<int>& their_positions) {
  for (std::size_t d = 0; d < mine.size() && ok(); ++d) {
    if (mine[d] < 0 || theirs[d] < 0 || their_positions[at(theirs[d])] < 0) continue;
    if (places_[at(mine[d])] == kOpen) set(mine[d], their_positions[at(theirs[d])]);
  }
}

Decision Aligner::finish(std::vector<int>& places) {
  if (!ok()) return Decision::forbid(why_);
  std::vector<char> used(group_.space.size(), 0);
  for (int p : places_) {
    if (p < 0) continue;
    if (used[at(p)]) return Decision::forbid("two of its indices are one of the kernel's");
    used[at(p)] = 1;
  }
  bool grew = false;
  for (std::size_t v = 0; v < places_.size(); ++v) {
    if (places_[v] != kOpen) continue;
    const Dim& extent = facts_.nest.vars[v].extent;
    for (std::size_t p = 0; p < used.size() && places_[v] == kOpen; ++p) {
      if (used[p] || !(group_.space[p] == extent)) continue;
      places_[v] = static_cast<int>(p);
      used[p] = 1;
    }
    if (places_[v] != kOpen) continue;
    if (group_.split && !grew) return Decision::forbid("the kernel lacks some of its indices");
    if (!grew) std::fill(group_.inner.begin(), group_.inner.end(), 0);
    grew = group_.split = true;
    places_[v] = static_cast<int>(group_.space.size());
    group_.space.push_back(extent);
    group_.inner.push_back(1);
    used.push_back(1);
  }
  places = places_;
  return Decision::allow();
}

}  // namespace plait::plan
