// A config as text again: TOML, and the spec of its model.
#include <filesystem>

#include "base/error.h"
#include "base/text.h"
#include "train/config_checks.h"
#include "train/schema.h"

namespace plait::train {
namespace {

/// The value of the model's key as TOML: numbers bare, words in quotes.
std::string model_toml(const models::Key& key, const std::string& value) {
  if (value == kFromData || kind_of(key) == ModelValue::kWord) return toml_text(value);
  return value;
}

/// A value as models::build reads it.
std::string spec_text(const Value& value) {
  if (const auto* word = std::get_if<std::string>(&value)) return *word;
  if (const auto* flag = std::get_if<bool>(&value)) return *flag ? "1" : "0";
  if (const auto* list = std::get_if<std::vector<std::string>>(&value)) {
    return list->empty() ? "none" : join(*list, ",");
  }
  return toml_text(value);
}

enum class Keys { kAll, kLasting };

std::string text_of(const Config& config, Keys keys) {
  std::string out;
  for (const Section& section : sections()) {
    out += str(out.empty() ? "" : "\n", "[", section.name, "]\n");
    for (const Key& key : schema()) {
      if (key.section != section.name || !has_meaning(key, config)) continue;
      const std::string value = toml_text(value_of(key, config));
      if (keys == Keys::kLasting && value == key.before) continue;
      out += str(key.name, " = ", value, "\n");
    }
    if (section.name != "model") continue;
    for (const models::Key& key : model_keys(model_of(config))) {
      const auto at = config.model.keys.find(key.name);
      if (at == config.model.keys.end()) continue;
      out += str(key.name, " = ", model_toml(key, at->second), "\n");
    }
  }
  return out;
}

}  // namespace

std::string to_toml(const Config& config) { return text_of(config, Keys::kAll); }
std::string lasting_text(const Config& config) { return text_of(config, Keys::kLasting); }

std::string model_title(const Config& config) {
  if (config.model.file.empty()) return config.model.name;
  return std::filesystem::path(config.model.file).stem().string();
}

models::Settings training_settings(const Config& config) {
  std::vector<std::pair<std::string, std::string>> values;
  for (const models::Key& spec : models::common_keys()) {
    const Key* key = key_for_spec(spec.name);
    const bool said = key && has_meaning(*key, config);
    values.emplace_back(spec.name,
                        said ? spec_text(value_of(*key, config)) : std::string(spec.value));
  }
  return {model_title(config), std::move(values)};
}

std::string model_spec(const Config& config) {
  if (!config.model.file.empty()) return config.model.file;
  const models::Entry& model = model_of(config);
  std::string out = config.model.name + "?";
  for (const models::Key& key : model_keys(model)) {
    const auto at = config.model.keys.find(key.name);
    if (at == config.model.keys.end() || at->second == key.value) continue;
    if (at->second == kFromData) fail("model.", key.name, " is the data's, which is not read yet");
    out += str(key.name, "=", at->second, "&");
  }
  for (const Key& key : schema()) {
    if (key.spec.empty() || !has_meaning(key, config)) continue;
    // The model has a batch and an optimizer of its own: all of ours is said, defaults too.
    const bool own = (key.section == "optimizer" && key.before != "[]") || key.spec == "batch";
    if (!own && is_default(key, config)) continue;
    out += str(key.spec, "=", spec_text(value_of(key, config)), "&");
  }
  return out + "train=1";
}

std::optional<std::int64_t> model_size(const Config& config, std::string_view key) {
  const auto at = config.model.keys.find(key);
  if (at == config.model.keys.end() || at->second == kFromData) return std::nullopt;
  return parse_integer(at->second, str(config.model.name, ": ", key));
}

void fit_to_data(Config& config, std::string_view key, std::int64_t size) {
  const auto at = config.model.keys.find(key);
  if (at == config.model.keys.end()) return;
  if (at->second == kFromData) at->second = std::to_string(size);
  const std::int64_t room = *model_size(config, key);
  if (room < size) {
    fail("the data has a ", key, " of ", with_commas(size), ", model.", key, " is only ",
         with_commas(room), ". Say ", toml_text(std::string(kFromData)), " to take the data's");
  }
}

}  // namespace plait::train
