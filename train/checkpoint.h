// Checkpoints: RUN/checkpoints/step-00000100/ with the weights and every other state as safetensors
// and state.json. A checkpoint is whole or absent; a damaged one is noticed and passed over.
// Nothing here knows of programs or sessions.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/array.h"
#include "base/error.h"
#include "train/disk.h"
#include "train/train_state.h"

namespace plait::train {

using Tensors = std::map<std::string, Array>;

inline constexpr const char* kCheckpointFolder = "checkpoints";
inline constexpr const char* kWeightsFile = "weights.safetensors";
inline constexpr const char* kOthersFile = "optimizer.safetensors";
inline constexpr const char* kStateFile = "state.json";

struct Checkpoint {
  TrainState state;
  Tensors weights;  // trained parameters and buffers, under the model's own names
  Tensors others;   // moments, learning rate, counters
};

/// What writing one did.
struct Written {
  std::string path;
  std::uint64_t bytes = 0;
  std::vector<std::string> notes;  // old ones that could not be removed
};

/// Writes the checkpoint of state.step under a temporary name, lists it (own_files.h), syncs,
/// renames, syncs; then removes, of those that the run has listed, all but the `keep` newest up to
/// this step, and those beyond it (of a run that went back).
/// RunError names the path, the reason and the bytes needed: then nothing of it remains and every
/// older one is as it was.
Written write_checkpoint(const std::string& run, const TrainState& state, const Tensors& weights,
                         const Tensors& others, int keep, Disk& disk = real_disk());

/// Paths of a run's checkpoints, the newest first, whole or not.
std::vector<std::string> checkpoints_of(const std::string& run);

/// Whether all files are there as they were written; otherwise why not.
Decision check_checkpoint(const std::string& path);

enum class Need { all, weights };  // `weights` leaves `others` empty

/// UserError when it is not whole.
Checkpoint read_checkpoint(const std::string& path, Need need = Need::all);

struct Latest {
  Checkpoint checkpoint;
  std::string path;
  std::vector<std::string> notes;  // which ones were passed over, and why
};

/// The newest whole checkpoint. UserError when there is none.
Latest load_latest(const std::string& run, Need need = Need::all);

/// Removes a checkpoint's files, and its folder where nothing else lies in it. False and errno
/// where something of it remains.
bool remove_checkpoint(Disk& disk, const std::string& path);

/// Removes what killed runs left behind; says what. The run must be locked (RunFolder does both).
std::vector<std::string> remove_leftovers(const std::string& run, Disk& disk = real_disk());

}  // namespace plait::train
