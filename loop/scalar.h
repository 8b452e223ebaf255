// The scalar operations of the loop IR and what each computes, for float, double and int64. Every
// target prints exactly these; here they are executed.
#pragma once

#include <array>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <limits>
#include <string_view>

#include "base/error.h"

namespace plait::loop {

enum class ScalarOp : std::uint8_t {
  // leaves
  kLoad,
  kConst,
  kIndex,
  kAcc,
  // one operand
  kNeg,
  kAbs,
  kExp,
  kExpm1,
  kLog,
  kLog1p,
  kSqrt,
  kSin,
  kCos,
  kTan,
  kAsin,
  kAcos,
  kAtan,
  kSinh,
  kCosh,
  kTanh,
  kErf,
  kErfc,
  kFloor,
  kCeil,
  kRound,
  kTrunc,
  kNot,
  // two operands
  kAdd,
  kSub,
  kMul,
  kDiv,
  kFloorDiv,
  kMod,
  kPow,
  kMax,
  kMin,
  kAtan2,
  kLt,
  kLe,
  kEq,
  kAnd,
  kOr,
  kXor,
  // three operands
  kSelect
};

struct ScalarInfo {
  std::string_view name;
  int arity;
};

inline constexpr std::array<ScalarInfo, 44> kScalarInfo{{
    {"load", 0},  {"const", 0},  {"index", 0}, {"acc", 0},   {"neg", 1},   {"abs", 1},  {"exp", 1},
    {"expm1", 1}, {"log", 1},    {"log1p", 1}, {"sqrt", 1},  {"sin", 1},   {"cos", 1},  {"tan", 1},
    {"asin", 1},  {"acos", 1},   {"atan", 1},  {"sinh", 1},  {"cosh", 1},  {"tanh", 1}, {"erf", 1},
    {"erfc", 1},  {"floor", 1},  {"ceil", 1},  {"round", 1}, {"trunc", 1}, {"not", 1},  {"add", 2},
    {"sub", 2},   {"mul", 2},    {"div", 2},   {"fdiv", 2},  {"mod", 2},   {"pow", 2},  {"max", 2},
    {"min", 2},   {"atan2", 2},  {"lt", 2},    {"le", 2},    {"eq", 2},    {"and", 2},  {"or", 2},
    {"xor", 2},   {"select", 3},
}};
static_assert(kScalarInfo.size() == static_cast<std::size_t>(ScalarOp::kSelect) + 1);

constexpr const ScalarInfo& info(ScalarOp op) { return kScalarInfo[static_cast<std::size_t>(op)]; }

/// Integers wrap; division by zero among integers is a RunError.
inline std::int64_t apply_integer(ScalarOp op, std::int64_t a, std::int64_t b, std::int64_t c) {
  using U = std::uint64_t;
  const auto ua = static_cast<U>(a), ub = static_cast<U>(b);
  const auto quotient = [&] {
    if (b == 0) throw RunError("integer division by zero");
    if (b == -1) return static_cast<std::int64_t>(U(0) - ua);
    return a / b - ((a % b != 0 && (a < 0) != (b < 0)) ? 1 : 0);
  };
  switch (op) {
    case ScalarOp::kNeg:
      return static_cast<std::int64_t>(U(0) - ua);
    case ScalarOp::kAbs:
      return a < 0 ? static_cast<std::int64_t>(U(0) - ua) : a;
    case ScalarOp::kAdd:
      return static_cast<std::int64_t>(ua + ub);
    case ScalarOp::kSub:
      return static_cast<std::int64_t>(ua - ub);
    case ScalarOp::kMul:
      return static_cast<std::int64_t>(ua * ub);
    case ScalarOp::kFloorDiv:
      return quotient();
    case ScalarOp::kMod:
      return static_cast<std::int64_t>(ua - static_cast<U>(quotient()) * ub);
    case ScalarOp::kPow: {
      if (b < 0) return a == 1 ? 1 : a == -1 ? (b % 2 ? -1 : 1) : 0;
      U result = 1, base = ua;
      for (U e = ub; e; e >>= 1, base *= base) {
        if (e & 1) result *= base;
      }
      return static_cast<std::int64_t>(result);
    }
    case ScalarOp::kMax:
      return a > b ? a : b;
    case ScalarOp::kMin:
      return a < b ? a : b;
    case ScalarOp::kLt:
      return a < b;
    case ScalarOp::kLe:
      return a <= b;
    case ScalarOp::kEq:
      return a == b;
    case ScalarOp::kAnd:
      return a & b;
    case ScalarOp::kOr:
      return a | b;
    case ScalarOp::kXor:
      return a ^ b;
    case ScalarOp::kNot:
      return a == 0;
    case ScalarOp::kSelect:
      return a ? b : c;
    case ScalarOp::kFloor:
    case ScalarOp::kCeil:
    case ScalarOp::kRound:
    case ScalarOp::kTrunc:
      return a;
    default:
      throw Bug(str("scalar operation ", info(op).name, " on integers"));
  }
}

/// IEEE; max and min propagate NaN; comparisons give 0 or 1; round is to nearest even.
template <std::floating_point T>
T apply_real(ScalarOp op, T a, T b, T c) {
  switch (op) {
    case ScalarOp::kNeg:
      return -a;
    case ScalarOp::kAbs:
      return std::abs(a);
    case ScalarOp::kExp:
      return std::exp(a);
    case ScalarOp::kExpm1:
      return std::expm1(a);
    case ScalarOp::kLog:
      return std::log(a);
    case ScalarOp::kLog1p:
      return std::log1p(a);
    case ScalarOp::kSqrt:
      return std::sqrt(a);
    case ScalarOp::kSin:
      return std::sin(a);
    case ScalarOp::kCos:
      return std::cos(a);
    case ScalarOp::kTan:
      return std::tan(a);
    case ScalarOp::kAsin:
      return std::asin(a);
    case ScalarOp::kAcos:
      return std::acos(a);
    case ScalarOp::kAtan:
      return std::atan(a);
    case ScalarOp::kSinh:
      return std::sinh(a);
    case ScalarOp::kCosh:
      return std::cosh(a);
    case ScalarOp::kTanh:
      return std::tanh(a);
    case ScalarOp::kErf:
      return std::erf(a);
    case ScalarOp::kErfc:
      return std::erfc(a);
    case ScalarOp::kFloor:
      return std::floor(a);
    case ScalarOp::kCeil:
      return std::ceil(a);
    case ScalarOp::kRound:
      return std::nearbyint(a);
    case ScalarOp::kTrunc:
      return std::trunc(a);
    case ScalarOp::kNot:
      return a == T(0);
    case ScalarOp::kAdd:
      return a + b;
    case ScalarOp::kSub:
      return a - b;
    case ScalarOp::kMul:
      return a * b;
    case ScalarOp::kDiv:
      return a / b;
    case ScalarOp::kFloorDiv:
      return std::floor(a / b);
    case ScalarOp::kMod: {
      const T r = std::fmod(a, b);
      return r != T(0) && (r < T(0)) != (b < T(0)) ? r + b : r;
    }
    case ScalarOp::kPow:
      return std::pow(a, b);
    case ScalarOp::kMax:
      return std::isnan(a) || a > b ? a : b;
    case ScalarOp::kMin:
      return std::isnan(a) || a < b ? a : b;
    case ScalarOp::kAtan2:
      return std::atan2(a, b);
    case ScalarOp::kLt:
      return a < b;
    case ScalarOp::kLe:
      return a <= b;
    case ScalarOp::kEq:
      return a == b;
    case ScalarOp::kAnd:
      return a != T(0) && b != T(0);
    case ScalarOp::kOr:
      return a != T(0) || b != T(0);
    case ScalarOp::kXor:
      return (a != T(0)) != (b != T(0));
    case ScalarOp::kSelect:
      return a != T(0) ? b : c;
    default:
      throw Bug(str("scalar operation ", info(op).name, " has no operands to apply it to"));
  }
}

template <class T>
T apply(ScalarOp op, T a, T b, T c) {
  if constexpr (std::integral<T>) {
    return apply_integer(op, a, b, c);
  } else {
    return apply_real<T>(op, a, b, c);
  }
}

}  // namespace plait::loop
