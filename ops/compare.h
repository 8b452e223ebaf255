// Comparing, choosing and converting elements: predicates, logic, where, clip, cast.
#pragma once

#include <cmath>
#include <limits>

#include "ops/builder.h"
#include "ops/infer.h"

namespace plait::ops {

inline constexpr double kInfinity = std::numeric_limits<double>::infinity();
inline constexpr std::string_view kOrderedPairs =
    "f32[7], f32[7]; f32[3,5], f32[5]; f32[2,1,4], f32[3,1]; f32[0], f32[0]; i64[12], i64[12]; "
    "i8[9]{-3..3}, i8[]{-1..1}; u8[3,4], u8[4]";
inline constexpr std::string_view kLogicPairs =
    "bool[9], bool[9]; bool[2,1,4], bool[3,1]; bool[0], bool[0]; i64[9]{-99..99}, i64[9]{-99..99}; "
    "u8[3,5]{0..256}, u8[5]{0..256}";

// Entries are laid out by hand.
// clang-format off
inline constexpr Op equal{
    .name = "equal", .inputs = {"a", "b"}, .traits = kElementwise, .infer = predicate,
    .scalar = [](In x) { return eq(x[0], x[1]); },
    .colour = Colour::kClear, .samples = kOrderedPairs,
    .exact = [](const double* x, const NodeView&) -> double { return x[0] == x[1]; }};

inline constexpr Op not_equal{
    .name = "not_equal", .inputs = {"a", "b"}, .traits = kElementwise, .infer = predicate,
    .scalar = [](In x) { return loop::logical_not(eq(x[0], x[1])); },
    .colour = Colour::kClear, .samples = kOrderedPairs,
    .exact = [](const double* x, const NodeView&) -> double { return x[0] != x[1]; },
    .doc = "true where either is NaN"};

inline constexpr Op less{
    .name = "less", .inputs = {"a", "b"}, .dtypes = kNumbers, .traits = kElementwise,
    .infer = predicate,
    .scalar = [](In x) { return x[0] < x[1]; },
    .colour = Colour::kClear, .samples = kOrderedPairs,
    .exact = [](const double* x, const NodeView&) -> double { return x[0] < x[1]; }};

inline constexpr Op less_equal{
    .name = "less_equal", .inputs = {"a", "b"}, .dtypes = kNumbers, .traits = kElementwise,
    .infer = predicate,
    .scalar = [](In x) { return x[0] <= x[1]; },
    .colour = Colour::kClear, .samples = kOrderedPairs,
    .exact = [](const double* x, const NodeView&) -> double { return x[0] <= x[1]; }};

inline constexpr Op greater{
    .name = "greater", .inputs = {"a", "b"}, .dtypes = kNumbers, .traits = kElementwise,
    .infer = predicate,
    .scalar = [](In x) { return x[0] > x[1]; },
    .colour = Colour::kClear, .samples = kOrderedPairs,
    .exact = [](const double* x, const NodeView&) -> double { return x[0] > x[1]; }};

inline constexpr Op greater_equal{
    .name = "greater_equal", .inputs = {"a", "b"}, .dtypes = kNumbers, .traits = kElementwise,
    .infer = predicate,
    .scalar = [](In x) { return x[0] >= x[1]; },
    .colour = Colour::kClear, .samples = kOrderedPairs,
    .exact = [](const double* x, const NodeView&) -> double { return x[0] >= x[1]; }};

inline std::int64_t bits_of(double x) { return static_cast<std::int64_t>(x); }

inline constexpr Op logical_and{
    .name = "logical_and", .inputs = {"a", "b"}, .dtypes = kBools | kInts, .traits = kElementwise,
    .infer = elementwise,
    .scalar = [](In x) { return loop::logical_and(x[0], x[1]); },
    .colour = Colour::kClear, .samples = kLogicPairs,
    .exact = [](const double* x, const NodeView&) -> double {
      return static_cast<double>(bits_of(x[0]) & bits_of(x[1]));
    },
    .doc = "on integers bit by bit"};

inline constexpr Op logical_or{
    .name = "logical_or", .inputs = {"a", "b"}, .dtypes = kBools | kInts, .traits = kElementwise,
    .infer = elementwise,
    .scalar = [](In x) { return loop::logical_or(x[0], x[1]); },
    .colour = Colour::kClear, .samples = kLogicPairs,
    .exact = [](const double* x, const NodeView&) -> double {
      return static_cast<double>(bits_of(x[0]) | bits_of(x[1]));
    },
    .doc = "on integers bit by bit"};

inline constexpr Op logical_xor{
    .name = "logical_xor", .inputs = {"a", "b"}, .dtypes = kBools | kInts, .traits = kElementwise,
    .infer = elementwise,
    .scalar = [](In x) { return loop::logical_xor(x[0], x[1]); },
    .colour = Colour::kClear, .samples = kLogicPairs,
    .exact = [](const double* x, const NodeView&) -> double {
      return static_cast<double>(bits_of(x[0]) ^ bits_of(x[1]));
    },
    .doc = "on integers bit by bit"};

inline constexpr Op logical_not{
    .name = "logical_not", .inputs = {"x"}, .dtypes = kBools, .traits = kElementwise,
    .infer = same_as_input,
    .scalar = [](In x) { return loop::logical_not(x[0]); },
    .colour = Colour::kClear, .samples = "bool[9]; bool[2,3]; bool[]; bool[0]",
    .exact = [](const double* x, const NodeView&) { return 1 - x[0]; }};

// In f16 the last sample reaches infinity.
inline constexpr std::string_view kOnFarReals = "f32[7]; f32[3,5]; f32[0]; f32[40]{-90000..90000}";

inline constexpr Op is_nan{
    .name = "is_nan", .inputs = {"x"}, .dtypes = kFloats, .traits = kElementwise,
    .infer = predicate,
    .scalar = [](In x) {
      const loop::Expr v = x[0];
      return loop::logical_not(eq(v, v));
    },
    .colour = Colour::kClear, .samples = kOnFarReals,
    .exact = [](const double* x, const NodeView&) -> double { return std::isnan(x[0]); }};

inline constexpr Op is_inf{
    .name = "is_inf", .inputs = {"x"}, .dtypes = kFloats, .traits = kElementwise,
    .infer = predicate,
    .scalar = [](In x) { return eq(loop::abs(x[0]), kInfinity); },
    .colour = Colour::kClear, .samples = kOnFarReals,
    .exact = [](const double* x, const NodeView&) -> double { return std::isinf(x[0]); },
    .doc = "infinite with either sign"};

inline constexpr Op is_finite{
    .name = "is_finite", .inputs = {"x"}, .dtypes = kFloats, .traits = kElementwise,
    .infer = predicate,
    .scalar = [](In x) { return loop::abs(x[0]) < kInfinity; },
    .colour = Colour::kClear, .samples = kOnFarReals,
    .exact = [](const double* x, const NodeView&) -> double { return std::isfinite(x[0]); },
    .doc = "neither infinite nor NaN"};

inline constexpr Op where{
    .name = "where", .inputs = {"condition", "a", "b"}, .dtypes = kBools, .traits = kElementwise,
    .infer = [](const NodeView& v) -> std::vector<ir::Type> {
      same_dtype(v, 1, 2);
      const Shape values = broadcast(v, v.in(1).shape, v.in(2).shape);
      return {{v.in(1).dtype, broadcast(v, v.in(0).shape, values)}};
    },
    .scalar = [](In x) { return select(x[0], x[1], x[2]); },
    .grads = {{"condition", [](GradCtx& g) -> Grads {
      return {Tensor(), g.wants(1) ? plait::where(g.in(), g.dy(), 0) : Tensor(),
              g.wants(2) ? plait::where(g.in(), 0, g.dy()) : Tensor()};
    }}},
    .colour = Colour::kClear,
    .samples = "bool[7], f32[7], f32[7]; bool[3,1], f32[5], f32[]; bool[4], f32[2,1], f32[3,1,4]; "
               "bool[], f32[3], f32[3]; bool[0], f32[0], f32[0]; bool[9], i32[9], i32[9]{-5..0}; "
               "bool[6], bool[6], bool[6]",
    .exact = [](const double* x, const NodeView&) { return x[0] != 0 ? x[1] : x[2]; },
    .doc = "a where the condition holds, else b"};

struct Clip {
  double lo = -kInfinity, hi = kInfinity;
  bool operator==(const Clip&) const = default;
  static constexpr auto fields() {
    return std::tuple{ir::Field{"lo", &Clip::lo}, ir::Field{"hi", &Clip::hi}};
  }
};

/// UserError unless lo <= hi and, for integers, each bound is whole or absent and the range is met.
inline std::vector<ir::Type> infer_clip(const NodeView& v) {
  const auto a = v.as<Clip>();
  if (!(a.lo <= a.hi)) v.fail("lo must not exceed hi: lo is ", a.lo, ", hi is ", a.hi);
  if (is_int(v.in(0).dtype)) {
    visit_dtype(v.in(0).dtype, [&]<class T>(TypeTag<T>) {
      const auto least = static_cast<double>(std::numeric_limits<T>::min());
      const auto most = static_cast<double>(std::numeric_limits<T>::max());
      if (std::floor(a.lo) != a.lo || std::floor(a.hi) != a.hi || a.lo > most || a.hi < least) {
        v.fail("the bounds of integers must be whole numbers in reach: lo is ", a.lo, ", hi is ",
               a.hi, ", ", v.operand_text());
      }
    });
  }
  return same_as_input(v);
}

/// Where x lies within the bounds, ends included; empty when it is not bounded.
inline Tensor within(const Tensor& x, const Clip& a) {
  if (a.lo == -kInfinity && a.hi == kInfinity) return {};
  if (a.lo == -kInfinity) return x <= a.hi;
  if (a.hi == kInfinity) return x >= a.lo;
  return logical_and(x >= a.lo, x <= a.hi);
}

inline constexpr Op clip{
    .name = "clip", .inputs = {"x"}, .dtypes = kNumbers, .traits = kElementwise,
    .attrs = &ir::kSchema<Clip>, .infer = infer_clip,
    .scalar = [](In x) {
      const auto a = x.as<Clip>();
      loop::Expr y = x[0];
      if (a.lo != -kInfinity) y = loop::max(y, a.lo);
      if (a.hi != kInfinity) y = loop::min(y, a.hi);
      return y;
    },
    .grads = {{"x", [](GradCtx& g) -> Grads {
      const Tensor inside = within(g.in(), g.as<Clip>());
      return {inside ? plait::where(inside, g.dy(), 0) : g.dy()};
    }}, {"mask", [](GradCtx& g) -> Grads {
      const Tensor inside = g.save("mask", within(g.in(), g.as<Clip>()));
      return {inside ? plait::where(inside, g.dy(), 0) : g.dy()};
    }}},
    .colour = Colour::kClear,
    .samples = "f32[7]; f32[3,5] | lo=-0.5, hi=1.0; f32[6]{1.2..3} | hi=1.0; f32[9] | lo=0.25; "
               "f32[0] | lo=0.0; i64[9]{-9..9} | lo=-3, hi=4; u8[5]{0..256} | lo=-1.0, hi=99.0",
    .exact = [](const double* x, const NodeView& node) {
      const auto a = node.as<Clip>();
      return x[0] < a.lo ? a.lo : x[0] > a.hi ? a.hi : x[0];
    },
    .doc = "x bounded to [lo, hi]; the gradient passes where lo <= x <= hi"};

struct Cast {
  DType dtype = DType::f32;
  bool operator==(const Cast&) const = default;
  static constexpr auto fields() { return std::tuple{ir::Field{"dtype", &Cast::dtype}}; }
};

/// The rules of base/convert.h on a number: from `from` to `to`, before rounding to a float.
inline double exact_cast(double x, DType from, DType to) {
  if (is_float(to)) return x;
  if (to == DType::boolean) return x != 0;
  if (std::isnan(x)) return 0;
  const double count = std::exp2(8 * static_cast<double>(size_of(to)));
  const double least = to == DType::u8 ? 0 : -count / 2;
  if (is_float(from)) return std::fmin(std::fmax(std::trunc(x), least), least + count - 1);
  return x - count * std::floor((x - least) / count);
}

inline constexpr Op cast{
    .name = "cast", .inputs = {"x"}, .traits = kElementwise, .attrs = &ir::kSchema<Cast>,
    .infer = [](const NodeView& v) -> std::vector<ir::Type> {
      return {{v.as<Cast>().dtype, v.in(0).shape}};
    },
    .scalar = [](In x) { return x[0]; },
    .grads = {{"", [](GradCtx& g) -> Grads {
      const bool smooth = is_float(g.type().dtype) && is_float(g.as<Cast>().dtype);
      return {smooth ? narrow(g.dy(), g.type().dtype) : Tensor()};
    }}},
    .colour = Colour::kClear,
    .samples = "f32[7] | dtype=f64; f32[3,5] | dtype=f32; f32[7]{-9..9} | dtype=f16; "
               "f32[7]{-9..9} | dtype=bf16; f32[9]{-400..400} | dtype=i8; "
               "f32[9]{-400..400} | dtype=u8; f32[5]{-9..9} | dtype=i64; f32[4] | dtype=bool; "
               "i64[9]{-400..400} | dtype=i8; i32[9]{-400..400} | dtype=u8; "
               "i64[9]{-5000..5000} | dtype=f16; i32[5]{-9..9} | dtype=f32; "
               "i8[9]{-2..3} | dtype=bool; bool[6] | dtype=f32; bool[6] | dtype=i64; "
               "f32[0] | dtype=i32",
    .exact = [](const double* x, const NodeView& node) {
      return exact_cast(x[0], node.in(0).dtype, node.out().dtype);
    },
    .doc = "to a float the nearest; float to integer towards zero and saturated; integers wrap"};
// clang-format on

inline constexpr const Op* kCompare[] = {&equal,       &not_equal,     &less,        &less_equal,
                                         &greater,     &greater_equal, &logical_and, &logical_or,
                                         &logical_xor, &logical_not,   &is_nan,      &is_inf,
                                         &is_finite,   &where,         &clip,        &cast};

}  // namespace plait::ops
