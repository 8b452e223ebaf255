// The words of a command line: options with and without values, and what is left. Knows nothing of
// what they mean.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <set>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace plait::cli {

/// The command line itself is wrong: exit code 2.
struct UsageError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct Flag {
  std::string_view name;   // `--steps`
  std::string_view value;  // what help calls its value; empty for a switch
  std::string_view doc;
  bool repeats = false;
  bool may_be_empty = false;  // --prompt ''; an empty name of a file is a mistake
};

/// `--flag value` or `--flag=value`; after `--` everything is a word. UsageError on an unknown
/// flag (with the nearest), a value that is missing or too many, a flag given twice, an empty word.
class Args {
 public:
  Args(std::span<const Flag> flags, const std::vector<std::string>& words);

  const std::vector<std::string>& words() const { return words_; }
  bool has(std::string_view flag) const { return given_.count(flag) > 0; }
  /// Whether the command has such a flag at all.
  bool may_have(std::string_view flag) const { return known_.count(flag) > 0; }
  std::string text(std::string_view flag, std::string_view otherwise = "") const;
  /// Every value of a flag that repeats.
  std::vector<std::string> all(std::string_view flag) const;
  std::int64_t whole(std::string_view flag, std::int64_t otherwise,
                     std::int64_t least = std::numeric_limits<std::int64_t>::min(),
                     std::int64_t most = std::numeric_limits<std::int64_t>::max()) const;

 private:
  std::size_t take(std::span<const Flag> flags, const std::vector<std::string>& words,
                   std::size_t i);
  std::map<std::string_view, std::vector<std::string>, std::less<>> given_;
  std::set<std::string_view> known_;
  std::vector<std::string> words_;
};

/// Splits `name=value`; UsageError says what `flag` wants when there is no `=`, name or value.
std::pair<std::string, std::string> name_and_value(std::string_view flag, const std::string& text);

}  // namespace plait::cli
