// How states get their first values: one row per kind. Values depend on the seed and the state's
// name alone, so that the order of states does not matter.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/array.h"
#include "ir/graph.h"

namespace plait {

/// `zeros`, `normal(mean=, std=)`...; UserError on an unknown kind or attribute, naming the state.
Array initial_value(const ir::State& state, std::uint64_t seed);

/// Of what a kind draws.
struct Spread {
  double mean = 0, deviation = 0;
};
/// Nothing for kinds that draw nothing at random; errors as above.
std::optional<Spread> initial_spread(const ir::State& state);

std::vector<std::string> initializer_names();

namespace init {
// The attributes of each kind; init::make(Normal{...}) gives the ir::Init of a state.
struct Constant {
  static constexpr std::string_view kKind = "constant";
  double value = 0;
  bool operator==(const Constant&) const = default;
  static constexpr auto fields() { return std::tuple{ir::Field{"value", &Constant::value}}; }
};
struct Normal {
  static constexpr std::string_view kKind = "normal";
  double mean = 0, std = 1;
  bool operator==(const Normal&) const = default;
  static constexpr auto fields() {
    return std::tuple{ir::Field{"mean", &Normal::mean}, ir::Field{"std", &Normal::std}};
  }
};
struct Uniform {
  static constexpr std::string_view kKind = "uniform";
  double lo = -1, hi = 1;
  bool operator==(const Uniform&) const = default;
  static constexpr auto fields() {
    return std::tuple{ir::Field{"lo", &Uniform::lo}, ir::Field{"hi", &Uniform::hi}};
  }
};
/// Glorot: std = gain * sqrt(2 / (fan_in + fan_out)); fans as PyTorch counts them.
struct Xavier {
  static constexpr std::string_view kKind = "xavier";
  double gain = 1;
  bool uniform = false;
  bool operator==(const Xavier&) const = default;
  static constexpr auto fields() {
    return std::tuple{ir::Field{"gain", &Xavier::gain}, ir::Field{"uniform", &Xavier::uniform}};
  }
};
/// He: std = gain / sqrt(fan_in), or fan_out.
struct Kaiming {
  static constexpr std::string_view kKind = "kaiming";
  double gain = 1.4142135623730951;
  bool uniform = false, fan_out = false;
  bool operator==(const Kaiming&) const = default;
  static constexpr auto fields() {
    return std::tuple{ir::Field{"gain", &Kaiming::gain}, ir::Field{"uniform", &Kaiming::uniform},
                      ir::Field{"fan_out", &Kaiming::fan_out}};
  }
};
/// Rows or columns orthonormal (whichever are fewer), times gain; over the matrix (dim 0, rest).
struct Orthogonal {
  static constexpr std::string_view kKind = "orthogonal";
  double gain = 1;
  bool operator==(const Orthogonal&) const = default;
  static constexpr auto fields() { return std::tuple{ir::Field{"gain", &Orthogonal::gain}}; }
};
/// offset + scale * (i / divisor)^exponent for element i.
struct Power {
  static constexpr std::string_view kKind = "power";
  double offset = 0, scale = 1, divisor = 1, exponent = 1;
  bool operator==(const Power&) const = default;
  static constexpr auto fields() {
    return std::tuple{ir::Field{"offset", &Power::offset}, ir::Field{"scale", &Power::scale},
                      ir::Field{"divisor", &Power::divisor},
                      ir::Field{"exponent", &Power::exponent}};
  }
};
/// values[i mod count] for element i.
struct Cycle {
  static constexpr std::string_view kKind = "cycle";
  std::vector<double> values{0};
  bool operator==(const Cycle&) const = default;
  static constexpr auto fields() { return std::tuple{ir::Field{"values", &Cycle::values}}; }
};

template <class A>
ir::Init make(const A& attrs) {
  return {std::string(A::kKind), ir::encode(attrs)};
}
inline ir::Init zeros() { return {"zeros", {}}; }
inline ir::Init ones() { return {"ones", {}}; }
}  // namespace init

}  // namespace plait
