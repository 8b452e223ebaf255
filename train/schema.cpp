// What can be asked of the table of keys.
#include "train/schema.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/error.h"
#include "base/text.h"
#include "train/presets.h"

namespace plait::train {
namespace {

template <class Number>
bool reads_as(std::string_view text) {
  Number value = 0;
  const auto result = std::from_chars(text.data(), text.data() + text.size(), value);
  return result.ec == std::errc() && result.ptr == text.data() + text.size();
}

/// `"sgd", "adam"`
std::string in_quotes(std::string_view words) {
  std::vector<std::string> parts = words_of(words);
  for (std::string& word : parts) word = toml_text(word);
  return join(parts, ", ");
}

std::string type_of(const Key& key) {
  struct Name {
    std::string_view operator()(bool*) const { return "true or false"; }
    std::string_view operator()(std::int64_t*) const { return "a whole number"; }
    std::string_view operator()(double*) const { return "a number"; }
    std::string_view operator()(std::string*) const { return "a text"; }
    std::string_view operator()(std::vector<std::string>*) const {
      return "a text or list of texts";
    }
  };
  Config any;
  return std::string(std::visit(Name{}, key.slot(any)));
}

/// Puts a value of the right type and range in its place; false for any other.
struct Assign {
  const Key& key;
  const Value& value;

  bool operator()(bool* field) const { return take(field); }
  bool operator()(std::int64_t* field) const {
    return take(field) && key.range.holds(static_cast<double>(*field));
  }
  bool operator()(double* field) const {
    if (const auto* whole = std::get_if<std::int64_t>(&value)) {
      *field = static_cast<double>(*whole);
    } else if (!take(field)) {
      return false;
    }
    return std::isfinite(*field) && key.range.holds(*field);
  }
  bool operator()(std::string* field) const {
    return take(field) && (key.choices.empty() || holds_word(key.choices, *field));
  }
  bool operator()(std::vector<std::string>* field) const {
    if (const auto* one = std::get_if<std::string>(&value)) {
      *field = {*one};
      return true;
    }
    return take(field);
  }

  template <class T>
  bool take(T* field) const {
    const T* given = std::get_if<T>(&value);
    if (given) *field = *given;
    return given != nullptr;
  }
};

/// A bound as people write it: 1, not 1.0.
std::string bound(double value) {
  if (value == static_cast<double>(kMostCount)) return "2^40";
  std::string text = real_text(value);
  return text.ends_with(".0") ? text.substr(0, text.size() - 2) : text;
}

/// Text within a cell of a Markdown table.
std::string cell(std::string text) {
  for (std::size_t at = 0; (at = text.find('|', at)) != std::string::npos; at += 2) {
    text.insert(at, "\\");
  }
  return text;
}

std::string row(const Key& key) {
  std::string doc(key.doc);
  if (!key.only.key.empty()) {
    doc += key.only.words.empty()
               ? str("; only with `", key.only.key, "`")
               : str("; only for `", key.only.key, "` ", in_quotes(key.only.words));
  }
  if (!key.instead_of.empty()) doc += str("; not together with `", key.instead_of, "`");
  return str("| `", key.name, "` | ", cell(wanted(key)), " | `", toml_text(value_of(key, {})),
             "` | ", cell(doc), " |\n");
}

std::string model_rows() {
  std::string out =
      "\nBesides, the model's own keys, with these defaults (`plait models` says what each is):\n\n"
      "| model | keys |\n|---|---|\n";
  for (const models::Entry& entry : models::all_models()) {
    std::vector<std::string> keys;
    for (const models::Key& key : model_keys(entry)) {
      const bool word = kind_of(key) == ModelValue::kWord;
      keys.push_back(str("`", key.name, " = ", word ? quoted(key.value) : key.value, "`"));
    }
    out += str("| `", entry.name, "` | ", join(keys, ", "), " |\n");
  }
  return out;
}

}  // namespace

bool Range::holds(double value) const {
  return (above ? value > least : value >= least) && (below ? value < most : value <= most);
}

std::string Range::text() const {
  std::string out;
  const double infinite = std::numeric_limits<double>::infinity();
  if (least > -infinite) out += str(above ? "above " : "at least ", bound(least));
  if (most < infinite) {
    out += str(out.empty() ? "" : ", ", below ? "below " : "at most ", bound(most));
  }
  return out;
}

std::string full_name(const Key& key) { return str(key.section, ".", key.name); }

const Key* find_key(std::string_view section, std::string_view name) {
  for (const Key& key : schema()) {
    if (key.section == section && key.name == name) return &key;
  }
  return nullptr;
}

Value value_of(const Key& key, Config config) {
  return std::visit([](auto* field) { return Value(*field); }, key.slot(config));
}

bool is_default(const Key& key, Config config) {
  Config fresh;
  const Slot other = key.slot(fresh);
  return std::visit([&](auto* field) { return *field == *std::get<decltype(field)>(other); },
                    key.slot(config));
}

void set_default(const Key& key, Config& config) {
  Config fresh;
  const Slot other = key.slot(fresh);
  std::visit([&](auto* field) { *field = *std::get<decltype(field)>(other); }, key.slot(config));
}

bool set_value(const Key& key, const Value& value, Config& config) {
  return std::visit(Assign{key, value}, key.slot(config));
}

bool has_meaning(const Key& key, const Config& config) {
  if (key.only.key.empty()) return true;
  const Key* other = find_key(key.section, key.only.key);
  check(other != nullptr, full_name(key), " depends on a key that is not there");
  const std::string word = std::get<std::string>(value_of(*other, config));
  return key.only.words.empty() ? !word.empty() : holds_word(key.only.words, word);
}

std::vector<std::string> words_of(std::string_view words) { return split(words, ' '); }

bool holds_word(std::string_view words, std::string_view word) {
  const std::vector<std::string> all = words_of(words);
  return std::find(all.begin(), all.end(), word) != all.end();
}

std::string wanted(const Key& key) {
  if (!key.choices.empty()) return "one of " + in_quotes(key.choices);
  const std::string range = key.range.text();
  return type_of(key) + (range.empty() ? "" : ", " + range);
}

constinit const models::Entry kFileModel{"", "the network of model.file", {}, nullptr};

const models::Entry& model_of(const Config& config) {
  if (!config.model.file.empty()) return kFileModel;
  const models::Entry* entry = find_model(config.model.name);
  check(entry != nullptr, "a config of the model '", config.model.name, "'");
  return *entry;
}

std::vector<models::Key> model_keys(const models::Entry& entry) {
  std::vector<models::Key> keys;
  if (&entry == &kFileModel) return keys;
  for (const models::Key& key : models::keys_of(entry)) {
    if (key.name != "train" && !key_for_spec(key.name)) keys.push_back(key);
  }
  return keys;
}

const Key* key_for_spec(std::string_view spec) {
  for (const Key& key : schema()) {
    if (key.spec == spec) return &key;
  }
  return nullptr;
}

const models::Entry* find_model(std::string_view name) {
  for (const models::Entry& entry : models::all_models()) {
    if (entry.name == name) return &entry;
  }
  return nullptr;
}

ModelValue kind_of(const models::Key& key) {
  if (reads_as<std::int64_t>(key.value)) return ModelValue::kWhole;
  return reads_as<double>(key.value) ? ModelValue::kReal : ModelValue::kWord;
}

std::string_view known_by_data(std::string_view model_key) {
  if (model_key == "vocab") return "text tokens";
  return model_key == "classes" ? "images cifar10 mnist" : "";
}

std::string schema_markdown() {
  std::string out;
  for (const Section& section : sections()) {
    out += str("### [", section.name, "]: ", section.doc, "\n\n| key | takes | default | meaning ",
               "|\n|---|---|---|---|\n");
    for (const Key& key : schema()) {
      if (key.section == section.name) out += row(key);
    }
    if (section.name == "model") out += model_rows();
    out += "\n";
  }
  out += "### Presets\n\n| name | what it trains |\n|---|---|\n";
  for (const Preset& preset : all_presets()) {
    out += str("| `", preset.name, "` | ", preset.doc, " |\n");
  }
  return out;
}

}  // namespace plait::train
