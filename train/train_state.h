// Where a training run stands, apart from its tensors: what a checkpoint's state.json holds. The
// text carries a checksum of itself and the sums of the files beside it.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "train/disk.h"

namespace plait::train {

struct TrainState {
  std::int64_t step = 0;  // steps done
  std::uint64_t seed = 0;
  std::int64_t epoch = 0, index = 0;  // where the data goes on: after the last batch that was used
  std::int64_t samples = 0, tokens = 0;  // seen so far
  double loss_scale = 1;
  std::int64_t good_steps = 0;              // since the loss scale changed
  double loss_sum = 0, loss_weight = 0;     // of the smoothed loss: Smoothed
  double elapsed_seconds = 0;               // of training, over all parts of the run
  std::string config_hash;                  // of the resolved config
  std::map<std::string, std::string> more;  // what else the trainer wants back
  bool operator==(const TrainState&) const = default;
};

using FileSums = std::map<std::string, FileSum>;

/// Equal states give equal text.
std::string state_text(const TrainState& state, const FileSums& files);

/// Reads it back. UserError says what is wrong: any change of any byte is.
TrainState parse_state(std::string_view text, FileSums& files);

}  // namespace plait::train
