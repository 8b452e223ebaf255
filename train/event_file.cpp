// Events as protocol buffers: field numbers are those of tensorflow/core/util/event.proto and
// framework/summary.proto.
#include "train/event_file.h"

#include <fcntl.h>

#include <bit>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include "base/error.h"
#include "io/bytes.h"
#include "train/crc32c.h"

namespace plait::train {
namespace {

enum Wire : std::uint64_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

std::string varint_bytes(std::uint64_t value) {
  std::string out;
  for (; value >= 0x80; value >>= 7) out += static_cast<char>(value | 0x80);
  return out + static_cast<char>(value);
}

std::string key(std::uint64_t field, Wire wire) { return varint_bytes(field << 3 | wire); }
std::string whole_field(std::uint64_t field, std::int64_t value) {
  return key(field, kVarint) + varint_bytes(static_cast<std::uint64_t>(value));
}
std::string double_field(std::uint64_t field, double value) {
  return key(field, kFixed64) + io::little_endian(std::bit_cast<std::uint64_t>(value), 8);
}
std::string float_field(std::uint64_t field, float value) {
  return key(field, kFixed32) + io::little_endian(std::bit_cast<std::uint32_t>(value), 4);
}
std::string bytes_field(std::uint64_t field, std::string_view value) {
  return key(field, kBytes) + varint_bytes(value.size()) + std::string(value);
}

/// Event { wall_time = 1; step = 2; and `what` }
std::string event(double wall_seconds, std::int64_t step, const std::string& what) {
  return double_field(1, wall_seconds) + whole_field(2, step) + what;
}
std::string file_version(double wall_seconds) {
  return event(wall_seconds, 0, bytes_field(3, "brain.Event:2"));
}
/// Event.session_log = 7 { status = 1: START = 1 }
std::string session_start(double wall_seconds, std::int64_t step) {
  return event(wall_seconds, step, bytes_field(7, whole_field(1, 1)));
}
/// Event.summary = 5 { repeated value = 1 { tag = 1; simple_value = 2 } }
std::string summary(const std::vector<EventFile::Scalar>& scalars) {
  std::string values;
  for (const EventFile::Scalar& s : scalars) {
    values += bytes_field(1, bytes_field(1, s.tag) + float_field(2, s.value));
  }
  return bytes_field(5, values);
}

/// CRCs of data that holds CRCs would cancel out: the format turns and shifts them.
std::string masked_crc(std::string_view data) {
  return io::little_endian(std::rotr(crc32c(data), 15) + 0xa282ead8U, 4);
}

/// TensorBoard reads a folder's files by name: seconds, then a running number.
std::string next_path(const std::string& folder, double wall_seconds) {
  int files = 0;
  std::error_code error;
  for (std::filesystem::directory_iterator it(folder, error), end; !error && it != end;
       it.increment(error)) {
    files += it->path().filename().string().starts_with(kEventPrefix);
  }
  char name[64];
  std::snprintf(name, sizeof name, "%010lld.%04d", static_cast<long long>(wall_seconds), files);
  return str(folder, "/", kEventPrefix, name);
}

}  // namespace

std::string tfrecord(std::string_view bytes) {
  const std::string length = io::little_endian(bytes.size(), 8);
  return length + masked_crc(length) + std::string(bytes) + masked_crc(bytes);
}

EventFile::EventFile(const std::string& folder, std::int64_t step, double wall_seconds, Disk& disk)
    : path_(next_path(folder, wall_seconds)),
      disk_(disk),
      file_(disk, path_, O_WRONLY | O_CREAT | O_EXCL | O_APPEND) {
  if (!file_.good()) throw RunError(str("cannot write ", path_, ": ", std::strerror(errno)));
  append_whole(
      disk_, file_, path_,
      tfrecord(file_version(wall_seconds)) + tfrecord(session_start(wall_seconds, step + 1)));
}

void EventFile::log(std::int64_t step, double wall_seconds, const std::vector<Scalar>& scalars) {
  append_whole(disk_, file_, path_, tfrecord(event(wall_seconds, step, summary(scalars))));
}

void EventFile::sync() {
  if (!file_.sync()) throw RunError(str("cannot sync ", path_, ": ", std::strerror(errno)));
}

}  // namespace plait::train
