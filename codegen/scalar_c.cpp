// Scalar parts of C text.
#include "codegen/scalar_c.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "base/error.h"

namespace plait::codegen {
namespace {

using loop::ScalarOp;

std::string infix(ScalarOp op) {
  switch (op) {
    case ScalarOp::kAdd:
      return "+";
    case ScalarOp::kSub:
      return "-";
    case ScalarOp::kMul:
      return "*";
    case ScalarOp::kDiv:
      return "/";
    case ScalarOp::kLt:
      return "<";
    case ScalarOp::kLe:
      return "<=";
    case ScalarOp::kEq:
      return "==";
    default:
      return "";
  }
}

bool is_comparison(ScalarOp op) {
  return op == ScalarOp::kLt || op == ScalarOp::kLe || op == ScalarOp::kEq;
}

bool is_logic(ScalarOp op) {
  return op == ScalarOp::kAnd || op == ScalarOp::kOr || op == ScalarOp::kXor;
}

std::string bitwise(ScalarOp op) {
  return op == ScalarOp::kAnd ? "&" : op == ScalarOp::kOr ? "|" : "^";
}

std::string atom_text(const DimAtom& atom, Parameters& parameters) {
  if (atom.kind == DimAtom::kSymbol) {
    return is_index(atom.name) ? index_name(atom.name)
                               : parameters.text(dim_of(std::make_shared<DimAtom>(atom)));
  }
  const std::string a = index_text(atom.a, parameters), b = index_text(atom.b, parameters);
  const char* function = atom.kind == DimAtom::kFloorDiv ? "pl_fdiv_i"
                         : atom.kind == DimAtom::kMod    ? "pl_mod_i"
                         : atom.kind == DimAtom::kMin    ? "pl_min_i"
                                                         : "pl_max_i";
  if (atom.a.lo() >= 0 && atom.kind == DimAtom::kFloorDiv) return str("(", a, ") / (", b, ")");
  if (atom.a.lo() >= 0 && atom.kind == DimAtom::kMod) return str("(", a, ") % (", b, ")");
  return str(function, "(", a, ", ", b, ")");
}

bool has_index(const DimAtom& atom);
bool has_index(const Dim& d) {
  if (d.is_const()) return false;
  for (const DimTerm& t : d.terms()) {
    for (const DimAtomPtr& f : t.factors) {
      if (has_index(*f)) return true;
    }
  }
  return false;
}
bool has_index(const DimAtom& atom) {
  return atom.kind == DimAtom::kSymbol ? is_index(atom.name)
                                       : has_index(atom.a) || has_index(atom.b);
}

}  // namespace

std::string memory_type(DType t) {
  constexpr const char* names[] = {"double",  "float",   "uint16_t", "uint16_t", "int64_t",
                                   "int32_t", "int16_t", "int8_t",   "uint8_t",  "uint8_t"};
  return names[static_cast<std::size_t>(t)];
}

std::string register_type(DType t) {
  if (t == DType::f64) return "double";
  if (is_float(t)) return "float";
  return t == DType::boolean ? "int" : "int64_t";
}

char suffix_of(DType compute) {
  return compute == DType::f64 ? 'd' : compute == DType::f32 ? 'f' : 'i';
}

std::string loaded_text(DType t, const std::string& e) {
  if (t == DType::f16) return "pl_f16_to_f(" + e + ")";
  if (t == DType::bf16) return "pl_bf16_to_f(" + e + ")";
  if (t == DType::f32 || t == DType::f64) return e;
  return str("(", register_type(t), ")", e);
}

std::string stored_text(DType t, const std::string& e) {
  if (t == DType::f16) return "pl_f_to_f16(" + e + ")";
  if (t == DType::bf16) return "(uint16_t)(pl_bits_f(" + e + ") >> 16)";  // it is rounded already
  if (t == DType::f32 || t == DType::f64) return e;
  return str("(", memory_type(t), ")", e);
}

std::string number_text(DType compute, double value) {
  if (compute == DType::i64) {
    const auto whole = static_cast<std::int64_t>(value);
    return str("INT64_C(", whole, ")");
  }
  const std::string type = compute == DType::f64 ? "(double)" : "(float)";
  if (std::isnan(value)) return type + "__builtin_nan(\"\")";
  if (std::isinf(value)) return (value < 0 ? "-" : "") + type + "__builtin_inf()";
  char text[64];
  std::snprintf(text, sizeof text, "%a", value);
  return str("(", type, text, ")");
}

std::string rounded_text(DType compute, DType to, const std::string& e) {
  const char from = suffix_of(compute);
  switch (to) {
    case DType::f64:
      return compute == DType::f64 ? e : "(double)" + e;
    case DType::f32:
      return compute == DType::f32 ? e : "(float)" + e;
    case DType::f16:
      return compute == DType::f32 ? "pl_round_f16(" + e + ")"
                                   : str("pl_f16_to_f(pl_", from, "_to_f16(", e, "))");
    case DType::bf16:
      return compute == DType::f32 ? "pl_round_bf16(" + e + ")"
                                   : str("pl_bf16_to_f(pl_", from, "_to_bf16(", e, "))");
    case DType::boolean:
      return "(" + e + " != 0)";
    case DType::i64:
      return compute == DType::i64 ? e : str("pl_", from, "_to_i64(", e, ")");
    default:
      return str("(int64_t)pl_", from, "_to_", name_of(to), "(", e, ")");
  }
}

std::string Parameters::text(const Dim& size) {
  if (size.is(0) || size.is(1) || (fixed_ && size.is_const())) return str(size.value());
  return number(size);
}

std::string Parameters::plus(const Dim& offset) {
  if (zeros_) return " + " + number(offset);
  return offset.is(0) ? "" : " + " + text(offset);
}

std::string Parameters::number(const Dim& size) {
  const auto known = std::find(values_.begin(), values_.end(), size);
  if (alike_ && known != values_.end()) return str("N", known - values_.begin());
  values_.push_back(size);
  return str("N", values_.size() - 1);
}

std::string Parameters::guarded(const std::string& index) {
  if (!fixed_) return index;
  hides_ = true;
  return str("(", index, " + zero_)");
}

std::string Parameters::declarations() const {
  std::string text;
  for (std::size_t i = 0; i < values_.size(); ++i) {
    text += str("  const int64_t N", i, " = n[", i, "];\n");
  }
  if (hides_) text += "  int64_t zero_ = 0;\n  __asm__(\"\" : \"+r\"(zero_));\n";
  return text;
}

std::string index_name(const std::string& symbol) {
  std::string name = "x_" + symbol.substr(1);
  for (char& c : name) {
    if (c == '\'' || c == '.') c = '_';
  }
  return name;
}

std::string index_text(const Dim& d, Parameters& parameters) {
  if (!has_index(d)) return parameters.text(d);
  std::string out;
  Dim sizes = d.constant();  // what no index enters
  for (const DimTerm& t : d.terms()) {
    Dim coefficient = t.coefficient;
    std::string product;
    for (const DimAtomPtr& f : t.factors) {
      if (!has_index(*f)) {
        coefficient = coefficient * dim_of(f);
        continue;
      }
      const std::string text = atom_text(*f, parameters);
      product +=
          (product.empty() ? "" : " * ") + (f->kind == DimAtom::kSymbol ? text : "(" + text + ")");
    }
    if (product.empty()) {
      sizes = sizes + coefficient;
      continue;
    }
    if (coefficient.is(-1)) {
      product = "-" + product;
    } else if (!coefficient.is(1)) {
      product += " * " + parameters.text(coefficient);
    }
    out += (out.empty() ? "" : " + ") + product;
  }
  return "(" + out + parameters.plus(sizes) + ")";
}

std::string as_number(const Piece& p, DType compute) {
  if (!p.truth) return p.text;
  return str("(", register_type(compute), ")(", p.text, ")");
}

std::string as_truth(const Piece& p) { return p.truth ? p.text : "(" + p.text + " != 0)"; }

Piece formula(const loop::Expr& e, DType compute, const std::vector<Piece>& loads,
              const std::string& acc, const std::string& name, Parameters& parameters,
              const std::function<void(const std::string&)>& line) {
  const loop::Tape tape = loop::flatten(e);
  std::vector<Piece> pieces;
  const char suffix = suffix_of(compute);
  const std::string type = register_type(compute);
  for (const loop::Tape::Step& s : tape.steps) {
    const auto number = [&](int i) {
      return as_number(pieces[static_cast<std::size_t>(i)], compute);
    };
    const auto truth = [&](int i) { return as_truth(pieces[static_cast<std::size_t>(i)]); };
    const auto is_truth = [&](int i) { return pieces[static_cast<std::size_t>(i)].truth; };
    Piece p;
    if (s.op == ScalarOp::kLoad) {
      pieces.push_back(loads[static_cast<std::size_t>(s.load)]);
      continue;
    }
    if (s.op == ScalarOp::kConst) {
      pieces.push_back({number_text(compute, s.constant), false});
      continue;
    }
    if (s.op == ScalarOp::kIndex) {
      pieces.push_back({str("(", type, ")", index_text(s.index, parameters)), false});
      continue;
    }
    if (s.op == ScalarOp::kAcc) {
      pieces.push_back({acc, false});
      continue;
    }
    const bool real = compute != DType::i64;
    if (is_comparison(s.op)) {
      p = {str("(", number(s.a), " ", infix(s.op), " ", number(s.b), ")"), true};
    } else if (is_logic(s.op) && (real || (is_truth(s.a) && is_truth(s.b)))) {
      p = {str("(", truth(s.a), " ", bitwise(s.op), " ", truth(s.b), ")"), true};
    } else if (s.op == ScalarOp::kNot) {
      p = {str("!", truth(s.a)), true};
    } else if (s.op == ScalarOp::kSelect) {
      p.truth = is_truth(s.b) && is_truth(s.c);
      p.text = str("(", truth(s.a), " ? ", p.truth ? truth(s.b) : number(s.b), " : ",
                   p.truth ? truth(s.c) : number(s.c), ")");
    } else if (real && !infix(s.op).empty()) {
      p.text = str(number(s.a), " ", infix(s.op), " ", number(s.b));
    } else if (real && s.op == ScalarOp::kNeg) {
      p.text = "-" + number(s.a);
    } else {
      p.text = str("pl_", loop::info(s.op).name, "_", suffix, "(", number(s.a));
      if (loop::info(s.op).arity > 1) p.text += ", " + number(s.b);
      p.text += ")";
      if (!real && (s.op == ScalarOp::kFloorDiv || s.op == ScalarOp::kMod)) {
        line(str("bad_ |= (", number(s.b), " == 0) << 1;"));
      }
    }
    const std::string local = str(name, "_", pieces.size());
    line(str("const ", p.truth ? "int" : type, " ", local, " = ", p.text, ";"));
    p.text = local;
    pieces.push_back(std::move(p));
  }
  return pieces.back();
}

std::string identity_text(loop::Reduce reduce, DType compute) {
  switch (reduce) {
    case loop::Reduce::kMax:
      return compute == DType::i64 ? "INT64_MIN" : number_text(compute, -__builtin_inf());
    case loop::Reduce::kMin:
      return compute == DType::i64 ? "INT64_MAX" : number_text(compute, __builtin_inf());
    case loop::Reduce::kProd:
      return number_text(compute, 1);
    default:
      return number_text(compute, 0);
  }
}

std::string combined_text(loop::Reduce reduce, DType compute, const std::string& a,
                          const std::string& b) {
  const char s = suffix_of(compute);
  switch (reduce) {
    case loop::Reduce::kMax:
      return str("pl_max_", s, "(", a, ", ", b, ")");
    case loop::Reduce::kMin:
      return str("pl_min_", s, "(", a, ", ", b, ")");
    case loop::Reduce::kProd:
      return compute == DType::i64 ? str("pl_mul_i(", a, ", ", b, ")") : str(a, " * ", b);
    default:
      return compute == DType::i64 ? str("pl_add_i(", a, ", ", b, ")") : str(a, " + ", b);
  }
}

std::string other_text(DType held, double otherwise) {
  if (held == DType::boolean) return otherwise != 0 ? "1" : "0";
  return number_text(loop::compute_type(held), otherwise);
}

bool divides(const loop::Let& let) {
  if (let.compute != DType::i64) return false;
  for (const loop::Tape::Step& s : loop::flatten(let.body).steps) {
    if (s.op == ScalarOp::kFloorDiv || s.op == ScalarOp::kMod) return true;
  }
  return false;
}

}  // namespace plait::codegen
