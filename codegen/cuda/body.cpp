// Statements of a kernel in CUDA C++.
#include "codegen/cuda/body.h"

#include <algorithm>

#include "base/at.h"
#include "base/error.h"
#include "base/text.h"

namespace plait::codegen::cuda {
namespace {

using loop::KernelOperand;
using loop::Let;
using loop::Level;
using loop::Reduce;

/// Whether an operand is a half of this dtype, or a number that every half has.
bool is_half_operand(const loop::Kernel& k, const KernelOperand& o, DType dtype) {
  if (!o.guards.empty() && o.otherwise != 0) return false;
  switch (o.kind) {
    case KernelOperand::kNumber:
      return o.number == 0;
    case KernelOperand::kTile:
      return false;
    case KernelOperand::kLet:
      return k.lets[at(o.let)].dtype == dtype || k.lets[at(o.let)].dtype == DType::boolean;
    case KernelOperand::kLoad:
      break;
  }
  const DType held = k.buffers[at(o.load.buffer)].dtype;
  return held == dtype || held == DType::boolean;
}

/// Whether a half needs no rounding: the result is one of operands of its own dtype.
bool is_exact(const loop::Kernel& k, const Let& let) {
  if (!is_half(let.dtype) || let.compute != DType::f32) return false;
  using loop::ScalarOp;
  const loop::Tape tape = loop::flatten(let.body);
  std::vector<bool> exact;  // of every step
  for (const loop::Tape::Step& s : tape.steps) {
    switch (s.op) {
      case ScalarOp::kLoad:
        exact.push_back(is_half_operand(k, let.operands[at(s.load)], let.dtype));
        break;
      case ScalarOp::kConst:
        exact.push_back(s.constant == 0);
        break;
      case ScalarOp::kMax:
      case ScalarOp::kMin:
        exact.push_back(exact[at(s.a)] && exact[at(s.b)]);
        break;
      case ScalarOp::kSelect:
        exact.push_back(exact[at(s.b)] && exact[at(s.c)]);
        break;
      case ScalarOp::kNeg:
      case ScalarOp::kAbs:
        exact.push_back(exact[at(s.a)]);
        break;
      default:
        exact.push_back(false);
    }
  }
  return exact.back();
}

}  // namespace

void decode(Lines& out, const std::vector<loop::KernelIndex>& indices, std::string number,
            const std::string& type, int lanes, Parameters& n) {
  const bool vectors = lanes > 0;  // 0: plain rows
  for (std::size_t i = indices.size(); i-- > 0;) {
    const std::string name = index_name(indices[i].symbol);
    const bool last = i + 1 == indices.size();
    const int by = last && vectors ? lanes : 1;
    std::string here = number;
    if (i > 0) {
      const Dim extent = max(floordiv(indices[i].extent, Dim(by)), Dim(1));
      const std::string size = n.text(extent);
      here = str(number, " % ", size);
      number = str("(", number, " / ", size, ")");
    }
    if (by > 1) here = str("(", here, ") * ", by);
    if (last && vectors) {
      out.add(str("const ", type, " first_ = ", here, ";"));
      here = "first_";
    }
    out.add(str("const ", type, " ", name, " = ", here, ";"));
  }
}

std::string step_text(const Let& let, const std::string& a, const std::string& b) {
  if (let.compute == DType::f32 && let.reduce == Reduce::kMax) {
    return str("pl_most_f(", a, ", ", b, ")");
  }
  return combined_text(let.reduce, let.compute, a, b);
}

Body::Body(const loop::Kernel& kernel, const Schedule& schedule, int lanes, Parameters& parameters,
           std::string tile)
    : k_(kernel),
      s_(schedule),
      lanes_(lanes),
      n_(parameters),
      tile_(std::move(tile)),
      type_(schedule.wide ? "int64_t" : "int") {
  for (const Let& let : k_.lets) may_fail_ |= !let.index.empty() || divides(let);
  find_reads();
  find_fixed();
  find_rounded();
}

/// Halves that go to memory in vectors, and nowhere else, are rounded on the way.
void Body::find_rounded() {
  rounded_by_store_.assign(k_.lets.size(), false);
  for (const loop::KernelStore& s : k_.stores) {
    const Let& let = k_.lets[at(s.let)];
    rounded_by_store_[at(s.let)] = is_packed(s) && let.dtype == DType::bf16 && !let.kept &&
                                   let.compute == DType::f32 && !is_exact(k_, let);
  }
  for (const loop::KernelStore& s : k_.stores) {
    if (!is_packed(s)) rounded_by_store_[at(s.let)] = false;
  }
  for (const Let& let : k_.lets) {
    for (const KernelOperand& o : let.operands) {
      if (o.kind == KernelOperand::kLet) rounded_by_store_[at(o.let)] = false;
    }
  }
}

std::string Body::buffer_text(int buffer, const Dim& offset) {
  return str("b", buffer, "[", index_text(offset, n_), "]");
}

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

/// An element in a register, or what stands for it where a guard fails.
std::string Body::guarded_text(const KernelOperand& o, const std::string& loaded) {
  const bool dead = rowless_ && o.kind == KernelOperand::kLoad;
  if (o.guards.empty() && !dead) return loaded;
  DType held = DType::f32;
  if (o.kind == KernelOperand::kLet) held = k_.lets[at(o.let)].dtype;
  if (o.kind == KernelOperand::kLoad) held = k_.buffers[at(o.load.buffer)].dtype;
  return str("((", dead ? "live_ & " : "", guard_text(o.guards), ") ? ", loaded, " : ",
             other_text(held, o.otherwise), ")");
}

std::string Body::load_text(const KernelOperand& o) {
  const DType held = k_.buffers[at(o.load.buffer)].dtype;
  return guarded_text(o, loaded_text(held, buffer_text(o.load.buffer, o.load.offset)));
}

std::string Body::read_text(int stage, int number) {
  const Read& read = reads_[at(stage)][at(number)];
  const std::string name = str(stage, "_", number);
  const KernelOperand& o = *read.operand;
  const DType held = k_.buffers[at(o.load.buffer)].dtype;
  if (read.reach == Read::kRow || read.reach == Read::kOnce) return "h" + name;
  if (read.reach == Read::kLane) {
    return load_text(o);
  }
  const std::string vector = str("q", name, split_ && read.place < 0 ? "[c_]" : "");
  const std::string loaded = held == DType::bf16 && lanes_ > 1
                                 ? str("pl_lane_bf16(", vector, ", l_)")
                                 : loaded_text(held, str(vector, "[", lane(), "]"));
  if (o.guards.empty() || is_filled(read)) return loaded;
  return str("(g", name, " ? ", loaded, " : ", other_text(held, o.otherwise), ")");
}

std::string Body::kept_text(int let) const {
  int number = 0;
  for (int i = 0; i < let; ++i) number += k_.lets[at(i)].kept;
  if (s_.kept == Schedule::kRegisters) return str("k", number, "[c_][", lane(), "]");
  const std::string place = lanes_ == 1 ? "v_" : str("l_ * vectors_ + v_");
  return s_.turned ? str("k", number, "[(", place, ") * ", s_.rows, "]")
                   : str("k", number, "[", place, "]");
}

Piece Body::operand(const Let& let, int i, int j) {
  const KernelOperand& o = let.operands[at(j)];
  DType held = DType::f32;
  Piece p;
  switch (o.kind) {
    case KernelOperand::kNumber:
      return {number_text(let.compute, o.number), false};
    case KernelOperand::kTile:
      p.text = guarded_text(o, tile_);
      break;
    case KernelOperand::kLet: {
      const Let& from = k_.lets[at(o.let)];
      held = from.dtype;
      const bool again = from.kept && from.stage != let.stage;
      p.text = guarded_text(o, again               ? kept_text(o.let)
                               : fixed_[at(o.let)] ? str("v", o.let, "[", lane(), "]")
                                                   : str("v", o.let));
      break;
    }
    case KernelOperand::kLoad: {
      held = k_.buffers[at(o.load.buffer)].dtype;
      const int read = i < 0 ? -1 : read_of_[at(i)][at(j)];
      p.text = read < 0 ? load_text(o) : read_text(let.stage, read);
      break;
    }
  }
  p.truth = held == DType::boolean;
  if (!p.truth && loop::compute_type(held) != let.compute) {
    p.text = str("(", register_type(let.compute), ")", p.text);
  }
  return p;
}

Piece Body::formula_of(Lines& out, int i) {
  const Let& let = k_.lets[at(i)];
  std::vector<Piece> operands;
  for (std::size_t j = 0; j < let.operands.size(); ++j) {
    operands.push_back(operand(let, i, static_cast<int>(j)));
    if (let.operands[j].kind == KernelOperand::kNumber) continue;
    if (let.operands[j].kind == KernelOperand::kLet && let.operands[j].guards.empty()) continue;
    // Operands become locals, so that each is evaluated once.
    const std::string local = str("o", i, "_", j);
    out.add(str("const ", operands[j].truth ? "int" : register_type(let.compute), " ", local, " = ",
                operands[j].text, ";"));
    operands[j].text = local;
  }
  return formula(let.body, let.compute, operands, "", str("t", i), n_,
                 [&](const std::string& line) { out.add(line); });
}

void Body::column_step(Lines& out, int i, const std::string& term) {
  const Let& let = k_.lets[at(i)];
  std::string place = str("r", i);
  if (let.level == Level::kInner) {
    place = s_.accumulators > 0 ? str("c", i, s_.whole_rows ? "[c_][" : "[0][", lane(), "]")
                                : str("m", i, "[v_ * ", lanes_, " + ", lane(), "]");
  }
  const std::string next = combined_text(let.reduce, let.compute, place, term);
  out.add(str(s_.whole_rows && !s_.even ? "if (live_) " : "", place, " = ", next, ";"));
}

void Body::let(Lines& out, int i) {
  const Let& let = k_.lets[at(i)];
  const Piece p = formula_of(out, i);
  if (let.reduce != Reduce::kNone) {
    const std::string term = as_number(p, let.compute);
    if (let.column) {
      column_step(out, i, term);
    } else {
      out.add(str("a", i, " = ", step_text(let, str("a", i), term), ";"));
    }
    return;
  }
  std::string rounded;
  if (p.truth) {
    rounded = let.dtype == DType::boolean
                  ? p.text
                  : rounded_text(let.compute, let.dtype, as_number(p, let.compute));
  } else {
    const bool as_is = is_exact(k_, let) || rounded_by_store_[at(i)];
    rounded = as_is ? p.text : rounded_text(let.compute, let.dtype, p.text);
  }
  if (!let.index.empty()) {
    out.add(str("const int64_t w", i, " = ", rounded, ";"));
    out.add(str("const int e", i, " = (uint64_t)w", i, " >= (uint64_t)", n_.text(let.index_extent),
                ";"));
    out.add(str("bad_ |= e", i, ";"));
    out.add(str("const ", type_, " ", index_name(let.index), " = e", i, " ? 0 : (", type_, ")w", i,
                ";"));
    rounded = index_name(let.index);
  }
  out.add(fixed_[at(i)] ? str("v", i, "[", lane(), "] = ", rounded, ";")
                        : str("const ", register_type(let.dtype), " v", i, " = ", rounded, ";"));
  if (let.kept) out.add(str(kept_text(i), " = v", i, ";"));
}

void Body::call(Lines& out, const std::string& once) {
  for (std::size_t i = 0; i < k_.lets.size(); ++i) {
    if (k_.lets[i].level == Level::kCall) let(out, static_cast<int>(i));
  }
  for (const loop::KernelStore& s : k_.stores) {
    if (k_.lets[at(s.let)].column || store_level(k_, s) != Level::kCall) continue;
    out.add(str("if (", once, ") ", buffer_text(s.buffer, s.offset), " = ",
                stored_text(k_.buffers[at(s.buffer)].dtype, str("v", s.let)), ";"));
  }
}

void Body::declare_kept(Lines& out) {
  if (s_.kept != Schedule::kRegisters) return;
  int number = 0;
  for (const Let& let : k_.lets) {
    if (!let.kept) continue;
    out.add(str(register_type(let.dtype), " k", number++, "[", s_.steps, "][", lanes_, "];"));
  }
}

/// What a reduction of the stage before ended in.
void Body::finish_sum(Lines& out, int i) {
  const Let& let = k_.lets[at(i)];
  std::string result = str("a", i);
  if (let.finish) {
    std::vector<Piece> operands;
    for (std::size_t j = 0; j < let.operands.size(); ++j) {
      const KernelOperand& o = let.operands[j];
      const bool row =
          o.kind == KernelOperand::kNumber || o.kind == KernelOperand::kLet ||
          (o.kind == KernelOperand::kLoad && loop::level_of(k_, o.load.offset) != Level::kInner);
      operands.push_back(row ? operand(let, -1, static_cast<int>(j)) : Piece{});
    }
    result = as_number(formula(let.finish, let.compute, operands, result, str("f", i), n_,
                               [&](const std::string& line) { out.add(line); }),
                       let.compute);
  }
  out.add(str("const ", register_type(let.dtype), " v", i, " = ",
              rounded_text(let.compute, let.dtype, result), ";"));
}

void Body::row(Lines& out, int stage, const std::string& once) {
  for (int i : sums(stage - 1)) finish_sum(out, i);
  for (std::size_t i = 0; i < k_.lets.size(); ++i) {
    const Let& l = k_.lets[i];
    if (l.stage == stage && l.level == Level::kRow && !l.column) let(out, static_cast<int>(i));
  }
  row_stores(out, stage, once);
  for (std::size_t r = 0; r < reads_[at(stage)].size(); ++r) {
    const Read& read = reads_[at(stage)][r];
    if (read.reach != Read::kRow) continue;
    const KernelOperand& o = *read.operand;
    const DType held = k_.buffers[at(o.load.buffer)].dtype;
    out.add(str("const ", register_type(held), " h", stage, "_", r, " = ", load_text(o), ";"));
  }
}

/// One thread of the row stores. Where the element may lie where the row's threads have just read,
/// they all have to have read it.
void Body::row_stores(Lines& out, int stage, const std::string& once) {
  for (const loop::KernelStore& s : k_.stores) {
    if (k_.lets[at(s.let)].column || store_level(k_, s) != Level::kRow) continue;
    if (store_stage(k_, s) != stage) continue;
    const bool meets = std::any_of(k_.lets.begin(), k_.lets.end(), [&](const Let& l) {
      return std::any_of(l.operands.begin(), l.operands.end(), [&](const KernelOperand& o) {
        return o.kind == KernelOperand::kLoad && o.load.offset == s.offset &&
               size_of(k_.buffers[at(o.load.buffer)].dtype) ==
                   size_of(k_.buffers[at(s.buffer)].dtype);
      });
    });
    if (meets && s_.along > 1) row_barrier(out, s_);
    out.add(str("if (", once, ") ", buffer_text(s.buffer, s.offset), " = ",
                stored_text(k_.buffers[at(s.buffer)].dtype, str("v", s.let)), ";"));
  }
}

void Body::row_columns(Lines& out, int stage, const std::string& live) {
  for (std::size_t i = 0; i < k_.lets.size(); ++i) {
    const Let& l = k_.lets[i];
    if (!l.column || l.level != Level::kRow || l.stage != stage) continue;
    out.open(live.empty() ? "" : str("if (", live, ")"));
    let(out, static_cast<int>(i));
    out.close();
  }
}

std::vector<int> Body::sums(int stage) const {
  std::vector<int> out;
  for (std::size_t i = 0; i < k_.lets.size(); ++i) {
    const Let& l = k_.lets[i];
    if (l.reduce != Reduce::kNone && !l.column && l.stage == stage) {
      out.push_back(static_cast<int>(i));
    }
  }
  return out;
}

void Body::declare_sums(Lines& out, int stage) {
  for (int i : sums(stage)) {
    const Let& l = k_.lets[at(i)];
    out.add(str(register_type(l.compute), " a", i, " = ", identity_text(l.reduce, l.compute), ";"));
  }
}

bool Body::loads_stored(int stage) const {
  for (const Let& let : k_.lets) {
    if (let.stage != stage) continue;
    for (const KernelOperand& o : let.operands) {
      if (o.kind != KernelOperand::kLoad) continue;
      for (const loop::KernelStore& s : k_.stores) {
        if (s.buffer == o.load.buffer && store_stage(k_, s) < stage) return true;
      }
    }
  }
  return false;
}

void Body::finish_column(Lines& out, int i, const std::string& sum) {
  const Let& let = k_.lets[at(i)];
  std::string result = sum;
  if (let.finish) {
    std::vector<Piece> operands;
    for (std::size_t j = 0; j < let.operands.size(); ++j) {
      const KernelOperand::Kind kind = let.operands[j].kind;
      const bool known = kind == KernelOperand::kNumber || kind == KernelOperand::kLoad;
      operands.push_back(known ? operand(let, -1, static_cast<int>(j)) : Piece{});
    }
    result = as_number(formula(let.finish, let.compute, operands, sum, str("f", i), n_,
                               [&](const std::string& line) { out.add(line); }),
                       let.compute);
  }
  out.add(str("const ", register_type(let.dtype), " v", i, " = ",
              rounded_text(let.compute, let.dtype, result), ";"));
  for (const loop::KernelStore& s : k_.stores) {
    if (s.let != i) continue;
    out.add(str(buffer_text(s.buffer, s.offset), " = ",
                stored_text(k_.buffers[at(s.buffer)].dtype, str("v", i)), ";"));
  }
}

}  // namespace plait::codegen::cuda
