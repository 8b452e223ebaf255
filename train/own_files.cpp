// The list is appended to, so that it is never less than what is there.
#include "train/own_files.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>

#include "base/error.h"
#include "base/text.h"
#include "io/file.h"
#include "train/checkpoint.h"

namespace plait::train {
namespace {

/// Below the folder, and not in what Plait keeps for itself.
bool can_belong(std::string_view path) {
  const std::vector<std::string> parts = split(path, '/');
  return parts[0] != kOwnFolder && std::all_of(parts.begin(), parts.end(), [](const auto& part) {
           return !part.empty() && part != "." && part != "..";
         });
}

bool is_gone(int result) { return result == 0 || errno == ENOENT || errno == ENOTDIR; }

}  // namespace

bool is_taken(const std::string& path) {
  struct stat about {};
  return ::lstat(path.c_str(), &about) == 0;
}

bool is_real_folder(const std::string& path) {
  struct stat about {};
  return ::lstat(path.c_str(), &about) == 0 && S_ISDIR(about.st_mode);
}

bool is_real_file(const std::string& path) {
  struct stat about {};
  return ::lstat(path.c_str(), &about) == 0 && S_ISREG(about.st_mode);
}

OwnFiles::OwnFiles(std::string run, Disk& disk) : run_(std::move(run)), disk_(disk) {
  const std::string path = str(run_, "/", kListFile);
  struct stat about {};
  if (::lstat(path.c_str(), &about) != 0) return;
  if (!S_ISREG(about.st_mode)) fail(path, " is no file: the folder is not as a run leaves it");
  const std::string text = io::read_file(path);
  std::string_view left = text;
  // A line without an end was being written when the process died: what it names was not made.
  for (std::size_t end; (end = left.find('\n')) != left.npos; left.remove_prefix(end + 1)) {
    const std::string_view line = left.substr(0, end);
    if (can_belong(line)) paths_.emplace(line);
  }
}

bool OwnFiles::add(const std::string& path) {
  check(can_belong(path), "a run's file ", quoted(path));
  if (has(path)) return true;
  if (disk_.make_folder(str(run_, "/", kOwnFolder)) != 0 && errno != EEXIST) return false;
  OpenFile file(disk_, str(run_, "/", kListFile), O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW);
  // A newline before it ends a line that was cut.
  if (!file.good() || !file.write(str("\n", path, "\n")) || !file.sync() || !file.close()) {
    return false;
  }
  paths_.insert(path);
  return true;
}

bool remove_own(Disk& disk, const std::string& run, const std::string& path) {
  for (std::size_t slash = path.find('/'); slash != path.npos; slash = path.find('/', slash + 1)) {
    if (!is_real_folder(str(run, "/", path.substr(0, slash)))) return true;  // moved elsewhere
  }
  const std::string full = str(run, "/", path);
  if (!is_real_folder(full)) return is_gone(disk.remove_file(full));
  return !path.starts_with(str(kCheckpointFolder, "/")) || remove_checkpoint(disk, full);
}

}  // namespace plait::train
