// Statements of a kernel in C and CUDA C++.
#include "codegen/statements.h"

#include <algorithm>
#include <cmath>

#include "base/at.h"
#include "base/text.h"
#include "loop/statements.h"

namespace plait::codegen {
namespace {

using loop::KernelOperand;
using loop::Let;
using loop::Level;
using loop::Reduce;

/// Whether every half has this number.
bool is_half_number(double x) { return x == 0 || std::isinf(x); }

}  // namespace

std::string step_text(const Dialect& dialect, const Let& let, const std::string& a,
                      const std::string& b) {
  if (dialect.any_zero && let.compute == DType::f32 && let.reduce == Reduce::kMax) {
    return str("pl_most_f(", a, ", ", b, ")");
  }
  return combined_text(let.reduce, let.compute, a, b);
}

void decode(Lines& out, const std::vector<loop::KernelIndex>& indices, std::string number,
            const std::string& type, int lanes, Parameters& n) {
  for (std::size_t i = indices.size(); i-- > 0;) {
    const std::string name = index_name(indices[i].symbol);
    const bool vectors = lanes > 0 && i + 1 == indices.size();
    const int by = vectors ? lanes : 1;
    std::string here = number;
    if (i > 0) {
      const std::string size = n.text(max(floordiv(indices[i].extent, Dim(by)), Dim(1)));
      here = str(number, " % ", size);
      number = str("(", number, " / ", size, ")");
    }
    if (by > 1) here = str("(", here, ") * ", by);
    if (vectors) {
      out.add(str("const ", type, " first_ = ", here, ";"));
      here = "first_";
    }
    out.add(str("const ", type, " ", name, " = ", here, ";"));
  }
}

Statements::Statements(const loop::Kernel& kernel, Parameters& parameters, Dialect dialect,
                       int first_buffer)
    : k_(kernel), n_(parameters), dialect_(std::move(dialect)), first_(first_buffer) {
  for (const Let& let : k_.lets) {
    may_fail_ |= !let.index.empty() || divides(let);
    as_is_.push_back(is_exact(let));
  }
}

// --- operands ------------------------------------------------------------------------------------

std::string Statements::element(int buffer, const Dim& offset) {
  return str("b", buffer + first_, "[", index_text(offset, n_), "]");
}

std::string Statements::guard_text(const std::vector<loop::Guard>& guards) {
  std::vector<std::string> parts;
  for (const loop::Guard& g : guards) {
    std::string index = index_text(g.index, n_);
    if (dialect_.hides_guards) index = n_.guarded(index);
    if (g.index.lo() < g.lo.hi())
      parts.push_back(str("(", index_text(g.lo, n_), " <= ", index, ")"));
    if (g.index.hi() >= g.hi.lo())
      parts.push_back(str("(", index, " < ", index_text(g.hi, n_), ")"));
  }
  return parts.empty() ? "1" : join(parts, " & ");
}

std::string Statements::guarded_text(const KernelOperand& o, const std::string& value,
                                     const std::string& live) {
  if (o.guards.empty() && live.empty()) return value;
  return str("((", live.empty() ? "" : live + " & ", guard_text(o.guards), ") ? ", value, " : ",
             other_text(dtype_of(o), o.otherwise), ")");
}

DType Statements::dtype_of(const KernelOperand& o) const {
  if (o.kind == KernelOperand::kLet) return k_.lets[at(o.let)].dtype;
  return o.kind == KernelOperand::kLoad ? k_.buffers[at(o.load.buffer)].dtype : DType::f32;
}

Piece Statements::operand(int i, int j, bool inside) {
  const Let& let = k_.lets[at(i)];
  const KernelOperand& o = let.operands[at(j)];
  if (o.kind == KernelOperand::kNumber) return {number_text(let.compute, o.number), false};
  const DType held = dtype_of(o);
  Piece p{operand_text(i, j, inside), held == DType::boolean};
  if (!p.truth && loop::compute_type(held) != let.compute) {
    p.text = str("(", register_type(let.compute), ")", p.text);
  }
  return p;
}

// --- values --------------------------------------------------------------------------------------

Piece Statements::formula_of(Lines& out, int i) {
  const Let& let = k_.lets[at(i)];
  std::vector<Piece> operands;
  for (std::size_t j = 0; j < let.operands.size(); ++j) {
    const KernelOperand& o = let.operands[j];
    operands.push_back(operand(i, static_cast<int>(j), true));
    if (o.kind == KernelOperand::kNumber) continue;
    if (o.kind == KernelOperand::kLet && o.guards.empty()) continue;
    // A local, so that it is evaluated once.
    const std::string local = str("o", i, "_", j);
    out.add(str("const ", operands[j].truth ? "int" : register_type(let.compute), " ", local, " = ",
                operands[j].text, ";"));
    operands[j].text = local;
  }
  return formula(let.body, let.compute, operands, "", str("t", i), n_,
                 [&](const std::string& line) { out.add(line); });
}

bool Statements::is_exact(const Let& let) const {
  if (!is_half(let.dtype) || let.compute != DType::f32) return false;
  using loop::ScalarOp;
  const auto is_half_operand = [&](const KernelOperand& o) {
    if (o.kind == KernelOperand::kNumber) return is_half_number(o.number);
    const DType held = dtype_of(o);
    return (held == let.dtype || held == DType::boolean) &&
           (o.guards.empty() || is_half_number(o.otherwise));
  };
  std::vector<bool> exact;  // of every step
  for (const loop::Tape::Step& s : loop::flatten(let.body).steps) {
    switch (s.op) {
      case ScalarOp::kLoad:
        exact.push_back(is_half_operand(let.operands[at(s.load)]));
        break;
      case ScalarOp::kConst:
        exact.push_back(is_half_number(s.constant));
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

std::string Statements::value_text(int let) const {
  return str("const ", register_type(k_.lets[at(let)].dtype), " v", let);
}

void Statements::let(Lines& out, int i) {
  const Let& let = k_.lets[at(i)];
  const Piece p = formula_of(out, i);
  if (let.reduce != Reduce::kNone) {
    const std::string term = as_number(p, let.compute), sum = str("a", i);
    if (let.column) return column_step(out, i, term);
    return out.add(str(sum, " = ", step_text(dialect_, let, sum, term), ";"));
  }
  const bool as_is = p.truth ? let.dtype == DType::boolean : as_is_[at(i)] != 0;
  std::string rounded =
      as_is ? p.text : rounded_text(let.compute, let.dtype, as_number(p, let.compute));
  if (!let.index.empty()) {
    const std::string& type = dialect_.index_type;
    const std::string cast = type == "int64_t" ? "" : str("(", type, ")");
    out.add(str("const int64_t w", i, " = ", rounded, ";"));
    out.add(str("const int e", i, " = (uint64_t)w", i, " >= (uint64_t)", n_.text(let.index_extent),
                ";"));
    out.add(str("bad_ |= e", i, ";"));
    out.add(
        str("const ", type, " ", index_name(let.index), " = e", i, " ? 0 : ", cast, "w", i, ";"));
    rounded = index_name(let.index);
  }
  out.add(str(value_text(i), " = ", rounded, ";"));
  if (let.kept) out.add(str(kept_text(i), " = v", i, ";"));
}

// --- reductions and stores -----------------------------------------------------------------------

std::vector<int> Statements::sums(int stage) const {
  std::vector<int> out;
  for (std::size_t i = 0; i < k_.lets.size(); ++i) {
    const Let& l = k_.lets[i];
    if (l.reduce != Reduce::kNone && !l.column && l.stage == stage) {
      out.push_back(static_cast<int>(i));
    }
  }
  return out;
}

void Statements::finish(Lines& out, int i, const std::string& reduced) {
  const Let& let = k_.lets[at(i)];
  std::string result = reduced;
  if (let.finish) {
    std::vector<Piece> operands;
    for (std::size_t j = 0; j < let.operands.size(); ++j) {
      const KernelOperand& o = let.operands[j];
      const bool is_load = o.kind == KernelOperand::kLoad;
      const bool known = o.kind == KernelOperand::kNumber ||
                         (let.column ? is_load
                          : is_load  ? level_of(k_, o.load.offset) != Level::kInner
                                     : o.kind == KernelOperand::kLet);
      operands.push_back(known ? operand(i, static_cast<int>(j), false) : Piece{});
    }
    result = as_number(formula(let.finish, let.compute, operands, reduced, str("f", i), n_,
                               [&](const std::string& line) { out.add(line); }),
                       let.compute);
  }
  out.add(str("const ", register_type(let.dtype), " v", i, " = ",
              rounded_text(let.compute, let.dtype, result), ";"));
}

void Statements::finish_column(Lines& out, int i, const std::string& reduced) {
  finish(out, i, reduced);
  for (const loop::KernelStore& s : k_.stores) {
    if (s.let == i) store(out, s, element(s.buffer, s.offset));
  }
}

bool Statements::is_inner_store(const loop::KernelStore& s, int stage) const {
  return !is_column_store(k_, s) && store_level(k_, s) == Level::kInner &&
         store_stage(k_, s) == stage;
}

void Statements::store(Lines& out, const loop::KernelStore& s, const std::string& place,
                       const std::string& when) const {
  out.add(
      str(when, place, " = ", stored_text(k_.buffers[at(s.buffer)].dtype, str("v", s.let)), ";"));
}

}  // namespace plait::codegen
