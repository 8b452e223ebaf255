// The prelude's functions by scalar operation: those that compute the bits that loop/scalar.h does,
// and those that are a rounding or more from them. An interpreter with these computes the bits of
// generated code.
#pragma once

#include <array>

#include "codegen/prelude.h"
#include "loop/interpret_kernel.h"

namespace plait::codegen {

using loop::ScalarOp;

template <class T>
struct PreludeFunction {
  ScalarOp op;
  T (*one)(T) = nullptr;
  T (*two)(T, T) = nullptr;
  T (*three)(T, T, T) = nullptr;
  T operator()(T a, T b, T c) const { return one ? one(a) : two ? two(a, b) : three(a, b, c); }
};

inline const PreludeFunction<float> kExactFloat[] = {
    {.op = ScalarOp::kNeg, .one = pl_neg_f},         {.op = ScalarOp::kAbs, .one = pl_abs_f},
    {.op = ScalarOp::kSqrt, .one = pl_sqrt_f},       {.op = ScalarOp::kFloor, .one = pl_floor_f},
    {.op = ScalarOp::kCeil, .one = pl_ceil_f},       {.op = ScalarOp::kRound, .one = pl_round_f},
    {.op = ScalarOp::kTrunc, .one = pl_trunc_f},     {.op = ScalarOp::kNot, .one = pl_not_f},
    {.op = ScalarOp::kAdd, .two = pl_add_f},         {.op = ScalarOp::kSub, .two = pl_sub_f},
    {.op = ScalarOp::kMul, .two = pl_mul_f},         {.op = ScalarOp::kDiv, .two = pl_div_f},
    {.op = ScalarOp::kFloorDiv, .two = pl_fdiv_f},   {.op = ScalarOp::kMod, .two = pl_mod_f},
    {.op = ScalarOp::kMax, .two = pl_max_f},         {.op = ScalarOp::kMin, .two = pl_min_f},
    {.op = ScalarOp::kLt, .two = pl_lt_f},           {.op = ScalarOp::kLe, .two = pl_le_f},
    {.op = ScalarOp::kEq, .two = pl_eq_f},           {.op = ScalarOp::kAnd, .two = pl_and_f},
    {.op = ScalarOp::kOr, .two = pl_or_f},           {.op = ScalarOp::kXor, .two = pl_xor_f},
    {.op = ScalarOp::kSelect, .three = pl_select_f},
};

inline const PreludeFunction<double> kExactDouble[] = {
    {.op = ScalarOp::kNeg, .one = pl_neg_d},         {.op = ScalarOp::kAbs, .one = pl_abs_d},
    {.op = ScalarOp::kSqrt, .one = pl_sqrt_d},       {.op = ScalarOp::kFloor, .one = pl_floor_d},
    {.op = ScalarOp::kCeil, .one = pl_ceil_d},       {.op = ScalarOp::kRound, .one = pl_round_d},
    {.op = ScalarOp::kTrunc, .one = pl_trunc_d},     {.op = ScalarOp::kNot, .one = pl_not_d},
    {.op = ScalarOp::kAdd, .two = pl_add_d},         {.op = ScalarOp::kSub, .two = pl_sub_d},
    {.op = ScalarOp::kMul, .two = pl_mul_d},         {.op = ScalarOp::kDiv, .two = pl_div_d},
    {.op = ScalarOp::kFloorDiv, .two = pl_fdiv_d},   {.op = ScalarOp::kMod, .two = pl_mod_d},
    {.op = ScalarOp::kMax, .two = pl_max_d},         {.op = ScalarOp::kMin, .two = pl_min_d},
    {.op = ScalarOp::kLt, .two = pl_lt_d},           {.op = ScalarOp::kLe, .two = pl_le_d},
    {.op = ScalarOp::kEq, .two = pl_eq_d},           {.op = ScalarOp::kAnd, .two = pl_and_d},
    {.op = ScalarOp::kOr, .two = pl_or_d},           {.op = ScalarOp::kXor, .two = pl_xor_d},
    {.op = ScalarOp::kSelect, .three = pl_select_d},
};

inline const PreludeFunction<std::int64_t> kExactInteger[] = {
    {.op = ScalarOp::kNeg, .one = pl_neg_i},       {.op = ScalarOp::kAbs, .one = pl_abs_i},
    {.op = ScalarOp::kFloor, .one = pl_floor_i},   {.op = ScalarOp::kCeil, .one = pl_ceil_i},
    {.op = ScalarOp::kRound, .one = pl_round_i},   {.op = ScalarOp::kTrunc, .one = pl_trunc_i},
    {.op = ScalarOp::kNot, .one = pl_not_i},       {.op = ScalarOp::kAdd, .two = pl_add_i},
    {.op = ScalarOp::kSub, .two = pl_sub_i},       {.op = ScalarOp::kMul, .two = pl_mul_i},
    {.op = ScalarOp::kFloorDiv, .two = pl_fdiv_i}, {.op = ScalarOp::kMod, .two = pl_mod_i},
    {.op = ScalarOp::kPow, .two = pl_pow_i},       {.op = ScalarOp::kMax, .two = pl_max_i},
    {.op = ScalarOp::kMin, .two = pl_min_i},       {.op = ScalarOp::kLt, .two = pl_lt_i},
    {.op = ScalarOp::kLe, .two = pl_le_i},         {.op = ScalarOp::kEq, .two = pl_eq_i},
    {.op = ScalarOp::kAnd, .two = pl_and_i},       {.op = ScalarOp::kOr, .two = pl_or_i},
    {.op = ScalarOp::kXor, .two = pl_xor_i},       {.op = ScalarOp::kSelect, .three = pl_select_i},
};

inline const PreludeFunction<float> kInexactFloat[] = {
    {.op = ScalarOp::kExp, .one = pl_exp_f},     {.op = ScalarOp::kExpm1, .one = pl_expm1_f},
    {.op = ScalarOp::kLog, .one = pl_log_f},     {.op = ScalarOp::kLog1p, .one = pl_log1p_f},
    {.op = ScalarOp::kSin, .one = pl_sin_f},     {.op = ScalarOp::kCos, .one = pl_cos_f},
    {.op = ScalarOp::kTan, .one = pl_tan_f},     {.op = ScalarOp::kAsin, .one = pl_asin_f},
    {.op = ScalarOp::kAcos, .one = pl_acos_f},   {.op = ScalarOp::kAtan, .one = pl_atan_f},
    {.op = ScalarOp::kSinh, .one = pl_sinh_f},   {.op = ScalarOp::kCosh, .one = pl_cosh_f},
    {.op = ScalarOp::kTanh, .one = pl_tanh_f},   {.op = ScalarOp::kErf, .one = pl_erf_f},
    {.op = ScalarOp::kErfc, .one = pl_erfc_f},   {.op = ScalarOp::kPow, .two = pl_pow_f},
    {.op = ScalarOp::kAtan2, .two = pl_atan2_f},
};

inline const PreludeFunction<double> kInexactDouble[] = {
    {.op = ScalarOp::kExp, .one = pl_exp_d},     {.op = ScalarOp::kExpm1, .one = pl_expm1_d},
    {.op = ScalarOp::kLog, .one = pl_log_d},     {.op = ScalarOp::kLog1p, .one = pl_log1p_d},
    {.op = ScalarOp::kSin, .one = pl_sin_d},     {.op = ScalarOp::kCos, .one = pl_cos_d},
    {.op = ScalarOp::kTan, .one = pl_tan_d},     {.op = ScalarOp::kAsin, .one = pl_asin_d},
    {.op = ScalarOp::kAcos, .one = pl_acos_d},   {.op = ScalarOp::kAtan, .one = pl_atan_d},
    {.op = ScalarOp::kSinh, .one = pl_sinh_d},   {.op = ScalarOp::kCosh, .one = pl_cosh_d},
    {.op = ScalarOp::kTanh, .one = pl_tanh_d},   {.op = ScalarOp::kErf, .one = pl_erf_d},
    {.op = ScalarOp::kErfc, .one = pl_erfc_d},   {.op = ScalarOp::kPow, .two = pl_pow_d},
    {.op = ScalarOp::kAtan2, .two = pl_atan2_d},
};

/// Two tables as one, by operation.
template <class T>
using PreludeTable = std::array<PreludeFunction<T>, loop::kScalarInfo.size()>;

template <class T, std::size_t N, std::size_t M>
PreludeTable<T> prelude_table(const PreludeFunction<T> (&exact)[N],
                              const PreludeFunction<T> (&inexact)[M]) {
  PreludeTable<T> table{};
  for (const auto& f : exact) table[static_cast<std::size_t>(f.op)] = f;
  for (const auto& f : inexact) table[static_cast<std::size_t>(f.op)] = f;
  return table;
}

inline loop::ScalarFunctions prelude_functions() {
  static const PreludeTable<float> floats = prelude_table(kExactFloat, kInexactFloat);
  static const PreludeTable<double> doubles = prelude_table(kExactDouble, kInexactDouble);
  return {[](ScalarOp op, float a, float b, float c) {
            return floats[static_cast<std::size_t>(op)](a, b, c);
          },
          [](ScalarOp op, double a, double b, double c) {
            return doubles[static_cast<std::size_t>(op)](a, b, c);
          }};
}

}  // namespace plait::codegen
