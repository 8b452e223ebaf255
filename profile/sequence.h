// The steps and buffers of a profile as a graph in which one operator makes each var, once: a
// buffer written again becomes a further var, and values that no step makes get an operator of
// their own. Inside this room only.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "profile/profile.h"

namespace plait::profile {

/// A buffer as one operator left it, or the scratch of a step.
struct Var {
  std::int64_t id = 0;
  std::string name;
  int buffer = -1;          // in the profile; -1: scratch
  int maker = 0;            // operator, by place
  int before = -1;          // the var in whose memory it lies, by place; -1: in its own
  bool overwrites = false;  // the last write of a run into a state; `before` leads to that state
  std::int64_t scratch_bytes = 0;
};

enum class Kind : std::uint8_t { kStep, kWeight, kState, kFeed, kFetch };

struct Operator {
  std::int64_t id = 0;
  Kind kind = Kind::kStep;
  std::string name;
  int step = -1;                     // in the profile; -1: none, nothing is launched for it
  std::vector<int> inputs, outputs;  // vars by place
};

/// Ids are one space. Operators stand in launch order: weights, states and feeds first, fetches
/// last.
struct Sequence {
  std::vector<Operator> ops;
  std::vector<Var> vars;
};
Sequence sequence_of(const Profile& profile);

}  // namespace plait::profile
