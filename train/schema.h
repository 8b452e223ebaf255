// The keys of a training config: one table, from which they are read, checked, written and
// documented. The types and defaults are those of the fields in train/config.h.
#pragma once

#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "models/registry.h"
#include "train/config.h"
#include "train/toml.h"

namespace plait::train {

/// Where a key's value lies.
using Slot = std::variant<bool*, std::int64_t*, double*, std::string*, std::vector<std::string>*>;

/// Of steps, samples and the like: sums of a few of them, and twice as many, are numbers too.
constexpr std::int64_t kMostCount = std::int64_t{1} << 40;

/// The numbers that a key takes; reals are finite besides.
struct Range {
  double least = -std::numeric_limits<double>::infinity();
  double most = std::numeric_limits<double>::infinity();
  bool above = false, below = false;  // without the end itself
  bool holds(double value) const;
  /// `at least 1`, `above 0, at most 1`
  std::string text() const;
};

/// A condition on another key of the same section, which holds a word.
struct Only {
  std::string_view key;
  std::string_view words;  // separated by spaces; none: any text that is not empty
};

struct Key {
  std::string_view section, name;
  Slot (*slot)(Config& config);
  std::string_view doc;
  Range range = {};
  std::string_view choices = {};     // separated by spaces: the words it takes
  Only only = {};                    // what gives it a meaning
  std::string_view instead_of = {};  // a key of the section that cannot be said with it
  std::string_view spec = {};        // the key of models::build that it sets
  std::string_view before = {};      // as TOML: the value that was meant before there was this key
};

std::span<const Key> schema();
struct Section {
  std::string_view name, doc;
};
std::span<const Section> sections();

/// `train.batch`
std::string full_name(const Key& key);
/// Null when there is none.
const Key* find_key(std::string_view section, std::string_view name);
/// The key that sets this key of models::build; null when there is none.
const Key* key_for_spec(std::string_view spec);
/// The value as the config holds it.
Value value_of(const Key& key, Config config);
bool is_default(const Key& key, Config config);
void set_default(const Key& key, Config& config);
/// False where the value is of another type, or out of range.
[[nodiscard]] bool set_value(const Key& key, const Value& value, Config& config);
/// Whether the config's other keys give it a meaning.
bool has_meaning(const Key& key, const Config& config);
std::vector<std::string> words_of(std::string_view words);
bool holds_word(std::string_view words, std::string_view word);
/// `a whole number, at least 1`, `one of "sgd", "adam"`
std::string wanted(const Key& key);

/// Stands for the network of model.file: it has no keys of its own.
extern const models::Entry kFileModel;
/// The model that a config means; a Bug when there is none of its name.
const models::Entry& model_of(const Config& config);
/// How the config trains any network: what models::build reads of the sections that are not
/// [model].
models::Settings training_settings(const Config& config);

/// What a config can say of a model: its keys without those that other sections set.
std::vector<models::Key> model_keys(const models::Entry& entry);
/// Null when there is none.
const models::Entry* find_model(std::string_view name);
enum class ModelValue { kWhole, kReal, kWord };
/// By the text of its default; `own` takes a number or a word and is a word.
ModelValue kind_of(const models::Key& key);
/// The kinds of data that know this size of a model, separated by spaces; empty for most keys.
std::string_view known_by_data(std::string_view model_key);

/// The tables of docs/train.md.
std::string schema_markdown();

}  // namespace plait::train
