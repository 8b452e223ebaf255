// Opening, locking and clearing a run's folder; a new run taking the place of an old one.
#include "train/run_folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
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

bool is_plan(std::string_view name) {
  return name.ends_with(kPlanSuffix) || name.ends_with(str(kPlanSuffix, ".json"));
}

bool is_name_of_run(std::string_view name) {
  constexpr std::string_view kNames[] = {kConfigFile,  kMetricsFile, kCurveFile,
                                         kSummaryFile, kVocabFile,   kTextFile};
  return std::find(std::begin(kNames), std::end(kNames), name) != std::end(kNames) ||
         is_plan(name) || name.starts_with(kEventPrefix);
}

/// `.NAME.PID.NUMBER.tmp`, what io::write_file leaves of NAME when it is killed: NAME, or nothing.
std::string temporary_of(std::string_view name) {
  if (!name.starts_with(".") || !name.ends_with(".tmp")) return "";
  name = name.substr(1, name.size() - 5);
  for (int i = 0; i < 2; ++i) {
    const std::size_t dot = name.rfind('.');
    if (dot == name.npos || dot + 1 == name.size()) return "";
    if (name.find_first_not_of("0123456789", dot + 1) != name.npos) return "";
    name = name.substr(0, dot);
  }
  return std::string(name);
}

}  // namespace

RunFolder::RunFolder(std::string path, Open how, Disk& disk) : path_(std::move(path)), disk_(disk) {
  while (path_.size() > 1 && path_.ends_with("/")) path_.pop_back();
  try {
    if (how == Open::resume && !is_taken(at(kReadyFolder)) && !io::is_there(at(kConfigFile))) {
      fail(path_, " is not a run's folder: there is no ", at(kConfigFile));
    }
    make_folders();
    take_lock();
    open(how);
  } catch (...) {
    in_place_ = false;
    leave_nothing();
    throw;
  }
}

RunFolder::~RunFolder() {
  if (!in_place_) {
    leave_nothing();
    return;
  }
  // The file stays, emptied: who waits for it must not lock one that was removed.
  static_cast<void>(::ftruncate(lock_, 0) == 0);
  ::close(lock_);
}

std::string RunFolder::root() const { return in_place_ ? path_ : at(kNewFolder); }

void RunFolder::open(Open how) {
  if (is_taken(at(kReadyFolder))) {
    complete();
    notes_.push_back(str("completed the run in ", path_, ", whose process was killed"));
  }
  there_.emplace(path_, disk_);
  if (how == Open::resume) {
    if (there_->empty()) adopt();
    own_.emplace(path_, disk_);
    in_place_ = true;
    remove_temporaries();
    const std::vector<std::string> left = remove_leftovers(path_, disk_);
    notes_.insert(notes_.end(), left.begin(), left.end());
    return;
  }
  if (how == Open::fresh && holds_run()) {
    fail(path_, " holds a run already: go on with it by --resume ", path_,
         ", choose another folder, or --overwrite it");
  }
  for (const std::string& checkpoint : checkpoints_of(path_)) {
    if (there_->has(checkpoint.substr(path_.size() + 1))) continue;
    fail(checkpoint, " is in the way, and no run has listed it (", at(kListFile),
         "): move it, or choose another folder");
  }
  if (is_taken(at(kCheckpointFolder)) && !is_real_folder(at(kCheckpointFolder))) {
    fail(at(kCheckpointFolder),
         " is no folder, or a link to one: checkpoints lie in the run's own "
         "folder. Make the run's folder itself the link");
  }
  if (!remove_tree(disk_, at(kNewFolder))) fails("remove", at(kNewFolder));
  if (disk_.make_folder(at(kNewFolder)) != 0) fails("make the folder", at(kNewFolder));
  own_.emplace(root(), disk_);
}

void RunFolder::make_folders() {
  std::vector<std::string> missing;
  for (fs::path p = path_; !p.empty() && !is_taken(p.string()); p = p.parent_path()) {
    missing.push_back(p.string());
  }
  io::make_folder(path_);
  made_.assign(missing.rbegin(), missing.rend());
  const std::string own = at(kOwnFolder);
  if (disk_.make_folder(own) == 0) {
    made_.push_back(own);
  } else if (errno != EEXIST) {
    throw RunError(str("cannot write ", path_, ": ", std::strerror(errno),
                       ". The run's folder must be writable."));
  } else if (!is_real_folder(own)) {
    fail(own, " is no folder: it is where Plait keeps the lock and the list of a run's files");
  }
}

void RunFolder::claim(const std::string& name) {
  if (own_->has(name)) return;
  if (is_taken(at(name)) && (in_place_ || !there_->has(name))) {
    fail(at(name),
         " is in the way: a run writes a file of that name, and no run has listed this "
         "one as its own (",
         at(kListFile), "). Move it, or choose another folder");
  }
  own(name);
}

void RunFolder::own(const std::string& name) {
  if (!own_->add(name)) fails("write", str(root(), "/", kListFile));
}

void RunFolder::write(const std::string& name, std::string_view text) {
  claim(name);
  // Written in the folder that is Plait's own: what a killed process leaves there is nobody else's.
  const std::string temporary = str(at(kOwnFolder), "/tmp-", name), path = file(name);
  if (!remove_tree(disk_, temporary)) fails("write", temporary);
  FileSum ignored;
  if (!write_synced(disk_, temporary, {text}, ignored) || disk_.rename(temporary, path) != 0 ||
      !sync_folder(disk_, root())) {
    const int cause = errno;
    disk_.remove_file(temporary);
    errno = cause;
    fails("write", path);
  }
}

void RunFolder::take_place() {
  check(!in_place_, "a run that is in place takes its place");
  if (!sync_folder(disk_, at(kNewFolder))) fails("sync", at(kNewFolder));
  if (disk_.rename(at(kNewFolder), at(kReadyFolder)) != 0) fails("rename to", at(kReadyFolder));
  in_place_ = true;
  if (!sync_folder(disk_, at(kOwnFolder))) fails("sync", at(kOwnFolder));
  complete();
  own_.emplace(path_, disk_);
}

void RunFolder::complete() {
  const std::string ready = at(kReadyFolder), list = str(ready, "/", kListFile);
  if (!is_real_folder(ready)) fail(ready, " is no folder: it is not as a run leaves it");
  if (is_taken(list)) {  // nothing of the new run is in place: what is listed is the old one's
    const OwnFiles old(path_, disk_);
    for (const std::string& path : old.paths()) {
      if (!remove_own(disk_, path_, path)) fails("remove", at(path));
    }
    if (is_real_folder(at(kCheckpointFolder))) disk_.remove_folder(at(kCheckpointFolder));
    if (disk_.rename(list, at(kListFile)) != 0) fails("write", at(kListFile));
  }
  if (!sync_folder(disk_, at(kOwnFolder))) fails("sync", at(kOwnFolder));
  if (!remove_tree(disk_, str(ready, "/", kOwnFolder))) fails("remove", ready);
  move_into_place(ready, path_);
  if (!sync_folder(disk_, path_)) fails("sync", path_);
}

void RunFolder::move_into_place(const std::string& from, const std::string& to) {
  for (const std::string& name : io::names_in(from)) {
    const std::string piece = str(from, "/", name), place = str(to, "/", name);
    if (is_real_folder(piece) && is_real_folder(place)) {
      move_into_place(piece, place);
    } else if (disk_.rename_new(piece, place) != 0) {
      fails("put the new run's file in place:", place);
    }
  }
  if (disk_.remove_folder(from) != 0) fails("remove", from);
}

void RunFolder::leave_nothing() {
  if (lock_ >= 0) {
    remove_tree(disk_, at(kNewFolder));
    // Still locked: who opens it now finds out that it is no longer the folder's.
    const bool is_run = is_taken(at(kListFile)) || is_taken(at(kReadyFolder));
    if (!is_run) disk_.remove_file(at(kLockFile));
    if (!is_run) disk_.remove_folder(at(kOwnFolder));
    if (is_run) static_cast<void>(::ftruncate(lock_, 0) == 0);
    ::close(lock_);
    lock_ = -1;
  }
  // Each only where it is empty.
  for (auto folder = made_.rbegin(); folder != made_.rend(); ++folder) {
    disk_.remove_folder(*folder);
  }
}

bool RunFolder::lock_is_there() const {
  struct stat held {
  }, there{};
  return ::fstat(lock_, &held) == 0 && ::lstat(at(kLockFile).c_str(), &there) == 0 &&
         held.st_dev == there.st_dev && held.st_ino == there.st_ino;
}

void RunFolder::take_lock() {
  const std::string path = at(kLockFile);
  lock_ = disk_.open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK);
  if (lock_ < 0 && errno == ELOOP) fail(path, " is a link: it is not as a run leaves it");
  if (lock_ < 0) {
    throw RunError(str("cannot write ", path, ": ", std::strerror(errno),
                       ". The run's folder must be writable."));
  }
  struct stat about {};
  if (::fstat(lock_, &about) != 0 || !S_ISREG(about.st_mode) || about.st_nlink > 1) {
    ::close(std::exchange(lock_, -1));
    fail(path, " is no lock of a run: it is no file, or has another name too");
  }
  int result;
  do {
    result = ::flock(lock_, LOCK_EX | LOCK_NB);
  } while (result != 0 && errno == EINTR);
  if (result != 0 || !lock_is_there()) raise_locked(result != 0 ? errno : EWOULDBLOCK);
  const std::string pid = str(::getpid(), "\n");
  // The number is for people: without it the lock holds as well.
  static_cast<void>(::ftruncate(lock_, 0) == 0 && ::pwrite(lock_, pid.data(), pid.size(), 0) > 0);
}

void RunFolder::raise_locked(int cause) {
  const std::string path = at(kLockFile);
  char text[32] = {};
  const ssize_t got = ::pread(lock_, text, sizeof text - 1, 0);
  ::close(std::exchange(lock_, -1));
  if (cause != EWOULDBLOCK) throw RunError(str("cannot lock ", path, ": ", std::strerror(cause)));
  const std::string_view pid = trim(std::string_view(text, got > 0 ? got : 0));
  fail(path_, " is in use by ", pid.empty() ? "another process" : str("process ", pid), " (", path,
       "): wait for it, or choose another folder");
}

bool RunFolder::holds_run() const {
  const std::set<std::string>& listed = there_->paths();
  return is_taken(at(kMetricsFile)) || !checkpoints_of(path_).empty() ||
         std::any_of(listed.begin(), listed.end(), [&](const auto& p) { return is_taken(at(p)); });
}

void RunFolder::adopt() {
  const auto list = [&](const std::string& name) {
    if (!there_->add(name)) fails("write", at(kListFile));
  };
  for (const std::string& name : io::names_in(path_)) {
    if (is_name_of_run(name) && is_real_file(at(name))) list(name);
  }
  for (const std::string& checkpoint : checkpoints_of(path_)) {
    list(checkpoint.substr(path_.size() + 1));
  }
}

void RunFolder::remove_temporaries() {
  for (const std::string& name : io::names_in(path_)) {
    const std::string of = temporary_of(name);
    if (of.empty() || !own_->has(of)) continue;
    if (disk_.remove_file(at(name)) == 0) {
      notes_.push_back(str("removed ", at(name), ", left by a run that was killed"));
    }
  }
}

void RunFolder::fails(std::string_view action, const std::string& path) const {
  throw RunError(str("cannot ", action, " ", path, ": ", std::strerror(errno)));
}

}  // namespace plait::train
