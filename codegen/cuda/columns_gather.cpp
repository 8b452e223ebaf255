// The ends of column reductions: the sums of a block's threads, and the second stage over blocks.
#include <algorithm>
#include <functional>
#include <utility>

#include "base/at.h"
#include "codegen/cuda/writer.h"

namespace plait::codegen::cuda {
namespace {

using loop::Let;
using loop::Level;

bool is_inner_column(const Let& l) { return l.column && l.level == Level::kInner; }

bool has_inner_columns(const loop::Kernel& k) {
  return std::any_of(k.lets.begin(), k.lets.end(), is_inner_column);
}

/// Rows of threads that can have anything to add; the others hold what changes nothing.
int busy_rows(const loop::Kernel& k, const Schedule& s) {
  const Dim rows = row_count(k);
  if (!rows.is_const() || rows.value() >= s.rows) return s.rows;
  int busy = 1;
  while (busy < rows.value()) busy *= 2;
  return busy;
}

/// Halves of `slots_` onto each other: `rows` rows of `width` elements, no more than there are
/// threads, become one. All threads.
void fold(Lines& out, const Let& l, int rows, int width) {
  if (rows < 2) return;
  out.add("#pragma unroll");
  out.open(str("for (int d_ = ", rows / 2, "; d_ > 0; d_ /= 2)"));
  const std::string other = str("slots_[tid_ + d_ * ", width, "]");
  out.add(str("if (tid_ < d_ * ", width,
              ") slots_[tid_] = ", combined_text(l.reduce, l.compute, "slots_[tid_]", other), ";"));
  out.barrier();
  out.close();
}

}  // namespace

bool Writer::finishes_inside() const {
  return s_.tasks == 1 && (s_.accumulators > 0 || !has_inner_columns(k_));
}

/// A sum, to where the second stage finds it, or to its end.
void Writer::result(Lines& out, Body& body, int i, const std::string& index) {
  const std::string type = register_type(k_.lets[at(i)].compute);
  if (!finishes_inside()) {
    out.add(str("((", type, "*)w[", area_of_[at(i)], "])[task_",
                index.empty() ? "" : str(" * ", text_of(inner_count(k_)), " + ", index),
                "] = sum_;"));
    return;
  }
  if (!index.empty()) decode(out, k_.inner, index, type_, 1, n_);
  body.finish_column(out, i, "sum_");
}

void Writer::gather_row_column(Lines& out, Body& body, int i) {
  const Let& l = k_.lets[at(i)];
  const std::string type = register_type(l.compute);
  printed_.block_bytes = std::max(printed_.block_bytes, s_.rows * 8);
  out.open("");
  out.add(str(type, "* const slots_ = (", type, "*)pl_dynamic;"));
  out.add(str("if (tx_ == 0) slots_[ty_] = r", i, ";"));
  out.barrier();
  fold(out, l, busy_rows(k_, s_), 1);
  out.open(s_.whole_rows ? "if (tid_ == 0)" : "if (tid_ == 0 && tile_ == 0)");
  out.add(str("const ", type, " sum_ = slots_[0];"));
  result(out, body, i, "");
  out.close();
  out.barrier();
  out.close();
}

/// Every vector of a thread, and every element of one.
void Writer::every(Lines& out, bool inner, bool elements, const std::function<void()>& inside) {
  int braces = 0;
  for (const auto& [index, count] : {std::pair("c_", s_.steps), std::pair("l_", s_.lanes)}) {
    if (!inner || (!elements && braces == 1)) break;
    out.add("#pragma unroll");
    out.open(str("for (int ", index, " = 0; ", index, " < ", count, "; ++", index, ")"));
    ++braces;
  }
  inside();
  while (braces-- > 0) out.close();
}

/// The sums of a block, by the threads of its first row.
void Writer::put_column(Lines& out, Body& body, int i) {
  const Let& l = k_.lets[at(i)];
  const bool inner = is_inner_column(l);
  const std::string type = register_type(l.compute);
  out.open(inner ? "if (ty_ == 0)"
                 : str("if (tid_ == 0", s_.whole_rows ? "" : " && tile_ == 0", ")"));
  every(out, inner, finishes_inside(), [&] {
    const std::string vector = s_.whole_rows ? "c_" : "tile_";
    if (inner) {
      out.add(str("const ", type_, " v_ = ", vector, " * ", s_.along, " + tx_;"));
      out.open("if (v_ < vectors_)");
    }
    if (inner && !finishes_inside()) {
      out.add(str("pl_move<", s_.lanes, ">((", type, "*)w[", area_of_[at(i)], "] + task_ * ",
                  text_of(inner_count(k_)), " + v_ * ", s_.lanes, ", c", i, "[c_]);"));
    } else {
      out.add(str("const ", type, " sum_ = ", inner ? str("c", i, "[c_][l_]") : str("r", i), ";"));
      if (inner) out.add(str("const ", type_, " j_ = v_ * ", s_.lanes, " + l_;"));
      result(out, body, i, inner ? "j_" : "");
    }
    if (inner) out.close();
  });
  out.close();
}

/// The rows of a warp onto each other, all columns at once.
void Writer::gather_in_warp(Lines& out, Body& body, int i) {
  const Let& l = k_.lets[at(i)];
  const bool inner = is_inner_column(l);
  const std::string sum = inner ? str("c", i, "[c_][l_]") : str("r", i);
  const int busy = busy_rows(k_, s_);
  if (busy > 1) {
    out.add("#pragma unroll");
    out.open(str("for (int d_ = ", busy / 2 * s_.along, "; d_ >= ", s_.along, "; d_ /= 2)"));
    const std::string other = str("__shfl_xor_sync(0xffffffffu, ", sum, ", d_)");
    every(out, inner, true,
          [&] { out.add(str(sum, " = ", combined_text(l.reduce, l.compute, sum, other), ";")); });
    out.close();
  }
  put_column(out, body, i);
}

/// The rows of a block onto each other, several sums at once: half of its threads leave theirs in
/// shared memory.
void Writer::gather_together(Lines& out, const std::vector<int>& sums) {
  const int busy = busy_rows(k_, s_), half = busy / 2 * s_.along, each = half * s_.steps * s_.lanes;
  if (busy < 2 || sums.empty()) return;
  printed_.block_bytes = std::max(printed_.block_bytes, static_cast<int>(sums.size()) * each * 8);
  const auto every_slot = [&](const std::function<void(int, const std::string&)>& inside) {
    for (std::size_t n = 0; n < sums.size(); ++n) {
      const std::string type = register_type(k_.lets[at(sums[n])].compute);
      out.open("");
      out.add(str(type, "* const slots_ = (", type, "*)(pl_dynamic + ", n * at(each) * 8, ");"));
      every(out, true, true, [&] { inside(sums[n], str("c", sums[n], "[c_][l_]")); });
      out.close();
    }
  };
  const auto slot = [&](const std::string& thread) {
    return str("slots_[(c_ * ", half, " + ", thread, ") * ", s_.lanes, " + l_]");
  };
  out.add("#pragma unroll");
  out.open(str("for (int d_ = ", busy / 2, "; d_ > 0; d_ /= 2)"));
  out.open("if (ty_ >= d_ && ty_ < 2 * d_)");
  const std::string from = str("tid_ - d_ * ", s_.along);
  every_slot([&](int, const std::string& sum) { out.add(str(slot(from), " = ", sum, ";")); });
  out.close();
  out.barrier();
  out.open("if (ty_ < d_)");
  every_slot([&](int i, const std::string& sum) {
    const Let& l = k_.lets[at(i)];
    out.add(str(sum, " = ", combined_text(l.reduce, l.compute, sum, slot("tid_")), ";"));
  });
  out.close();
  out.barrier();
  out.close();
}

void Writer::gather(Lines& out, Body& body) {
  const int most = std::max(32 * 1024, printed_.block_bytes);  // of shared memory
  const int each = kThreads / 2 * s_.steps * s_.lanes * 8;
  std::vector<int> sums;
  const auto flush = [&] {
    gather_together(out, sums);
    for (int i : sums) put_column(out, body, i);
    sums.clear();
  };
  for (std::size_t i = 0; i < k_.lets.size(); ++i) {
    const Let& l = k_.lets[i];
    if (!l.column) continue;
    if (s_.threads == 32) {
      gather_in_warp(out, body, static_cast<int>(i));
    } else if (l.level != Level::kInner) {
      gather_row_column(out, body, static_cast<int>(i));
    } else if (s_.accumulators > 0) {
      if ((static_cast<int>(sums.size()) + 1) * each > most) flush();
      sums.push_back(static_cast<int>(i));
    }
  }
  flush();
}

// --- second stage ------------------------------------------------------------------------------

/// Columns of a block: few, so that its other threads share the parts of each.
int Writer::finish_width() const {
  if (!has_inner_columns(k_)) return 1;
  const std::int64_t inner = inner_count(k_).hi();
  int width = inner >= 16 * 1024 ? 32 : 8;
  while (width > 1 && width / 2 >= inner) width /= 2;
  return width;
}

/// Blocks for each sum that goes down the columns.
Dim Writer::finish_blocks() const {
  return has_inner_columns(k_) ? ceildiv(inner_count(k_), Dim(finish_width())) : Dim(1);
}

void Writer::finish_one(Lines& out, Body& body, int i, int number) {
  const Let& l = k_.lets[at(i)];
  const std::string type = register_type(l.compute);
  const bool inner = is_inner_column(l);
  const int width = inner ? finish_width() : 1, depth = kThreads / width;
  const std::string blocks = text_of(finish_blocks());
  out.open(inner ? str("if (block_ / ", blocks, " == ", number, ")") : "if (block_ == 0)");
  out.add(str("const ", type, "* const parts_ = (const ", type, "*)w[", area_of_[at(i)], "];"));
  out.add(str(type, "* const slots_ = (", type, "*)pl_dynamic;"));
  out.add(str(type, " sum_ = ", identity_text(l.reduce, l.compute), ";"));
  std::string place = "t_";
  if (inner) {
    const std::string size = text_of(inner_count(k_));
    out.add(
        str("const ", type_, " j_ = block_ % ", blocks, " * ", width, " + tid_ % ", width, ";"));
    out.open(str("if (j_ < ", size, ")"));
    place = str("t_ * ", size, " + j_");
  }
  // What only some threads have to add comes last; its load is under way with the others.
  const int whole = s_.tasks / depth * depth;
  const auto next = [&](const std::string& part) {
    return str("sum_ = ", combined_text(l.reduce, l.compute, "sum_", part), ";");
  };
  const std::string part = str("parts_[", place, "]"), first = str("tid_ / ", width);
  if (whole < s_.tasks) {
    out.add(str(type, " last_ = ", identity_text(l.reduce, l.compute), ";"));
    out.open(str("if (", first, " < ", s_.tasks - whole, ")"));
    out.add(str("const ", type_, " t_ = ", whole, " + ", first, ";"));
    out.add(str("last_ = ", part, ";"));
    out.close();
  }
  if (whole > 0) {
    out.add(str("#pragma unroll ", std::min(whole / depth, 16)));
    out.open(str("for (int n_ = 0; n_ < ", whole / depth, "; ++n_)"));
    out.add(str("const ", type_, " t_ = n_ * ", depth, " + ", first, ";"));
    out.add(next(part));
    out.close();
  }
  if (whole < s_.tasks) out.add(next("last_"));
  if (inner) out.close();
  out.add("slots_[tid_] = sum_;");
  out.barrier();
  fold(out, l, depth, width);
  out.open(inner ? str("if (tid_ < ", width, " && j_ < ", text_of(inner_count(k_)), ")")
                 : "if (tid_ == 0)");
  out.add("sum_ = slots_[tid_];");
  if (inner) decode(out, k_.inner, "j_", type_, 1, n_);
  body.finish_column(out, i, "sum_");
  out.close();
  out.barrier();
  out.close();
}

void Writer::finish(Lines& out) {
  head(out);
  Body body(k_, s_, 1, n_);
  int number = 0;
  for (std::size_t i = 0; i < k_.lets.size(); ++i) {
    if (!k_.lets[i].column) continue;
    finish_one(out, body, static_cast<int>(i), number);
    number += is_inner_column(k_.lets[i]);
  }
  printed_.block_bytes = std::max(printed_.block_bytes, kFinishBytes);
  printed_.finish_blocks = finish_blocks() * Dim(std::max(1, number));
}

}  // namespace plait::codegen::cuda
