// Patterns over names: `*` stands for any characters, dots too, `?` for one.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace plait {

/// `layer1.*` matches `layer1.0.conv1.weight`.
bool matches_glob(std::string_view glob, std::string_view name);

/// Whether one of them does.
bool matches_any(const std::vector<std::string>& globs, std::string_view name);

/// UserError `where: no what is matched by 'glob'.`, with the nearest name, where none is.
void check_matches(std::string_view glob, const std::vector<std::string>& names,
                   std::string_view what, std::string_view where);

}  // namespace plait
