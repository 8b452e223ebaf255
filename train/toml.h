// TOML as settings in sections: what a file or an argument says, and where it says it. Knows
// nothing of which keys there are.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace plait::train {

/// What no key takes: a date, a table, a list of something else than texts.
struct Unusable {
  std::string what;
};
using Value =
    std::variant<bool, std::int64_t, double, std::string, std::vector<std::string>, Unusable>;

struct Setting {
  std::string section, key;  // section is empty for a key above all sections
  Value value;
  std::string where;      // `run.toml: line 3` or `argument 2`
  bool argument = false;  // said on the command line
};

/// The settings of a file in its own order; `name` stands in messages. UserError with line and
/// column where the text is not TOML, a key is there twice, or a section holds another.
std::vector<Setting> read_toml(std::string_view text, const std::string& name);

/// One value as it stands behind `key =`. UserError beginning with `where`.
Value read_toml_value(std::string_view text, const std::string& where);

/// The value as TOML that reads back as the same. Texts must be UTF-8.
std::string toml_text(const Value& value);

/// As a message shows it: like toml_text, long ones cut, the unusable by their kind.
std::string shown(const Value& value);

}  // namespace plait::train
