// Reading the words of a command line.
#include "cli/args.h"

#include <algorithm>

#include "base/error.h"
#include "base/text.h"

namespace plait::cli {
namespace {

constexpr std::string_view kHint = ": is a variable of the shell not set?";

}  // namespace

Args::Args(std::span<const Flag> flags, const std::vector<std::string>& words) {
  for (const Flag& flag : flags) known_.insert(flag.name);
  bool only_words = false;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (!only_words && words[i] == "--") {
      only_words = true;
    } else if (only_words || words[i] == "-" || !words[i].starts_with("-")) {
      if (words[i].empty()) throw UsageError(str("argument ", i + 1, " is empty", kHint));
      words_.push_back(words[i]);
    } else {
      i = take(flags, words, i);
    }
  }
}

/// Reads the flag at word i; returns the last word that belongs to it.
std::size_t Args::take(std::span<const Flag> flags, const std::vector<std::string>& words,
                       std::size_t i) {
  const std::size_t equals = words[i].find('=');
  const std::string name = words[i].substr(0, equals);
  const auto flag =
      std::find_if(flags.begin(), flags.end(), [&](const Flag& f) { return f.name == name; });
  if (flag == flags.end()) {
    std::vector<std::string> names{"--help"};
    for (const Flag& f : flags) names.emplace_back(f.name);
    throw UsageError(str("there is no option '", name, "'.", suggestion(name, names)));
  }
  std::vector<std::string>& values = given_[flag->name];
  if (!values.empty() && !flag->repeats) throw UsageError(str(name, " is given twice"));
  if (flag->value.empty()) {
    if (equals != std::string::npos) throw UsageError(str(name, " takes no value"));
    values.emplace_back();
  } else if (equals != std::string::npos) {
    values.push_back(words[i].substr(equals + 1));
  } else if (i + 1 < words.size()) {
    values.push_back(words[++i]);
  } else {
    throw UsageError(str(name, " needs a value: ", name, " ", flag->value));
  }
  if (!flag->value.empty() && !flag->may_be_empty && values.back().empty()) {
    throw UsageError(str(name, " is given an empty value", kHint));
  }
  return i;
}

std::string Args::text(std::string_view flag, std::string_view otherwise) const {
  const auto it = given_.find(flag);
  return it == given_.end() ? std::string(otherwise) : it->second.front();
}

std::vector<std::string> Args::all(std::string_view flag) const {
  const auto it = given_.find(flag);
  return it == given_.end() ? std::vector<std::string>{} : it->second;
}

std::int64_t Args::whole(std::string_view flag, std::int64_t otherwise, std::int64_t least,
                         std::int64_t most) const {
  if (!has(flag)) return otherwise;
  std::int64_t value = 0;
  try {
    value = parse_integer(text(flag), flag);
  } catch (const UserError& e) {
    throw UsageError(e.what());
  }
  if (value < least) throw UsageError(str(flag, " must be at least ", least, ", is ", value));
  if (value > most) throw UsageError(str(flag, " must be at most ", most, ", is ", value));
  return value;
}

std::pair<std::string, std::string> name_and_value(std::string_view flag, const std::string& text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0 || equals + 1 == text.size()) {
    throw UsageError(str(flag, " wants name=value, is given '", text, "'"));
  }
  return {text.substr(0, equals), text.substr(equals + 1)};
}

}  // namespace plait::cli
