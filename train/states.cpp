// Between a session's states and a checkpoint's tensors.
#include "train/states.h"

#include <cmath>

#include "ops/initializers.h"

namespace plait::train {
namespace {

bool is_weight(const ir::State& state) {
  return state.role == ir::Role::kParam || state.role == ir::Role::kBuffer;
}

template <class T>
bool finite(const Array& array) {
  for (const T x : array.as<T>()) {
    if (!std::isfinite(x)) return false;
  }
  return true;
}

/// Halves, whose exponent is all ones where they are not finite.
bool finite_bits(const Array& array, std::uint16_t exponent) {
  for (const std::uint16_t x : array.as<std::uint16_t>()) {
    if ((x & exponent) == exponent) return false;
  }
  return true;
}

void set_checked(Session& session, const std::string& name, const Array& value,
                 const std::string& where) {
  try {
    session.set_state(name, value);
  } catch (const UserError& e) {
    fail(where, ": ", e.what());
  }
}

}  // namespace

States states_of(const Session& session) {
  States out;
  for (const ir::State& state : state_table(session.package())) {
    (is_weight(state) ? out.weights : out.others).emplace(state.name, session.state(state.name));
  }
  return out;
}

void set_states(Session& session, const Checkpoint& from, const std::string& where) {
  for (const ir::State& state : state_table(session.package())) {
    const Tensors& tensors = is_weight(state) ? from.weights : from.others;
    if (tensors.count(state.name) == 0) {
      fail(where, " has no state '", state.name, "', which the model of this config has");
    }
  }
  for (const Tensors* tensors : {&from.weights, &from.others}) {
    for (const auto& [name, value] : *tensors) set_checked(session, name, value, where);
  }
}

void reset_states(Session& session, std::uint64_t seed) {
  for (const ir::State& state : state_table(session.package())) {
    session.set_state(state.name, initial_value(state, seed));
  }
}

bool all_finite(const Array& array) {
  switch (array.dtype()) {
    case DType::f32:
      return finite<float>(array);
    case DType::f64:
      return finite<double>(array);
    case DType::bf16:
      return finite_bits(array, 0x7f80);
    case DType::f16:
      return finite_bits(array, 0x7c00);
    default:
      return true;
  }
}

std::string first_non_finite(const Tensors& tensors) {
  for (const auto& [name, array] : tensors) {
    if (!all_finite(array)) return name;
  }
  return "";
}

}  // namespace plait::train
