// Parsing the text form: symbols, then graphs. docs/text_form.md has the grammar.
#include <unordered_set>

#include "ir/names.h"
#include "ir/reader.h"
#include "ir/text.h"
#include "ir/verify.h"

namespace plait::ir {
namespace {

using Symbols = std::map<std::string, Dim, std::less<>>;

void read_symbol(Lexer& in, Symbols& symbols) {
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

/// `name` is a part of `text`.
Dim symbol_named(std::string_view name, const Symbols& symbols, std::string_view text) {
  const auto it = symbols.find(name);
  if (it != symbols.end()) return it->second;
  std::vector<std::string> known{"true", "false"};
  for (const auto& [other, dim] : symbols) known.push_back(other);
  known.insert(known.end(), kDTypeNames.begin(), kDTypeNames.end());
  std::string hint = suggestion(name, known);
  if (hint.empty()) hint = str(" Declare it first: symbol ", name, " = LO..HI");
  throw SyntaxError{static_cast<std::size_t>(name.data() - text.data()),
                    str("unknown symbol '", name, "'.", hint)};
}

Package read_package(std::string_view text) {
  Lexer in{text};
  Symbols symbols;
  while (in.take_word("symbol")) read_symbol(in, symbols);
  const DimResolver resolve = [&](std::string_view name) {
    return symbol_named(name, symbols, text);
  };
  Package package;
  std::unordered_set<std::string> names;
  while (in.take_word("graph")) {
    const std::size_t start = in.skip();
    package.graphs.push_back(read_graph(in, resolve));
    const std::string& name = package.graphs.back().name;
    if (!names.insert(name).second) {
      throw SyntaxError{start, str("two graphs are named ", name_text(name))};
    }
  }
  if (in.at_end()) return package;
  if (in.bare() == "symbol") {
    throw SyntaxError{in.pos, "symbols are declared before the first graph"};
  }
  in.expected(package.graphs.empty() ? "'symbol' or 'graph'" : "'graph' or the end of the text");
}

}  // namespace

Package parse(std::string_view text, std::string_view file) {
  Package package;
  try {
    package = read_package(text);
  } catch (const SyntaxError& e) {
    fail(file, ":", line_and_column(text, e.offset), ": ", e.message);
  }
  try {
    verify(package);
  } catch (const UserError& e) {
    fail(file, ": ", e.what());
  }
  return package;
}

Graph parse_graph(std::string_view text, std::string_view file) {
  Package package = parse(text, file);
  if (package.graphs.size() != 1) {
    fail(file, ": one graph is needed here, the text has ", package.graphs.size());
  }
  return std::move(package.graphs[0]);
}

}  // namespace plait::ir
