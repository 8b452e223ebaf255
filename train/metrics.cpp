// Records as JSON lines, and what goes into them.
#include "train/metrics.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cmath>
#include <cstring>

#include "base/error.h"
#include "base/text.h"
#include "io/file.h"
#include "io/json.h"
#include "train/run_folder.h"

namespace plait::train {
namespace {

using io::Json;
using Kind = RecordField::Kind;

constexpr RecordField kFields[] = {
    {"loss", "train/loss", &Record::loss, Kind::number},
    {"smoothed_loss", "train/smoothed_loss", &Record::smoothed_loss, Kind::number},
    {"smoothing", nullptr, &Record::smoothing, Kind::number},
    {"lr", "train/lr", &Record::lr, Kind::number},
    {"gradient_norm", "train/gradient_norm", &Record::gradient_norm, Kind::number},
    {"loss_scale", "train/loss_scale", &Record::loss_scale, Kind::number},
    {"samples_per_second", "speed/samples_per_second", &Record::samples_per_second, Kind::timing},
    {"tokens_per_second", "speed/tokens_per_second", &Record::tokens_per_second, Kind::timing},
    {"mfu", "speed/mfu", &Record::mfu, Kind::timing},
    {"memory_bytes", "memory/bytes", &Record::memory_bytes, Kind::whole},
    {"elapsed_seconds", nullptr, &Record::elapsed_seconds, Kind::timing},
    {"eval_loss", "eval/loss", &Record::eval_loss, Kind::number},
    {"eval_perplexity", "eval/perplexity", &Record::eval_perplexity, Kind::number},
    {"eval_accuracy", "eval/accuracy", &Record::eval_accuracy, Kind::number},
};

constexpr double kMostWhole = 0x1p53;

/// JSON has no infinities: they are text.
Json json_of(double value, Kind kind) {
  if (!std::isfinite(value)) return Json(real_text(value));
  if (kind == Kind::whole && std::abs(value) < kMostWhole) {
    return Json(static_cast<std::int64_t>(value));
  }
  return Json(value);
}

/// Calls f(line, whether a newline ended it) for each line.
template <class F>
void each_line(std::string_view text, F&& f) {
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    f(text.substr(0, end), end != text.npos);
    text.remove_prefix(end == text.npos ? text.size() : end + 1);
  }
}

std::optional<Record> whole_record(std::string_view line, bool ended) {
  if (!ended) return std::nullopt;
  try {
    return parse_record(line);
  } catch (const UserError&) {
    return std::nullopt;
  }
}

}  // namespace

std::span<const RecordField> record_fields() { return kFields; }

std::string record_line(const Record& record) {
  Json json{{"step", record.step}};
  for (const RecordField& field : kFields) {
    if (const auto& value = record.*field.value) json[field.key] = json_of(*value, field.kind);
  }
  return json.dump();
}

Record parse_record(std::string_view line) {
  const Json json = io::parse_json(line, "a record of metrics");
  if (!json.is_object() || !json.contains("step") || !json["step"].is_number_integer()) {
    fail("not a record of metrics: ", quoted(line.substr(0, 80)));
  }
  Record record;
  record.step = json["step"].get<std::int64_t>();
  for (const RecordField& field : kFields) {
    const auto value = json.find(field.key);
    if (value == json.end() || value->is_null()) continue;
    if (value->is_string()) {
      record.*field.value = parse_real(value->get<std::string>(), field.key);
    } else if (value->is_number()) {
      record.*field.value = value->get<double>();
    } else {
      fail("metrics: ", field.key, " is ", io::glimpse(*value), ", not a number");
    }
  }
  return record;
}

Record without_timings(Record record) {
  for (const RecordField& field : kFields) {
    if (field.kind == Kind::timing) record.*field.value = std::nullopt;
  }
  return record;
}

void Smoothed::add(double value) {
  if (!std::isfinite(value)) return;
  sum = kConstant * sum + (1 - kConstant) * value;
  weight = kConstant * weight + (1 - kConstant);
}

void Throughput::add_step(std::int64_t samples, std::int64_t tokens) {
  ++steps_;
  samples_ += samples;
  tokens_ += tokens;
}

void Throughput::fill(Record& record, double now) {
  const double seconds = now - begin_;
  if (steps_ > 0 && seconds > 0) {
    record.samples_per_second = static_cast<double>(samples_) / seconds;
    if (tokens_ > 0) record.tokens_per_second = static_cast<double>(tokens_) / seconds;
    if (operations_ > 0 && peak_ > 0) {
      record.mfu = operations_ * static_cast<double>(steps_) / seconds / peak_;
    }
  }
  start(now);
}

std::vector<Record> rewind_metrics(const std::string& path, std::int64_t step,
                                   std::vector<std::string>& notes) {
  std::vector<Record> records;
  if (!io::is_there(path)) return records;
  const std::string text = io::read_file(path);
  std::string kept;
  std::int64_t bad = 0;
  each_line(text, [&](std::string_view line, bool ended) {
    const std::optional<Record> record = whole_record(line, ended);
    bad += !record;
    if (!record || record->step > step) return;
    records.push_back(*record);
    kept.append(line).append("\n");
  });
  if (bad > 0) notes.push_back(str("dropped ", bad, " cut or unreadable lines of ", path));
  if (kept.size() != text.size()) io::write_file(path, {kept});
  return records;
}

std::vector<Record> read_metrics(const std::string& path) {
  std::vector<Record> records;
  each_line(io::read_file(path), [&](std::string_view line, bool ended) {
    if (const std::optional<Record> record = whole_record(line, ended)) records.push_back(*record);
  });
  return records;
}

Metrics::Metrics(const std::string& run, std::int64_t step, double wall_seconds, Disk& disk)
    : path_(str(run, "/", kMetricsFile)),
      disk_(disk),
      file_(disk, path_, O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW),
      events_(run, step, wall_seconds, disk) {
  if (!file_.good()) throw RunError(str("cannot write ", path_, ": ", std::strerror(errno)));
}

void Metrics::log(const Record& record, double wall_seconds) {
  append_whole(disk_, file_, path_, record_line(record) + "\n");
  std::vector<EventFile::Scalar> scalars;
  for (const RecordField& field : kFields) {
    const auto& value = record.*field.value;
    if (field.tag && value) scalars.push_back({field.tag, static_cast<float>(*value)});
  }
  events_.log(record.step, wall_seconds, scalars);
}

void Metrics::sync() {
  if (!file_.sync()) throw RunError(str("cannot sync ", path_, ": ", std::strerror(errno)));
  events_.sync();
}

}  // namespace plait::train
