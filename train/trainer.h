// Training: from a config to a folder with a trained model, or from such a folder onwards. Prints
// only where it is told to; ends early when it is asked to.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "train/config.h"
#include "train/progress.h"
#include "train/run_folder.h"

namespace plait::train {

struct TrainRequest {
  Config config;                                  // output.folder is the run's
  RunFolder::Open open = RunFolder::Open::fresh;  // resume: from the newest whole checkpoint
  std::string own_text{};                         // a file: what data.kind "text" without path is
  Progress::Place place{};                        // where progress goes
  std::string program = "plait";                  // how commands that go on are to be called
  std::function<bool()> stop = [] { return false; };  // asked between steps: end after this one?
};

struct TrainResult {
  bool finished = false;  // or else stopped when asked to
  bool begun = false;     // the folder holds the run: it took a step, or was resumed
  std::int64_t step = 0, steps = 0;
  std::string folder;
  std::string checkpoint{};  // the newest; empty when none was written
  std::string summary{};     // summary.json, where finished
};

/// UserError on a config, data or folder that does not fit; RunError when the disk fails or the
/// loss is not finite: then the folder holds the newest whole checkpoint. Until the first step is
/// done the folder stays as it was, whatever goes wrong.
TrainResult train(const TrainRequest& request);

}  // namespace plait::train
