// Opening, locking and clearing a run's folder.
#include "train/run_folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "base/error.h"
#include "base/text.h"
#include "io/file.h"
#include "train/checkpoint.h"
#include "train/event_file.h"

namespace plait::train {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> names_in(const std::string& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    names.push_back(it->path().filename().string());
  }
  return names;
}

/// What io::write_file leaves when it is killed.
bool is_temporary(std::string_view name) { return name.starts_with(".") && name.ends_with(".tmp"); }

}  // namespace

RunFolder::RunFolder(std::string path, Open how, Disk& disk) : path_(std::move(path)), disk_(disk) {
  while (path_.size() > 1 && path_.ends_with("/")) path_.pop_back();
  if (how == Open::resume && !holds_run()) {
    fail(path_, " is not a run's folder: there is no ", file(kConfigFile));
  }
  if (how != Open::resume) io::make_folder(path_);
  take_lock();
  try {
    if (how == Open::fresh && holds_run()) {
      fail(path_, " holds a run already: go on with it by --resume ", path_,
           ", choose another folder, or --overwrite it");
    }
    if (how == Open::overwrite) remove_run();
    remove_temporaries();
    const std::vector<std::string> left = remove_leftovers(path_, disk_);
    notes_.insert(notes_.end(), left.begin(), left.end());
  } catch (...) {
    ::close(lock_);
    throw;
  }
}

RunFolder::~RunFolder() {
  // The file stays: who waits for it must not lock one that was removed.
  static_cast<void>(::ftruncate(lock_, 0) == 0);
  ::close(lock_);
}

std::string RunFolder::file(std::string_view name) const { return str(path_, "/", name); }

void RunFolder::write(std::string_view name, std::string_view text) const {
  io::write_file(file(name), {text});
}

void RunFolder::take_lock() {
  const std::string path = file(kLockFile);
  lock_ = disk_.open(path, O_RDWR | O_CREAT);
  if (lock_ < 0) {
    throw RunError(str("cannot write ", path, ": ", std::strerror(errno),
                       ". The run's folder must be writable."));
  }
  int result;
  do {
    result = ::flock(lock_, LOCK_EX | LOCK_NB);
  } while (result != 0 && errno == EINTR);
  if (result == 0) {
    const std::string pid = str(::getpid(), "\n");
    // The number is for people: without it the lock holds as well.
    static_cast<void>(::ftruncate(lock_, 0) == 0 && ::pwrite(lock_, pid.data(), pid.size(), 0) > 0);
    return;
  }
  const int cause = errno;
  char text[32] = {};
  const ssize_t got = ::pread(lock_, text, sizeof text - 1, 0);
  ::close(lock_);
  if (cause != EWOULDBLOCK) throw RunError(str("cannot lock ", path, ": ", std::strerror(cause)));
  const std::string_view pid = trim(std::string_view(text, got > 0 ? got : 0));
  fail(path_, " is in use by ", pid.empty() ? "another process" : str("process ", pid), " (", path,
       "): wait for it, or choose another folder");
}

bool RunFolder::holds_run() const {
  return fs::exists(file(kConfigFile)) || fs::exists(file(kMetricsFile)) ||
         !checkpoints_of(path_).empty();
}

void RunFolder::remove_run() {
  const auto remove = [&](const std::string& path) {
    if (!remove_tree(disk_, path)) {
      throw RunError(str("cannot remove ", path, ": ", std::strerror(errno)));
    }
  };
  // The config last: until then it is a run that can be removed again.
  remove(file(kCheckpointFolder));
  for (const std::string& name : names_in(path_)) {
    const bool is_plan = name.ends_with(kPlanSuffix) || name.ends_with(str(kPlanSuffix, ".json"));
    if (is_plan || name.starts_with(kEventPrefix)) remove(file(name));
  }
  for (const char* name :
       {kMetricsFile, kCurveFile, kSummaryFile, kVocabFile, kTextFile, kConfigFile}) {
    remove(file(name));
  }
}

void RunFolder::remove_temporaries() {
  for (const std::string& name : names_in(path_)) {
    if (is_temporary(name) && disk_.remove_file(file(name)) == 0) {
      notes_.push_back(str("removed ", file(name), ", left by a run that was killed"));
    }
  }
}

}  // namespace plait::train
