// state.json: written and read by one list of fields.
#include "train/train_state.h"

#include <cmath>
#include <cstdio>

#include "base/error.h"
#include "base/text.h"
#include "io/json.h"
#include "train/crc32c.h"

namespace plait::train {
namespace {

using io::Json;

constexpr const char* kFormat = "plait checkpoint";
constexpr int kVersion = 1;
constexpr int kMostDepth = 4;
constexpr const char* kOwnSum = "crc32c";

/// Calls f(key, field) for every field.
template <class State, class F>
void each_field(State& state, F&& f) {
  f("step", state.step);
  f("seed", state.seed);
  f("epoch", state.epoch);
  f("index", state.index);
  f("samples", state.samples);
  f("tokens", state.tokens);
  f("loss_scale", state.loss_scale);
  f("good_steps", state.good_steps);
  f("loss_sum", state.loss_sum);
  f("loss_weight", state.loss_weight);
  f("elapsed_seconds", state.elapsed_seconds);
  f("config_hash", state.config_hash);
  f("more", state.more);
}

/// JSON has no infinities: they are text.
Json json_of(double value) {
  if (std::isfinite(value)) return Json(value);
  return Json(real_text(value));
}
template <class T>
Json json_of(const T& value) {
  return Json(value);
}

void read(const Json& json, double& value) {
  value = json.is_string() ? parse_real(json.get<std::string>(), "a number") : json.get<double>();
}
template <class T>
void read(const Json& json, T& value) {
  value = json.get<T>();
}

std::string hex(std::uint32_t value) {
  char text[9];
  std::snprintf(text, sizeof text, "%08x", value);
  return text;
}

std::string dump(const Json& json) { return json.dump(2) + "\n"; }

/// The text of `json` and its own checksum.
std::string sealed(Json json) {
  json.erase(kOwnSum);
  json[kOwnSum] = hex(crc32c(dump(json)));
  return dump(json);
}

TrainState read_fields(const Json& json, FileSums& files) {
  if (json.at("format") != kFormat) fail("is not of a checkpoint");
  if (json.at("version") != kVersion) {
    fail("has format version ", json.at("version").dump(), ", this Plait reads ", kVersion);
  }
  TrainState state;
  each_field(state, [&](const char* key, auto& field) { read(json.at(key), field); });
  files.clear();
  for (const auto& [name, sum] : json.at("files").items()) {
    FileSum& file = files[name];
    file.bytes = sum.at("bytes").get<std::uint64_t>();
    file.crc =
        static_cast<std::uint32_t>(std::stoul(sum.at(kOwnSum).get<std::string>(), nullptr, 16));
  }
  return state;
}

}  // namespace

std::string state_text(const TrainState& state, const FileSums& files) {
  Json json{{"format", kFormat}, {"version", kVersion}};
  each_field(state, [&](const char* key, const auto& field) { json[key] = json_of(field); });
  Json sums = Json::object();
  for (const auto& [name, sum] : files) {
    sums[name] = {{"bytes", sum.bytes}, {kOwnSum, hex(sum.crc)}};
  }
  json["files"] = sums;
  try {
    return sealed(json);
  } catch (const Json::exception&) {
    fail("a text of the run's state is not UTF-8");
  }
}

TrainState parse_state(std::string_view text, FileSums& files) {
  try {
    const Json json = io::parse_json(text, "", kMostDepth);
    // Written in one way only: what differs from that was changed.
    if (!json.is_object() || sealed(json) != text) fail("does not match its own checksum");
    return read_fields(json, files);
  } catch (const Json::exception&) {
    fail("lacks a field or has one of the wrong type");
  } catch (const std::logic_error&) {  // of a checksum's digits
    fail("has a checksum that is not one");
  }
}

}  // namespace plait::train
