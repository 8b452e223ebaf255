// Rewrites of loop kernels.
#include "codegen/cuda/prepare.h"

#include <algorithm>
#include <bit>
#include <map>
#include <set>

#include "base/at.h"
#include "base/error.h"
#include "codegen/cuda/schedule.h"

namespace plait::codegen::cuda {
namespace {

using loop::Kernel;
using loop::KernelOperand;
using loop::Let;
using loop::Level;
using loop::Reduce;

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

std::string guards_text(const KernelOperand& o) {
  std::string text;
  for (const loop::Guard& g : o.guards) {
    text += str('?', g.lo.text(), '<', g.index.text(), '<', g.hi.text());
  }
  if (!o.guards.empty()) text += str(':', std::bit_cast<std::uint64_t>(o.otherwise));
  return text;
}

/// What a statement computes; equal texts, equal values. `values`: of the statements before it.
std::string value_text(const Kernel& k, int i, const std::vector<int>& values) {
  const Let& let = k.lets[at(i)];
  const std::string own = str("own ", i);
  if (let.reduce != Reduce::kNone || !let.index.empty()) return own;
  std::string text = str(static_cast<int>(let.dtype), ' ', static_cast<int>(let.compute));
  for (const loop::Tape::Step& s : loop::flatten(let.body).steps) {
    text += str(' ', static_cast<int>(s.op), ',', s.a, ',', s.b, ',', s.c, ',', s.load, ',',
                std::bit_cast<std::uint64_t>(s.constant), ',', s.index.text());
  }
  for (const KernelOperand& o : let.operands) {
    switch (o.kind) {
      case KernelOperand::kTile:
        return own;
      case KernelOperand::kNumber:
        text += str(" n", std::bit_cast<std::uint64_t>(o.number));
        break;
      case KernelOperand::kLet:
        text += str(" v", values[at(o.let)]);
        break;
      case KernelOperand::kLoad:
        if (k.buffers[at(o.load.buffer)].written) return own;
        text += str(" b", o.load.buffer, '@', o.load.offset.text());
    }
    text += guards_text(o);
  }
  return text;
}

/// Without statements that nothing reads any more.
void drop_unread(Kernel& k) {
  std::set<int> read;
  for (const loop::KernelStore& s : k.stores) read.insert(s.let);
  std::vector<int> now(k.lets.size(), -1);
  for (int i = static_cast<int>(k.lets.size()); i-- > 0;) {
    const Let& let = k.lets[at(i)];
    if (!read.count(i) && let.index.empty()) continue;
    now[at(i)] = 0;
    for (const KernelOperand& o : let.operands) {
      if (o.kind == KernelOperand::kLet) read.insert(o.let);
    }
  }
  std::vector<Let> lets;
  for (std::size_t i = 0; i < k.lets.size(); ++i) {
    if (now[i] < 0) continue;
    now[i] = static_cast<int>(lets.size());
    lets.push_back(std::move(k.lets[i]));
    for (KernelOperand& o : lets.back().operands) {
      if (o.kind == KernelOperand::kLet) o.let = now[at(o.let)];
    }
  }
  for (loop::KernelStore& s : k.stores) s.let = now[at(s.let)];
  k.lets = std::move(lets);
}

/// What a stage computes as an earlier one did is kept from there.
Kernel with_kept_values(const Kernel& kernel) {
  Kernel k = kernel;
  std::map<std::string, int> known;  // the first statement of a value
  std::vector<int> first;
  for (std::size_t i = 0; i < k.lets.size(); ++i) {
    const int now = static_cast<int>(i);
    first.push_back(known.emplace(value_text(k, now, first), now).first->second);
  }
  const auto is_again = [&](int i) {
    const Let &let = k.lets[at(i)], &before = k.lets[at(first[at(i)])];
    return before.stage < let.stage && before.level == Level::kInner &&
           std::none_of(k.stores.begin(), k.stores.end(),
                        [&](const loop::KernelStore& s) { return s.let == i; });
  };
  for (std::size_t i = 0; i < k.lets.size(); ++i) {
    if (is_again(static_cast<int>(i))) continue;
    for (KernelOperand& o : k.lets[i].operands) {
      if (o.kind != KernelOperand::kLet || !is_again(o.let)) continue;
      o.let = first[at(o.let)];
      k.lets[at(o.let)].kept = true;
    }
  }
  drop_unread(k);
  return k;
}

/// What several stages load, and what is stored and loaded again, is kept from the first of them.
Kernel with_loads_alone(const Kernel& kernel) {
  Kernel k = kernel;
  keep_stored(k);
  using Place = std::pair<int, std::string>;
  const auto place_of = [](const KernelOperand& o) {
    return Place(o.load.buffer, o.load.offset.text() + guards_text(o));
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
    load.compute = loop::compute_type(load.dtype);
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

Kernel with_kept(const Kernel& kernel) {
  Kernel loads = with_loads_alone(kernel), values = with_loads_alone(with_kept_values(kernel));
  return kept_count(values) <= kept_count(loads) ? values : loads;
}

}  // namespace plait::codegen::cuda
