// Back to where a run stood: its newest whole checkpoint, or its start; and from there, forward
// again to find out where a loss that is not finite came from.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "train/data/sampler.h"
#include "train/job.h"
#include "train/train_state.h"

namespace plait::train {

/// The order of the training samples, from a position on.
Sampler training_sampler(const Job& job, Position position);

/// Sets the session's states to the newest whole checkpoint, or to the start where there is none.
/// UserError when every checkpoint is damaged, the data is not what it was or the model's states
/// are others.
TrainState restore(Job& job, std::vector<std::string>& notes);

/// The state of a run before its first step.
TrainState first_state(const Job& job);

/// Which op made the first value that is not finite, in update `step` (from 0) or the one before.
/// Nothing is kept between steps for this: the run goes back to its newest checkpoint and takes the
/// steps again, which gives the same numbers. The session is left wherever that ends.
std::string explain_non_finite(Job& job, std::int64_t step,
                               const std::function<void(std::string_view)>& note);

}  // namespace plait::train
