// Symbols in text.
#include "base/symbols.h"

#include "base/dtype.h"
#include "base/names.h"
#include "base/text.h"

namespace plait {
namespace {

void read_symbol(Lexer& in, DimBindings& symbols) {
  const std::size_t start = in.skip();
  const std::string name = in.name("a symbol's name");
  if (!is_symbol_name(name)) {
    throw SyntaxError{start, str(quoted(name), " cannot name a symbol: ", kSymbolRule)};
  }
  in.expect('=', "after the symbol's name");
  const std::int64_t lo = in.integer("the least value of the symbol");
  in.expect('.', "and the greatest value: LO..HI");
  in.expect('.', "and the greatest value: LO..HI");
  const std::int64_t hi = in.integer("the greatest value of the symbol");
  const Dim dim = in.located(start, [&] { return Dim::symbol(name, lo, hi); });
  if (!symbols.emplace(name, dim).second) {
    throw SyntaxError{start, str("the symbol ", name, " is declared twice")};
  }
}

}  // namespace

DimBindings read_symbols(Lexer& in) {
  DimBindings symbols;
  while (in.take_word("symbol")) read_symbol(in, symbols);
  return symbols;
}

Dim symbol_named(std::string_view name, const DimBindings& symbols, std::string_view text) {
  const auto it = symbols.find(name);
  if (it != symbols.end()) return it->second;
  std::vector<std::string> known{"true", "false"};
  for (const auto& [other, dim] : symbols) known.push_back(other);
  known.insert(known.end(), kDTypeNames.begin(), kDTypeNames.end());
  std::string hint = suggestion(name, known);
  if (hint.empty() && is_symbol_name(name))
    hint = str(" Declare it first: symbol ", name, " = LO..HI");
  throw SyntaxError{static_cast<std::size_t>(name.data() - text.data()),
                    str("unknown symbol '", name, "'.", hint)};
}

std::string symbols_text(const std::map<std::string, Dim>& symbols) {
  std::string out;
  for (const auto& [name, symbol] : symbols) {
    out += str("symbol ", name, " = ", symbol.lo(), "..", symbol.hi(), "\n");
  }
  return out;
}

}  // namespace plait
