// Small runs of the trainer: a config by its arguments, a text to learn, what was said, how a run
// stands at its end.
#pragma once

#include <chrono>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include "base/text.h"
#include "tests/temporary.h"
#include "tests/train/tensors.h"
#include "train/trainer.h"

namespace plait::test {

class SmallRuns {
 public:
  /// `arguments` come over a small RWKV-4 on a text of 6,000 bytes.
  explicit SmallRuns(std::vector<std::string> arguments = {}) : arguments_(std::move(arguments)) {
    std::ofstream file(folder_ / "text.txt");
    for (int i = 0; i < 500; ++i) file << "line " << i * 7919 % 1000 << ";\n";
  }

  std::string path(const std::string& run) const { return folder_ / run; }

  train::TrainRequest request(const std::string& run, train::RunFolder::Open open,
                              const std::vector<std::string>& more = {}) {
    std::vector<std::string> arguments = arguments_;
    arguments.insert(arguments.end(), more.begin(), more.end());
    train::TrainRequest out;
    out.config = train::parse_config(kConfig, "small run", arguments);
    if (out.config.data.kind == "text") out.config.data.path = {folder_ / "text.txt"};
    out.config.output.folder = path(run);
    out.open = open;
    out.place.print = [this](std::string_view text) { said += text; };
    out.place.seconds = [] {
      return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch())
          .count();
    };
    return out;
  }

  /// Ends when `stop` steps were taken; 0: at the end.
  train::TrainResult run(const std::string& name, std::int64_t stop = 0,
                         const std::vector<std::string>& more = {},
                         train::RunFolder::Open open = train::RunFolder::Open::fresh) {
    train::TrainRequest wanted = request(name, open, more);
    std::int64_t asked = 0;
    wanted.stop = [&] { return stop > 0 && asked++ >= stop; };
    return train::train(wanted);
  }
  train::TrainResult resume(const std::string& name, std::int64_t stop = 0,
                            const std::vector<std::string>& more = {}) {
    return run(name, stop, more, train::RunFolder::Open::resume);
  }

  train::Checkpoint end_of(const std::string& run) const {
    return train::load_latest(path(run)).checkpoint;
  }

  std::string said;

 private:
  static constexpr const char* kConfig = R"([model]
name = "rwkv4"
layers = 1
width = 16
context = 8
copy = 0
vocab = "data"
[data]
kind = "text"
valid_fraction = 0.2
[train]
batch = 4
steps = 20
seed = 3
[schedule]
kind = "cosine"
warmup_steps = 4
[eval]
every = 7
batches = 2
[output]
log_every = 3
)";
  TemporaryFolder folder_;
  std::vector<std::string> arguments_;
};

/// All tensors bit for bit, and where the data goes on; times differ.
inline bool same_end(const train::Checkpoint& a, const train::Checkpoint& b) {
  train::Checkpoint c = b;
  c.state.elapsed_seconds = a.state.elapsed_seconds;
  return same(a, c);
}

}  // namespace plait::test
