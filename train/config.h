// What a training run is asked to do: plain data, read from TOML and arguments, written back whole.
// train/schema.h is the table of its keys; this file knows no default that the table does not show.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace plait::train {

struct Config {
  struct Model {
    std::string name;  // or else:
    std::string file;
    std::vector<std::string> sizes, feeds;  // `time=32`; `x=image`
    std::string loss = "loss";
    std::string init_from;
    std::vector<std::string> init_strip, init_map, init_skip;  // see train/first_weights.h
    /// The model's own keys, all of them, as models::build reads them; "data" where the size is the
    /// data's (fit_to_data).
    std::map<std::string, std::string, std::less<>> keys;
    bool operator==(const Model&) const = default;
  };
  struct Data {
    std::string kind = "text";
    std::vector<std::string> path;
    std::string unit = "byte";
    double valid_fraction = 0;
    std::vector<std::string> valid_path;
    bool shuffle = true;
    std::int64_t prefetch = 2;
    bool one_chunk = false;
    std::int64_t samples = 65536;
    bool operator==(const Data&) const = default;
  };
  struct Train {
    std::int64_t batch = 8;
    std::int64_t steps = 0, epochs = 0;  // one of them
    std::int64_t accumulate = 1;
    double clip = 0;
    std::string precision = "f32";
    double loss_scale = 65536;
    std::int64_t loss_scale_every = 2000;
    std::int64_t seed = 0;
    std::int64_t threads = 0;
    std::string backend = "cpu";
    std::string fp32 = "strict";
    bool fast = false;
    std::string on_nan = "stop";
    bool operator==(const Train&) const = default;
  };
  struct Optimizer {
    std::string kind = "adam";
    double lr = 1e-3;
    double momentum = 0;
    bool nesterov = false;
    double beta1 = 0.9, beta2 = 0.999, eps = 1e-8;
    double weight_decay = 0;
    std::string weight_decay_of = "matrices";
    std::vector<std::string> groups, freeze;
    bool operator==(const Optimizer&) const = default;
  };
  struct Schedule {
    std::string kind = "constant";
    std::int64_t warmup_steps = 0;
    double warmup_from = 0;
    std::int64_t step_every = 1000;
    double gamma = 0.1;
    double min_lr = 0;
    std::int64_t decay_steps = 0;
    double power = 1;
    bool operator==(const Schedule&) const = default;
  };
  struct Eval {
    std::int64_t every = 0;
    std::int64_t batches = 20;
    bool operator==(const Eval&) const = default;
  };
  struct Checkpoint {
    std::int64_t every = 500;
    std::int64_t keep = 3;
    bool operator==(const Checkpoint&) const = default;
  };
  struct Output {
    std::string folder = "run";
    std::int64_t log_every = 10;
    bool operator==(const Output&) const = default;
  };
  struct Sample {
    std::string prompt = "\n";
    std::int64_t length = 0;
    double temperature = 1;
    double top_p = 1;
    bool operator==(const Sample&) const = default;
  };

  Model model;
  Data data;
  Train train;
  Optimizer optimizer;
  Schedule schedule;
  Eval eval;
  Checkpoint checkpoint;
  Output output;
  Sample sample;
  bool operator==(const Config&) const = default;
};

/// From TOML and arguments `section.key=value`, or `key=value` where only one section has that key.
/// A value is TOML, or the bare text where the key wants one. UserError with `name` and line, or
/// with the argument's number, and the nearest right key; also for values that do not go together.
Config parse_config(std::string_view text, const std::string& name,
                    const std::vector<std::string>& arguments = {});

/// From a file or `preset:NAME`.
Config load_config(const std::string& source, const std::vector<std::string>& arguments = {});

/// Of a run, from its folder: a key that is not there is younger than the run, and has the value
/// that was meant before there was one.
Config load_run_config(const std::string& path, const std::vector<std::string>& arguments = {});

/// All keys that mean something for this config, defaults too. parse_config gives an equal one.
std::string to_toml(const Config& config);
/// The same without the keys at values that were meant before there were these keys: so that what
/// a config says stays the same text as keys are added.
std::string lasting_text(const Config& config);

/// `NAME?key=value&...&train=1` for models::build: the model's keys, batch, optimizer, precision;
/// of a network from a file its path. UserError while a size is still "data".
std::string model_spec(const Config& config);

/// What the model is called in what people read: its name, or that of its file without a suffix.
std::string model_title(const Config& config);

/// A size of the model; nullopt when it has none of that name, or leaves it to the data.
std::optional<std::int64_t> model_size(const Config& config, std::string_view key);

/// Says how many the data has of `key` ("vocab", "classes"): a size left to the data becomes that,
/// UserError when a size said is too small. Nothing when the model has no such key.
void fit_to_data(Config& config, std::string_view key, std::int64_t size);

}  // namespace plait::train
