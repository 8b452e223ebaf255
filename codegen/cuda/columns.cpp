// Bodies of kernels with column reductions: sums of a part of the rows.
#include <algorithm>

#include "codegen/cuda/writer.h"
#include "loop/unroll.h"

namespace plait::codegen::cuda {
namespace {

using loop::Let;
using loop::Level;

bool is_inner_column(const Let& l) { return l.column && l.level == Level::kInner; }

/// Rows whose loads are on their way while one is computed: `bytes` of a block for each. Memory is
/// kept busy by half of what this asks for; the other half has come, and waits.
int rows_ahead(int bytes, int blocks, int most) {
  constexpr int kBytes = 96 * 1024, kRows = 4;
  int rows = 1;
  while (rows < kRows && rows * bytes * blocks < kBytes && (rows + 1) * bytes <= most) ++rows;
  return rows;
}

}  // namespace

void Writer::declare_columns(Lines& out) {
  for (std::size_t i = 0; i < k_.lets.size(); ++i) {
    const Let& l = k_.lets[i];
    if (!l.column) continue;
    const std::string type = register_type(l.compute), zero = identity_text(l.reduce, l.compute);
    if (l.level != Level::kInner) {
      out.add(str(type, " r", i, " = ", zero, ";"));
    } else if (s_.accumulators > 0) {
      out.add(str("alignas(16) ", type, " c", i, "[", s_.steps, "][", s_.lanes, "];"));
      out.add("#pragma unroll");
      out.add(str("for (int i_ = 0; i_ < ", s_.steps * s_.lanes, "; ++i_) c", i, "[i_ / ", s_.lanes,
                  "][i_ % ", s_.lanes, "] = ", zero, ";"));
    } else {
      out.add(str(type, "* const m", i, " = (", type, "*)w[", area_of_[i], "] + task_ * ",
                  text_of(inner_count(k_)), ";"));
      out.open(str("for (", type_, " v_ = tx_; v_ < vectors_; v_ += ", s_.along, ")"));
      out.add(str("for (int l_ = 0; l_ < ", s_.lanes, "; ++l_) m", i, "[v_ * ", s_.lanes,
                  " + l_] = ", zero, ";"));
      out.close();
    }
  }
}

/// The rows of a task, in groups of `unit`: the first tasks have one group more than the others.
void Writer::part(Lines& out, int unit) {
  const Dim groups = ceildiv(row_count(k_), Dim(unit)), each = floordiv(groups, Dim(s_.tasks));
  const std::string more = text_of(groups - each * Dim(s_.tasks)), all = text_of(row_count(k_));
  out.add(str("const ", type_, " begin_ = (task_ * ", text_of(each), " + pl_min_i(task_, ", more,
              ")) * ", unit, ";"));
  out.add(str("const ", type_, " end_ = pl_min_i(begin_ + (", text_of(each), " + (int)(task_ < ",
              more, ")) * ", unit, ", ", all, ");"));
}

/// Blocks share the columns too: each thread walks down some of them.
void Writer::cut_columns(Lines& out, Body& body) {
  const Dim tiles = max(ceildiv(vectors(), Dim(s_.along)), Dim(1));
  printed_.blocks = tiles * Dim(s_.tasks);
  out.add(str("const ", type_, " tiles_ = ", text_of(tiles),
              ", task_ = block_ / tiles_, tile_ = block_ % tiles_;"));
  places(out);
  declare_columns(out);
  out.add(str("const ", type_, " v_ = tile_ * ", s_.along, " + tx_;"));
  out.open("if (v_ < vectors_)");
  decode(out, k_.inner, "v_", type_, s_.lanes, n_);
  const int unit = s_.rows * s_.deep;
  const bool even = row_count(k_).is_const() && is_multiple(row_count(k_), unit);
  part(out, unit);
  // A window is enough to keep memory busy by itself.
  if (s_.deep == 1) out.add(loop::reads_windows(k_) ? "#pragma unroll 1" : "#pragma unroll 4");
  out.open(str("for (", type_, " base_ = begin_ + ty_; base_ < end_; base_ += ", unit, ")"));
  const auto open_row = [&](Lines& lines) {
    lines.add(
        str("const ", type_, " row_ = base_", s_.deep > 1 ? str(" + c_ * ", s_.rows) : "", ";"));
    if (s_.deep > 1 && !even) lines.open("if (row_ < end_)");
    decode(lines, k_.rows, "row_", type_, 0, n_);
    body.row(lines, 0, "0");
    return s_.deep > 1 && !even ? 1 : 0;
  };
  const auto row_columns = [&](Lines& lines) {
    body.row_columns(lines, 0, k_.inner.empty() ? "" : "v_ == 0");
  };
  if (has_inner(k_, 0)) {
    body.inner(out, 0, {s_.deep, open_row, row_columns, true}, "");
  } else {
    open_row(out);
    row_columns(out);
  }
  out.close();
  out.close();
}

/// What a stage loads, for the rows that begin at `base`, if there are any: a group of copies.
void Writer::send(Lines& out, Body& body, int stage, const std::string& base) {
  out.open(str("if (", base, " < end_)"));
  const std::string row = str(base, " + ty_");
  out.add(
      str("const ", type_, " row_ = ", s_.even ? row : str("pl_min_i(", row, ", end_ - 1)"), ";"));
  decode(out, k_.rows, "row_", type_, 0, n_);
  body.send(out, stage, walk_row());
  out.close();
  out.add("pl_copy_commit();");
}

/// From one row's place of the ring to the next one's.
void Writer::turn_ring(Lines& out) {
  if (ring_.rows < 2) return;
  const std::string first = str("pl_dynamic + ", ring_.first);
  out.add(str("ahead_ = ahead_ == ", first, " + ", (ring_.rows - 1) * ring_.bytes, " ? ", first,
              " : ahead_ + ", ring_.bytes, ";"));
}

/// Shared memory for what the rows to come load, and the copies of the first of them.
void Writer::fill_ring(Lines& out, Body& body) {
  constexpr int kBytes = 216 * 1024;  // of a multiprocessor
  ring_.first = (shared_ + 15) / 16 * 16;
  const int most = kBytes / s_.per_processor - ring_.first;
  ring_.bytes = s_.ahead ? body.reserve(most, s_.steps) : 0;
  if (ring_.bytes == 0) return;
  ring_.rows = rows_ahead(ring_.bytes, s_.per_processor, most);
  printed_.block_bytes = std::max(printed_.block_bytes, ring_.first + ring_.rows * ring_.bytes);
  out.add(str("unsigned char* ahead_ = pl_dynamic + ", ring_.first, ";"));
  for (int row = 0; row < ring_.rows; ++row) {
    for (int stage = 0; stage <= k_.stages; ++stage) {
      if (body.sends(stage)) send(out, body, stage, str("begin_ + ", row * s_.rows));
    }
    turn_ring(out);
  }
}

void Writer::whole_rows(Lines& out, Body& body) {
  printed_.blocks = s_.tasks;
  out.add(str("const ", type_, " task_ = block_;"));
  places(out);
  kept_rooms(out);
  declare_columns(out);
  part(out, s_.rows);
  fill_ring(out, body);
  out.open(str("for (", type_, " base_ = begin_; base_ < end_; base_ += ", s_.rows, ")"));
  if (s_.even) {
    out.add(str("const ", type_, " row_ = base_ + ty_;"));
  } else {
    out.add("const bool live_ = base_ + ty_ < end_;");
    out.add(str("const ", type_, " row_ = live_ ? base_ + ty_ : end_ - 1;"));
    body.some_have_no_row();
    if (body.may_fail()) out.add("const int before_ = bad_;");
  }
  row(out, body, s_.even);
  if (!s_.even && body.may_fail()) out.add("if (!live_) bad_ = before_;");
  turn_ring(out);
  out.close();
  if (printed_.block_bytes > 0) out.barrier();
}

void Writer::columns(Lines& out) {
  if (s_.kept == Schedule::kScratch) {
    kept_area_ = static_cast<int>(k_.buffers.size());
    printed_.scratch_sizes.push_back(Dim(std::int64_t(s_.tasks) * s_.rows * kept_count(k_)) *
                                     inner_count(k_));
  }
  for (std::size_t i = 0; i < k_.lets.size() && !finishes_inside(); ++i) {
    if (!k_.lets[i].column) continue;
    area_of_[i] = static_cast<int>(k_.buffers.size() + printed_.scratch_sizes.size());
    printed_.scratch_sizes.push_back(is_inner_column(k_.lets[i]) ? inner_count(k_) * Dim(s_.tasks)
                                                                 : Dim(s_.tasks));
  }
  head(out);
  Body body(k_, s_, s_.lanes, n_);
  if (body.may_fail()) out.add("int bad_ = 0;");
  body.call(out, "block_ == 0 && tid_ == 0");
  if (s_.whole_rows) {
    whole_rows(out, body);
  } else {
    cut_columns(out, body);
  }
  gather(out, body);
  tail(out, body);
}

}  // namespace plait::codegen::cuda
