// The folder of a run: what lies in it under which name, one process at a time. Opening it for
// resume clears what a killed process left behind.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "train/disk.h"

namespace plait::train {

inline constexpr const char* kConfigFile = "config.toml";
inline constexpr const char* kMetricsFile = "metrics.jsonl";
inline constexpr const char* kCurveFile = "curve.svg";
inline constexpr const char* kSummaryFile = "summary.json";
inline constexpr const char* kVocabFile = "vocab.json";
inline constexpr const char* kTextFile = "text.txt";  // Plait's own, where that is the data
inline constexpr const char* kPlanSuffix = ".plan";   // GRAPH.plan and GRAPH.plan.json
inline constexpr const char* kLockFile = "lock";

class RunFolder {
 public:
  enum class Open {
    fresh,      // UserError when it holds a run already
    overwrite,  // a run that is there is removed
    resume,     // UserError when it holds none
  };
  /// Locks it until this is gone: UserError names the process that has it. RunError when the folder
  /// cannot be made or written.
  RunFolder(std::string path, Open how, Disk& disk = real_disk());
  ~RunFolder();
  RunFolder(const RunFolder&) = delete;
  RunFolder& operator=(const RunFolder&) = delete;

  const std::string& path() const { return path_; }
  std::string file(std::string_view name) const;
  /// Whole or not at all.
  void write(std::string_view name, std::string_view text) const;
  /// What was cleared away when it was opened.
  const std::vector<std::string>& notes() const { return notes_; }

 private:
  void take_lock();
  bool holds_run() const;
  void remove_run();
  void remove_temporaries();

  std::string path_;
  Disk& disk_;
  int lock_ = -1;
  std::vector<std::string> notes_;
};

}  // namespace plait::train
