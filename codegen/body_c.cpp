// Statements of a kernel in C: loads, values, stores.
#include "codegen/body_c.h"

#include <algorithm>
#include <cmath>

#include "base/at.h"
#include "base/error.h"
#include "base/text.h"
#include "loop/sum_blocks.h"

namespace plait::codegen {
namespace {

using loop::KernelOperand;
using loop::Let;
using loop::Level;
using loop::Reduce;

// Steps of an inner loop, of an open kernel, that stand in its text.
constexpr std::int64_t kShort = 32;

/// What a guard of the row lets through, without a branch in the loop (gcc does not vectorise a
/// choice by a condition that stays the same): masked bits, with those of the other value put in.
std::string chosen_text(DType held, const std::string& loaded, const std::string& key) {
  if (held == DType::f64) {
    return str("pl_from_bits_d((pl_bits_d(", loaded, ") & m", key, ") | r", key, ")");
  }
  if (is_float(held)) {
    return str("pl_from_bits_f((pl_bits_f(", loaded, ") & m", key, ") | r", key, ")");
  }
  return str("((", loaded, " & m", key, ") | r", key, ")");
}

}  // namespace

void Body::count() {
  if (counted_) return;
  counted_ = true;
  kept_of_.assign(k_.lets.size(), -1);
  column_of_.assign(k_.lets.size(), -1);
  int columns = 0;
  for (std::size_t i = 0; i < k_.lets.size(); ++i) {
    if (k_.lets[i].kept) kept_of_[i] = kept_++;
    if (k_.lets[i].column) column_of_[i] = columns++;
  }
  for (const loop::KernelIndex& x : k_.inner) {
    // A short loop is not left open: it would be one of single steps.
    const bool is_short = k_.open && x.extent.is_const() && x.extent.value() <= kShort;
    extents_.push_back(is_short ? str(x.extent.value()) : n_.text(x.extent));
  }
  for (const Let& let : k_.lets) may_fail_ |= !let.index.empty() || divides(let);
}

std::vector<Dim> Body::column_sizes() const {
  std::vector<Dim> sizes;
  for (const Let& let : k_.lets) {
    if (!let.column) continue;
    const Dim size = let.level == Level::kInner ? inner_count(k_) : Dim(1);
    sizes.push_back(loop::is_blocked_column(k_, let) ? size * Dim(2) : size);
  }
  return sizes;
}

Dim Body::most_columns() const {
  Dim most = 0;
  for (const Let& let : k_.lets) {
    if (let.column) most = max(most, let.level == Level::kInner ? inner_count(k_) : Dim(1));
  }
  return most;
}

std::string Body::value(int i) const { return str("v", i); }

/// The number of the inner point, counted over all inner indices.
std::string Body::inner_number() const {
  std::string text = "0";
  for (std::size_t i = 0; i < k_.inner.size(); ++i) {
    const std::string name = index_name(k_.inner[i].symbol);
    text = i == 0 ? name : str("(", text, ") * ", extents_[i], " + ", name);
  }
  return text;
}

Level Body::store_level(const loop::KernelStore& s) const {
  const Let& let = k_.lets[at(s.let)];
  const Level known = let.reduce == Reduce::kNone ? let.level : Level::kRow;
  return std::max({known, level_of(k_, s.offset), let.stage > 0 ? Level::kRow : Level::kCall});
}

bool Body::is_column_store(const loop::KernelStore& s) const { return k_.lets[at(s.let)].column; }

std::string Body::guard_text(const std::vector<loop::Guard>& guards) {
  std::vector<std::string> parts;
  for (const loop::Guard& g : guards) {
    const std::string index = n_.guarded(index_text(g.index, n_));
    if (g.index.lo() < g.lo.hi())
      parts.push_back(str("(", index_text(g.lo, n_), " <= ", index, ")"));
    if (g.index.hi() >= g.hi.lo())
      parts.push_back(str("(", index, " < ", index_text(g.hi, n_), ")"));
  }
  return parts.empty() ? "1" : join(parts, " & ");
}

/// Whether an element is read only for some of the inner indices. No pointer is set up for it: at
/// the others it may lead out of the buffer.
bool Body::is_partial(const KernelOperand& o) const { return !o.guards.empty() && !is_hoisted(o); }

/// An element by its whole offset.
std::string Body::element(const loop::KernelLoad& load) {
  return str("b", load.buffer + first_, "[", index_text(load.offset, n_), "]");
}

/// An operand in the inner loop whose guards hold or fail for the whole row, so that the loop has
/// no branch. A load then reads from the buffer's start where they fail.
bool Body::is_hoisted(const KernelOperand& o) const {
  if (o.guards.empty()) return false;
  for (const loop::Guard& g : o.guards) {
    for (const Dim* d : {&g.index, &g.lo, &g.hi}) {
      if (level_of(k_, *d) == Level::kInner) return false;
    }
  }
  if (o.kind == KernelOperand::kLet) return k_.lets[at(o.let)].level == Level::kInner;
  if (o.kind != KernelOperand::kLoad) return false;
  if (level_of(k_, o.load.offset) != Level::kInner) return false;
  DimBindings none;
  for (const loop::KernelIndex& x : k_.inner) {
    const loop::Linear l = loop::coefficient_of(o.load.offset, x.symbol);
    if (!l.is_linear || l.coefficient.lo() < 0) return false;
    none.emplace(x.symbol, Dim(0));
  }
  return level_of(k_, o.load.offset.substitute(none)) != Level::kInner;
}

Piece Body::operand(const Let& let, const KernelOperand& o, const std::string& key,
                    const std::string& tile) {
  DType held = DType::f32;
  Piece p;
  switch (o.kind) {
    case KernelOperand::kNumber:
      return {number_text(let.compute, o.number), false};
    case KernelOperand::kTile:
      p.text = tile;
      break;
    case KernelOperand::kLet: {
      const Let& from = k_.lets[at(o.let)];
      held = from.dtype;
      const bool again = from.kept && from.stage != let.stage;
      p.text = again ? str("s", kept_of_[at(o.let)], "[", inner_number(), "]") : value(o.let);
      break;
    }
    case KernelOperand::kLoad:
      held = k_.buffers[at(o.load.buffer)].dtype;
      p.text = loaded_text(held, is_partial(o) ? element(o.load)
                                               : element(o.load, level_of(k_, o.load.offset), key));
      break;
  }
  p.truth = held == DType::boolean;
  if (!o.guards.empty()) {
    const std::string other = other_text(held, o.otherwise);
    if (is_hoisted(o) && let.level == Level::kInner) {
      if (!all_hold_) p.text = chosen_text(held, p.text, key.substr(1));
    } else {
      p.text = str("((", guard_text(o.guards), ") ? ", p.text, " : ", other, ")");
    }
  }
  if (!p.truth && loop::compute_type(held) != let.compute) {
    p.text = str("(", register_type(let.compute), ")", p.text);
  }
  return p;
}

Piece Body::body_of(Lines& out, int i, const std::string& tile) {
  const Let& let = k_.lets[at(i)];
  std::vector<Piece> operands;
  for (std::size_t j = 0; j < let.operands.size(); ++j) {
    operands.push_back(operand(let, let.operands[j], str("q", i, "_", j), tile));
  }
  // Operands become locals, so that each is evaluated once.
  for (std::size_t j = 0; j < operands.size(); ++j) {
    if (let.operands[j].kind == KernelOperand::kNumber) continue;
    if (let.operands[j].kind == KernelOperand::kLet && let.operands[j].guards.empty()) continue;
    const std::string local = str("o", i, "_", j);
    out.add(str("const ", operands[j].truth ? "int" : register_type(let.compute), " ", local, " = ",
                operands[j].text, ";"));
    operands[j].text = local;
  }
  return formula(let.body, let.compute, operands, "", str("t", i), n_,
                 [&](const std::string& line) { out.add(line); });
}

/// Whether a half needs no rounding: the result is one of operands of its own dtype.
bool Body::is_exact(const Let& let) const {
  if (!is_half(let.dtype) || let.compute != DType::f32) return false;
  for (const KernelOperand& o : let.operands) {
    DType held = DType::f32;
    if (o.kind == KernelOperand::kLet) held = k_.lets[at(o.let)].dtype;
    if (o.kind == KernelOperand::kLoad) held = k_.buffers[at(o.load.buffer)].dtype;
    const bool zero = o.kind == KernelOperand::kNumber && o.number == 0;
    if (held != let.dtype && held != DType::boolean && !zero) return false;
    // What stands in for a padded element may be no half.
    if (!o.guards.empty() && o.otherwise != 0 && !std::isinf(o.otherwise)) return false;
  }
  using loop::ScalarOp;
  for (const loop::Tape::Step& s : loop::flatten(let.body).steps) {
    switch (s.op) {
      case ScalarOp::kLoad:
      case ScalarOp::kMax:
      case ScalarOp::kMin:
      case ScalarOp::kSelect:
      case ScalarOp::kNeg:
      case ScalarOp::kAbs:
        break;
      case ScalarOp::kConst:
        if (s.constant != 0) return false;
        break;
      default:
        return false;
    }
  }
  return true;
}

void Body::let(Lines& out, int i, const std::string& tile) {
  const Let& let = k_.lets[at(i)];
  const Piece p = body_of(out, i, tile);
  if (let.reduce != Reduce::kNone) {
    const std::string term = as_number(p, let.compute);
    if (let.column) {
      const std::string slot =
          str("c", column_of_[at(i)], "[", let.level == Level::kInner ? inner_number() : "0", "]");
      out.add(str(slot, " = ", combined_text(let.reduce, let.compute, slot, term), ";"));
    } else {
      out.add(str("a", i, " = ", combined_text(let.reduce, let.compute, str("a", i), term), ";"));
    }
    return;
  }
  std::string rounded;
  if (p.truth) {
    rounded = let.dtype == DType::boolean
                  ? p.text
                  : rounded_text(let.compute, let.dtype, as_number(p, let.compute));
  } else {
    rounded = is_exact(let) ? p.text : rounded_text(let.compute, let.dtype, p.text);
  }
  if (!let.index.empty()) {
    out.add(str("const int64_t w", i, " = ", rounded, ";"));
    out.add(str("const int e", i, " = (uint64_t)w", i, " >= (uint64_t)", n_.text(let.index_extent),
                ";"));
    out.add(str("bad_ |= e", i, ";"));
    out.add(str("const int64_t ", index_name(let.index), " = e", i, " ? 0 : w", i, ";"));
    rounded = index_name(let.index);
  }
  out.add(str("const ", register_type(let.dtype), " ", value(i), " = ", rounded, ";"));
  if (let.kept) out.add(str("s", kept_of_[at(i)], "[", inner_number(), "] = ", value(i), ";"));
}

void Body::stores(Lines& out, int stage, Level level) {
  for (std::size_t j = 0; j < k_.stores.size(); ++j) {
    const loop::KernelStore& s = k_.stores[j];
    const Let& let = k_.lets[at(s.let)];
    // What a reduction made is there when its stage is over.
    const int when = let.reduce == Reduce::kNone ? let.stage : let.stage + 1;
    if (is_column_store(s) || store_level(s) != level) continue;
    if (level != Level::kCall && when != stage) continue;
    const DType dtype = k_.buffers[at(s.buffer)].dtype;
    const std::string place = element({s.buffer, s.offset}, level_of(k_, s.offset), str("z", j));
    out.add(str(place, " = ", stored_text(dtype, value(s.let)), ";"));
  }
}

}  // namespace plait::codegen
