// Unrolling of kernels without row sums: each statement is copied for each point that is written
// out, unless it is the same for all of them.
#include "loop/unroll.h"

#include <algorithm>
#include <bit>
#include <map>
#include <optional>
#include <set>

#include "base/at.h"

namespace plait::loop {
namespace {

KernelOperand let_operand(int let) {
  KernelOperand o;
  o.kind = KernelOperand::kLet;
  o.let = let;
  return o;
}

DType natural(DType t) {
  return t == DType::f64 ? DType::f64 : is_float(t) ? DType::f32 : DType::i64;
}

bool mentions(const Expr& e, const std::string& symbol) {
  if (!e) return false;
  const Tape tape = flatten(e);
  return std::any_of(tape.steps.begin(), tape.steps.end(), [&](const Tape::Step& s) {
    return s.op == ScalarOp::kIndex && loop::mentions(s.index, symbol);
  });
}

Expr substituted(const Expr& e, const DimBindings& by, int first_load) {
  if (!e) return e;
  const ExprNode& n = e.node();
  if (n.op == ScalarOp::kIndex) return Expr::index(n.index.substitute(by));
  if (n.op == ScalarOp::kLoad) return Expr::load(n.load + first_load);
  if (n.args.empty()) return e;
  std::vector<Expr> args;
  for (const auto& a : n.args) args.push_back(substituted(Expr::of(a), by, first_load));
  return {n.op, args};
}

KernelOperand substituted(KernelOperand o, const DimBindings& by) {
  if (o.kind == KernelOperand::kLoad) o.load.offset = o.load.offset.substitute(by);
  for (Guard& g : o.guards) {
    g = {g.index.substitute(by), g.lo.substitute(by), g.hi.substitute(by)};
  }
  std::erase_if(o.guards, [](const Guard& g) {  // it holds
    return g.index.lo() >= g.lo.hi() && g.index.hi() < g.hi.lo();
  });
  return o;
}

std::string load_key(const Kernel& k, const Let& let) {
  const KernelOperand& o = let.operands[0];
  std::string key = str(let.stage, ' ', o.load.buffer, '@', o.load.offset.text(), ' ',
                        static_cast<int>(let.dtype), k.buffers[at(o.load.buffer)].written);
  for (const Guard& g : o.guards) key += str('?', g.lo, '<', g.index, '<', g.hi);
  return key + str(' ', std::bit_cast<std::uint64_t>(o.otherwise));
}

bool is_load(const Kernel& k, const Let& let) {
  return let.reduce == Reduce::kNone && let.operands.size() == 1 && let.index.empty() &&
         let.operands[0].kind == KernelOperand::kLoad && let.body.node().op == ScalarOp::kLoad &&
         let.dtype == k.buffers[at(let.operands[0].load.buffer)].dtype;
}

/// Makes a kernel statement by statement.
class Unrolling {
 public:
  Unrolling(const Kernel& kernel, const std::string& symbol, std::int64_t factor)
      : from_(kernel), to_(kernel), symbol_(symbol), factor_(factor) {
    to_.lets.clear();
    to_.stores.clear();
    for (auto* list : {&to_.rows, &to_.inner}) {
      for (KernelIndex& x : *list) {
        if (x.symbol != symbol) continue;
        of_rows_ = list == &to_.rows;
        const Dim extent = floordiv(x.extent, Dim(factor));
        x = {x.symbol + "u", extent};
        for (std::int64_t r = 0; r < factor; ++r) {
          const Dim step = Dim::symbol(x.symbol, 0, std::max<std::int64_t>(extent.hi() - 1, 0));
          points_.push_back({{symbol, step * Dim(factor) + Dim(r)}});
        }
      }
    }
  }

  Kernel run() {
    copies_.resize(from_.lets.size());
    for (std::size_t i = 0; i < from_.lets.size(); ++i) copy(i);
    for (const KernelStore& s : from_.stores) {
      const bool one = !loop::mentions(s.offset, symbol_) && is_one(at(s.let));
      for (std::size_t r = 0; r < (one ? 1 : points_.size()); ++r) {
        to_.stores.push_back({copies_[at(s.let)][r], s.buffer, s.offset.substitute(points_[r])});
      }
    }
    return std::move(to_);
  }

 private:
  /// Whether all copies of a statement are one.
  bool is_one(std::size_t i) const {
    const std::vector<int>& c = copies_[i];
    return std::all_of(c.begin(), c.end(), [&](int copy) { return copy == c[0]; });
  }

  bool depends(const Let& let) const {
    if (mentions(let.body, symbol_) || mentions(let.finish, symbol_)) return true;
    return std::any_of(let.operands.begin(), let.operands.end(), [&](const KernelOperand& o) {
      bool found = o.kind == KernelOperand::kLoad && loop::mentions(o.load.offset, symbol_);
      found |= o.kind == KernelOperand::kLet && !is_one(at(o.let));
      for (const Guard& g : o.guards) {
        for (const Dim* d : {&g.index, &g.lo, &g.hi}) found |= loop::mentions(*d, symbol_);
      }
      return found;
    });
  }

  int add(Let let) {
    if (is_load(from_, let)) {
      const auto [it, fresh] = loads_.emplace(load_key(from_, let), to_.lets.size());
      if (!fresh) return static_cast<int>(it->second);
    }
    to_.lets.push_back(std::move(let));
    return static_cast<int>(to_.lets.size()) - 1;
  }

  KernelOperand operand(const Let& let, const KernelOperand& o, std::size_t r) {
    KernelOperand copy = substituted(o, points_[r]);
    if (o.kind == KernelOperand::kLet) copy.let = copies_[at(o.let)][r];
    if (o.kind != KernelOperand::kLoad || let.level != Level::kInner || let.finish) return copy;
    if (is_load(from_, let) || level_of(from_, o.load.offset) != Level::kInner) return copy;
    Let load;  // which others may share
    load.dtype = from_.buffers[at(o.load.buffer)].dtype;
    load.compute = natural(load.dtype);
    load.body = Expr::load(0);
    load.stage = let.stage;
    load.operands = {std::move(copy)};
    return let_operand(add(std::move(load)));
  }

  Let made(const Let& let, std::size_t r) {
    Let out = let;
    for (std::size_t j = 0; j < let.operands.size(); ++j) {
      out.operands[j] = operand(let, let.operands[j], r);
    }
    out.body = substituted(let.body, points_[r], 0);
    out.finish = substituted(let.finish, points_[r], 0);
    return out;
  }

  void copy(std::size_t i) {
    const Let& let = from_.lets[i];
    std::vector<int>& copies = copies_[i];
    if (let.column && of_rows_) {  // one sum takes the terms of all points
      Let sum = made(let, 0);
      for (std::size_t r = 1; r < points_.size(); ++r) {
        const Let more = made(let, r);
        const int first = static_cast<int>(sum.operands.size());
        sum.operands.insert(sum.operands.end(), more.operands.begin(), more.operands.end());
        sum.body = combined(let.reduce, sum.body, substituted(more.body, {}, first));
      }
      copies.assign(points_.size(), add(std::move(sum)));
      return;
    }
    const bool one = !depends(let) && !let.column;
    for (std::size_t r = 0; r < points_.size(); ++r) {
      copies.push_back(one && r > 0 ? copies[0] : add(made(let, r)));
    }
  }

  static Expr combined(Reduce reduce, const Expr& a, const Expr& b) {
    switch (reduce) {
      case Reduce::kMax:
        return max(a, b);
      case Reduce::kMin:
        return min(a, b);
      case Reduce::kProd:
        return a * b;
      default:
        return a + b;
    }
  }

  const Kernel& from_;
  Kernel to_;
  const std::string symbol_;
  std::int64_t factor_;
  bool of_rows_ = false;
  std::vector<DimBindings> points_;       // what the index is at each point
  std::vector<std::vector<int>> copies_;  // per statement and point
  std::map<std::string, std::size_t> loads_;
};

/// The number by which inner offsets divide or reduce an index, if it is one and small; 0: none.
std::int64_t divisor_of(const Dim& d, const std::string& symbol) {
  std::int64_t found = 0;
  if (d.is_const()) return 0;
  for (const DimTerm& t : d.terms()) {
    for (const DimAtomPtr& f : t.factors) {
      const bool divides = f->kind == DimAtom::kFloorDiv || f->kind == DimAtom::kMod;
      if (!divides || !loop::mentions(f->a, symbol) || !f->b.is_const()) continue;
      found = std::max(found, f->b.value());
    }
  }
  return found;
}

template <class Visit>
void each_offset(const Kernel& k, const Visit& visit) {
  for (const Let& let : k.lets) {
    for (const KernelOperand& o : let.operands) {
      if (o.kind == KernelOperand::kLoad) visit(o.load.buffer, o.load.offset);
    }
  }
  for (const KernelStore& s : k.stores) visit(s.buffer, s.offset);
}

constexpr std::size_t kWindow = 6;  // elements of the least

/// Distinct elements that a point of the kernel loads, and the most of one buffer.
struct Loads {
  std::size_t all = 0, most = 0;
};
Loads loads_of(const Kernel& k) {
  std::map<int, std::set<std::string>> seen;
  for (const Let& let : k.lets) {
    for (const KernelOperand& o : let.operands) {
      if (o.kind != KernelOperand::kLoad) continue;
      if (level_of(k, o.load.offset) != Level::kInner) continue;
      std::string key = o.load.offset.text();
      for (const Guard& g : o.guards) key += str('?', g.lo, '<', g.index, '<', g.hi);
      seen[o.load.buffer].insert(key);
    }
  }
  Loads out;
  for (const auto& [buffer, offsets] : seen) {
    out.all += offsets.size();
    out.most = std::max(out.most, offsets.size());
  }
  return out;
}

bool has_own_order(const Kernel& k) {
  return k.epilogue || std::any_of(k.lets.begin(), k.lets.end(), [](const Let& l) {
           return l.kept || !l.index.empty() || (l.reduce != Reduce::kNone && !l.column);
         });
}

std::optional<Kernel> by_divisor(const Kernel& k) {
  constexpr std::int64_t kMost = 8;
  if (k.inner.size() != 1 || !k.inner[0].extent.is_const()) return std::nullopt;
  const std::string& symbol = k.inner[0].symbol;
  std::int64_t divisor = 0;
  each_offset(k, [&](int, const Dim& d) { divisor = std::max(divisor, divisor_of(d, symbol)); });
  if (divisor < 2 || divisor > kMost || k.inner[0].extent.value() % divisor != 0) {
    return std::nullopt;
  }
  Kernel out = Unrolling(k, symbol, divisor).run();
  bool linear = true;
  each_offset(out, [&](int, const Dim& d) {
    linear = linear && coefficient_of(d, out.inner[0].symbol).is_linear;
  });
  return linear ? std::optional(std::move(out)) : std::nullopt;
}

/// Neighbouring rows whose windows overlap, two at a time.
std::optional<Kernel> by_windows(const Kernel& k) {
  constexpr double kLess = 0.8;
  constexpr std::size_t kMostLets = 160;  // compilers take long over more than twice as many
  if (k.lets.size() > kMostLets) return std::nullopt;
  const Loads before = loads_of(k);
  if (k.rows.empty() || k.inner.size() != 1 || before.most < kWindow) return std::nullopt;
  for (std::size_t i = k.rows.size(); i-- > 0;) {
    const Dim& extent = k.rows[i].extent;
    if (!extent.is_const() || extent.value() % 2 != 0) continue;
    Kernel out = Unrolling(k, k.rows[i].symbol, 2).run();
    const double now = static_cast<double>(loads_of(out).all) / 2;
    if (now <= kLess * static_cast<double>(before.all)) return out;
  }
  return std::nullopt;
}

}  // namespace

bool reads_windows(const Kernel& kernel) { return loads_of(kernel).most >= kWindow; }

Kernel with_divisors_written_out(const Kernel& kernel) {
  if (has_own_order(kernel)) return kernel;
  std::optional<Kernel> out = by_divisor(kernel);
  return out ? settled(std::move(*out)) : kernel;
}

Kernel with_pairs_of_windows(const Kernel& kernel) {
  if (has_own_order(kernel) || !reads_windows(kernel)) return kernel;
  std::optional<Kernel> out = by_windows(kernel);
  return out ? settled(std::move(*out)) : kernel;
}

}  // namespace plait::loop
