// The folder of a run: what lies in it under which name, one process at a time. A new run is made
// beside what is there (.plait/new) and takes its place once it has proved that it can start; one
// that fails before leaves nothing. Only what a run has listed as its own (own_files.h) is ever
// replaced or removed. Opening it for resume clears what a killed process left behind.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "train/disk.h"
#include "train/own_files.h"

namespace plait::train {

inline constexpr const char* kConfigFile = "config.toml";
inline constexpr const char* kMetricsFile = "metrics.jsonl";
inline constexpr const char* kCurveFile = "curve.svg";
inline constexpr const char* kSummaryFile = "summary.json";
inline constexpr const char* kVocabFile = "vocab.json";
inline constexpr const char* kTextFile = "text.txt";         // Plait's own, where that is the data
inline constexpr const char* kClassesFile = "classes.json";  // of pictures: names by label
inline constexpr const char* kNetworkFile = "model.plait";   // the graphs of model.file
inline constexpr const char* kPlanSuffix = ".plan";          // GRAPH.plan and GRAPH.plan.json
inline constexpr const char* kLockFile = ".plait/lock";
inline constexpr const char* kNewFolder = ".plait/new";      // a run before its first step
inline constexpr const char* kReadyFolder = ".plait/ready";  // one that takes its place

class RunFolder {
 public:
  enum class Open {
    fresh,      // UserError when it holds a run already
    overwrite,  // a run that is there stays until take_place()
    resume,     // UserError when it holds none
  };
  /// Locks it until this is gone: UserError names the process that has it. RunError when the folder
  /// cannot be made or written.
  RunFolder(std::string path, Open how, Disk& disk = real_disk());
  /// A run that has not taken its place leaves nothing, not even the folder where it made that.
  ~RunFolder();
  RunFolder(const RunFolder&) = delete;
  RunFolder& operator=(const RunFolder&) = delete;

  const std::string& path() const { return path_; }
  /// Where the run's files lie now: path(), or beside them while it has not taken its place.
  std::string root() const;
  std::string file(std::string_view name) const { return str(root(), "/", name); }

  /// Lists a file that the run is about to make. UserError where something is there that no run has
  /// listed.
  void claim(const std::string& name);
  /// Lists what the run has made.
  void own(const std::string& name);
  /// Claims it and writes it, whole or not at all.
  void write(const std::string& name, std::string_view text);

  bool in_place() const { return in_place_; }
  /// Removes what the run that was here had listed and puts the new one there. A process that is
  /// killed meanwhile leaves the one or the other, which the next that opens the folder completes.
  void take_place();

  /// What was cleared away when it was opened.
  const std::vector<std::string>& notes() const { return notes_; }

 private:
  void make_folders();
  void take_lock();
  [[noreturn]] void raise_locked(int cause);
  bool lock_is_there() const;
  void open(Open how);
  bool holds_run() const;
  /// Lists what has the names of a run's files: of a run that was made before there were lists.
  void adopt();
  void remove_temporaries();
  /// The second half of take_place(): from kReadyFolder into place.
  void complete();
  void move_into_place(const std::string& from, const std::string& to);
  /// Back to before it was opened.
  void leave_nothing();
  std::string at(std::string_view name) const { return str(path_, "/", name); }
  [[noreturn]] void fails(std::string_view action, const std::string& path) const;

  std::string path_;
  Disk& disk_;
  int lock_ = -1;
  bool in_place_ = false;
  std::vector<std::string> made_;  // folders, the outermost first
  std::optional<OwnFiles> there_;  // of the run that is in place
  std::optional<OwnFiles> own_;    // of this one
  std::vector<std::string> notes_;
};

}  // namespace plait::train
