// Parsing the text form: symbols, then graphs. docs/text_form.md has the grammar.
#include <unordered_set>

#include "base/names.h"
#include "base/symbols.h"
#include "ir/reader.h"
#include "ir/text.h"
#include "ir/verify.h"

namespace plait::ir {
namespace {

Package read_package(std::string_view text) {
  Lexer in{text};
  const DimBindings symbols = read_symbols(in);
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
  Package package = located_in(text, file, [&] { return read_package(text); });
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
