// Configs that come with Plait, by name: one for every model, and the runs that the README shows.
#pragma once

#include <span>
#include <string_view>

namespace plait::train {

struct Preset {
  std::string_view name;
  std::string_view doc;
  std::string_view text;  // TOML
};

std::span<const Preset> all_presets();
/// UserError with the nearest name when there is none.
const Preset& preset_named(std::string_view name);

}  // namespace plait::train
