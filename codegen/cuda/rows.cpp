// Bodies of kernels without column reductions: points one by one, and rows.
#include <algorithm>

#include "base/at.h"
#include "base/error.h"
#include "codegen/cuda/writer.h"

namespace plait::codegen::cuda {
namespace {

using loop::Let;
using loop::Reduce;

/// Bytes of a value where it is kept.
int held_bytes(DType t) { return register_type(t) == "float" || register_type(t) == "int" ? 4 : 8; }

}  // namespace

// --- points ------------------------------------------------------------------------------------

/// A kernel of one point. One thread alone computes it: it may store where it loads.
void Writer::scalar(Lines& out) {
  head(out);
  Body body(k_, s_, 1, n_);
  out.open("if (block_ == 0 && tid_ == 0)");
  if (body.may_fail()) out.add("int bad_ = 0;");
  body.call(out, "1");
  tail(out, body);
  out.close();
}

void Writer::points(Lines& out) {
  if (k_.rows.empty() && k_.inner.empty()) return scalar(out);
  head(out);
  Body body(k_, s_, s_.lanes, n_);
  if (body.may_fail()) out.add("int bad_ = 0;");
  body.call(out, "block_ == 0 && tid_ == 0");
  const std::int64_t per_block = std::int64_t(kThreads) * s_.steps;
  if (s_.flat) {  // the number of whole vectors is left to the text: it serves any size
    out.add(str("const ", type_, " size_ = ", text_of(inner_count(k_)), ", points_ = size_ / ",
                s_.lanes, ";"));
    printed_.blocks = ceildiv(inner_count(k_), Dim(per_block * s_.lanes));
  } else {
    const Dim all = (s_.down ? ceildiv(row_count(k_), Dim(s_.steps)) : row_count(k_)) * vectors();
    out.add(str("const ", type_, " points_ = ", text_of(all), ", vectors_ = ", text_of(vectors()),
                ";"));
    printed_.blocks = ceildiv(all, Dim(s_.down ? kThreads : per_block));
  }
  Walk walk;
  walk.steps = s_.steps;
  walk.down = s_.down;
  walk.still = [&](Lines& lines) {
    lines.add(str("const ", type_, " v_ = p_", k_.rows.empty() ? "" : " % vectors_", ";"));
    decode(lines, k_.inner, "v_", type_, s_.lanes, n_);
  };
  walk.open = [&](Lines& lines) {
    std::string row = "(p_ / vectors_)";
    int braces = 0;
    if (s_.down) {
      row = "row_";
      lines.add(str("const ", type_, " row_ = p_ / vectors_ * ", s_.steps, " + c_;"));
      if (!is_multiple(row_count(k_), s_.steps)) {
        lines.open(str("if (row_ < ", text_of(row_count(k_)), ")"));
        ++braces;
      }
    } else {
      lines.add(
          str("const ", type_, " p_ = (block_ * ", s_.steps, " + c_) * ", kThreads, " + tid_;"));
      lines.open("if (p_ < points_)");
      ++braces;
    }
    decode(lines, k_.rows, row, type_, 0, n_);
    walk.still(lines);
    body.row(lines, 0, "0");
    return braces;
  };
  if (s_.down) {
    out.add(str("const ", type_, " p_ = block_ * ", kThreads, " + tid_;"));
    out.open("if (p_ < points_)");
  }
  body.inner(out, 0, walk, "");
  if (s_.down) out.close();
  if (s_.flat && s_.lanes > 1) left_over(out);
  tail(out, body);
}

/// Behind the last whole vector of a flat kernel.
void Writer::left_over(Lines& out) {
  Body body(k_, s_, 1, n_);
  out.open(str("if (block_ == 0 && tid_ < size_ - points_ * ", s_.lanes, ")"));
  Walk walk;
  walk.open = [&](Lines& lines) {
    decode(lines, k_.inner, str("(points_ * ", s_.lanes, " + tid_)"), type_, 1, n_);
    body.row(lines, 0, "0");
    return 0;
  };
  body.inner(out, 0, walk, "");
  out.close();
}

// --- rows --------------------------------------------------------------------------------------

/// Where a thread stands in its row, and how much shared memory sums need.
void Writer::places(Lines& out) {
  const int rows = s_.rows, along = s_.along;
  out.add(s_.by_columns ? str("const int tx_ = tid_ / ", rows, ", ty_ = tid_ % ", rows, ";")
                        : str("const int tx_ = tid_ % ", along, ", ty_ = tid_ / ", along, ";"));
  out.add(str("const ", type_, " vectors_ = ", text_of(vectors()), ";"));
  int most = 0;
  for (int stage = 0; stage <= k_.stages; ++stage) {
    int count = 0;
    for (const Let& l : k_.lets) {
      count += l.reduce != Reduce::kNone && !l.column && l.stage == stage;
    }
    most = std::max(most, count);
  }
  const int slots = along == 1 ? 0 : s_.by_columns ? kThreads : along > 32 ? 2 * kThreads / 32 : 0;
  shared_ = most * slots * 8;
  if (most > 0 && !s_.by_columns && slots > 0) out.add("int turn_ = 0;");
}

/// Rows of scratch for what is kept outside of registers.
void Writer::kept_rooms(Lines& out) {
  if (kept_count(k_) == 0 || s_.kept == Schedule::kRegisters) return;
  const bool shared = s_.kept == Schedule::kShared;
  int wide = 4;
  for (const Let& l : k_.lets) {
    if (l.kept && held_bytes(l.dtype) > 4) wide = 8;
  }
  const Dim inner = inner_count(k_);
  const int count = kept_count(k_);
  const std::string size = text_of(inner);
  int number = 0;
  for (const Let& l : k_.lets) {
    if (!l.kept) continue;
    const std::string type = register_type(l.dtype);
    const std::string base =
        shared ? str("pl_dynamic + ", shared_ + number * s_.rows * inner.hi() * wide)
               : str("w[", kept_area_, "] + ", wide, " * (((int64_t)block_ * ", count, " + ",
                     number, ") * ", s_.rows, " * ", size, ")");
    out.add(str(type, "* const k", number++, " = (", type, "*)(", base, ") + ty_",
                s_.by_columns ? "" : str(" * (int64_t)", size), ";"));
  }
  if (shared) {
    printed_.block_bytes = std::max(
        printed_.block_bytes, static_cast<int>(shared_ + count * s_.rows * inner.hi() * wide));
  }
}

/// The vectors of a thread in a row, or in a block of it.
Walk Writer::walk_row(bool block) {
  Walk walk;
  walk.steps = s_.steps;
  walk.open = [this, block](Lines& out) {
    int braces = 0;
    if (s_.steps > 0) {
      out.add(str("const ", type_, " v_ = tx_ + c_ * ", s_.along, ";"));
      if (!vectors().is(std::int64_t(s_.steps) * s_.along)) {
        out.open("if (v_ < vectors_)");
        braces = 1;
      }
    } else {
      if (s_.parts > 1) out.add("#pragma unroll 4");
      const std::string first = block ? "first_v_ + tx_" : s_.parts > 1 ? "begin_ + tx_" : "tx_";
      const char* const last = block ? "last_v_" : s_.parts > 1 ? "end_" : "vectors_";
      out.open(str("for (", type_, " v_ = ", first, "; v_ < ", last, "; v_ += ", s_.along, ")"));
      braces = 1;
    }
    decode(out, k_.inner, "v_", type_, s_.lanes, n_);
    return braces;
  };
  return walk;
}

// A thread adds up so many terms in f32; the sums of longer rows are made of such blocks, in f64.
constexpr std::int64_t kBlock = 256;

/// Sums of a stage in which a thread has more terms than a block.
std::vector<int> Writer::long_sums(const Body& body, int stage) const {
  const std::int64_t each =
      vectors().hi() / (std::int64_t(s_.along) * std::max(1, s_.parts)) * s_.lanes;
  std::vector<int> out;
  for (int i : body.sums(stage)) {
    const Let& l = k_.lets[at(i)];
    const bool inner = l.level == loop::Level::kInner;
    if (s_.steps == 0 && each > 2 * kBlock && inner && l.reduce == Reduce::kSum &&
        l.compute == DType::f32) {
      out.push_back(i);
    }
  }
  return out;
}

/// The points of a stage in a row, long sums block by block.
void Writer::row_points(Lines& out, Body& body, int stage, const std::string& live) {
  const std::vector<int> sums = long_sums(body, stage);
  if (sums.empty()) return body.inner(out, stage, walk_row(), live);
  for (int i : sums) out.add(str("double d", i, " = 0;"));
  const std::string begin = s_.parts > 1 ? "begin_" : "0", end = s_.parts > 1 ? "end_" : "vectors_";
  const std::int64_t step = s_.along * std::max<std::int64_t>(1, kBlock / s_.lanes);
  out.open(str("for (", type_, " first_v_ = ", begin, "; first_v_ < ", end, "; first_v_ += ", step,
               ")"));
  out.add(str("const ", type_, " last_v_ = pl_min_i(first_v_ + ", step, ", ", end, ");"));
  body.inner(out, stage, walk_row(true), live);
  for (int i : sums) out.add(str("d", i, " += a", i, "; a", i, " = 0;"));
  out.close();
  for (int i : sums) out.add(str("a", i, " = (float)d", i, ";"));
}

/// The sums of a stage, over the threads of the row: every thread has them then.
void Writer::across(Lines& out, const Body& body, int stage) {
  const std::vector<int> sums = body.sums(stage);
  if (sums.empty() || s_.along == 1) return;
  const auto type = [&](int i) { return register_type(k_.lets[at(i)].compute); };
  const auto combined = [&](int i, const std::string& b) {
    return str("a", i, " = ", step_text(dialect_of(s_), k_.lets[at(i)], str("a", i), b), ";");
  };
  if (!s_.by_columns) {
    out.add("#pragma unroll");
    out.open(str("for (int d_ = ", std::min(s_.along, 32) / 2, "; d_ > 0; d_ /= 2)"));
    for (int i : sums) out.add(combined(i, str("__shfl_xor_sync(0xffffffffu, a", i, ", d_)")));
    out.close();
    if (s_.along <= 32) return;
  }
  // Through shared memory: a slot for each warp, or for each thread. Slots of warps are there
  // twice: who writes one set anew has met those who read it at the other.
  const int slots = s_.by_columns ? kThreads : kThreads / 32;
  const int count = s_.by_columns ? s_.along : s_.along / 32;
  printed_.block_bytes = std::max(printed_.block_bytes, shared_);
  for (std::size_t r = 0; r < sums.size(); ++r) {
    out.add(str(type(sums[r]), "* const s", sums[r], " = (", type(sums[r]), "*)(pl_dynamic + ",
                s_.by_columns ? "" : "turn_ + ", r * at(slots) * 8, ");"));
    out.add(s_.by_columns ? str("s", sums[r], "[tid_] = a", sums[r], ";")
                          : str("if (tid_ % 32 == 0) s", sums[r], "[tid_ / 32] = a", sums[r], ";"));
  }
  row_barrier(out, s_);
  const std::string first = s_.by_columns ? "ty_" : str("ty_ * ", count);
  for (int i : sums) out.add(str("a", i, " = s", i, "[", first, "];"));
  out.add("#pragma unroll");
  out.open(str("for (int d_ = 1; d_ < ", count, "; ++d_)"));
  for (int i : sums) {
    out.add(combined(
        i, str("s", i, "[", first, " + d_", s_.by_columns ? str(" * ", s_.rows) : "", "]")));
  }
  out.close();
  if (s_.by_columns) {
    row_barrier(out, s_);
  } else {
    out.add(str("turn_ ^= ", shared_ / 2, ";"));
  }
}

/// One row of each group of threads: its indices and stages. row_ and live_ are in scope.
void Writer::row(Lines& out, Body& body, bool always) {
  decode(out, k_.rows, "row_", type_, 0, n_);
  body.declare_kept(out);
  const Walk walk = walk_row();
  body.fetch(out, walk);
  for (int stage = 0; stage <= k_.stages; ++stage) {
    if (body.loads_stored(stage)) row_barrier(out, s_);
    body.row(out, stage, always ? "tx_ == 0" : "tx_ == 0 && live_");
    body.row_columns(out, stage, always ? "" : "live_");
    body.declare_sums(out, stage);
    const bool sends = body.sends(stage);
    if (sends) out.add(str("pl_copy_wait<", body.sending_stages() * ring_.rows - 1, ">();"));
    row_points(out, body, stage, always ? "" : "live_");
    if (sends) send(out, body, stage, str("base_ + ", s_.rows * ring_.rows));
    across(out, body, stage);
  }
}

/// Blocks share a row: what they summed up lies in scratch, part by part.
void Writer::shared_rows(Lines& out) {
  printed_.blocks = row_count(k_) * Dim(s_.parts);
  for (std::size_t i = 0; i < k_.lets.size(); ++i) {
    if (k_.lets[i].reduce == Reduce::kNone) continue;
    area_of_[i] = static_cast<int>(k_.buffers.size() + printed_.scratch_sizes.size());
    printed_.scratch_sizes.push_back(printed_.blocks);
  }
  head(out);
  Body body(k_, s_, s_.lanes, n_);
  if (body.may_fail()) out.add("int bad_ = 0;");
  body.call(out, "block_ == 0 && tid_ == 0");
  places(out);
  const std::string per = text_of(ceildiv(vectors(), Dim(s_.parts)));
  out.add(str("const ", type_, " row_ = block_ / ", s_.parts, ", begin_ = block_ % ", s_.parts,
              " * ", per, ", end_ = pl_min_i(begin_ + ", per, ", vectors_);"));
  decode(out, k_.rows, "row_", type_, 0, n_);
  body.row(out, 0, "0");
  body.declare_sums(out, 0);
  row_points(out, body, 0, "");
  across(out, body, 0);
  for (int i : body.sums(0)) {
    out.add(str("if (tid_ == 0) ((", register_type(k_.lets[at(i)].compute), "*)w[", area_of_[at(i)],
                "])[block_] = a", i, ";"));
  }
  tail(out, body);
}

/// A warp for each row: its parts, then all that comes once for the row.
void Writer::finish_rows(Lines& out) {
  const int rows = kThreads / 32;
  const std::string size = text_of(row_count(k_));
  head(out);
  Body body(k_, s_, s_.lanes, n_);
  if (body.may_fail()) out.add("int bad_ = 0;");
  body.call(out, "0");
  out.add("const int tx_ = tid_ % 32, ty_ = tid_ / 32;");
  out.add(str("const bool live_ = block_ * ", rows, " + ty_ < ", size, ";"));
  out.add(str("const ", type_, " row_ = live_ ? block_ * ", rows, " + ty_ : ", size, " - 1;"));
  body.some_have_no_row();
  decode(out, k_.rows, "row_", type_, 0, n_);
  body.row(out, 0, "tx_ == 0 && live_");
  body.declare_sums(out, 0);
  for (int i : body.sums(0)) {
    const Let& l = k_.lets[at(i)];
    const std::string type = register_type(l.compute), a = str("a", i);
    const auto step = [&](const std::string& b) {
      return str(a, " = ", combined_text(l.reduce, l.compute, a, b), ";");
    };
    out.add(str(
        "for (int p_ = tx_; p_ < ", s_.parts, "; p_ += 32) ",
        step(str("((const ", type, "*)w[", area_of_[at(i)], "])[row_ * ", s_.parts, " + p_]"))));
    out.add("#pragma unroll");
    out.add(str("for (int d_ = 16; d_ > 0; d_ /= 2) ",
                step(str("__shfl_xor_sync(0xffffffffu, ", a, ", d_)"))));
  }
  for (int stage = 1; stage <= k_.stages; ++stage) body.row(out, stage, "tx_ == 0 && live_");
  if (body.may_fail()) out.add("if (!live_) bad_ = 0;");
  tail(out, body);
  printed_.finish_blocks = ceildiv(row_count(k_), Dim(rows));
}

void Writer::rows(Lines& out) {
  const Dim count = row_count(k_);
  printed_.blocks = ceildiv(count, Dim(s_.rows));
  if (s_.grid > 0) printed_.blocks = min(printed_.blocks, Dim(s_.grid));
  if (s_.kept == Schedule::kScratch) {
    kept_area_ = static_cast<int>(k_.buffers.size());
    printed_.scratch_sizes.push_back(printed_.blocks * Dim(s_.rows * kept_count(k_)) *
                                     inner_count(k_));
  }
  head(out);
  Body body(k_, s_, s_.lanes, n_);
  if (body.may_fail()) out.add("int bad_ = 0;");
  body.call(out, "block_ == 0 && tid_ == 0");
  places(out);
  kept_rooms(out);
  const bool always = is_multiple(count, s_.rows) && count.is_const();
  const std::string size = text_of(count);
  if (s_.grid > 0) {
    out.open(str("for (", type_, " base_ = block_ * ", s_.rows, "; base_ < ", size,
                 "; base_ += ", text_of(printed_.blocks * Dim(s_.rows)), ")"));
  } else {
    out.add(str("const ", type_, " base_ = block_ * ", s_.rows, ";"));
  }
  // Threads without a row go through the last one again, so that barriers meet them.
  if (always) {
    out.add(str("const ", type_, " row_ = base_ + ty_;"));
  } else {
    out.add(str("const bool live_ = base_ + ty_ < ", size, ";"));
    out.add(str("const ", type_, " row_ = live_ ? base_ + ty_ : ", size, " - 1;"));
    body.some_have_no_row();
    if (body.may_fail()) out.add("const int before_ = bad_;");
  }
  row(out, body, always);
  if (!always && body.may_fail()) out.add("if (!live_) bad_ = before_;");
  if (s_.grid > 0) out.close();
  tail(out, body);
}

}  // namespace plait::codegen::cuda
