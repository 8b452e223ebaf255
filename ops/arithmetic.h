// Arithmetic on two operands, elementwise with broadcasting.
#pragma once

#include <cmath>

#include "ops/builder.h"
#include "ops/infer.h"

namespace plait::ops {

inline constexpr std::string_view kPairs =
    "f32[7], f32[7]; f32[3,5], f32[5]; f32[2,1,4], f32[3,1]; f32[3], f32[]; f32[0], f32[0]";

// Entries are laid out by hand.
// clang-format off
inline constexpr Op add{
    .name = "add", .inputs = {"a", "b"}, .dtypes = kNumbers, .traits = kElementwise,
    .infer = elementwise,
    .scalar = [](In x) { return x[0] + x[1]; },
    .grads = {{"", [](GradCtx& g) -> Grads { return {g.dy(), g.dy()}; }}},
    .colour = Colour::kGray, .samples = kPairs,
    .exact = [](const double* x, const NodeView&) { return x[0] + x[1]; }};

inline constexpr Op sub{
    .name = "sub", .inputs = {"a", "b"}, .dtypes = kNumbers, .traits = kElementwise,
    .infer = elementwise,
    .scalar = [](In x) { return x[0] - x[1]; },
    .grads = {{"", [](GradCtx& g) -> Grads { return {g.dy(), g.wants(1) ? -g.dy() : Tensor()}; }}},
    .colour = Colour::kGray, .samples = kPairs,
    .exact = [](const double* x, const NodeView&) { return x[0] - x[1]; }};

inline constexpr Op mul{
    .name = "mul", .inputs = {"a", "b"}, .dtypes = kNumbers, .traits = kElementwise,
    .infer = elementwise,
    .scalar = [](In x) { return x[0] * x[1]; },
    .grads = {{"a,b", [](GradCtx& g) -> Grads {
      return {g.wants(0) ? g.dy() * g.in(1) : Tensor(), g.wants(1) ? g.dy() * g.in(0) : Tensor()};
    }}},
    .colour = Colour::kGray, .samples = kPairs,
    .exact = [](const double* x, const NodeView&) { return x[0] * x[1]; }};

inline constexpr Op div{
    .name = "div", .inputs = {"a", "b"}, .dtypes = kFloats, .traits = kElementwise | kWideGrad,
    .infer = elementwise,
    .scalar = [](In x) { return x[0] / x[1]; },
    .grads = {{"b,y", [](GradCtx& g) -> Grads {
      const Tensor da = g.dy() / g.in(1);
      return {da, g.wants(1) ? -(da * g.out()) : Tensor()};
    }}, {"a,b", [](GradCtx& g) -> Grads {
      const Tensor da = g.dy() / g.in(1);
      return {da, g.wants(1) ? -(da * g.in(0) / g.in(1)) : Tensor()};
    }}},
    .colour = Colour::kGray,
    .samples = "f32[7], f32[7]{0.3..3}; f32[3,5], f32[5]{0.3..3}; f32[2,1,4], f32[3,1]{0.3..3}; "
               "f32[0], f32[]{1..2}",
    .exact = [](const double* x, const NodeView&) { return x[0] / x[1]; }};

inline constexpr Op floor_div{
    .name = "floor_div", .inputs = {"a", "b"}, .dtypes = kNumbers, .traits = kElementwise,
    .infer = elementwise,
    .scalar = [](In x) { return loop::floordiv(x[0], x[1]); },
    .grads = {{"", [](GradCtx&) -> Grads { return {Tensor(), Tensor()}; }}},
    .colour = Colour::kBlack,
    .samples = "f32[7], f32[7]{0.3..3}; i64[9]{-20..20}, i64[9]{1..7}; i32[4]{-9..9}, i32[]{2..3}",
    .exact = [](const double* x, const NodeView&) { return std::floor(x[0] / x[1]); },
    .doc = "quotient rounded towards minus infinity; an integer divided by zero is an error"};

inline constexpr Op mod{
    .name = "mod", .inputs = {"a", "b"}, .dtypes = kNumbers, .traits = kElementwise,
    .infer = elementwise,
    .scalar = [](In x) { return loop::mod(x[0], x[1]); },
    .grads = {{"a,b", [](GradCtx& g) -> Grads {
      return {g.dy(), g.wants(1) ? -(g.dy() * floor_div(g.in(0), g.in(1))) : Tensor()};
    }}},
    .colour = Colour::kBlack,
    .samples = "f32[7], f32[7]{0.3..3}; i64[9]{-20..20}, i64[9]{1..7}; i32[4]{-9..9}, i32[]{2..3}",
    .exact = [](const double* x, const NodeView&) { return x[0] - std::floor(x[0] / x[1]) * x[1]; },
    .doc = "remainder with the divisor's sign"};

inline constexpr Op pow{
    .name = "pow", .inputs = {"a", "b"}, .dtypes = kNumbers, .traits = kElementwise | kWideGrad,
    .infer = elementwise,
    .scalar = [](In x) { return loop::pow(x[0], x[1]); },
    .grads = {{"a,b,y", [](GradCtx& g) -> Grads {
      const Tensor one = g.b.constant(1, g.in(1).dtype());
      Tensor da, db;
      if (g.wants(0)) {
        da = g.dy() * g.in(1) * g.b.add("pow", {g.in(0), g.in(1) - one})[0];
      }
      if (g.wants(1)) {  // 0^b is 0 for b > 0: no slope there, not 0 * -inf
        const Tensor zero = plait::equal(g.in(0), 0);
        db = plait::where(zero, 0.0, g.dy() * g.out() * plait::where(zero, one, g.in(0)).log());
      }
      return {da, db};
    }}},
    .colour = Colour::kBlack,
    .samples = "f32[7]{0.2..3}, f32[7]; f32[3,5]{0.2..3}, f32[]{-2..3}; "
               "i64[5]{-4..4}, i64[5]{0..5}",
    .exact = [](const double* x, const NodeView&) { return std::pow(x[0], x[1]); }};

// At a tie the gradient goes to both in halves, so that max(a, a) has the gradient of a.
inline Grads extremum_grads(GradCtx& g) {
  const Tensor half = g.b.constant(0.5, g.dy().dtype());
  const Tensor tie = plait::where(plait::equal(g.in(0), g.in(1)), g.dy() * half, 0.0);
  return {plait::where(plait::equal(g.in(0), g.out()), g.dy(), 0.0) - tie,
          plait::where(plait::equal(g.in(1), g.out()), g.dy(), 0.0) - tie};
}

inline constexpr Op maximum{
    .name = "maximum", .inputs = {"a", "b"}, .dtypes = kNumbers, .traits = kElementwise,
    .infer = elementwise,
    .scalar = [](In x) { return loop::max(x[0], x[1]); },
    .grads = {{"a,b,y", extremum_grads}},
    .colour = Colour::kGray, .samples = kPairs,
    .exact = [](const double* x, const NodeView&) { return x[0] > x[1] ? x[0] : x[1]; },
    .doc = "NaN when either is"};

inline constexpr Op minimum{
    .name = "minimum", .inputs = {"a", "b"}, .dtypes = kNumbers, .traits = kElementwise,
    .infer = elementwise,
    .scalar = [](In x) { return loop::min(x[0], x[1]); },
    .grads = {{"a,b,y", extremum_grads}},
    .colour = Colour::kGray, .samples = kPairs,
    .exact = [](const double* x, const NodeView&) { return x[0] < x[1] ? x[0] : x[1]; },
    .doc = "NaN when either is"};

inline constexpr Op atan2{
    .name = "atan2", .inputs = {"a", "b"}, .dtypes = kFloats, .traits = kElementwise | kWideGrad,
    .infer = elementwise,
    .scalar = [](In x) { return loop::atan2(x[0], x[1]); },
    .grads = {{"a,b", [](GradCtx& g) -> Grads {
      const Tensor s = g.dy() / (g.in(0).square() + g.in(1).square());
      return {s * g.in(1), -(s * g.in(0))};
    }}},
    .colour = Colour::kBlack, .samples = kPairs,
    .exact = [](const double* x, const NodeView&) { return std::atan2(x[0], x[1]); }};

inline constexpr Op lerp{
    .name = "lerp", .inputs = {"a", "b", "t"}, .dtypes = kFloats,
    .traits = kElementwise | kWideGrad,
    .infer = elementwise,
    .scalar = [](In x) { return x[1] * x[2] + x[0] * (1 - x[2]); },
    .grads = {{"a,b,t", [](GradCtx& g) -> Grads {
      return {g.wants(0) ? g.dy() * (1 - g.in(2)) : Tensor(),
              g.wants(1) ? g.dy() * g.in(2) : Tensor(),
              g.wants(2) ? g.dy() * (g.in(1) - g.in(0)) : Tensor()};
    }}},
    .colour = Colour::kGray,
    .samples = "f32[7], f32[7], f32[7]; f32[3,5], f32[3,5], f32[5]; f32[2,1,4], f32[3,1], f32[]; "
               "f32[0], f32[0], f32[]",
    .exact = [](const double* x, const NodeView&) { return x[1] * x[2] + x[0] * (1 - x[2]); },
    .doc = "b * t + a * (1 - t); the slope of t is one sum, of b - a"};
// clang-format on

inline constexpr const Op* kArithmetic[] = {&add, &sub,     &mul,     &div,   &floor_div, &mod,
                                            &pow, &maximum, &minimum, &atan2, &lerp};

}  // namespace plait::ops
