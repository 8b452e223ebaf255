// A run as what it trained: its config and the weights of a checkpoint.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "train/checkpoint.h"
#include "train/config.h"
#include "train/data/vocabulary.h"

namespace plait::train {

struct TrainedRun {
  Config config;  // with the arguments over it
  std::string folder;
  Tensors weights;     // parameters and buffers
  std::string source;  // the checkpoint's path
  std::int64_t step = 0;
  std::vector<std::string> notes;  // checkpoints that were passed over
};

/// Whether the path is a run's folder, or a checkpoint in one.
bool is_run(const std::string& path);

/// The config of the run that a path names or lies in, without weights. UserError when there is none.
TrainedRun open_run(const std::string& path, const std::vector<std::string>& arguments = {});
/// Reads the weights. UserError when there is no whole checkpoint.
void load_weights(TrainedRun& run);

/// Both: from a run's folder its newest whole checkpoint, or that of a checkpoint's folder in a run.
/// UserError when there is no run or no whole checkpoint.
TrainedRun load_run(const std::string& path, const std::vector<std::string>& arguments = {});

/// What a run keeps of its text; none for other data.
std::optional<Vocabulary> vocabulary_of(const TrainedRun& run);
/// The names of a run's classes by their labels; empty where it has none.
std::vector<std::string> classes_of(const TrainedRun& run);
/// The graphs of a run that was trained from a file; empty for named models.
std::string network_of(const TrainedRun& run);

}  // namespace plait::train
