// Writing, checking and reading checkpoints.
#include "train/checkpoint.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include "base/text.h"
#include "io/file.h"
#include "io/safetensors.h"
#include "train/crc32c.h"
#include "train/own_files.h"

namespace plait::train {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kStep = "step-";
constexpr std::string_view kTemporary = ".tmp-";
constexpr std::size_t kMostStateBytes = 16 << 20;

std::string name_of(std::int64_t step) {
  char text[32];
  std::snprintf(text, sizeof text, "step-%08lld", static_cast<long long>(step));
  return text;
}

/// The step of a checkpoint's folder; -1 for any other name.
std::int64_t step_of(std::string_view name) {
  if (!name.starts_with(kStep)) return -1;
  std::int64_t step = -1;
  const char* end = name.data() + name.size();
  const auto read = std::from_chars(name.data() + kStep.size(), end, step);
  return read.ec == std::errc() && read.ptr == end && step >= 0 && name == name_of(step) ? step
                                                                                         : -1;
}

std::string folder_of(const std::string& run) { return str(run, "/", kCheckpointFolder); }
std::string last_name(const std::string& path) { return fs::path(path).filename().string(); }

bool is_of_checkpoint(std::string_view name) {
  return name == kWeightsFile || name == kOthersFile || name == kStateFile;
}

std::vector<std::string> names_in(const std::string& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    names.push_back(it->path().filename().string());
  }
  return names;
}

/// What somebody else put into a checkpoint's folder.
std::vector<std::string> strangers_in(const std::string& path) {
  std::vector<std::string> names = names_in(path);
  std::erase_if(names, is_of_checkpoint);
  return names;
}

/// `.tmp-PID-NUMBER-step-N` or `.tmp-PID-NUMBER-old-step-N`: as temporary_in makes them.
bool is_temporary(std::string_view name) {
  if (!name.starts_with(kTemporary)) return false;
  name.remove_prefix(kTemporary.size());
  for (int i = 0; i < 2; ++i) {
    const std::size_t digits = std::min(name.find_first_not_of("0123456789"), name.size());
    if (digits == 0 || name.substr(digits, 1) != "-") return false;
    name.remove_prefix(digits + 1);
  }
  if (name.starts_with("old-")) name.remove_prefix(4);
  return step_of(name) >= 0;
}

/// A name in `folder` that nobody else uses and that a later start removes.
std::string temporary_in(const std::string& folder, const std::string& name) {
  static std::atomic<unsigned> counter{0};
  return str(folder, "/", kTemporary, ::getpid(), "-", counter.fetch_add(1), "-", name);
}

/// The files of one checkpoint on their way to the disk.
class Writer {
 public:
  Writer(Disk& disk, std::string folder, std::int64_t step, std::uint64_t needed)
      : disk_(disk), folder_(std::move(folder)), step_(step), needed_(needed) {
    temporary_ = temporary_in(folder_, name_of(step));
    const std::string run = fs::path(folder_).parent_path().string();
    if (disk_.make_folder(folder_) != 0) {
      if (errno != EEXIST) fails("make the folder", folder_);
      if (!is_real_folder(folder_)) {
        throw RunError(str(folder_,
                           " is no folder, or a link to one: checkpoints lie in the run's "
                           "own folder. Make the run's folder itself the link"));
      }
    } else if (!sync_folder(disk_, run)) {
      fails("sync", run);
    }
    if (disk_.make_folder(temporary_) != 0) fails("make the folder", temporary_);
  }

  FileSum write(const std::string& name, const std::vector<std::string_view>& parts) {
    FileSum sum;
    const std::string path = temporary_ + "/" + name;
    if (!write_synced(disk_, path, parts, sum)) fails("write", path);
    return sum;
  }

  /// Gives it its name; one that had it before is gone then.
  std::string publish(OwnFiles& own) {
    const std::string path = folder_ + "/" + name_of(step_);
    if (!sync_folder(disk_, temporary_)) fails("sync", temporary_);
    const std::string listed = str(kCheckpointFolder, "/", name_of(step_));
    if (!own.has(listed) && is_strange(path)) {
      remove_checkpoint(disk_, temporary_);
      throw RunError(str("cannot write ", path,
                         ": something is there that this run has not written. Move it away. The "
                         "checkpoint of step ",
                         step_, " is not written. Older checkpoints are as they were."));
    }
    if (!own.add(listed)) fails("list", path);
    if (disk_.rename_new(temporary_, path) != 0) {
      if (errno != EEXIST || !replace(path)) fails("rename to", path);
    }
    if (!sync_folder(disk_, folder_)) throw RunError(str("cannot sync ", folder_, reason()));
    return path;
  }

 private:
  static std::string reason() { return str(": ", std::strerror(errno)); }

  bool replace(const std::string& path) {
    if (disk_.exchange(temporary_, path) != 0) {  // a file system that cannot: in two steps
      const std::string old = temporary_in(folder_, "old-" + name_of(step_));
      if (disk_.rename(path, old) != 0) return false;
      if (disk_.rename(temporary_, path) != 0) {
        const int cause = errno;
        disk_.rename(old, path);
        errno = cause;
        return false;
      }
      temporary_ = old;
    }
    if (!is_real_folder(temporary_)) {
      disk_.remove_file(temporary_);
      return true;
    }
    remove_checkpoint(disk_, temporary_);
    for (const std::string& name : names_in(temporary_)) {  // what was put beside the old one
      disk_.rename_new(temporary_ + "/" + name, path + "/" + name);
    }
    disk_.remove_folder(temporary_);
    return true;
  }

  /// Somebody else's checkpoint, or no folder.
  static bool is_strange(const std::string& path) {
    if (!is_taken(path)) return false;
    const std::vector<std::string> names = names_in(path);
    return !is_real_folder(path) || std::any_of(names.begin(), names.end(), is_of_checkpoint);
  }

  [[noreturn]] void fails(std::string_view action, const std::string& path) {
    const int cause = errno;
    const bool space = cause == ENOSPC || cause == EDQUOT || cause == EFBIG;
    const bool refused = cause == EROFS || cause == EACCES || cause == EPERM;
    remove_checkpoint(disk_, temporary_);
    std::string text = str("cannot ", action, " ", path, ": ", std::strerror(cause),
                           ". The checkpoint of step ", step_, " is not written");
    if (space) {
      text += str("; it needs ", bytes_text(static_cast<std::int64_t>(needed_)), " bytes",
                  free_space_text(folder_));
    }
    if (refused) text += "; the run's folder must be writable";
    throw RunError(text + ". Older checkpoints are as they were.");
  }

  Disk& disk_;
  std::string folder_, temporary_;
  std::int64_t step_;
  std::uint64_t needed_;
};

void remove_old(Disk& disk, const std::string& path, std::vector<std::string>& notes) {
  if (const auto others = strangers_in(path); !others.empty()) {
    notes.push_back(str("the old checkpoint ", path, " is kept: it holds ", others[0],
                        ", which is not the run's"));
    return;
  }
  // Under its temporary name first: a piece of it is never taken for a checkpoint.
  const std::string folder = fs::path(path).parent_path().string();
  const std::string temporary = temporary_in(folder, "old-" + last_name(path));
  if (disk.rename_new(path, temporary) != 0 || !remove_checkpoint(disk, temporary)) {
    notes.push_back(str("cannot remove the old checkpoint ", path, ": ", std::strerror(errno)));
  }
}

std::uint64_t bytes_in(const std::vector<std::string_view>& parts) {
  std::uint64_t bytes = 0;
  for (const std::string_view part : parts) bytes += part.size();
  return bytes;
}

/// The sum of a file as it is now.
FileSum sum_of(const std::string& path) {
  io::InputFile file(path);
  FileSum sum;
  std::string piece(1 << 20, ' ');
  while (const std::size_t got = file.read(piece.data(), piece.size())) {
    sum.bytes += got;
    sum.crc = crc32c(std::string_view(piece).substr(0, got), sum.crc);
  }
  return sum;
}

TrainState read_state(const std::string& path, FileSums& files) {
  const std::string file = str(path, "/", kStateFile);
  const std::size_t bytes = io::InputFile(file).expected_bytes();
  if (bytes > kMostStateBytes) fail(kStateFile, " has ", bytes, " bytes");
  const std::string text = io::read_file(file);
  TrainState state;
  try {
    state = parse_state(text, files);
  } catch (const UserError& e) {
    fail(kStateFile, " ", e.what());
  }
  const std::int64_t named = step_of(last_name(path));
  if (named >= 0 && named != state.step) fail(kStateFile, " is of step ", state.step);
  return state;
}

/// UserError or RunError says what is wrong with it.
TrainState checked_state(const std::string& path) {
  FileSums files;
  TrainState state = read_state(path, files);
  for (const char* name : {kWeightsFile, kOthersFile}) {
    const auto known = files.find(name);
    if (known == files.end()) fail(kStateFile, " says nothing of ", name);
    const FileSum now = sum_of(str(path, "/", name));
    if (now.bytes != known->second.bytes) {
      fail(name, " has ", with_commas(static_cast<std::int64_t>(now.bytes)), " bytes, ",
           with_commas(static_cast<std::int64_t>(known->second.bytes)), " were written");
    }
    if (now.crc != known->second.crc) fail(name, " does not match its checksum");
  }
  return state;
}

}  // namespace

Written write_checkpoint(const std::string& run, const TrainState& state, const Tensors& weights,
                         const Tensors& others, int keep, Disk& disk) {
  check(keep >= 1 && state.step >= 0, "[checkpoint] keep ", keep, ", step ", state.step);
  const std::map<std::string, std::string> metadata{{"format", "pt"}};  // what Hugging Face expects
  const io::SafetensorsBytes w = io::safetensors_bytes(weights, metadata, kWeightsFile);
  const io::SafetensorsBytes o = io::safetensors_bytes(others, metadata, kOthersFile);
  // The sums have a fixed width, or nearly.
  const std::uint64_t state_bytes =
      state_text(state, {{kWeightsFile, {~0ULL, 0}}, {kOthersFile, {~0ULL, 0}}}).size();
  Written written;
  written.bytes = bytes_in(w.parts()) + bytes_in(o.parts()) + state_bytes;
  OwnFiles own(run, disk);
  Writer writer(disk, folder_of(run), state.step, written.bytes);
  FileSums sums;
  sums[kWeightsFile] = writer.write(kWeightsFile, w.parts());
  sums[kOthersFile] = writer.write(kOthersFile, o.parts());
  sums[kStateFile] = writer.write(kStateFile, {state_text(state, sums)});
  written.path = writer.publish(own);
  written.bytes = 0;
  for (const auto& [name, sum] : sums) written.bytes += sum.bytes;
  int kept = 0;
  for (const std::string& path : checkpoints_of(run)) {
    if (!own.has(str(kCheckpointFolder, "/", last_name(path)))) continue;
    const bool beyond = step_of(last_name(path)) > state.step;
    if (beyond || ++kept > keep) remove_old(disk, path, written.notes);
  }
  return written;
}

std::vector<std::string> checkpoints_of(const std::string& run) {
  std::vector<std::pair<std::int64_t, std::string>> found;
  const std::string folder = folder_of(run);
  if (!io::is_folder(folder)) return {};
  for (const std::string& name : io::names_in(folder)) {
    if (const std::int64_t step = step_of(name); step >= 0) {
      found.emplace_back(step, str(folder, "/", name));
    }
  }
  std::sort(found.rbegin(), found.rend());
  std::vector<std::string> paths;
  for (auto& [step, path] : found) paths.push_back(std::move(path));
  return paths;
}

Decision check_checkpoint(const std::string& path) {
  try {
    checked_state(path);
    return Decision::allow();
  } catch (const UserError& e) {
    return Decision::forbid(e.what());
  } catch (const RunError& e) {
    return Decision::forbid(e.what());
  }
}

Checkpoint read_checkpoint(const std::string& path, Need need) {
  if (const Decision whole = check_checkpoint(path); !whole) {
    fail("the checkpoint ", path, " is damaged: ", whole.why);
  }
  Checkpoint checkpoint;
  FileSums files;
  checkpoint.state = read_state(path, files);
  checkpoint.weights = io::read_safetensors(str(path, "/", kWeightsFile)).tensors;
  if (need == Need::all) {
    checkpoint.others = io::read_safetensors(str(path, "/", kOthersFile)).tensors;
  }
  return checkpoint;
}

Latest load_latest(const std::string& run, Need need) {
  Latest latest;
  for (const std::string& path : checkpoints_of(run)) {
    try {
      latest.checkpoint = read_checkpoint(path, need);
      latest.path = path;
      return latest;
    } catch (const UserError& e) {  // not RunError: memory that lacks is no damage
      latest.notes.push_back(e.what());
    }
  }
  if (latest.notes.empty()) fail(run, " has no checkpoint to go on from");
  fail(run, " has no whole checkpoint: ", join(latest.notes, "; "));
}

bool remove_checkpoint(Disk& disk, const std::string& path) {
  int cause = 0;
  // The state first: without it the rest is no checkpoint.
  for (const char* name : {kStateFile, kOthersFile, kWeightsFile}) {
    const std::string file = str(path, "/", name);
    if (!is_real_folder(file) && disk.remove_file(file) != 0 && errno != ENOENT) cause = errno;
  }
  if (disk.remove_folder(path) != 0 && errno != ENOENT && errno != ENOTEMPTY && errno != EEXIST) {
    cause = errno;
  }
  errno = cause;
  return cause == 0;
}

std::vector<std::string> remove_leftovers(const std::string& run, Disk& disk) {
  std::vector<std::string> notes;
  const std::string folder = folder_of(run);
  if (!is_real_folder(folder)) return notes;
  for (const std::string& name : names_in(folder)) {
    const std::string path = folder + "/" + name;
    if (!is_temporary(name) || !is_real_folder(path)) continue;
    const bool gone = remove_checkpoint(disk, path);
    notes.push_back(gone ? str("removed ", path, ", left by a run that was killed")
                         : str("cannot remove ", path, ": ", std::strerror(errno)));
  }
  return notes;
}

}  // namespace plait::train
