// Kernels: questions about indices, and merging indices that are walked as one.
#include "loop/kernel.h"

#include <algorithm>
#include <functional>

namespace plait::loop {
namespace {

using Rewrite = std::function<Dim(const Dim&)>;

Expr with_indices(const Expr& e, const Rewrite& f) {
  if (!e) return e;
  const ExprNode& n = e.node();
  if (n.op == ScalarOp::kIndex) return Expr::index(f(n.index));
  if (n.args.empty()) return e;
  std::vector<Expr> args;
  bool changed = false;
  for (const auto& a : n.args) {
    Expr old = Expr::of(a);
    args.push_back(with_indices(old, f));
    changed |= args.back().pointer() != a;
  }
  return changed ? Expr(n.op, args) : e;
}

void visit_expr(const Expr& e, const std::function<void(const Dim&)>& f) {
  if (!e) return;
  for (const Tape::Step& s : flatten(e).steps) {
    if (s.op == ScalarOp::kIndex) f(s.index);
  }
}

/// Every index expression of the kernel that is not a plain offset.
void visit_others(const Kernel& k, const std::function<void(const Dim&)>& f) {
  for (const Let& let : k.lets) {
    for (const KernelOperand& o : let.operands) {
      for (const Guard& g : o.guards) {
        f(g.index);
        f(g.lo);
        f(g.hi);
      }
    }
    visit_expr(let.body, f);
    visit_expr(let.finish, f);
  }
}

void visit_offsets(const Kernel& k, const std::function<void(const Dim&)>& f) {
  for (const Let& let : k.lets) {
    for (const KernelOperand& o : let.operands) {
      if (o.kind == KernelOperand::kLoad) f(o.load.offset);
    }
  }
  for (const KernelStore& s : k.stores) f(s.offset);
}

void rewrite_all(Kernel& k, const Rewrite& f) {
  for (Let& let : k.lets) {
    for (KernelOperand& o : let.operands) {
      if (o.kind == KernelOperand::kLoad) o.load.offset = f(o.load.offset);
      for (Guard& g : o.guards) g = {f(g.index), f(g.lo), f(g.hi)};
    }
    let.body = with_indices(let.body, f);
    let.finish = with_indices(let.finish, f);
  }
  for (KernelStore& s : k.stores) s.offset = f(s.offset);
}

void substitute_all(Kernel& k, const DimBindings& by) {
  rewrite_all(k, [&](const Dim& d) { return d.substitute(by); });
}

/// Whether the outer and inner of two neighbours can be one index.
bool chain(const Kernel& k, const KernelIndex& outer, const KernelIndex& inner) {
  bool ok = true;
  visit_others(k, [&](const Dim& d) {
    if (ok && (mentions(d, outer.symbol) || mentions(d, inner.symbol))) ok = false;
  });
  visit_offsets(k, [&](const Dim& d) {
    if (!ok) return;
    const Linear a = coefficient_of(d, outer.symbol), b = coefficient_of(d, inner.symbol);
    ok = a.is_linear && b.is_linear && a.coefficient == b.coefficient * inner.extent;
  });
  return ok;
}

void collapse(Kernel& k, std::vector<KernelIndex>& indices, std::size_t from) {
  for (std::size_t i = indices.size(); i-- > from;) {
    if (!indices[i].extent.is(1)) continue;
    substitute_all(k, {{indices[i].symbol, Dim(0)}});
    indices.erase(indices.begin() + static_cast<std::ptrdiff_t>(i));
  }
  for (std::size_t i = indices.size(); i-- > from + 1;) {
    if (!chain(k, indices[i - 1], indices[i])) continue;
    const KernelIndex merged{indices[i - 1].symbol + "_",
                             indices[i - 1].extent * indices[i].extent};
    substitute_all(k, {{indices[i - 1].symbol, Dim(0)}, {indices[i].symbol, symbol_of(merged)}});
    indices[i - 1] = merged;
    indices.erase(indices.begin() + static_cast<std::ptrdiff_t>(i));
  }
}

Dim point_count(const std::vector<KernelIndex>& indices) {
  Dim count = 1;
  for (const KernelIndex& x : indices) count = count * x.extent;
  return count;
}

bool atom_mentions(const DimAtom& atom, const std::string& symbol) {
  if (atom.kind == DimAtom::kSymbol) return atom.name == symbol;
  return mentions(atom.a, symbol) || mentions(atom.b, symbol);
}

}  // namespace

Dim symbol_of(const KernelIndex& index) {
  return Dim::symbol(index.symbol, 0, std::max<std::int64_t>(index.extent.hi() - 1, 0));
}

Dim row_count(const Kernel& kernel) { return point_count(kernel.rows); }
Dim inner_count(const Kernel& kernel) { return point_count(kernel.inner); }

bool Kernel::has_columns() const {
  return std::any_of(lets.begin(), lets.end(), [](const Let& l) { return l.column; });
}

std::string schedule_name(const Kernel& kernel) {
  if (kernel.epilogue) return "epilogue";
  if (kernel.has_columns()) return "column";
  return is_pointwise(kernel) ? "pointwise" : "row";
}

bool is_pointwise(const Kernel& kernel) {
  return !kernel.epilogue && std::none_of(kernel.lets.begin(), kernel.lets.end(),
                                          [](const Let& l) { return l.reduce != Reduce::kNone; });
}

bool mentions(const Dim& d, const std::string& symbol) {
  if (d.is_const()) return false;
  for (const DimTerm& t : d.terms()) {
    for (const DimAtomPtr& f : t.factors) {
      if (atom_mentions(*f, symbol)) return true;
    }
  }
  return false;
}

Linear coefficient_of(const Dim& d, const std::string& symbol) {
  Linear out;
  if (d.is_const()) return out;
  for (const DimTerm& t : d.terms()) {
    int times = 0;
    Dim rest = t.coefficient;
    for (const DimAtomPtr& f : t.factors) {
      if (f->kind == DimAtom::kSymbol && f->name == symbol) {
        ++times;
        continue;
      }
      if (atom_mentions(*f, symbol)) return {false, 0};
      rest = rest * dim_of(f);
    }
    if (times > 1) return {false, 0};
    if (times == 1) out.coefficient = out.coefficient + rest;
  }
  return out;
}

Level level_of(const Kernel& kernel, const Dim& d) {
  Level level = Level::kCall;
  for (const KernelIndex& r : kernel.rows) {
    if (mentions(d, r.symbol)) level = Level::kRow;
  }
  for (const KernelIndex& i : kernel.inner) {
    if (mentions(d, i.symbol)) return Level::kInner;
  }
  for (const Let& let : kernel.lets) {
    if (!let.index.empty() && let.level > level && mentions(d, let.index)) level = let.level;
  }
  return level;
}

namespace {

Level operand_level(const Kernel& k, const KernelOperand& o) {
  Level level = Level::kCall;
  const auto at_least = [&](Level l) { level = std::max(level, l); };
  if (o.kind == KernelOperand::kTile) at_least(Level::kInner);
  if (o.kind == KernelOperand::kLoad) at_least(level_of(k, o.load.offset));
  if (o.kind == KernelOperand::kLet) {
    const Let& let = k.lets[static_cast<std::size_t>(o.let)];
    at_least(let.reduce == Reduce::kNone ? let.level : Level::kRow);
  }
  for (const Guard& g : o.guards) {
    at_least(level_of(k, g.index));
    at_least(level_of(k, g.lo));
    at_least(level_of(k, g.hi));
  }
  return level;
}

/// A value of the call cannot read a row's; one of a row that reads a reduction waits for its
/// stage.
void settle_levels(Kernel& k) {
  for (std::size_t i = 0; i < k.lets.size(); ++i) {
    Let& let = k.lets[i];
    Level level = Level::kCall;
    for (const KernelOperand& o : let.operands) level = std::max(level, operand_level(k, o));
    visit_expr(let.body, [&](const Dim& d) { level = std::max(level, level_of(k, d)); });
    // Sums of rows that are the same for every inner index still have a place for each.
    for (const KernelStore& s : k.stores) {
      if (let.column && s.let == static_cast<int>(i))
        level = std::max(level, level_of(k, s.offset));
    }
    if (let.reduce != Reduce::kNone) {
      level = let.column && level < Level::kInner ? Level::kRow : Level::kInner;
    }
    if (let.stage > 0 && level == Level::kCall) level = Level::kRow;
    let.level = level;
    if (level != Level::kInner) let.kept = false;  // a row's value is in scope in all its stages
  }
}

/// Its one index stays even where it has one point: a tile is walked by it.
void collapse_inner_of_epilogue(Kernel& kernel) {
  if (kernel.inner.size() > 1) collapse(kernel, kernel.inner, 0);
  if (kernel.inner.empty()) kernel.inner.push_back({"$one", 1});
}

}  // namespace

void collapse(Kernel& kernel) {
  // A merged index never crosses from rows to the inner loop where a reduction or a value of the
  // row stands between. A kernel without any is one list; its last index is the inner loop.
  settle_levels(kernel);
  const bool one_list =
      !kernel.epilogue && std::all_of(kernel.lets.begin(), kernel.lets.end(), [](const Let& l) {
        return l.reduce == Reduce::kNone && !l.kept;
      });
  if (kernel.epilogue) {
    std::vector<KernelIndex> batch(kernel.rows.begin(), kernel.rows.begin() + kernel.batch_rows);
    std::vector<KernelIndex> m(kernel.rows.begin() + kernel.batch_rows, kernel.rows.end());
    collapse(kernel, batch, 0);
    collapse(kernel, m, 0);
    collapse_inner_of_epilogue(kernel);
    kernel.batch_rows = static_cast<int>(batch.size());
    kernel.rows = std::move(batch);
    kernel.rows.insert(kernel.rows.end(), m.begin(), m.end());
  } else if (one_list) {
    std::vector<KernelIndex> all = kernel.rows;
    all.insert(all.end(), kernel.inner.begin(), kernel.inner.end());
    collapse(kernel, all, 0);
    kernel.inner.clear();
    if (!all.empty()) {
      kernel.inner.push_back(all.back());
      all.pop_back();
    }
    kernel.rows = std::move(all);
  } else {
    collapse(kernel, kernel.rows, 0);
    collapse(kernel, kernel.inner, 0);
  }
  settle_levels(kernel);
}

namespace {

/// The least number by which a quotient or remainder of the symbol is taken; 0: none is.
std::int64_t least_divisor(const Dim& d, const std::string& symbol) {
  std::int64_t least = 0;
  const auto take = [&](std::int64_t divisor) {
    if (divisor > 0 && (least == 0 || divisor < least)) least = divisor;
  };
  if (d.is_const()) return least;
  for (const DimTerm& t : d.terms()) {
    for (const DimAtomPtr& f : t.factors) {
      if (f->kind == DimAtom::kSymbol || !atom_mentions(*f, symbol)) continue;
      take(least_divisor(f->a, symbol));
      const bool divides = f->kind == DimAtom::kFloorDiv || f->kind == DimAtom::kMod;
      if (divides && f->b.is_const()) take(f->b.value());
    }
  }
  return least;
}

}  // namespace

Kernel settled(Kernel kernel) {
  settle_levels(kernel);
  return kernel;
}

void unfold(Kernel& kernel) {
  constexpr std::int64_t kShortest = 8;  // loop that is worth another round it
  if (kernel.epilogue || kernel.inner.size() != 1 || !kernel.inner[0].extent.is_const()) return;
  const KernelIndex whole = kernel.inner[0];
  bool has_columns = false;
  for (const Let& l : kernel.lets) {
    if (l.kept || (l.reduce != Reduce::kNone && !l.column)) return;  // its order is the loop's
    has_columns |= l.column;
  }
  std::int64_t part = 0;
  visit_offsets(kernel, [&](const Dim& d) {
    const std::int64_t found = least_divisor(d, whole.symbol);
    if (found > 0 && (part == 0 || found < part)) part = found;
  });
  const std::int64_t extent = whole.extent.value();
  if (part < kShortest || part >= extent || extent % part != 0) return;
  const KernelIndex outer{whole.symbol + "o", extent / part}, inner{whole.symbol + "i", part};
  Kernel split = kernel;
  substitute_all(split, {{whole.symbol, Dim::symbol(outer.symbol, 0, extent / part - 1) * part +
                                            Dim::symbol(inner.symbol, 0, part - 1)}});
  bool linear = true;
  visit_offsets(split, [&](const Dim& d) {
    linear = linear && coefficient_of(d, outer.symbol).is_linear &&
             coefficient_of(d, inner.symbol).is_linear;
  });
  if (!linear) return;
  split.inner = {inner};
  if (has_columns) {
    split.inner.insert(split.inner.begin(), outer);
  } else {
    split.rows.push_back(outer);
  }
  settle_levels(split);
  kernel = std::move(split);
}

}  // namespace plait::loop
