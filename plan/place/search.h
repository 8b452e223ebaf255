// Branch and bound over canonical placements: every buffer rests on the one below it, and they are
// laid in the order of their offsets. Complete when the work suffices. Private to plan/place.
#pragma once

#include <optional>

#include "plan/place/problem.h"

namespace plait::plan {

enum class Outcome { found, none, out_of_work };

struct Found {
  Outcome outcome = Outcome::out_of_work;
  Packed packed;  // when found
};

/// Searches for a placement no higher than `capacity`, in several branching orders in turn, each
/// with more work than in the round before. `none`: there is no such placement.
Found search(const Problem& problem, std::int64_t capacity, Work& work);

}  // namespace plait::plan
