// Rows of a kernel in C: what stands before them, their inner loops, and what is left to do behind
// them all.
#include <algorithm>

#include "base/at.h"
#include "base/text.h"
#include "codegen/body_c.h"
#include "loop/sum_blocks.h"

namespace plait::codegen {
namespace {

using loop::KernelOperand;
using loop::Let;
using loop::Level;
using loop::Reduce;

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

}  // namespace

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
  const std::string size = kept_ > 0 || k_.has_columns() ? n_.text(inner_count(k_)) : "";
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
      const std::string area = str("p[", k_.buffers.size() + at(first_ + column), "]");
      if (loop::is_blocked_column(k_, let)) {
        // f64 for the blocks, behind them f32 for the one that grows
        out.add(str("double* const d", column, " = (double*)", area, " + task * 2 * ", count, ";"));
        out.add(str("float* const c", column, " = (float*)(d", column, " + ", count, ");"));
        out.add(str("for (int64_t j = 0; j < ", count, "; ++j) d", column, "[j] = 0;"));
      } else {
        out.add(str(type, "* const c", column, " = (", type, "*)", area, " + task * ", count, ";"));
      }
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

/// Compilers fill a register with the narrowest elements of a loop and leave to single steps what
/// does not fill one, all of a short loop. A shorter vector, where that costs less.
std::string Body::lanes_text(int stage) const {
  constexpr std::int64_t kRegister = 64;  // bytes
  // Measured for an element: in a whole register, half of one, a quarter; and in a single step.
  constexpr double kCosts[] = {1.0, 1.6, 2.4}, kSingle = 7.5;
  const Dim& extent = k_.inner.back().extent;
  if (!extent.is_const()) return "";
  std::int64_t narrowest = 8;
  const auto see = [&](int buffer, const Dim& offset) {
    if (level_of(k_, offset) != Level::kInner) return;
    const auto bytes = static_cast<std::int64_t>(size_of(k_.buffers[at(buffer)].dtype));
    narrowest = std::min(narrowest, bytes);
  };
  for (const Let& let : k_.lets) {
    if (let.stage != stage || let.level != Level::kInner) continue;
    if (let.reduce != Reduce::kNone && !let.column) return "";  // its order is the compiler's
    for (const KernelOperand& o : let.operands) {
      if (o.kind == KernelOperand::kLoad) see(o.load.buffer, o.load.offset);
    }
  }
  for (const loop::KernelStore& s : k_.stores) {
    if (k_.lets[at(s.let)].stage == stage && !is_column_store(s)) see(s.buffer, s.offset);
  }
  std::int64_t best = 0, lanes = kRegister / narrowest;
  double least = 0;
  for (const double each : kCosts) {
    const std::int64_t rest = extent.value() % lanes;
    const double cost =
        each * static_cast<double>(extent.value() - rest) + kSingle * static_cast<double>(rest);
    if (best == 0 || cost < least) {
      best = lanes;
      least = cost;
    }
    lanes /= 2;
  }
  return best == kRegister / narrowest ? "" : str(" simdlen(", best, ")");
}

/// The row sums of a stage before its inner loops: totals of those that are made of blocks.
Body::RowSums Body::declare_sums(Lines& out, int stage) {
  RowSums sums;
  for (std::size_t i = 0; i < k_.lets.size(); ++i) {
    const Let& let = k_.lets[i];
    if (let.stage != stage || let.reduce == Reduce::kNone || let.column) continue;
    const std::string sum = str(register_type(let.compute), " a", i, " = ",
                                identity_text(let.reduce, let.compute), ";");
    out.add(loop::is_blocked_row(k_, let) ? str("double d", i, " = 0;") : sum);
    if (loop::is_blocked_row(k_, let)) {
      sums.blocked.push_back(str(i));
      sums.begin += sum;
    }
    sums.clause += str(" reduction(", simd_operation(let.reduce, let.compute), " : a", i, ")");
  }
  return sums;
}

void Body::inner_loop(Lines& out, int stage, const std::string& begin, const std::string& end,
                      const std::string& tile) {
  const RowSums sums = declare_sums(out, stage);
  if (!has_inner(stage) || inner_count(k_).is(0)) return;
  pointers(out, stage);
  const loop::RowBlocks cut = sums.blocked.empty() ? loop::RowBlocks{} : loop::row_blocks(k_);
  int outside = 0, inside = 0;  // braces, and of these those within a block
  for (std::size_t x = 0; x < k_.inner.size(); ++x) {
    const std::string name = index_name(k_.inner[x].symbol);
    std::string from = begin.empty() ? "0" : begin, to = end.empty() ? extents_[x] : end;
    if (cut.step > 1 && cut.at == x) {
      out.open(str("for (int64_t first_ = 0; first_ < ", to, "; first_ += ", cut.step, ")"));
      out.add(str("const int64_t end_ = first_ + ", cut.step, " < ", to, " ? first_ + ", cut.step,
                  " : ", to, ";"));
      out.add(sums.begin);
      from = "first_";
      to = "end_";
      ++outside;
    }
    if (x + 1 == k_.inner.size()) {
      const std::string lanes = begin.empty() ? lanes_text(stage) : "";
      const char* const bad = may_fail_ ? " reduction(| : bad_)" : "";
      out.add(str("#pragma omp simd", lanes, sums.clause, bad));
    }
    out.open(str("for (int64_t ", name, " = ", from, "; ", name, " < ", to, "; ++", name, ")"));
    const bool within = cut.step > 0 && (x > cut.at || (x == cut.at && cut.step > 1));
    ++(within ? inside : outside);
    if (cut.step == 1 && cut.at == x) out.add(sums.begin);
  }
  if (k_.inner.empty()) {
    out.open("");
    ++outside;
  }
  for (std::size_t i = 0; i < k_.lets.size(); ++i) {
    const Let& l = k_.lets[i];
    if (l.stage == stage && l.level == Level::kInner) let(out, static_cast<int>(i), tile);
  }
  stores(out, stage, Level::kInner);
  while (inside-- > 0) out.close();
  for (const std::string& i : sums.blocked) out.add(str("d", i, " += a", i, ";"));
  while (outside-- > 0) out.close();
  for (const std::string& i : sums.blocked) out.add(str("const float a", i, " = (float)d", i, ";"));
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

/// The blocks of a task's columns onto their totals.
void Body::add_columns(Lines& out) {
  for (std::size_t i = 0; i < k_.lets.size(); ++i) {
    const Let& let = k_.lets[i];
    if (!loop::is_blocked_column(k_, let)) continue;
    const std::string count = let.level == Level::kInner ? n_.text(inner_count(k_)) : "1";
    const std::string c = str("c", column_of_[i], "[j]"), d = str("d", column_of_[i], "[j]");
    out.add(str("for (int64_t j = 0; j < ", count, "; ++j) ", d, " += ", c, ", ", c, " = 0;"));
  }
}

void Body::row_done(Lines& out) {
  if (std::none_of(k_.lets.begin(), k_.lets.end(),
                   [this](const Let& l) { return loop::is_blocked_column(k_, l); })) {
    return;
  }
  out.open(str("if ((row - begin) % ", loop::kColumnBlock, " == ", loop::kColumnBlock - 1, ")"));
  add_columns(out);
  out.close();
}

void Body::epilogue(Lines& out) {
  add_columns(out);
  if (may_fail_) out.add("if (bad_) __atomic_fetch_or(bad, bad_, __ATOMIC_RELAXED);");
}

void Body::finish(Lines& out) {
  count();
  for (std::size_t b = 0; b < k_.buffers.size(); ++b) {
    const std::string type = memory_type(k_.buffers[b].dtype);
    out.add(str(type, "* const b", b + at(first_), " = (", type, "*)p[", b + at(first_), "];"));
  }
  const std::string size = n_.text(inner_count(k_));
  for (std::size_t i = 0; i < k_.lets.size(); ++i) {
    const Let& let = k_.lets[i];
    if (!let.column) continue;
    const bool blocked = loop::is_blocked_column(k_, let);
    const std::string type = blocked ? "double" : register_type(let.compute);
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
                combined_text(let.reduce, blocked ? DType::f64 : let.compute, c + "[j]",
                              str(c, "[t * ", blocked ? "2 * " : "", count, " + j]")),
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
    const std::string whole = blocked ? str("(float)", c, "[j]") : c + "[j]";
    std::string result = whole;
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
      result = as_number(formula(let.finish, let.compute, operands, whole, str("f", i), n_,
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
