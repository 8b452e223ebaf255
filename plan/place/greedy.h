// Greedy placement: buffers one after another, each at the lowest or the tightest free spot; many
// orders, and an order improved step by step. Private to plan/place.
#pragma once

#include "plan/place/problem.h"

namespace plait::plan {

enum class Fit { lowest, tightest };

/// The offsets that come of placing the buffers in this order.
std::vector<std::int64_t> pack_in_order(const Problem& problem, std::span<const int> order, Fit fit,
                                        Work& work);

/// The best of the greedy strategies; the first at or below `target` ends the contest. The quickest
/// always runs, the others while there is work left.
Packed pack_greedy(const Problem& problem, std::int64_t target, Work& work);

/// Moves what stands above `target` forward in the order, over and over, and keeps what helps,
/// until the target is met or the work is spent.
void improve_order(const Problem& problem, std::int64_t target, Work& work, Packed& best);

}  // namespace plait::plan
