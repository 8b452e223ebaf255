// What a finished run leaves behind besides its checkpoints: the loss curve, a summary, and words
// on how to go on.
#pragma once

#include <string>

#include "train/job.h"
#include "train/metrics.h"
#include "train/train_state.h"

namespace plait::train {

/// What is told of a run at its end.
struct Finished {
  const TrainState& state;
  Record last;                // of the last step, with the last evaluation
  std::string checkpoint;     // path
  std::int64_t left_out = 0;  // updates, in this part of the run
  std::string sample;         // what the model writes; may be empty
  std::string program;        // as it is called
};

/// Writes curve.svg and summary.json; returns the summary's text.
std::string write_ending(const Job& job, const Finished& finished);

/// Lines for people: results, files, the next commands, the sample.
std::string ending_text(const Job& job, const Finished& finished);

}  // namespace plait::train
