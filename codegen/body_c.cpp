// Statements of a kernel in C.
#include "codegen/body_c.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/text.h"

namespace plait::codegen {
namespace {

using loop::KernelOperand;
using loop::Let;
using loop::Level;
using loop::Reduce;

std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

/// The operation of an `omp simd reduction`.
std::string simd_operation(Reduce reduce, DType compute) {
  const char s = suffix_of(compute);
  switch (reduce) {
    case Reduce::kMax:
      return str("pl_max_", s);
    case Reduce::kMin:
      return str("pl_min_", s);
    case Reduce::kProd:
      return "*";
    default:
      return "+";
  }
}

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

/// The mask and the other value's bits, once per row.
std::string mask_text(DType held, double otherwise, const std::string& key) {
  const std::string other = other_text(held, otherwise);
  if (held == DType::f64) {
    return str("const uint64_t m", key, " = -(uint64_t)h", key, ", r", key, " = ~m", key,
               " & pl_bits_d(", other, ");");
  }
  if (is_float(held)) {
    return str("const uint32_t m", key, " = -(uint32_t)h", key, ", r", key, " = ~m", key,
               " & pl_bits_f(", other, ");");
  }
  const std::string type = register_type(held);
  return str("const ", type, " m", key, " = -(", type, ")h", key, ", r", key, " = ~m", key, " & ",
             other, ";");
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
  for (const loop::KernelIndex& x : k_.inner) extents_.push_back(n_.text(x.extent));
  for (const Let& let : k_.lets) may_fail_ |= !let.index.empty() || divides(let);
}

Dim Body::inner_size() const {
  Dim size = 1;
  for (const loop::KernelIndex& x : k_.inner) size = size * x.extent;
  return size;
}

std::vector<Dim> Body::column_sizes() const {
  std::vector<Dim> sizes;
  for (const Let& let : k_.lets) {
    if (let.column) sizes.push_back(let.level == Level::kInner ? inner_size() : Dim(1));
  }
  return sizes;
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
    const std::string index = index_text(g.index, n_);
    if (g.index.lo() < g.lo.hi())
      parts.push_back(str("(", index_text(g.lo, n_), " <= ", index, ")"));
    if (g.index.hi() >= g.hi.lo())
      parts.push_back(str("(", index, " < ", index_text(g.hi, n_), ")"));
  }
  return parts.empty() ? "1" : join(parts, " & ");
}

/// An element: through a pointer that was set up before the inner loop, or by its whole offset.
std::string Body::element(const loop::KernelLoad& load, Level level, const std::string& key) {
  const int buffer = load.buffer + first_;
  if (level != Level::kInner) return str("b", buffer, "[", index_text(load.offset, n_), "]");
  DimBindings none;
  Dim inside = 0;
  bool linear = true;
  for (const loop::KernelIndex& x : k_.inner) {
    const loop::Linear l = loop::coefficient_of(load.offset, x.symbol);
    linear = linear && l.is_linear;
    none.emplace(x.symbol, Dim(0));
    inside = inside +
             l.coefficient * Dim::symbol(x.symbol, 0, std::max<std::int64_t>(x.extent.hi() - 1, 0));
  }
  if (linear) {
    const Dim base = load.offset.substitute(none);
    if (level_of(k_, base) != Level::kInner) {
      return str(key, "[", inside.is(0) ? "0" : index_text(inside, n_), "]");
    }
  }
  return str("b", buffer, "[", index_text(load.offset, n_), "]");
}

/// A load in the inner loop whose guards hold or fail for the whole row. It then reads from the
/// buffer's start where they fail, so that the loop has no branch.
bool Body::is_hoisted(const KernelOperand& o) const {
  if (o.kind != KernelOperand::kLoad || o.guards.empty()) return false;
  if (level_of(k_, o.load.offset) != Level::kInner) return false;
  for (const loop::Guard& g : o.guards) {
    for (const Dim* d : {&g.index, &g.lo, &g.hi}) {
      if (level_of(k_, *d) == Level::kInner) return false;
    }
  }
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
      p.text = loaded_text(held, element(o.load, level_of(k_, o.load.offset), key));
      break;
  }
  p.truth = held == DType::boolean;
  if (!o.guards.empty()) {
    const std::string other = other_text(held, o.otherwise);
    if (is_hoisted(o) && let.level == Level::kInner) {
      p.text = chosen_text(held, p.text, key.substr(1));
    } else {
      p.text = str("((", guard_text(o.guards), ") ? ", p.text, " : ", other, ")");
    }
  }
  const DType natural = held == DType::f64 ? DType::f64 : is_float(held) ? DType::f32 : DType::i64;
  if (!p.truth && natural != let.compute) {
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

/// Addresses that do not move in the inner loop but for its own index.
void Body::pointers(Lines& out, int stage) {
  DimBindings none;
  for (const loop::KernelIndex& x : k_.inner) none.emplace(x.symbol, Dim(0));
  const auto set_up = [&](const loop::KernelLoad& load, const std::string& key, bool constant,
                          const std::string& when) {
    if (level_of(k_, load.offset) != Level::kInner) return;
    for (const loop::KernelIndex& x : k_.inner) {
      if (!loop::coefficient_of(load.offset, x.symbol).is_linear) return;
    }
    const Dim base = load.offset.substitute(none);
    if (level_of(k_, base) == Level::kInner) return;
    out.add(str(
        constant ? "const " : "", memory_type(k_.buffers[at(load.buffer)].dtype), "* const ", key,
        " = b", load.buffer + first_, " + ",
        when.empty() ? index_text(base, n_) : str("(", when, " ? ", index_text(base, n_), " : 0)"),
        ";"));
  };
  for (std::size_t i = 0; i < k_.lets.size(); ++i) {
    const Let& let = k_.lets[i];
    if (let.stage != stage || let.level != Level::kInner) continue;
    for (std::size_t j = 0; j < let.operands.size(); ++j) {
      const KernelOperand& o = let.operands[j];
      if (o.kind != KernelOperand::kLoad) continue;
      const std::string holds = is_hoisted(o) ? str("h", i, "_", j) : "";
      if (!holds.empty()) {
        out.add(str("const int ", holds, " = ", guard_text(o.guards), ";"));
        out.add(mask_text(k_.buffers[at(o.load.buffer)].dtype, o.otherwise, str(i, "_", j)));
      }
      set_up(o.load, str("q", i, "_", j), true, holds);
    }
  }
  for (std::size_t j = 0; j < k_.stores.size(); ++j) {
    const loop::KernelStore& s = k_.stores[j];
    const Let& let = k_.lets[at(s.let)];
    const int when = let.reduce == Reduce::kNone ? let.stage : let.stage + 1;
    if (!is_column_store(s) && store_level(s) == Level::kInner && when == stage) {
      set_up({s.buffer, s.offset}, str("z", j), false, "");
    }
  }
}

bool Body::has_inner(int stage) const {
  for (const Let& let : k_.lets) {
    if (let.stage == stage && let.level == Level::kInner) return true;
  }
  for (const loop::KernelStore& s : k_.stores) {
    const Let& let = k_.lets[at(s.let)];
    const int when = let.reduce == Reduce::kNone ? let.stage : let.stage + 1;
    if (!is_column_store(s) && store_level(s) == Level::kInner && when == stage) return true;
  }
  return false;
}

void Body::prologue(Lines& out) {
  count();
  if (may_fail_) out.add("int bad_ = 0;");
  for (std::size_t b = 0; b < k_.buffers.size(); ++b) {
    const std::string type = memory_type(k_.buffers[b].dtype);
    const std::string constant = k_.buffers[b].written ? "" : "const ";
    out.add(str(constant, type, "* const b", b + at(first_), " = (", constant, type, "*)p[",
                b + at(first_), "];"));
  }
  const std::string size = kept_ > 0 || k_.has_columns() ? n_.text(inner_size()) : "";
  if (kept_ > 0) out.add(str("const int64_t room_ = (", size, " * 8 + 63) & ~INT64_C(63);"));
  int column = 0;
  for (std::size_t i = 0; i < k_.lets.size(); ++i) {
    const Let& let = k_.lets[i];
    if (let.kept) {
      const std::string type = register_type(let.dtype);
      out.add(str(type, "* const s", kept_of_[i], " = (", type, "*)(scratch + ", kept_of_[i],
                  " * room_);"));
    }
    if (let.column) {
      const std::string type = register_type(let.compute);
      const std::string count = let.level == Level::kInner ? size : "1";
      out.add(str(type, "* const c", column, " = (", type, "*)p[",
                  k_.buffers.size() + at(first_ + column), "] + task * ", count, ";"));
      out.add(str("for (int64_t j = 0; j < ", count, "; ++j) c", column,
                  "[j] = ", identity_text(let.reduce, let.compute), ";"));
      ++column;
    }
  }
  for (std::size_t i = 0; i < k_.lets.size(); ++i) {
    if (k_.lets[i].level == Level::kCall) let(out, static_cast<int>(i), "");
  }
  stores(out, 0, Level::kCall);
}

void Body::inner_loop(Lines& out, int stage, const std::string& begin, const std::string& end,
                      const std::string& tile) {
  std::string reductions;
  for (std::size_t i = 0; i < k_.lets.size(); ++i) {
    const Let& let = k_.lets[i];
    if (let.stage != stage || let.reduce == Reduce::kNone || let.column) continue;
    out.add(str(register_type(let.compute), " a", i, " = ", identity_text(let.reduce, let.compute),
                ";"));
    reductions += str(" reduction(", simd_operation(let.reduce, let.compute), " : a", i, ")");
  }
  if (!has_inner(stage)) return;
  pointers(out, stage);
  for (std::size_t x = 0; x < k_.inner.size(); ++x) {
    const bool last = x + 1 == k_.inner.size();
    const std::string name = index_name(k_.inner[x].symbol);
    if (last) out.add(str("#pragma omp simd", reductions, may_fail_ ? " reduction(| : bad_)" : ""));
    out.open(str("for (int64_t ", name, " = ", begin.empty() ? "0" : begin, "; ", name, " < ",
                 end.empty() ? extents_[x] : end, "; ++", name, ")"));
  }
  if (k_.inner.empty()) out.open("");
  for (std::size_t i = 0; i < k_.lets.size(); ++i) {
    const Let& l = k_.lets[i];
    if (l.stage == stage && l.level == Level::kInner) let(out, static_cast<int>(i), tile);
  }
  stores(out, stage, Level::kInner);
  for (std::size_t x = 0; x < std::max<std::size_t>(1, k_.inner.size()); ++x) out.close();
}

void Body::row(Lines& out, const std::string& begin, const std::string& end,
               const std::string& tile) {
  for (int stage = 0; stage <= k_.stages; ++stage) {
    // What the last stage reduced.
    for (std::size_t i = 0; i < k_.lets.size(); ++i) {
      const Let& l = k_.lets[i];
      if (l.reduce == Reduce::kNone || l.column || l.stage != stage - 1) continue;
      std::string result = str("a", i);
      if (l.finish) {
        std::vector<Piece> operands;
        for (std::size_t j = 0; j < l.operands.size(); ++j) {
          const KernelOperand& o = l.operands[j];
          const bool row =
              o.kind == KernelOperand::kNumber || o.kind == KernelOperand::kLet ||
              (o.kind == KernelOperand::kLoad && level_of(k_, o.load.offset) != Level::kInner);
          operands.push_back(row ? operand(l, o, "", "") : Piece{});
        }
        result = as_number(formula(l.finish, l.compute, operands, str("a", i), str("f", i), n_,
                                   [&](const std::string& line) { out.add(line); }),
                           l.compute);
      }
      out.add(str("const ", register_type(l.dtype), " v", i, " = ",
                  rounded_text(l.compute, l.dtype, result), ";"));
    }
    for (std::size_t i = 0; i < k_.lets.size(); ++i) {
      const Let& l = k_.lets[i];
      if (l.stage == stage && l.level == Level::kRow) let(out, static_cast<int>(i), tile);
    }
    stores(out, stage, Level::kRow);
    if (stage < k_.stages || has_inner(stage)) inner_loop(out, stage, begin, end, tile);
  }
}

void Body::epilogue(Lines& out) {
  if (may_fail_) out.add("if (bad_) __atomic_fetch_or(bad, bad_, __ATOMIC_RELAXED);");
}

void Body::finish(Lines& out) {
  count();
  for (std::size_t b = 0; b < k_.buffers.size(); ++b) {
    const std::string type = memory_type(k_.buffers[b].dtype);
    out.add(str(type, "* const b", b + at(first_), " = (", type, "*)p[", b + at(first_), "];"));
  }
  const std::string size = n_.text(inner_size());
  for (std::size_t i = 0; i < k_.lets.size(); ++i) {
    const Let& let = k_.lets[i];
    if (!let.column) continue;
    const std::string type = register_type(let.compute);
    const bool wide = let.level == Level::kInner;
    const std::string count = wide ? size : "1";
    // All tasks' parts into the first one's, in their order.
    const std::string c = str("c", column_of_[i]);
    out.add(str(type, "* const ", c, " = (", type, "*)p[",
                k_.buffers.size() + at(first_ + column_of_[i]), "];"));
    // `end` is that of the widest.
    out.add(wide ? str("const int64_t first", c, " = begin, last", c, " = end < ", size,
                       " ? end : ", size, ";")
                 : "const int64_t first" + c + " = 0, last" + c + " = begin == 0;");
    out.open("for (int64_t t = 1; t < tasks; ++t)");
    out.add("#pragma omp simd");
    out.add(str("for (int64_t j = first", c, "; j < last", c, "; ++j) ", c, "[j] = ",
                combined_text(let.reduce, let.compute, c + "[j]", str(c, "[t * ", count, " + j]")),
                ";"));
    out.close();
    out.open(str("for (int64_t j = first", c, "; j < last", c, "; ++j)"));
    // The inner indices from their common number.
    std::string rest = "j";
    for (std::size_t x = k_.inner.size(); x-- > 0;) {
      const std::string name = index_name(k_.inner[x].symbol);
      out.add(x == 0 ? str("const int64_t ", name, " = ", rest, ";")
                     : str("const int64_t ", name, " = ", rest, " % ", extents_[x], ";"));
      rest = str("(", rest, " / ", extents_[x], ")");
    }
    std::string result = c + "[j]";
    if (let.finish) {
      std::vector<Piece> operands;
      for (const KernelOperand& o : let.operands) {
        if (o.kind == KernelOperand::kNumber) {
          operands.push_back({number_text(let.compute, o.number), false});
        } else if (o.kind == KernelOperand::kLoad) {
          const DType held = k_.buffers[at(o.load.buffer)].dtype;
          operands.push_back({str("(", register_type(let.compute), ")",
                                  loaded_text(held, str("b", o.load.buffer + first_, "[",
                                                        index_text(o.load.offset, n_), "]"))),
                              false});
        } else {
          operands.push_back({});
        }
      }
      result = as_number(formula(let.finish, let.compute, operands, c + "[j]", str("f", i), n_,
                                 [&](const std::string& line) { out.add(line); }),
                         let.compute);
    }
    out.add(str("const ", register_type(let.dtype), " v", i, " = ",
                rounded_text(let.compute, let.dtype, result), ";"));
    for (const loop::KernelStore& s : k_.stores) {
      if (s.let != static_cast<int>(i)) continue;
      out.add(str("b", s.buffer + first_, "[", index_text(s.offset, n_),
                  "] = ", stored_text(k_.buffers[at(s.buffer)].dtype, str("v", i)), ";"));
    }
    out.close();
  }
}

}  // namespace plait::codegen
