// What a run says about itself over time: one record per log, kept as a line of JSON
// (metrics.jsonl) and as TensorBoard events. Also the smoothed loss and the rates of a record.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "train/disk.h"
#include "train/event_file.h"

namespace plait::train {

/// A value that is not there was not measured at that step.
struct Record {
  using Value = std::optional<double>;
  std::int64_t step = 0;
  Value loss, smoothed_loss, smoothing;  // smoothing: the constant of Smoothed
  Value lr, gradient_norm, loss_scale;
  Value samples_per_second, tokens_per_second;
  Value mfu;  // share of the machine's peak, 0 to 1
  Value memory_bytes;
  Value elapsed_seconds;
  Value eval_loss, eval_perplexity, eval_accuracy;
  bool operator==(const Record&) const = default;
};

/// One row per value: its key in JSON, its tag in TensorBoard (none: not shown there).
struct RecordField {
  const char* key;
  const char* tag;
  Record::Value Record::*value;
  enum Kind { number, whole, timing } kind;  // timing: differs from run to run
};
std::span<const RecordField> record_fields();

/// One line without its newline, and back; UserError when it is not one.
std::string record_line(const Record& record);
Record parse_record(std::string_view line);
/// What two runs of the same work must agree on.
Record without_timings(Record record);

/// Mean that forgets: the last values weigh (1 - kConstant) * kConstant^age, divided by the sum of
/// the weights so that the first values count in full. Values that are not finite are left out.
struct Smoothed {
  static constexpr double kConstant = 0.98;
  double sum = 0, weight = 0;
  void add(double value);
  double value() const { return weight > 0 ? sum / weight : 0; }
};

/// Samples, tokens and operations per second since the last record.
class Throughput {
 public:
  /// Zero where it is not known: then a record has no MFU.
  Throughput(double operations_per_step, double peak_per_second)
      : operations_(operations_per_step), peak_(peak_per_second) {}
  void start(double now) { *this = {operations_, peak_, now}; }
  void add_step(std::int64_t samples, std::int64_t tokens);
  /// Time that went elsewhere (evaluation, a checkpoint).
  void leave_out(double seconds) { begin_ += seconds; }
  /// Fills in the rates and begins anew.
  void fill(Record& record, double now);

 private:
  Throughput(double operations, double peak, double now)
      : operations_(operations), peak_(peak), begin_(now) {}
  double operations_, peak_, begin_ = 0;
  std::int64_t steps_ = 0, samples_ = 0, tokens_ = 0;
};

/// The lines of a run's metrics.jsonl up to and including `step`; the file is cut to them. A cut
/// last line and lines that are none are dropped, which a note says.
std::vector<Record> rewind_metrics(const std::string& path, std::int64_t step,
                                   std::vector<std::string>& notes);
/// All whole lines; the file stays as it is.
std::vector<Record> read_metrics(const std::string& path);

/// Appends to metrics.jsonl and to an event file of its own.
class Metrics {
 public:
  /// `step`: the first that is logged here is beyond it. `wall_seconds`: since 1970.
  Metrics(const std::string& run, std::int64_t step, double wall_seconds, Disk& disk = real_disk());
  /// One write each. RunError names the file; a line is there whole or not at all.
  void log(const Record& record, double wall_seconds);
  /// To be called before a checkpoint is written: what it covers is then on the disk.
  void sync();
  const std::string& event_path() const { return events_.path(); }

 private:
  std::string path_;
  Disk& disk_;
  OpenFile file_;
  EventFile events_;
};

}  // namespace plait::train
