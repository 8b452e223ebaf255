// Scalar expressions: what one element of a result is made of. An op's formula is written once as
// an Expr; the reference interprets it and code generation prints it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/dim.h"
#include "loop/scalar.h"

namespace plait::loop {

/// A node of an expression; shared, immutable.
struct ExprNode {
  ScalarOp op;
  double constant = 0;  // kConst
  int load = 0;         // kLoad: which load of the nest
  Dim index;            // kIndex: the value of an index expression
  std::vector<std::shared_ptr<const ExprNode>> args;
};

class Expr {
 public:
  Expr() = default;
  Expr(double constant);
  Expr(int constant) : Expr(static_cast<double>(constant)) {}
  Expr(ScalarOp op, std::vector<Expr> args);
  static Expr load(int which);
  static Expr index(Dim index);
  static Expr of(std::shared_ptr<const ExprNode> node);
  /// The reduced value, in a nest's `finish`.
  static Expr acc();

  explicit operator bool() const { return node_ != nullptr; }
  const ExprNode& node() const { return *node_; }
  const std::shared_ptr<const ExprNode>& pointer() const { return node_; }

 private:
  std::shared_ptr<const ExprNode> node_;
};

// clang-format off
inline Expr operator+(const Expr& a, const Expr& b) { return {ScalarOp::kAdd, {a, b}}; }
inline Expr operator-(const Expr& a, const Expr& b) { return {ScalarOp::kSub, {a, b}}; }
inline Expr operator*(const Expr& a, const Expr& b) { return {ScalarOp::kMul, {a, b}}; }
inline Expr operator/(const Expr& a, const Expr& b) { return {ScalarOp::kDiv, {a, b}}; }
inline Expr operator-(const Expr& a) { return {ScalarOp::kNeg, {a}}; }
inline Expr operator<(const Expr& a, const Expr& b) { return {ScalarOp::kLt, {a, b}}; }
inline Expr operator<=(const Expr& a, const Expr& b) { return {ScalarOp::kLe, {a, b}}; }
inline Expr operator>(const Expr& a, const Expr& b) { return b < a; }
inline Expr operator>=(const Expr& a, const Expr& b) { return b <= a; }
inline Expr eq(const Expr& a, const Expr& b) { return {ScalarOp::kEq, {a, b}}; }
inline Expr logical_not(const Expr& a) { return {ScalarOp::kNot, {a}}; }
inline Expr logical_and(const Expr& a, const Expr& b) { return {ScalarOp::kAnd, {a, b}}; }
inline Expr logical_or(const Expr& a, const Expr& b) { return {ScalarOp::kOr, {a, b}}; }
inline Expr logical_xor(const Expr& a, const Expr& b) { return {ScalarOp::kXor, {a, b}}; }
inline Expr select(const Expr& c, const Expr& a, const Expr& b) {
  return {ScalarOp::kSelect, {c, a, b}};
}
inline Expr max(const Expr& a, const Expr& b) { return {ScalarOp::kMax, {a, b}}; }
inline Expr min(const Expr& a, const Expr& b) { return {ScalarOp::kMin, {a, b}}; }
inline Expr pow(const Expr& a, const Expr& b) { return {ScalarOp::kPow, {a, b}}; }
inline Expr atan2(const Expr& a, const Expr& b) { return {ScalarOp::kAtan2, {a, b}}; }
inline Expr floordiv(const Expr& a, const Expr& b) { return {ScalarOp::kFloorDiv, {a, b}}; }
inline Expr mod(const Expr& a, const Expr& b) { return {ScalarOp::kMod, {a, b}}; }
inline Expr abs(const Expr& a) { return {ScalarOp::kAbs, {a}}; }
inline Expr exp(const Expr& a) { return {ScalarOp::kExp, {a}}; }
inline Expr expm1(const Expr& a) { return {ScalarOp::kExpm1, {a}}; }
inline Expr log(const Expr& a) { return {ScalarOp::kLog, {a}}; }
inline Expr log1p(const Expr& a) { return {ScalarOp::kLog1p, {a}}; }
inline Expr sqrt(const Expr& a) { return {ScalarOp::kSqrt, {a}}; }
inline Expr sin(const Expr& a) { return {ScalarOp::kSin, {a}}; }
inline Expr cos(const Expr& a) { return {ScalarOp::kCos, {a}}; }
inline Expr tan(const Expr& a) { return {ScalarOp::kTan, {a}}; }
inline Expr asin(const Expr& a) { return {ScalarOp::kAsin, {a}}; }
inline Expr acos(const Expr& a) { return {ScalarOp::kAcos, {a}}; }
inline Expr atan(const Expr& a) { return {ScalarOp::kAtan, {a}}; }
inline Expr sinh(const Expr& a) { return {ScalarOp::kSinh, {a}}; }
inline Expr cosh(const Expr& a) { return {ScalarOp::kCosh, {a}}; }
inline Expr tanh(const Expr& a) { return {ScalarOp::kTanh, {a}}; }
inline Expr erf(const Expr& a) { return {ScalarOp::kErf, {a}}; }
inline Expr erfc(const Expr& a) { return {ScalarOp::kErfc, {a}}; }
inline Expr floor(const Expr& a) { return {ScalarOp::kFloor, {a}}; }
inline Expr ceil(const Expr& a) { return {ScalarOp::kCeil, {a}}; }
inline Expr round(const Expr& a) { return {ScalarOp::kRound, {a}}; }
inline Expr trunc(const Expr& a) { return {ScalarOp::kTrunc, {a}}; }
// clang-format on

/// How many operations with operands an expression has, each shared one once.
int operation_count(const Expr& e);

/// An expression in evaluation order: each step reads earlier steps.
struct Tape {
  struct Step {
    ScalarOp op;
    int a = 0, b = 0, c = 0;  // earlier steps
    double constant = 0;
    int load = 0;
    Dim index;
  };
  std::vector<Step> steps;  // the last is the result
};
Tape flatten(const Expr& e);

/// `select(lt(x0,0.0),neg(x0),x0)`; loads print as x0, x1...
std::string text(const Expr& e);

}  // namespace plait::loop
