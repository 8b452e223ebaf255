// The states of a session as a run keeps them: what the model learned apart from what training
// needs besides, and the way back.
#pragma once

#include <string>

#include "run/session.h"
#include "train/checkpoint.h"

namespace plait::train {

struct States {
  Tensors weights;  // trained parameters and buffers
  Tensors others;   // moments, learning rate, counters
};

/// Copies of all of them, as they are now.
States states_of(const Session& session);
/// Sets all. UserError naming `where` when one is missing, unknown or of another type.
void set_states(Session& session, const Checkpoint& from, const std::string& where);
/// As before the first step: each state's initial value, by the seed.
void reset_states(Session& session, std::uint64_t seed);

/// Whether every element of a float array is a finite number; others always are.
bool all_finite(const Array& array);
/// The first of them with an element that is not; empty when all are finite.
std::string first_non_finite(const Tensors& tensors);

}  // namespace plait::train
