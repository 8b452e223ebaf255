// How good a model is on any data: loss, accuracy, perplexity over every sample of it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "train/evaluate.h"
#include "train/trained_run.h"

namespace plait::train {

struct EvaluateRequest {
  std::string source;                  // a run, one of its checkpoints, a config or `preset:NAME`
  std::vector<std::string> arguments{};  // over the config
  std::string weights{};               // a safetensors file instead of the checkpoint
  std::string own_text{};              // a file: what data.kind "text" without path is
  std::int64_t batches = 0;            // at most; 0: every sample
};

struct Evaluated {
  std::string model, weights;        // what was evaluated, with which weights
  std::optional<std::int64_t> step;  // of a run's checkpoint
  std::string data;                  // and which of it
  std::int64_t parameters = 0, samples = 0, left_out = 0, tokens = 0;  // tokens in all samples
  Evaluation result;
  std::vector<std::string> notes;
};

/// On the data that the arguments name (data.path, data.kind), all of it; otherwise on what the
/// config keeps for evaluation, or, where it keeps nothing, on what it trains on. Samples beyond
/// the last whole batch are a smaller batch; of a network whose file fixes the batch they are left
/// out and counted.
Evaluated evaluate_run(const EvaluateRequest& request);

}  // namespace plait::train
