// The symbols of a text: their declarations `symbol n = 1..64`, and what a name in a size stands
// for.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "base/lexer.h"

namespace plait {

/// The declarations that stand next.
DimBindings read_symbols(Lexer& in);
/// SyntaxError with the nearest known name when there is none; `name` is a part of `text`.
Dim symbol_named(std::string_view name, const DimBindings& symbols, std::string_view text);
/// A line for each.
std::string symbols_text(const std::map<std::string, Dim>& symbols);

}  // namespace plait
