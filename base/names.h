// How names are written in the text form: bare where they cannot be mistaken for anything else,
// quoted otherwise.
#pragma once

#include <string>
#include <string_view>

namespace plait {

/// Letters, digits and `_./:$-`.
bool is_name_char(char c);

/// Made of name characters only, without ':' at either end, and not `_` (the absent operand).
bool is_bare_name(std::string_view name);
/// The name itself when it is bare, quoted otherwise.
std::string name_text(std::string_view name);

/// A letter or `_`, then letters, digits and `_`; none of the words that mean something else where
/// a size may stand: a dtype, true, false, inf, nan, min, max.
bool is_symbol_name(std::string_view name);
inline constexpr std::string_view kSymbolRule =
    "letters, digits and '_', not a dtype, true, false, inf, nan, min or max";

}  // namespace plait
