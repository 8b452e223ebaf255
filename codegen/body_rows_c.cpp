// Rows of a kernel in C: what stands before them, and their inner loops.
#include <algorithm>

#include "base/at.h"
#include "base/text.h"
#include "codegen/body_c.h"
#include "loop/statements.h"
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

void Body::prologue(Lines& out) {
  if (may_fail()) out.add("int bad_ = 0;");
  for (std::size_t b = 0; b < k_.buffers.size(); ++b) {
    const std::string type = memory_type(k_.buffers[b].dtype);
    const std::string constant = k_.buffers[b].written ? "" : "const ";
    out.add(str(constant, type, "* const b", b + at(first_), " = (", constant, type, "*)p[",
                b + at(first_), "];"));
  }
  if (kept_ > 0) {
    out.add(str("const int64_t room_ = (", n_.text(inner_count(k_)), " * 8 + 63) & ~INT64_C(63);"));
  }
  for (std::size_t i = 0; i < k_.lets.size(); ++i) {
    const Let& let = k_.lets[i];
    if (let.kept) {
      const std::string type = register_type(let.dtype);
      out.add(str(type, "* const s", kept_of_[i], " = (", type, "*)(scratch + ", kept_of_[i],
                  " * room_);"));
    }
  }
  begin_columns(out);
  for (std::size_t i = 0; i < k_.lets.size(); ++i) {
    if (k_.lets[i].level == Level::kCall) let(out, static_cast<int>(i));
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
    if (k_.lets[at(s.let)].stage == stage && !is_column_store(k_, s)) see(s.buffer, s.offset);
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

/// The statements of the inner loop of a stage, or of several loops one behind the other: where all
/// it does is to add to more columns than there are registers for addresses.
std::vector<std::vector<char>> Body::passes(int stage) const {
  constexpr std::size_t kMost = 5;
  std::vector<char> all(k_.lets.size(), 0);
  std::vector<std::size_t> columns;
  bool only_columns = true;
  for (std::size_t i = 0; i < k_.lets.size(); ++i) {
    const Let& l = k_.lets[i];
    if (l.stage != stage || l.level != Level::kInner) continue;
    all[i] = 1;
    if (l.column) columns.push_back(i);
    only_columns =
        only_columns && !l.kept && l.index.empty() && (l.column || l.reduce == Reduce::kNone);
  }
  for (const loop::KernelStore& s : k_.stores) {
    only_columns = only_columns && (is_column_store(k_, s) || store_level(k_, s) != Level::kInner);
  }
  if (!only_columns || columns.size() <= kMost) return {all};
  const std::size_t count = (columns.size() + kMost - 1) / kMost;
  std::vector<std::vector<char>> out(count, std::vector<char>(k_.lets.size(), 0));
  for (std::size_t c = 0; c < columns.size(); ++c) out[c * count / columns.size()][columns[c]] = 1;
  for (std::vector<char>& pass : out) {  // with all that its columns are made of
    for (std::size_t i = k_.lets.size(); i-- > 0;) {
      if (!pass[i]) continue;
      for (const KernelOperand& o : k_.lets[i].operands) {
        if (o.kind == KernelOperand::kLet && all[at(o.let)]) pass[at(o.let)] = 1;
      }
    }
  }
  return out;
}

void Body::inner_loop(Lines& out, int stage, const std::string& begin, const std::string& end) {
  const RowSums sums = declare_sums(out, stage);
  if (!has_inner(k_, stage) || inner_count(k_).is(0)) return;
  prefetches(out, stage);
  const std::vector<std::vector<char>> all = passes(stage);
  const auto loops = [&] {
    pointers(out, stage);
    for (const std::vector<char>& pass : all) {
      inner_points(out, stage, begin, end, sums, pass);
    }
  };
  // Most rows of a padded image lie inside of it: their loop has no masks.
  constexpr std::size_t kFewest = 2;
  const std::vector<std::string> guards = row_guards(stage);
  if (guards.size() >= kFewest) {
    out.open(str("if (", join(guards, " & "), ")"));
    all_hold_ = true;
    loops();
    all_hold_ = false;
    out.close();
    out.open("else");
  }
  loops();
  if (guards.size() >= kFewest) out.close();
  for (const std::string& i : sums.blocked) out.add(str("const float a", i, " = (float)d", i, ";"));
}

void Body::inner_points(Lines& out, int stage, const std::string& begin, const std::string& end,
                        const RowSums& sums, const std::vector<char>& pass) {
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
      const char* const bad = may_fail() ? " reduction(| : bad_)" : "";
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
    if (pass[i]) let(out, static_cast<int>(i));
  }
  stores(out, stage, Level::kInner);
  while (inside-- > 0) out.close();
  for (const std::string& i : sums.blocked) out.add(str("d", i, " += a", i, ";"));
  while (outside-- > 0) out.close();
}

void Body::row(Lines& out, const std::string& begin, const std::string& end,
               const std::string& tile) {
  tile_ = tile;
  for (int stage = 0; stage <= k_.stages; ++stage) {
    for (const int i : sums(stage - 1)) finish(out, i, str("a", i));
    for (std::size_t i = 0; i < k_.lets.size(); ++i) {
      const Let& l = k_.lets[i];
      if (l.stage == stage && l.level == Level::kRow) let(out, static_cast<int>(i));
    }
    stores(out, stage, Level::kRow);
    if (stage < k_.stages || has_inner(k_, stage)) inner_loop(out, stage, begin, end);
  }
}

}  // namespace plait::codegen
