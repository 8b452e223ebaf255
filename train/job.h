// A run before its first step: folder, data, model and programs, all fitting each other.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "run/session.h"
#include "train/config.h"
#include "train/data/data.h"
#include "train/run_folder.h"
#include "train/trainer.h"

namespace plait::train {

struct Job {
  Config config;  // resolved: no size is left to the data
  std::unique_ptr<RunFolder> folder;
  Sources sources;
  std::string data;  // the fingerprint of sources.train
  std::optional<Vocabulary> vocabulary;
  std::vector<std::string> classes;  // of pictures: their names, by label
  std::unique_ptr<Session> session;
  RunRequest step, eval;  // graphs `train` and `eval`; feeds are set batch by batch
  std::int64_t steps = 0;
  std::int64_t parameters = 0;
  double operations = 0;          // of a step; 0: not known
  std::int64_t memory_bytes = 0;  // planned, of all programs; 0: not known
  int threads = 1;
  std::vector<std::string> notes;  // for people

  std::int64_t samples_per_step() const { return config.train.batch * config.train.accumulate; }
};

/// Opens or makes the folder, reads the data, builds and compiles the model. States have their
/// initial values, or those of model.init_from; those of a resumed run are set by restore().
Job open_job(const TrainRequest& request);

/// What kClassesFile holds.
std::string classes_text(const std::vector<std::string>& classes);

/// The initial states again.
void start_over(Job& job);

/// Over what decides a run's results: the same in every part of a run.
std::string config_hash(const Config& config);

}  // namespace plait::train
