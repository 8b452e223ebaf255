// Rewrites of loop kernels.
#include "codegen/cuda/prepare.h"

#include <algorithm>
#include <map>

#include "base/error.h"
#include "codegen/cuda/schedule.h"

namespace plait::codegen::cuda {
namespace {

using loop::Kernel;
using loop::KernelOperand;
using loop::Let;
using loop::Level;
using loop::Reduce;

std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

Dim symbol_of(const loop::KernelIndex& x) {
  return Dim::symbol(x.symbol, 0, std::max<std::int64_t>(x.extent.hi() - 1, 0));
}

DType natural(DType t) {
  return t == DType::f64 ? DType::f64 : is_float(t) ? DType::f32 : DType::i64;
}

/// Puts `let` before number `where`; what read later ones reads them where they are now.
void insert(Kernel& k, int where, Let let) {
  for (Let& l : k.lets) {
    for (KernelOperand& o : l.operands) {
      if (o.kind == KernelOperand::kLet && o.let >= where) ++o.let;
    }
  }
  for (loop::KernelStore& s : k.stores) {
    if (s.let >= where) ++s.let;
  }
  k.lets.insert(k.lets.begin() + where, std::move(let));
}

bool is_point_load(const Kernel& k, const Let& let, const KernelOperand& o) {
  return let.level == Level::kInner && o.kind == KernelOperand::kLoad &&
         loop::level_of(k, o.load.offset) == Level::kInner;
}

/// Whether an index that was loaded inside the row enters it: then it is not the first thing known.
bool needs_loaded(const Kernel& k, const Dim& d) {
  return std::any_of(k.lets.begin(), k.lets.end(), [&](const Let& l) {
    return !l.index.empty() && l.level != Level::kCall && loop::mentions(d, l.index);
  });
}

/// Loads of what an earlier stage stored at the same place read the value instead.
void keep_stored(Kernel& k) {
  for (std::size_t i = 0; i < k.lets.size(); ++i) {
    Let& let = k.lets[i];
    for (KernelOperand& o : let.operands) {
      if (let.level != Level::kInner || o.kind != KernelOperand::kLoad) continue;
      for (const loop::KernelStore& s : k.stores) {
        Let& made = k.lets[at(s.let)];
        if (s.buffer != o.load.buffer || !(s.offset == o.load.offset)) continue;
        if (made.reduce != Reduce::kNone || made.level != Level::kInner) continue;
        if (made.stage >= let.stage || made.dtype != k.buffers[at(s.buffer)].dtype) continue;
        made.kept = true;
        o.kind = KernelOperand::kLet;
        o.let = s.let;
        break;
      }
    }
  }
}

loop::Expr substituted(const loop::Expr& e, const DimBindings& by) {
  if (!e) return e;
  const loop::ExprNode& n = e.node();
  if (n.op == loop::ScalarOp::kIndex) return loop::Expr::index(n.index.substitute(by));
  if (n.args.empty()) return e;
  std::vector<loop::Expr> args;
  for (const auto& a : n.args) args.push_back(substituted(loop::Expr::of(a), by));
  return {n.op, args};
}

bool mentions_index(const loop::Expr& e) {
  if (!e) return false;
  const loop::Tape tape = loop::flatten(e);
  return std::any_of(tape.steps.begin(), tape.steps.end(),
                     [](const auto& s) { return s.op == loop::ScalarOp::kIndex; });
}

}  // namespace

Kernel with_plain_names(const Kernel& kernel) {
  Kernel k = kernel;
  DimBindings by;
  for (auto* list : {&k.rows, &k.inner}) {
    for (std::size_t i = 0; i < list->size(); ++i) {
      loop::KernelIndex& x = (*list)[i];
      const std::string old = x.symbol;
      x.symbol = str(list == &k.rows ? "$r" : "$i", i);
      if (x.symbol != old) by.insert_or_assign(old, symbol_of(x));
    }
  }
  if (by.empty()) return k;
  for (Let& let : k.lets) {
    for (KernelOperand& o : let.operands) {
      if (o.kind == KernelOperand::kLoad) o.load.offset = o.load.offset.substitute(by);
      for (loop::Guard& g : o.guards) {
        g = {g.index.substitute(by), g.lo.substitute(by), g.hi.substitute(by)};
      }
    }
    if (mentions_index(let.body)) let.body = substituted(let.body, by);
    if (mentions_index(let.finish)) let.finish = substituted(let.finish, by);
  }
  for (loop::KernelStore& s : k.stores) s.offset = s.offset.substitute(by);
  return k;
}

Kernel without_idle_guards(const Kernel& kernel) {
  Kernel k = kernel;
  for (Let& let : k.lets) {
    for (KernelOperand& o : let.operands) {
      std::erase_if(o.guards, [](const loop::Guard& g) {
        return g.index.lo() >= g.lo.hi() && g.index.hi() < g.hi.lo();
      });
    }
  }
  return k;
}

Kernel with_kept_loads(const Kernel& kernel) {
  Kernel k = kernel;
  keep_stored(k);
  using Place = std::pair<int, std::string>;
  const auto place_of = [](const KernelOperand& o) {
    std::string where = o.load.offset.text();
    for (const loop::Guard& g : o.guards) {
      where += str('?', g.lo.text(), '<', g.index.text(), '<', g.hi.text());
    }
    if (!o.guards.empty()) where += str(':', o.otherwise);
    return Place(o.load.buffer, where);
  };
  const auto is_known = [&](const KernelOperand& o) {
    bool early = needs_loaded(k, o.load.offset);
    for (const loop::Guard& g : o.guards) {
      for (const Dim* d : {&g.index, &g.lo, &g.hi}) early |= needs_loaded(k, *d);
    }
    return !early;
  };
  std::map<Place, std::pair<int, int>> stages;  // of the first and the last load
  for (const Let& let : k.lets) {
    for (const KernelOperand& o : let.operands) {
      if (!is_point_load(k, let, o) || !is_known(o)) continue;
      const auto [it, fresh] = stages.emplace(place_of(o), std::pair(let.stage, let.stage));
      if (!fresh) it->second.second = std::max(it->second.second, let.stage);
    }
  }
  for (const auto& [place, span] : stages) {
    if (span.first == span.second) continue;
    int where = 0;
    while (k.lets[at(where)].stage < span.first) ++where;
    Let load;
    load.dtype = k.buffers[at(place.first)].dtype;
    load.compute = natural(load.dtype);
    load.body = loop::Expr::load(0);
    load.stage = span.first;
    load.kept = true;
    for (Let& let : k.lets) {
      for (KernelOperand& o : let.operands) {
        if (!is_point_load(k, let, o) || place_of(o) != place) continue;
        if (load.operands.empty()) load.operands = {o};
        o.guards.clear();
        o.kind = KernelOperand::kLet;
        o.let = -1;
      }
    }
    insert(k, where, std::move(load));
    for (Let& let : k.lets) {
      for (KernelOperand& o : let.operands) {
        if (o.kind == KernelOperand::kLet && o.let < 0) o.let = where;
      }
    }
  }
  return k;
}

}  // namespace plait::codegen::cuda
