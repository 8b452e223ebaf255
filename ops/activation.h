// Activations: elementwise functions between layers. Formulas and slopes neither overflow nor turn
// into NaN far from 0.
#pragma once

#include <cmath>
#include <numbers>

#include "base/text.h"
#include "ops/builder.h"
#include "ops/infer.h"

namespace plait::ops {

// The far ends show overflow in a formula that is not stable.
inline constexpr std::string_view kOnWideReals =
    "f32[7]; f32[3,5]; f32[]; f32[5]{90..120}; f32[5]{-120..-90}; f32[0]";

// Entries are laid out by hand.
// clang-format off
inline constexpr Op relu{
    .name = "relu", .inputs = {"x"}, .dtypes = kNumbers, .traits = kElementwise,
    .infer = same_as_input,
    .scalar = [](In x) { return loop::max(x[0], 0); },
    .grads = {{"y", [](GradCtx& g) -> Grads { return {plait::where(g.out() > 0, g.dy(), 0)}; }},
              {"x", [](GradCtx& g) -> Grads { return {plait::where(g.in() > 0, g.dy(), 0)}; }},
              {"mask", [](GradCtx& g) -> Grads {
                return {plait::where(g.save("mask", g.in() > 0), g.dy(), 0)};
              }}},
    .colour = Colour::kClear,
    .samples = "f32[7]{0.1..2}; f32[3,5]{-2..-0.1}; f32[1,4]; f32[0]; i64[9]{-4..5}",
    .exact = [](const double* x, const NodeView&) { return x[0] > 0 ? x[0] : 0; }};

struct LeakyRelu {
  double slope = 0.01;
  bool operator==(const LeakyRelu&) const = default;
  static constexpr auto fields() { return std::tuple{ir::Field{"slope", &LeakyRelu::slope}}; }
};

inline Tensor leaky(GradCtx& g, const Tensor& positive) {
  return plait::where(positive, g.dy(), g.dy() * g.as<LeakyRelu>().slope);
}

inline constexpr Op leaky_relu{
    .name = "leaky_relu", .inputs = {"x"}, .dtypes = kFloats, .traits = kElementwise,
    .attrs = &ir::kSchema<LeakyRelu>,
    .infer = [](const NodeView& v) {
      const double slope = v.as<LeakyRelu>().slope;
      if (!(slope >= 0)) v.fail("slope must not be negative, is ", slope);
      return same_as_input(v);
    },
    .scalar = [](In x) { return select(x[0] > 0, x[0], x[0] * x.as<LeakyRelu>().slope); },
    .grads = {{"y", [](GradCtx& g) -> Grads { return {leaky(g, g.out() > 0)}; }},
              {"x", [](GradCtx& g) -> Grads { return {leaky(g, g.in() > 0)}; }},
              {"mask", [](GradCtx& g) -> Grads {
                return {leaky(g, g.save("mask", g.in() > 0))};
              }}},
    .colour = Colour::kGray,
    .samples = "f32[7]{0.1..2}; f32[3,5]{-2..-0.1}; f32[0]; f32[9] | slope=0.2; f32[4] | slope=0.0",
    .exact = [](const double* x, const NodeView& node) {
      return x[0] * (x[0] > 0 ? 1 : node.as<LeakyRelu>().slope);
    },
    .doc = "x where positive, else slope * x"};

inline double exact_sigmoid(double x) {
  return x < 0 ? std::exp(x) / (1 + std::exp(x)) : 1 / (1 + std::exp(-x));
}

inline constexpr Op sigmoid{
    .name = "sigmoid", .inputs = {"x"}, .dtypes = kFloats, .traits = kElementwise | kWideGrad,
    .infer = same_as_input,
    .scalar = [](In x) { return 1 / (1 + loop::exp(-x[0])); },  // 1 / (1 + inf) is 0
    .grads = {{"y", [](GradCtx& g) -> Grads { return {g.dy() * g.out() * (1 - g.out())}; }},
              {"x", [](GradCtx& g) -> Grads {
                return {g.dy() * sigmoid(g.in()) * sigmoid(-g.in())};
              }}},
    .samples = kOnWideReals,
    .exact = [](const double* x, const NodeView&) { return exact_sigmoid(x[0]); }};

inline constexpr Op tanh{
    .name = "tanh", .inputs = {"x"}, .dtypes = kFloats, .traits = kElementwise | kWideGrad,
    .infer = same_as_input,
    .scalar = [](In x) { return loop::tanh(x[0]); },
    .grads = {{"y", [](GradCtx& g) -> Grads { return {g.dy() * (1 - g.out().square())}; }},
              {"x", [](GradCtx& g) -> Grads {
                const Tensor twice = 2 * g.in();
                return {g.dy() * 4 * sigmoid(twice) * sigmoid(-twice)};
              }}},
    .colour = Colour::kGray, .samples = kOnWideReals,
    .exact = [](const double* x, const NodeView&) { return std::tanh(x[0]); }};

inline constexpr Op silu{
    .name = "silu", .inputs = {"x"}, .dtypes = kFloats, .traits = kElementwise | kWideGrad,
    .infer = same_as_input,
    .scalar = [](In x) {
      const loop::Expr v = x[0];
      return v / (1 + loop::exp(-v));
    },
    .grads = {{"x", [](GradCtx& g) -> Grads {
      const Tensor s = sigmoid(g.in());
      return {g.dy() * (s + s * (1 - s) * g.in())};
    }}},
    .colour = Colour::kGray, .samples = kOnWideReals,
    .exact = [](const double* x, const NodeView&) { return x[0] * exact_sigmoid(x[0]); },
    .doc = "x * sigmoid(x), also called swish"};

struct Gelu {
  std::string approximate = "none";
  bool operator==(const Gelu&) const = default;
  static constexpr auto fields() {
    return std::tuple{ir::Field{"approximate", &Gelu::approximate}};
  }
  bool by_tanh() const { return approximate == "tanh"; }
};

// gelu(x) = x * P(x). P is the normal distribution, or (1 + tanh(u)) / 2, u = a * (x + c * x^3).
inline constexpr double kGeluA = std::numbers::sqrt2 * std::numbers::inv_sqrtpi;
inline constexpr double kGeluC = 0.044715;

/// u of x, written once so that a kernel with both gelu and its slope computes tanh(u) once.
inline loop::Expr gelu_bend(const loop::Expr& x) { return kGeluA * x * (1 + kGeluC * x * x); }

inline std::vector<ir::Type> infer_gelu(const NodeView& v) {
  const std::string approximate = v.as<Gelu>().approximate;
  if (approximate != "none" && approximate != "tanh") {
    v.fail("approximate must be \"none\" or \"tanh\", is ", quoted(approximate));
  }
  return same_as_input(v);
}

/// The derivative of gelu_slope.
inline Tensor gelu_curve(const Tensor& x, const Gelu& attrs) {
  const Tensor xx = x.square();
  if (!attrs.by_tanh()) return (0.5 * kGeluA) * (xx * -0.5).exp() * (2 - xx);
  const Tensor t = tanh(kGeluA * x * (1 + kGeluC * xx)), s = 1 - t.square();
  const Tensor bend = kGeluA * (1 + 3 * kGeluC * xx);  // du / dx
  return s * (0.5 * (bend + kGeluA * (1 + 9 * kGeluC * xx)) - t * bend * bend * x);
}

inline constexpr Op gelu_slope{
    .name = "gelu_slope", .inputs = {"x"}, .dtypes = kFloats, .traits = kElementwise | kWideGrad,
    .attrs = &ir::kSchema<Gelu>, .infer = infer_gelu,
    .scalar = [](In x) {
      const loop::Expr v = x[0];
      if (!x.as<Gelu>().by_tanh()) {
        return 0.5 * loop::erfc(v * (-1 / std::numbers::sqrt2)) +
               v * (0.5 * kGeluA) * loop::exp(v * v * -0.5);
      }
      const loop::Expr t = loop::tanh(gelu_bend(v));
      return 0.5 * (1 + t + (1 - t * t) * (kGeluA * v * (1 + 3 * kGeluC * v * v)));
    },
    .grads = {{"x", [](GradCtx& g) -> Grads {
      return {g.dy() * gelu_curve(g.in(), g.as<Gelu>())};
    }}},
    .colour = Colour::kGray,
    .samples = "f32[7]; f32[3,5]; f32[]; f32[9]{-120..120}; f32[0]; "
               "f32[3,5] | approximate=\"tanh\"; f32[9]{-120..120} | approximate=\"tanh\"",
    .exact = [](const double* x, const NodeView& node) {
      const double v = x[0], a = std::sqrt(2 / std::acos(-1.0));
      if (node.as<Gelu>().approximate == "none") {
        return std::erfc(-v / std::sqrt(2.0)) / 2 + v * a / 2 * std::exp(-v * v / 2);
      }
      const double t = std::tanh(a * (v + 0.044715 * v * v * v));
      return (1 + t) / 2 + v / 2 * (1 - t * t) * a * (1 + 3 * 0.044715 * v * v);
    },
    .doc = "the derivative of gelu"};

inline constexpr Op gelu{
    .name = "gelu", .inputs = {"x"}, .dtypes = kFloats, .traits = kElementwise | kWideGrad,
    .attrs = &ir::kSchema<Gelu>,
    .infer = infer_gelu,
    .scalar = [](In x) {
      const loop::Expr v = x[0];
      // Not by 1 + erf, of which little is left where erf is near -1.
      if (!x.as<Gelu>().by_tanh()) return 0.5 * v * loop::erfc(v * (-1 / std::numbers::sqrt2));
      return 0.5 * v * (1 + loop::tanh(gelu_bend(v)));
    },
    .grads = {{"x", [](GradCtx& g) -> Grads {
      return {g.dy() * g.b.add(gelu_slope, {g.in()}, g.node.attrs)[0]};
    }}},
    .colour = Colour::kGray,
    .samples = "f32[7]; f32[3,5]; f32[]; f32[9]{-120..120}; f32[0]; "
               "f32[3,5] | approximate=\"tanh\"; f32[9]{-120..120} | approximate=\"tanh\"",
    .exact = [](const double* x, const NodeView& node) {
      const double v = x[0];
      if (node.as<Gelu>().approximate == "none") return v / 2 * std::erfc(-v / std::sqrt(2.0));
      return v / 2 * (1 + std::tanh(std::sqrt(2 / std::acos(-1.0)) * (v + 0.044715 * v * v * v)));
    },
    .doc = "x times the normal distribution of x; approximate=\"tanh\" for GPT-2's form"};

struct Softplus {
  double beta = 1, threshold = 20;
  bool operator==(const Softplus&) const = default;
  static constexpr auto fields() {
    return std::tuple{ir::Field{"beta", &Softplus::beta},
                      ir::Field{"threshold", &Softplus::threshold}};
  }
};

inline constexpr Op softplus{
    .name = "softplus", .inputs = {"x"}, .dtypes = kFloats, .traits = kElementwise | kWideGrad,
    .attrs = &ir::kSchema<Softplus>,
    .infer = [](const NodeView& v) {
      const double beta = v.as<Softplus>().beta;
      if (!(beta > 0)) v.fail("beta must be positive, is ", beta);
      return same_as_input(v);
    },
    .scalar = [](In x) {
      const auto a = x.as<Softplus>();
      const loop::Expr z = x[0] * a.beta;
      const loop::Expr soft = loop::max(z, 0) + loop::log1p(loop::exp(-loop::abs(z)));
      return select(z > a.threshold, x[0], soft / a.beta);
    },
    .grads = {{"x", [](GradCtx& g) -> Grads {
      const auto a = g.as<Softplus>();
      const Tensor z = g.in() * a.beta;
      return {plait::where(z > a.threshold, g.dy(), g.dy() * sigmoid(z))};
    }}},
    .samples = "f32[7]; f32[3,5]; f32[]; f32[5]{90..120}; f32[5]{-120..-90}; f32[0]; "
               "f32[6] | beta=2.5; f32[6]{0.6..2} | beta=2.0, threshold=1.0; "
               "f32[6]{-2..0.4} | beta=2.0, threshold=1.0; f32[5]{90..120} | threshold=1000.0",
    .exact = [](const double* x, const NodeView& node) {
      const auto a = node.as<Softplus>();
      const double z = x[0] * a.beta;
      if (z > a.threshold) return x[0];
      return (z > 30 ? z + std::exp(-z) : std::log1p(std::exp(z))) / a.beta;
    },
    .doc = "log(1 + exp(beta * x)) / beta; x itself where beta * x > threshold"};

struct Elu {
  double alpha = 1;
  bool operator==(const Elu&) const = default;
  static constexpr auto fields() { return std::tuple{ir::Field{"alpha", &Elu::alpha}}; }
};

inline constexpr Op elu{
    .name = "elu", .inputs = {"x"}, .dtypes = kFloats, .traits = kElementwise | kWideGrad,
    .attrs = &ir::kSchema<Elu>,
    .infer = [](const NodeView& v) {
      const double alpha = v.as<Elu>().alpha;
      if (!(alpha >= 0)) v.fail("alpha must not be negative, is ", alpha);
      return same_as_input(v);
    },
    .scalar = [](In x) {
      const loop::Expr v = x[0];
      return select(v > 0, v, loop::expm1(v) * x.as<Elu>().alpha);
    },
    .grads = {{"y", [](GradCtx& g) -> Grads {
      return {plait::where(g.out() > 0, g.dy(), g.dy() * (g.out() + g.as<Elu>().alpha))};
    }}, {"x", [](GradCtx& g) -> Grads {
      const Tensor positive = g.in() > 0;
      const Tensor low = plait::where(positive, 0, g.in());  // the side not taken stays finite
      return {plait::where(positive, g.dy(), g.dy() * g.as<Elu>().alpha * low.exp())};
    }}},
    .colour = Colour::kGray,
    .samples = "f32[7]{0.1..2}; f32[3,5]{-2..-0.1}; f32[5]{90..120}; f32[5]{-120..-90}; f32[0]; "
               "f32[9] | alpha=0.5; f32[9] | alpha=0.0",
    .exact = [](const double* x, const NodeView& node) {
      return x[0] > 0 ? x[0] : node.as<Elu>().alpha * std::expm1(x[0]);
    },
    .doc = "x where positive, else alpha * (exp(x) - 1)"};

inline constexpr Op log_sigmoid{
    .name = "log_sigmoid", .inputs = {"x"}, .dtypes = kFloats, .traits = kElementwise | kWideGrad,
    .infer = same_as_input,
    .scalar = [](In x) {
      const loop::Expr v = x[0];
      return loop::min(v, 0) - loop::log1p(loop::exp(-loop::abs(v)));
    },
    .grads = {{"x", [](GradCtx& g) -> Grads { return {g.dy() * sigmoid(-g.in())}; }},
              {"y", [](GradCtx& g) -> Grads {
                return {-(g.dy() * g.b.add("expm1", {g.out()})[0])};
              }}},
    .samples = kOnWideReals,
    .exact = [](const double* x, const NodeView&) {
      return x[0] < -30 ? x[0] - std::exp(x[0]) : -std::log1p(std::exp(-x[0]));
    }};
// clang-format on

inline constexpr const Op* kActivation[] = {&relu, &leaky_relu, &sigmoid,    &tanh, &silu,
                                            &gelu, &gelu_slope, &softplus, &elu,  &log_sigmoid};

}  // namespace plait::ops
