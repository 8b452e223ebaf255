// Column reductions of a kernel in C: each task adds up its rows in memory of its own, column by
// column; what is left to do behind all rows, and the second function, which adds up the tasks.
#include <algorithm>

#include "base/at.h"
#include "base/text.h"
#include "codegen/body_c.h"
#include "loop/sum_blocks.h"

namespace plait::codegen {
namespace {

using loop::Let;
using loop::Level;

}  // namespace

/// Columns that are alike but for what they add up, one behind the other: one loop does for all.
std::vector<Body::ColumnRun> Body::column_runs() const {
  std::vector<ColumnRun> runs;
  for (std::size_t i = 0; i < k_.lets.size(); ++i) {
    const Let& let = k_.lets[i];
    if (!let.column) continue;
    if (!runs.empty()) {
      const Let& before = k_.lets[runs.back().let];
      const bool alike = let.compute == before.compute && let.reduce == before.reduce &&
                         (let.level == Level::kInner) == (before.level == Level::kInner);
      if (alike) {
        ++runs.back().count;
        continue;
      }
    }
    runs.push_back({i, column_of_[i], 1});
  }
  return runs;
}

/// Opens a loop over a run's columns: c_ is where one's parts lie, d_ the f64 ones of blocks.
void Body::open_run(Lines& out, const ColumnRun& run, const std::string& count) {
  const Let& let = k_.lets[run.let];
  const std::string type = register_type(let.compute);
  const auto area = k_.buffers.size() + at(first_ + run.first);
  out.open(str("for (int column_ = 0; column_ < ", run.count, "; ++column_)"));
  const std::string own = str("p[", area, " + column_]");
  if (loop::is_blocked_column(k_,
                              let)) {  // f64 for the blocks, behind them f32 for the one that grows
    out.add(str("double* const d_ = (double*)", own, " + task * 2 * ", count, ";"));
    out.add(str("float* const c_ = (float*)(d_ + ", count, ");"));
  } else {
    out.add(str(type, "* const c_ = (", type, "*)", own, " + task * ", count, ";"));
  }
}

std::string Body::column_count(const Let& let) {
  return let.level == Level::kInner ? n_.text(inner_count(k_)) : "1";
}

void Body::begin_columns(Lines& out) {
  for (const ColumnRun& run : column_runs()) {
    const Let& let = k_.lets[run.let];
    const std::string count = column_count(let);
    open_run(out, run, count);
    const std::string each = str("for (int64_t j = 0; j < ", count, "; ++j) ");
    if (loop::is_blocked_column(k_, let)) out.add(each + "d_[j] = 0;");
    out.add(str(each, "c_[j] = ", identity_text(let.reduce, let.compute), ";"));
    out.close();
  }
  for (std::size_t i = 0; i < k_.lets.size(); ++i) {
    const Let& let = k_.lets[i];
    if (!let.column) continue;
    const std::string type = register_type(let.compute), count = column_count(let);
    const std::string own = str("p[", k_.buffers.size() + at(first_ + column_of_[i]), "]");
    out.add(loop::is_blocked_column(k_, let)
                ? str("float* const c", column_of_[i], " = (float*)((double*)", own,
                      " + (task * 2 + 1) * ", count, ");")
                : str(type, "* const c", column_of_[i], " = (", type, "*)", own, " + task * ",
                      count, ";"));
  }
}

/// The blocks of a task's columns onto their totals.
void Body::add_columns(Lines& out) {
  for (const ColumnRun& run : column_runs()) {
    const Let& let = k_.lets[run.let];
    if (!loop::is_blocked_column(k_, let)) continue;
    const std::string count = column_count(let);
    open_run(out, run, count);
    out.add(str("for (int64_t j = 0; j < ", count, "; ++j) d_[j] += c_[j], c_[j] = 0;"));
    out.close();
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
  if (may_fail()) out.add("if (bad_) __atomic_fetch_or(bad, bad_, __ATOMIC_RELAXED);");
}

/// Which elements a task of the second function takes; `end` is that of the widest column.
static std::string bounds_text(const std::string& c, const std::string& size, bool wide) {
  if (!wide) return "const int64_t first" + c + " = 0, last" + c + " = begin == 0;";
  return str("const int64_t first", c, " = begin, last", c, " = end < ", size, " ? end : ", size,
             ";");
}

/// All tasks' parts into the first one's, in their order.
void Body::add_tasks(Lines& out) {
  for (const ColumnRun& run : column_runs()) {
    const Let& let = k_.lets[run.let];
    const bool blocked = loop::is_blocked_column(k_, let);
    const DType held = blocked ? DType::f64 : let.compute;
    const std::string type = register_type(held), count = column_count(let);
    out.open(str("for (int column_ = 0; column_ < ", run.count, "; ++column_)"));
    out.add(str(type, "* const c_ = (", type, "*)p[", k_.buffers.size() + at(first_ + run.first),
                " + column_];"));
    out.add(bounds_text("_", count, let.level == Level::kInner));
    out.open("for (int64_t t = 1; t < tasks; ++t)");
    out.add("#pragma omp simd");
    out.add(str("for (int64_t j = first_; j < last_; ++j) c_[j] = ",
                combined_text(let.reduce, held, "c_[j]",
                              str("c_[t * ", blocked ? "2 * " : "", count, " + j]")),
                ";"));
    out.close();
    out.close();
  }
}

void Body::finish_columns(Lines& out) {
  for (std::size_t b = 0; b < k_.buffers.size(); ++b) {
    const std::string type = memory_type(k_.buffers[b].dtype);
    out.add(str(type, "* const b", b + at(first_), " = (", type, "*)p[", b + at(first_), "];"));
  }
  add_tasks(out);
  for (std::size_t i = 0; i < k_.lets.size(); ++i) {
    const Let& let = k_.lets[i];
    if (!let.column) continue;
    const bool blocked = loop::is_blocked_column(k_, let);
    const std::string type = blocked ? "double" : register_type(let.compute);
    const std::string c = str("c", column_of_[i]);
    out.add(str("const ", type, "* const ", c, " = (const ", type, "*)p[",
                k_.buffers.size() + at(first_ + column_of_[i]), "];"));
    out.add(bounds_text(c, column_count(let), let.level == Level::kInner));
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
    finish_column(out, static_cast<int>(i), whole);
    out.close();
  }
}

}  // namespace plait::codegen
