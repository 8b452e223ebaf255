// What must hold between the keys of a config, once each of them is right by itself.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "train/config.h"
#include "train/toml.h"

namespace plait::train {

/// The word for a size of the model that the data knows.
inline constexpr std::string_view kFromData = "data";

/// A config while it is read.
struct Reading {
  std::string name;               // of the file
  std::vector<Setting> settings;  // each key once
  Config config;

  /// What was said of `section.key`; null for nothing.
  const Setting* find(std::string_view full_name) const;
  /// Where it was said, or the file.
  std::string where(std::string_view full_name) const;
};

/// UserError on keys without a meaning beside the others, or that exclude each other. An argument
/// wins over the file: what the file said for another kind is forgotten.
void check_together(Reading& reading);

}  // namespace plait::train
