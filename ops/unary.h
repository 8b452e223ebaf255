// Mathematics of one operand, elementwise. Activations are in ops/activation.h.
#pragma once

#include <cmath>
#include <numbers>

#include "ops/builder.h"
#include "ops/infer.h"

namespace plait::ops {

inline constexpr std::string_view kOnReals = "f32[7]; f32[3,5]; f32[]; f32[1,4]; f32[0]";
inline constexpr std::string_view kOnPositives =
    "f32[7]{0.1..3}; f32[3,5]{0.5..2}; f32[]{0.01..0.1}; f32[6]{10..300}; f32[0]";
// No step of a rounding lies within a range; in bf16 or f16 the last four round onto ties.
inline constexpr std::string_view kOffSteps =
    "f32[3,5]{-0.4..-0.1}; f32[5]{1.6..1.9}; f32[5]{-8.4..-8.1}; f32[0]; f32[8]{64.1..64.4}; "
    "f32[8]{-65.4..-65.1}; f32[8]{513.1..513.4}; f32[8]{-514.4..-514.1}";

/// For what is constant between its steps.
inline Grads zero_slope(GradCtx&) { return {Tensor()}; }

// Entries are laid out by hand.
// clang-format off
inline constexpr Op neg{
    .name = "neg", .inputs = {"x"}, .dtypes = kNumbers, .traits = kElementwise,
    .infer = same_as_input,
    .scalar = [](In x) { return -x[0]; },
    .grads = {{"", [](GradCtx& g) -> Grads { return {-g.dy()}; }}},
    .colour = Colour::kGray, .samples = "f32[7]; f32[3,5]; f32[0]; i64[6]{-9..9}; i8[5]{-99..99}",
    .exact = [](const double* x, const NodeView&) { return 0 - x[0]; }};

inline constexpr Op sign{
    .name = "sign", .inputs = {"x"}, .dtypes = kNumbers, .traits = kElementwise,
    .infer = same_as_input,
    .scalar = [](In x) { return select(x[0] > 0, 1, select(x[0] < 0, -1, x[0])); },
    .grads = {{"", zero_slope}},
    .colour = Colour::kGray, .samples = "f32[7]; f32[3,5]; f32[0]; i64[9]{-2..3}; u8[5]{0..3}",
    .exact = [](const double* x, const NodeView&) -> double { return (x[0] > 0) - (x[0] < 0); },
    .doc = "-1, 0 or 1; NaN of NaN"};

inline constexpr Op abs{
    .name = "abs", .inputs = {"x"}, .dtypes = kNumbers, .traits = kElementwise,
    .infer = same_as_input,
    .scalar = [](In x) { return loop::abs(x[0]); },
    .grads = {{"x", [](GradCtx& g) -> Grads { return {g.dy() * sign(g.in())}; }}},
    .colour = Colour::kGray,
    .samples = "f32[7]{0.1..2}; f32[3,5]{-2..-0.1}; f32[0]; i64[9]{-9..9}; i8[5]{-99..99}",
    .exact = [](const double* x, const NodeView&) { return std::fabs(x[0]); }};

inline constexpr Op square{
    .name = "square", .inputs = {"x"}, .dtypes = kNumbers, .traits = kElementwise,
    .infer = same_as_input,
    .scalar = [](In x) {
      const loop::Expr v = x[0];
      return v * v;
    },
    .grads = {{"x", [](GradCtx& g) -> Grads { return {g.dy() * (2 * g.in())}; }}},
    .samples = "f32[7]; f32[3,5]; f32[0]; i64[9]{-9..9}; i32[5]{-99..99}",
    .exact = [](const double* x, const NodeView&) { return std::pow(x[0], 2); }};

inline constexpr Op exp{
    .name = "exp", .inputs = {"x"}, .dtypes = kFloats, .traits = kElementwise,
    .infer = same_as_input,
    .scalar = [](In x) { return loop::exp(x[0]); },
    .grads = {{"y", [](GradCtx& g) -> Grads { return {g.dy() * g.out()}; }}},
    .samples = "f32[7]; f32[3,5]{-20..5}; f32[]; f32[0]",
    .exact = [](const double* x, const NodeView&) { return std::exp(x[0]); }};

inline constexpr Op expm1{
    .name = "expm1", .inputs = {"x"}, .dtypes = kFloats, .traits = kElementwise | kWideGrad,
    .infer = same_as_input,
    .scalar = [](In x) { return loop::expm1(x[0]); },
    .grads = {{"y", [](GradCtx& g) -> Grads { return {g.dy() * (g.out() + 1)}; }},
              {"x", [](GradCtx& g) -> Grads { return {g.dy() * g.in().exp()}; }}},
    .samples = "f32[7]; f32[3,5]{-0.001..0.001}; f32[5]{-20..5}; f32[0]",
    .exact = [](const double* x, const NodeView&) { return std::expm1(x[0]); },
    .doc = "exp(x) - 1, accurate near 0"};

inline constexpr Op log{
    .name = "log", .inputs = {"x"}, .dtypes = kFloats, .traits = kElementwise,
    .infer = same_as_input,
    .scalar = [](In x) { return loop::log(x[0]); },
    .grads = {{"x", [](GradCtx& g) -> Grads { return {g.dy() / g.in()}; }}},
    .samples = kOnPositives,
    .exact = [](const double* x, const NodeView&) { return std::log(x[0]); }};

inline constexpr Op log1p{
    .name = "log1p", .inputs = {"x"}, .dtypes = kFloats, .traits = kElementwise | kWideGrad,
    .infer = same_as_input,
    .scalar = [](In x) { return loop::log1p(x[0]); },
    .grads = {{"x", [](GradCtx& g) -> Grads { return {g.dy() / (g.in() + 1)}; }}},
    .samples = "f32[7]{-0.9..3}; f32[3,5]{-0.001..0.001}; f32[5]{10..300}; f32[0]",
    .exact = [](const double* x, const NodeView&) { return std::log1p(x[0]); },
    .doc = "log(1 + x), accurate near 0"};

inline constexpr Op log2{
    .name = "log2", .inputs = {"x"}, .dtypes = kFloats, .traits = kElementwise | kWideGrad,
    .infer = same_as_input,
    .scalar = [](In x) { return loop::log(x[0]) * std::numbers::log2e; },
    .grads = {{"x", [](GradCtx& g) -> Grads { return {g.dy() * std::numbers::log2e / g.in()}; }}},
    .samples = kOnPositives,
    .exact = [](const double* x, const NodeView&) { return std::log2(x[0]); }};

inline constexpr Op rsqrt{
    .name = "rsqrt", .inputs = {"x"}, .dtypes = kFloats, .traits = kElementwise | kWideGrad,
    .infer = same_as_input,
    .scalar = [](In x) { return 1 / loop::sqrt(x[0]); },
    .grads = {{"y", [](GradCtx& g) -> Grads {
      return {g.dy() * -0.5 * g.out() * g.out().square()};
    }}, {"x,y", [](GradCtx& g) -> Grads { return {g.dy() * -0.5 * g.out() / g.in()}; }}},
    .samples = kOnPositives,
    .exact = [](const double* x, const NodeView&) { return std::pow(x[0], -0.5); }};

inline constexpr Op sqrt{
    .name = "sqrt", .inputs = {"x"}, .dtypes = kFloats, .traits = kElementwise | kWideGrad,
    .infer = same_as_input,
    .scalar = [](In x) { return loop::sqrt(x[0]); },
    .grads = {{"y", [](GradCtx& g) -> Grads { return {g.dy() * 0.5 / g.out()}; }},
              {"x", [](GradCtx& g) -> Grads { return {g.dy() * 0.5 * rsqrt(g.in())}; }}},
    .samples = kOnPositives,
    .exact = [](const double* x, const NodeView&) { return std::sqrt(x[0]); }};

inline constexpr Op reciprocal{
    .name = "reciprocal", .inputs = {"x"}, .dtypes = kFloats, .traits = kElementwise | kWideGrad,
    .infer = same_as_input,
    .scalar = [](In x) { return 1 / x[0]; },
    .grads = {{"y", [](GradCtx& g) -> Grads { return {-(g.dy() * g.out() * g.out())}; }},
              {"x", [](GradCtx& g) -> Grads { return {-(g.dy() / g.in() / g.in())}; }}},
    .samples = "f32[7]{0.3..3}; f32[3,5]{-3..-0.3}; f32[6]{10..300}; f32[0]",
    .exact = [](const double* x, const NodeView&) { return std::pow(x[0], -1); }};

inline constexpr Op cos{
    .name = "cos", .inputs = {"x"}, .dtypes = kFloats, .traits = kElementwise | kWideGrad,
    .infer = same_as_input,
    .scalar = [](In x) { return loop::cos(x[0]); },
    .grads = {{"x", [](GradCtx& g) -> Grads {
      return {-(g.dy() * g.b.add("sin", {g.in()})[0])};
    }}},
    .samples = "f32[7]; f32[3,5]{-20..20}; f32[0]",
    .exact = [](const double* x, const NodeView&) { return std::cos(x[0]); }};

inline constexpr Op sin{
    .name = "sin", .inputs = {"x"}, .dtypes = kFloats, .traits = kElementwise | kWideGrad,
    .infer = same_as_input,
    .scalar = [](In x) { return loop::sin(x[0]); },
    .grads = {{"x", [](GradCtx& g) -> Grads { return {g.dy() * cos(g.in())}; }}},
    .samples = "f32[7]; f32[3,5]{-20..20}; f32[0]",
    .exact = [](const double* x, const NodeView&) { return std::sin(x[0]); }};

inline constexpr Op tan{
    .name = "tan", .inputs = {"x"}, .dtypes = kFloats, .traits = kElementwise | kWideGrad,
    .infer = same_as_input,
    .scalar = [](In x) { return loop::tan(x[0]); },
    .grads = {{"y", [](GradCtx& g) -> Grads { return {g.dy() * (g.out().square() + 1)}; }},
              {"x", [](GradCtx& g) -> Grads { return {g.dy() / cos(g.in()).square()}; }}},
    .samples = "f32[7]{-1..1}; f32[3,5]{2..4}; f32[0]",
    .exact = [](const double* x, const NodeView&) { return std::tan(x[0]); }};

/// The slope of asin; the product keeps its digits near 1.
inline Tensor asin_slope(const Tensor& x) { return rsqrt((1 - x) * (1 + x)); }

inline constexpr Op asin{
    .name = "asin", .inputs = {"x"}, .dtypes = kFloats, .traits = kElementwise | kWideGrad,
    .infer = same_as_input,
    .scalar = [](In x) { return loop::asin(x[0]); },
    .grads = {{"x", [](GradCtx& g) -> Grads { return {g.dy() * asin_slope(g.in())}; }}},
    .samples = "f32[7]{-0.9..0.9}; f32[3,5]{0.8..0.95}; f32[0]",
    .exact = [](const double* x, const NodeView&) { return std::asin(x[0]); }};

inline constexpr Op acos{
    .name = "acos", .inputs = {"x"}, .dtypes = kFloats, .traits = kElementwise | kWideGrad,
    .infer = same_as_input,
    .scalar = [](In x) { return loop::acos(x[0]); },
    .grads = {{"x", [](GradCtx& g) -> Grads { return {-(g.dy() * asin_slope(g.in()))}; }}},
    .samples = "f32[7]{-0.9..0.9}; f32[3,5]{-0.95..-0.8}; f32[0]",
    .exact = [](const double* x, const NodeView&) { return std::acos(x[0]); }};

inline constexpr Op atan{
    .name = "atan", .inputs = {"x"}, .dtypes = kFloats, .traits = kElementwise | kWideGrad,
    .infer = same_as_input,
    .scalar = [](In x) { return loop::atan(x[0]); },
    .grads = {{"x", [](GradCtx& g) -> Grads { return {g.dy() / (g.in().square() + 1)}; }}},
    .samples = "f32[7]; f32[3,5]{-30..30}; f32[0]",
    .exact = [](const double* x, const NodeView&) { return std::atan(x[0]); }};

inline constexpr Op sinh{
    .name = "sinh", .inputs = {"x"}, .dtypes = kFloats, .traits = kElementwise | kWideGrad,
    .infer = same_as_input,
    .scalar = [](In x) { return loop::sinh(x[0]); },
    .grads = {{"x", [](GradCtx& g) -> Grads { return {g.dy() * g.b.add("cosh", {g.in()})[0]}; }}},
    .samples = kOnReals,
    .exact = [](const double* x, const NodeView&) { return std::sinh(x[0]); }};

inline constexpr Op cosh{
    .name = "cosh", .inputs = {"x"}, .dtypes = kFloats, .traits = kElementwise | kWideGrad,
    .infer = same_as_input,
    .scalar = [](In x) { return loop::cosh(x[0]); },
    .grads = {{"x", [](GradCtx& g) -> Grads { return {g.dy() * sinh(g.in())}; }}},
    .samples = kOnReals,
    .exact = [](const double* x, const NodeView&) { return std::cosh(x[0]); }};

inline constexpr Op erf{
    .name = "erf", .inputs = {"x"}, .dtypes = kFloats, .traits = kElementwise | kWideGrad,
    .infer = same_as_input,
    .scalar = [](In x) { return loop::erf(x[0]); },
    .grads = {{"x", [](GradCtx& g) -> Grads {
      return {g.dy() * (2 * std::numbers::inv_sqrtpi) * exp(-g.in().square())};
    }}},
    .samples = "f32[7]; f32[3,5]{-9..9}; f32[]; f32[0]",
    .exact = [](const double* x, const NodeView&) { return std::erf(x[0]); }};

inline constexpr Op erfc{
    .name = "erfc", .inputs = {"x"}, .dtypes = kFloats, .traits = kElementwise | kWideGrad,
    .infer = same_as_input,
    .scalar = [](In x) { return loop::erfc(x[0]); },
    .grads = {{"x", [](GradCtx& g) -> Grads {
      return {g.dy() * (-2 * std::numbers::inv_sqrtpi) * exp(-g.in().square())};
    }}},
    .samples = "f32[7]; f32[3,5]{-9..9}; f32[]; f32[0]",
    .exact = [](const double* x, const NodeView&) { return std::erfc(x[0]); },
    .doc = "1 - erf(x), to its own last digits where erf(x) is near 1"};

inline constexpr Op floor{
    .name = "floor", .inputs = {"x"}, .dtypes = kFloats, .traits = kElementwise,
    .infer = same_as_input,
    .scalar = [](In x) { return loop::floor(x[0]); },
    .grads = {{"", zero_slope}}, .samples = kOffSteps,
    .exact = [](const double* x, const NodeView&) { return std::floor(x[0]); }};

inline constexpr Op ceil{
    .name = "ceil", .inputs = {"x"}, .dtypes = kFloats, .traits = kElementwise,
    .infer = same_as_input,
    .scalar = [](In x) { return loop::ceil(x[0]); },
    .grads = {{"", zero_slope}}, .samples = kOffSteps,
    .exact = [](const double* x, const NodeView&) { return std::ceil(x[0]); }};

inline constexpr Op round{
    .name = "round", .inputs = {"x"}, .dtypes = kFloats, .traits = kElementwise,
    .infer = same_as_input,
    .scalar = [](In x) { return loop::round(x[0]); },
    .grads = {{"", zero_slope}}, .samples = kOffSteps,
    .exact = [](const double* x, const NodeView&) { return x[0] - std::remainder(x[0], 1); },
    .doc = "to the nearest whole number, ties to even"};

inline constexpr Op trunc{
    .name = "trunc", .inputs = {"x"}, .dtypes = kFloats, .traits = kElementwise,
    .infer = same_as_input,
    .scalar = [](In x) { return loop::trunc(x[0]); },
    .grads = {{"", zero_slope}}, .samples = kOffSteps,
    .exact = [](const double* x, const NodeView&) { return std::trunc(x[0]); },
    .doc = "towards zero"};
// clang-format on

inline constexpr const Op* kUnary[] = {&neg,   &sign,  &abs,   &square, &exp,        &expm1, &log,
                                       &log1p, &log2,  &rsqrt, &sqrt,   &reciprocal, &cos,   &sin,
                                       &tan,   &asin,  &acos,  &atan,   &sinh,       &cosh,  &erf,
                                       &erfc,  &floor, &ceil,  &round,  &trunc};

}  // namespace plait::ops
