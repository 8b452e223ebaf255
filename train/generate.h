// Text from a trained model: a prompt is read token by token, then tokens are drawn and read in
// turn. The same weights, options and backend give the same text.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "train/checkpoint.h"
#include "train/config.h"
#include "train/data/vocabulary.h"
#include "train/sampling.h"

namespace plait::train {

struct GenerateOptions {
  std::string prompt;         // empty: the text begins after a newline
  std::int64_t length = 200;  // tokens to write
  Sampling sampling;
  std::string backend = "cpu";
  int threads = 0;  // as many as there are cpus
};

/// Gets the text as it is written, whole characters of UTF-8 each time; the prompt is not in it.
using TextSink = std::function<void(std::string_view text)>;

struct Generated {
  std::string text;  // all that the sink got
  std::int64_t prompt_tokens = 0, tokens = 0;
  double prompt_seconds = 0, seconds = 0;  // reading the prompt, writing; loading is in neither
  std::int64_t kept_bytes = 0;             // of the text so far, the same after every token
  std::int64_t tokens_read = 1;            // by the network, for each token
  std::vector<std::string> notes;
  double tokens_per_second() const { return seconds > 0 ? double(tokens) / seconds : 0; }
};

/// A model to write with.
struct Trained {
  Config config;
  Vocabulary vocabulary;
  Tensors weights;
  std::string source;  // the checkpoint's path
  std::int64_t step = 0;
  std::vector<std::string> notes;  // checkpoints that were passed over
};

/// From a run's folder its newest whole checkpoint, or that of a checkpoint's folder in a run.
/// UserError when there is no run, no whole checkpoint, or it is not one of text.
Trained load_trained(const std::string& path);

/// UserError when an option is out of range, or names all characters of the prompt that the
/// vocabulary lacks.
Generated generate(Trained trained, const GenerateOptions& options, const TextSink& sink = {});
Generated generate(const std::string& path, const GenerateOptions& options,
                   const TextSink& sink = {});

}  // namespace plait::train
