// Reading a config: the file's settings, the arguments over them, each checked against the table of
// keys, then what must hold between them.
#include "train/config.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/text.h"
#include "io/file.h"
#include "train/config_checks.h"
#include "train/presets.h"
#include "train/schema.h"

namespace plait::train {
namespace {

constexpr std::size_t kMostBytes = std::size_t{1} << 20;  // a config is written by hand
constexpr std::string_view kPresetPrefix = "preset:";

/// `name=value` of the command line.
struct Argument {
  std::string name, text, where;
};

std::vector<Argument> split_arguments(const std::vector<std::string>& arguments) {
  std::vector<Argument> out;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string& text = arguments[i];
    const std::string where = str("argument ", i + 1, " (", text.substr(0, 80), ")");
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos) fail(where, ": must be key=value or section.key=value");
    out.push_back({text.substr(0, equals), text.substr(equals + 1), where});
  }
  return out;
}

std::vector<std::string> names_in(std::string_view section, const models::Entry& model) {
  std::vector<std::string> names;
  for (const Key& key : schema()) {
    if (key.section == section) names.emplace_back(key.name);
  }
  if (section == "model") {
    for (const models::Key& key : model_keys(model)) names.emplace_back(key.name);
  }
  return names;
}

std::vector<std::string> section_names() {
  std::vector<std::string> names;
  for (const Section& section : sections()) names.emplace_back(section.name);
  return names;
}

std::vector<std::string> sections_with(std::string_view key, const models::Entry& model) {
  std::vector<std::string> found;
  for (const std::string& section : section_names()) {
    const std::vector<std::string> names = names_in(section, model);
    if (std::find(names.begin(), names.end(), key) != names.end()) found.push_back(section);
  }
  return found;
}

/// A key that its section lacks, or that stands in no section.
[[noreturn]] void unknown_key(const Setting& s, const models::Entry& model) {
  const std::vector<std::string> homes = sections_with(s.key, model);
  if (!homes.empty()) {
    fail(s.where, ": '", s.key, "' is a key of [", join(homes, "] and ["), "]",
         s.section.empty() ? ": say which section" : str(", not of [", s.section, "]"));
  }
  if (s.section.empty()) {
    std::vector<std::string> all;
    for (const std::string& section : section_names()) {
      for (const std::string& name : names_in(section, model)) all.push_back(name);
    }
    const std::string near = nearest(s.key, all);
    const std::vector<std::string> near_homes = sections_with(near, model);
    fail(s.where, ": there is no key '", s.key, "'.",
         near.empty() ? "" : str(" Did you mean '", near_homes[0], ".", near, "'?"));
  }
  const std::vector<std::string> names = names_in(s.section, model);
  const std::string of_model = s.section != "model"    ? ""
                               : &model == &kFileModel ? " with file"
                                                       : str(" with ", model.name);
  fail(s.where, ": [", s.section, "] has no key '", s.key, "'.", suggestion(s.key, names),
       " It has", of_model, " ", join(names, ", "));
}

void check_section(const Setting& s) {
  const std::vector<std::string> names = section_names();
  if (s.section.empty() || std::find(names.begin(), names.end(), s.section) != names.end()) return;
  fail(s.where, ": there is no section [", s.section, "].", suggestion(s.section, names),
       " There are ", join(names, ", "));
}

const models::Key* find_model_key(const models::Entry& model, std::string_view name,
                                  std::vector<models::Key>& keys) {
  keys = model_keys(model);
  const auto same = [&](const models::Key& key) { return key.name == name; };
  const auto at = std::find_if(keys.begin(), keys.end(), same);
  return at == keys.end() ? nullptr : &*at;
}

/// Whether bare text is taken as it stands, and what else may stand there instead.
bool takes_bare_text(const Setting& s, std::string_view text) {
  const Key* key = find_key(s.section, s.key);
  if (!key) return false;
  Config any;
  const Slot slot = key->slot(any);
  const bool in_quotes = text.starts_with('"') || text.starts_with('\'');
  if (std::holds_alternative<std::string*>(slot)) return !in_quotes;
  const bool list = std::holds_alternative<std::vector<std::string>*>(slot);
  return list && !in_quotes && !text.starts_with('[');
}

Setting setting_of(const Argument& a, const models::Entry& model) {
  Setting s{.section = {}, .key = a.name, .value = {}, .where = a.where, .argument = true};
  const std::size_t dot = a.name.find('.');
  if (dot != std::string::npos) {
    s.section = a.name.substr(0, dot);
    s.key = a.name.substr(dot + 1);
    check_section(s);
  } else {
    const std::vector<std::string> homes = sections_with(a.name, model);
    if (homes.size() != 1) unknown_key(s, model);
    s.section = homes[0];
  }
  const std::string as_text = toml_text(a.text);
  if (takes_bare_text(s, a.text)) {
    s.value = read_toml_value(as_text, a.where);
    return s;
  }
  try {
    s.value = read_toml_value(a.text, a.where);
  } catch (const UserError&) {
    if (a.text.find_first_of("\"'[{") != std::string::npos) throw;
    s.value = read_toml_value(as_text, a.where);  // a word: what wants none will say so
  }
  return s;
}

/// What was said of a key of [model]: by the arguments, or else by the file.
struct Said {
  Value value;
  std::string where;  // empty: nothing was, or the empty text
  bool argument = false;
};

Said said_of(std::string_view key, const std::vector<Setting>& file,
             const std::vector<Argument>& arguments) {
  Said said;
  for (const Setting& s : file) {
    if (s.section == "model" && s.key == key) said = {s.value, s.where, false};
  }
  for (const Argument& a : arguments) {
    if (a.name == str("model.", key) || a.name == key) said = {a.text, a.where, true};
  }
  const auto* text = std::get_if<std::string>(&said.value);
  return text && text->empty() ? Said{} : said;
}

/// The model that the arguments name, or else the file.
const models::Entry& chosen_model(const std::vector<Setting>& file,
                                  const std::vector<Argument>& arguments, const std::string& name) {
  const Said named = said_of("name", file, arguments), from = said_of("file", file, arguments);
  const bool name_comes_over = named.argument && !from.argument;
  if (!from.where.empty() && !name_comes_over) return kFileModel;
  std::vector<std::string> names;
  for (const models::Entry& entry : models::all_models()) names.emplace_back(entry.name);
  if (named.where.empty()) {
    fail(name, ": no model: [model] needs file, or name, one of ", join(names, ", "));
  }
  const auto* text = std::get_if<std::string>(&named.value);
  if (!text) fail(named.where, ": model.name must be a text, is ", shown(named.value));
  const models::Entry* entry = find_model(*text);
  if (entry) return *entry;
  fail(named.where, ": there is no model '", *text, "'.", suggestion(*text, names), " There are ",
       join(names, ", "));
}

[[noreturn]] void wrong_value(const Key& key, const Setting& s) {
  const auto* word = std::get_if<std::string>(&s.value);
  const std::string hint =
      word && !key.choices.empty() ? suggestion(*word, words_of(key.choices)) : "";
  fail(s.where, ": ", full_name(key), " must be ", wanted(key), ", is ", shown(s.value),
       hint.empty() ? "" : ".", hint);
}

/// The text of a model's key as models::build reads it.
std::string model_value(const models::Key& key, const Setting& s) {
  const auto* whole = std::get_if<std::int64_t>(&s.value);
  const auto* real = std::get_if<double>(&s.value);
  const auto* word = std::get_if<std::string>(&s.value);
  const auto* flag = std::get_if<bool>(&s.value);
  const ModelValue kind = kind_of(key);
  const bool may_be_data = !known_by_data(key.name).empty();
  if (word && *word == kFromData && may_be_data) return *word;
  const bool number = kind != ModelValue::kWord || key.value == "own";
  if (number && whole && *whole >= 0) {
    return kind == ModelValue::kReal ? real_text(static_cast<double>(*whole)) : str(*whole);
  }
  if (number && kind != ModelValue::kWhole && real && std::isfinite(*real)) return real_text(*real);
  if (flag && (key.value == "0" || key.value == "1")) return *flag ? "1" : "0";
  constexpr std::string_view kLetters =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.";
  if (kind == ModelValue::kWord && word && !word->empty() &&
      word->find_first_not_of(kLetters) == std::string::npos) {
    return *word;
  }
  constexpr std::string_view kWanted[] = {"a whole number, at least 0", "a number", "a word"};
  fail(s.where, ": model.", key.name, " must be ", kWanted[static_cast<int>(kind)],
       may_be_data ? str(", or ", toml_text(std::string(kFromData))) : "", ", is ", shown(s.value));
}

void assign(Reading& r, const models::Entry& model, const Setting& s) {
  check_section(s);
  if (const Key* key = find_key(s.section, s.key)) {
    if (!set_value(*key, s.value, r.config)) wrong_value(*key, s);
    return;
  }
  if (s.section == "model") {
    std::vector<models::Key> keys;
    if (const models::Key* key = find_model_key(model, s.key, keys)) {
      r.config.model.keys[s.key] = model_value(*key, s);
      return;
    }
    if (const Key* instead = key_for_spec(s.key)) {
      fail(s.where, ": ", s.key, " is said as ", full_name(*instead));
    }
    const Setting *name = r.find("model.name"), *file = r.find("model.file");
    const bool other = (name && name->argument) || (file && file->argument);
    if (!s.argument && other) return;  // of the model that the file meant
  }
  unknown_key(s, model);
}

/// An argument takes the place of what the file says.
void add_argument(Reading& r, Setting s) {
  for (Setting& other : r.settings) {
    if (other.section != s.section || other.key != s.key) continue;
    if (other.argument) fail(s.where, ": ", s.section, ".", s.key, " was said by ", other.where);
    other = std::move(s);
    return;
  }
  r.settings.push_back(std::move(s));
}

std::string read_at_most(const std::string& path, std::size_t most) {
  io::InputFile file(path);
  std::string text(most, '\0');
  text.resize(file.read_fully(text.data(), text.size()));
  return text;
}

/// Keys that were not said, and that are younger than the file.
void set_as_before(Reading& r) {
  for (const Key& key : schema()) {
    if (key.before.empty() || r.find(full_name(key))) continue;
    const bool set = set_value(key, read_toml_value(key.before, r.name), r.config);
    check(set, full_name(key), " cannot be ", key.before);
  }
}

enum class Author { kUser, kRun };

Config parse(std::string_view text, const std::string& name,
             const std::vector<std::string>& arguments, Author origin) {
  if (text.size() > kMostBytes) {
    fail(name, ": longer than ", with_commas(kMostBytes), " bytes: not a config");
  }
  Reading r{.name = name, .settings = read_toml(text, name), .config = {}};
  const std::vector<Argument> split = split_arguments(arguments);
  for (const Setting& s : r.settings) check_section(s);
  const models::Entry& model = chosen_model(r.settings, split, name);
  for (const Argument& a : split) add_argument(r, setting_of(a, model));
  for (const models::Key& key : model_keys(model)) {
    r.config.model.keys.emplace(key.name, key.value);
  }
  for (const Setting& s : r.settings) assign(r, model, s);
  if (origin == Author::kRun) set_as_before(r);
  check_together(r);
  return r.config;
}

}  // namespace

Config parse_config(std::string_view text, const std::string& name,
                    const std::vector<std::string>& arguments) {
  return parse(text, name, arguments, Author::kUser);
}

Config load_run_config(const std::string& path, const std::vector<std::string>& arguments) {
  return parse(read_at_most(path, kMostBytes + 1), path, arguments, Author::kRun);
}

Config load_config(const std::string& source, const std::vector<std::string>& arguments) {
  if (source.starts_with(kPresetPrefix)) {
    const Preset& preset = preset_named(std::string_view(source).substr(kPresetPrefix.size()));
    return parse_config(preset.text, source, arguments);
  }
  return parse_config(read_at_most(source, kMostBytes + 1), source, arguments);
}

}  // namespace plait::train
