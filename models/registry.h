// The networks by name, as the command line and the trainer ask for them:
// `rwkv4?layers=3&width=128&train=1`.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ir/graph.h"

namespace plait::models {

struct Key {
  std::string_view name;
  std::string_view value;  // the default
  std::string_view doc;
};

/// The values a model is built with: its keys' defaults, changed by what the user said.
class Settings {
 public:
  explicit Settings(std::vector<std::pair<std::string, std::string>> values)
      : values_(std::move(values)) {}
  /// UserError naming model and key when the text is not such a value or is not positive.
  std::int64_t whole(std::string_view key) const;  // >= 1
  std::int64_t count(std::string_view key) const;  // >= 0
  double real(std::string_view key) const;
  bool flag(std::string_view key) const;  // 0 or 1
  /// One of `choices`; UserError listing them otherwise.
  std::string text(std::string_view key, const std::vector<std::string>& choices) const;
  DType dtype() const;

 private:
  const std::string& find(std::string_view key) const;
  std::vector<std::pair<std::string, std::string>> values_;
};

struct Entry {
  std::string_view name;
  std::string_view doc;
  std::span<const Key> keys;  // its own, besides the common ones
  ir::Package (*build)(const Settings& settings);
};

/// Keys that every model has: batch, dtype, train, optimizer, lr.
std::span<const Key> common_keys();
std::span<const Entry> all_models();

/// From `NAME` or `NAME?key=value&key=value`. UserError with the nearest name on an unknown model,
/// key or value.
ir::Package build(std::string_view spec);

}  // namespace plait::models
