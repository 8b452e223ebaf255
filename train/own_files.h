// The list of what a run has written (.plait/files): only what it names is ever replaced or removed
// in a run's folder. Paths are relative to the folder; a checkpoint is one entry.
#pragma once

#include <set>
#include <string>
#include <string_view>

#include "train/disk.h"

namespace plait::train {

inline constexpr const char* kOwnFolder = ".plait";       // all in it is Plait's
inline constexpr const char* kListFile = ".plait/files";  // a path a line

class OwnFiles {
 public:
  /// Reads the list, which may not be there. Lines that cannot name a run's file (`../x`) are
  /// passed over. UserError where it is a link.
  explicit OwnFiles(std::string run, Disk& disk = real_disk());

  bool has(std::string_view path) const { return paths_.count(std::string(path)) > 0; }
  bool empty() const { return paths_.empty(); }
  const std::set<std::string>& paths() const { return paths_; }
  /// To be called before the file is made. False and errno unless the list on the disk has it now.
  [[nodiscard]] bool add(const std::string& path);

 private:
  std::string run_;
  Disk& disk_;
  std::set<std::string> paths_;
};

/// Whether something has this name, a link that leads nowhere too.
bool is_taken(const std::string& path);
/// A folder, not a link to one.
bool is_real_folder(const std::string& path);
/// A regular file, not a link to one.
bool is_real_file(const std::string& path);

/// Removes `path` (of a list) below `run`: a file, or a checkpoint with its files. What is not of
/// the run stays, and links above it are not followed. False and errno where something of the
/// run's remains.
bool remove_own(Disk& disk, const std::string& run, const std::string& path);

}  // namespace plait::train
