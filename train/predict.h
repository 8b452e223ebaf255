// What a trained model says of pictures and arrays: classes with their probabilities, or its
// results as they are.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/array.h"
#include "train/trained_run.h"

namespace plait::train {

struct PredictRequest {
  TrainedRun run;
  std::string input;     // a file, or a folder of them: .png, .jpg, .jpeg, .npy
  std::int64_t top = 5;  // of the likeliest classes
  bool wants_results = false;
};

struct ClassScore {
  std::int64_t label;
  std::string name;  // empty where the run has no names
  double probability;
};

/// Of one sample.
struct Prediction {
  std::string input;            // the file; `x.npy[3]` where it holds several samples
  std::vector<ClassScore> top;  // the likeliest first; empty where the model is no classifier
  std::map<std::string, Array> results;  // by fetch, without the batch; where they are wanted
};

/// Calls `sink` for every sample, in the order of the files' names, as soon as it is known. Returns
/// notes for people: files that were left out. UserError when the model's results come from more
/// than one feed, when a file does not fit that, or when there are no files.
std::vector<std::string> predict(const PredictRequest& request,
                                 const std::function<void(const Prediction&)>& sink);

}  // namespace plait::train
