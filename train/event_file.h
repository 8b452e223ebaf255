// TensorBoard's event files, written by hand: TFRecord frames (length, masked CRC-32C, bytes,
// masked CRC-32C) round protocol buffers of scalars. Nothing is read back.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "train/disk.h"

namespace plait::train {

inline constexpr std::string_view kEventPrefix = "events.out.tfevents.";

/// The bytes round one record.
std::string tfrecord(std::string_view bytes);

class EventFile {
 public:
  struct Scalar {
    std::string_view tag;
    float value;
  };
  /// A new file in `folder`, whose name sorts behind those that are there. It tells TensorBoard
  /// that the run goes on after `step`: what other files hold beyond it is then not shown.
  EventFile(const std::string& folder, std::int64_t step, double wall_seconds,
            Disk& disk = real_disk());
  /// One write. RunError names the file; the record is there whole or not at all.
  void log(std::int64_t step, double wall_seconds, const std::vector<Scalar>& scalars);
  void sync();
  const std::string& path() const { return path_; }

 private:
  std::string path_;
  Disk& disk_;
  OpenFile file_;
};

}  // namespace plait::train
