// Checks between keys.
#include "train/config_checks.h"

#include <algorithm>

#include "base/error.h"
#include "base/text.h"
#include "nn/groups.h"
#include "train/first_weights.h"
#include "train/schema.h"

namespace plait::train {
namespace {

bool from_argument(const Reading& r, std::string_view full_name) {
  const Setting* said = r.find(full_name);
  return said && said->argument;
}

void check_meaning(Reading& r, const Key& key) {
  const Setting* said = r.find(full_name(key));
  if (!said || has_meaning(key, r.config)) return;
  const Key& other = *find_key(key.section, key.only.key);
  if (!said->argument && from_argument(r, full_name(other))) return set_default(key, r.config);
  if (key.only.words.empty()) {
    fail(said->where, ": ", full_name(key), " has a meaning only with ", full_name(other));
  }
  std::vector<std::string> words = words_of(key.only.words);
  for (std::string& word : words) word = toml_text(word);
  fail(said->where, ": ", full_name(key), " has a meaning only with ", other.name, " = ",
       join(words, " or "), ", which is ", toml_text(value_of(other, r.config)));
}

void check_alternative(Reading& r, const Key& key) {
  if (key.instead_of.empty()) return;
  const Key& other = *find_key(key.section, key.instead_of);
  if (is_default(key, r.config) || is_default(other, r.config)) return;
  const bool this_argued = from_argument(r, full_name(key));
  const bool other_argued = from_argument(r, full_name(other));
  if (this_argued && !other_argued) return set_default(other, r.config);
  if (other_argued && !this_argued) return set_default(key, r.config);
  fail(r.where(full_name(other)), ": ", full_name(key), " and ", full_name(other),
       " are both said: say one of them");
}

void check_model(const Reading& r) {
  const Config& c = r.config;
  for (const std::string& rule : c.model.init_map) {
    static_cast<void>(parse_prefix_rule(rule, r.where("model.init_map") + ": model.init_map"));
  }
  for (const std::string& prefix : c.model.init_strip) {
    if (prefix.empty()) fail(r.where("model.init_strip"), ": model.init_strip has an empty prefix");
  }
  for (const auto& [key, value] : c.model.keys) {
    if (value != kFromData || known_by_data(key).empty()) continue;
    if (holds_word(known_by_data(key), c.data.kind)) continue;
    fail(r.where("model." + key), ": data of kind ", toml_text(c.data.kind),
         " does not know model.", key, ": say a number");
  }
  const auto dtype = c.model.keys.find("dtype");
  if (c.train.precision != "f32" && dtype != c.model.keys.end() && dtype->second != "f32") {
    fail(r.where("train.precision"), ": train.precision = ", toml_text(c.train.precision),
         " keeps f32 weights, but model.dtype is ", toml_text(dtype->second), ". Leave one out");
  }
}

/// A graph that updates its weights itself brings what belongs to its updates.
void check_own_updates(const Reading& r) {
  const Config& c = r.config;
  if (c.optimizer.kind != "own") return;
  if (c.model.file.empty()) {
    fail(r.where("optimizer.kind"), ": optimizer.kind = \"own\" is for a model.file whose graph ",
         "updates its weights itself");
  }
  for (const char* name : {"train.accumulate", "train.clip", "train.on_nan",
                           "optimizer.weight_decay", "optimizer.groups", "optimizer.freeze"}) {
    const std::string_view full = name;
    const std::size_t dot = full.find('.');
    if (is_default(*find_key(full.substr(0, dot), full.substr(dot + 1)), c)) continue;
    fail(r.where(full), ": ", full, " is part of an update, which the graph of model.file ",
         "brings itself (optimizer.kind = \"own\"): leave it out");
  }
}

/// Names of files, of which an empty one in a list is none.
void check_names(const Reading& r) {
  const Config& c = r.config;
  const auto check_one = [&](const char* key, const std::string& name) {
    if (name.find('\0') != std::string::npos) fail(r.where(key), ": ", key, " has a NUL byte");
  };
  check_one("model.file", c.model.file);
  check_one("model.init_from", c.model.init_from);
  check_one("output.folder", c.output.folder);
  if (c.output.folder.empty()) fail(r.where("output.folder"), ": output.folder is empty");
  const auto check_list = [&](const char* key, const std::vector<std::string>& names) {
    for (const std::string& name : names) {
      check_one(key, name);
      if (name.empty()) fail(r.where(key), ": ", key, " has an empty name");
    }
  };
  check_list("data.path", c.data.path);
  check_list("data.valid_path", c.data.valid_path);
}

void check_data(const Reading& r) {
  const Config& c = r.config;
  if (c.data.kind != "text" && c.data.kind != "synthetic" && c.data.path.empty()) {
    fail(r.where("data.kind"), ": data of kind ", toml_text(c.data.kind), " needs data.path");
  }
  if (c.eval.every > 0 && c.data.valid_fraction == 0 && c.data.valid_path.empty()) {
    fail(r.where("eval.every"),
         ": nothing to evaluate on: say data.valid_fraction or data.valid_path, or eval.every = 0");
  }
  if (c.sample.length > 0 && c.data.kind != "text") {
    fail(r.where("sample.length"), ": data of kind ", toml_text(c.data.kind),
         " gives no sample of text: say sample.length = 0");
  }
}

/// Their texts are parts of a model's spec.
void check_words(const Reading& r, const std::string& key, const std::vector<std::string>& texts,
                 std::string_view without) {
  for (const std::string& text : texts) {
    if (!text.empty() && text.find_first_of(without) == std::string::npos) continue;
    fail(r.where(key), ": ", key, " has ", toml_text(text),
         ", which is no pattern over names: they have none of ", toml_text(std::string(without)));
  }
}

void check_groups(const Reading& r) {
  const Config& c = r.config;
  check_words(r, "optimizer.freeze", c.optimizer.freeze, ",& =\"");
  check_words(r, "optimizer.groups", c.optimizer.groups, ",&\"");
  for (const std::string& text : c.optimizer.groups) {
    const nn::GroupRule rule = nn::parse_group_rule(text, r.where("optimizer.groups"));
    if (!rule.lr || c.schedule.min_lr <= *rule.lr) continue;
    fail(r.where("optimizer.groups"), ": schedule.min_lr is ", real_text(c.schedule.min_lr),
         ", above the rate of the group ", toml_text(text));
  }
}

void check_steps(const Reading& r) {
  const Config& c = r.config;
  if (c.train.steps == 0 && c.train.epochs == 0) {
    fail(r.where(r.find("train.steps") ? "train.steps" : "train.epochs"),
         ": how long? Say train.steps or train.epochs");
  }
  if (c.schedule.min_lr > c.optimizer.lr) {
    fail(r.where("schedule.min_lr"), ": schedule.min_lr is ", real_text(c.schedule.min_lr),
         ", above optimizer.lr, which is ", real_text(c.optimizer.lr));
  }
  check_groups(r);
  if (c.optimizer.nesterov && c.optimizer.momentum == 0) {
    fail(r.where("optimizer.nesterov"), ": optimizer.nesterov needs optimizer.momentum above 0");
  }
}

}  // namespace

const Setting* Reading::find(std::string_view full_name) const {
  for (const Setting& s : settings) {
    if (str(s.section, ".", s.key) == full_name) return &s;
  }
  return nullptr;
}

std::string Reading::where(std::string_view full_name) const {
  const Setting* said = find(full_name);
  return said ? said->where : name;
}

void check_together(Reading& r) {
  for (const Key& key : schema()) check_meaning(r, key);
  for (const Key& key : schema()) check_alternative(r, key);
  check_model(r);
  check_own_updates(r);
  check_names(r);
  check_data(r);
  check_steps(r);
}

}  // namespace plait::train
