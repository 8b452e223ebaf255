// Loading what the user named.
#include "cli/source.h"

#include "base/error.h"
#include "base/text.h"
#include "cli/output.h"
#include "models/registry.h"
#include "ops/verify.h"
#include "run/session.h"

namespace plait::cli {
namespace {

constexpr std::string_view kModelPrefix = "model:";

std::string range_text(const Dim& symbol) { return str(symbol.lo(), "..", symbol.hi()); }

/// `batch (1..64), time (1..1024)`
std::string ranges_text(const std::map<std::string, Dim>& symbols) {
  std::vector<std::string> parts;
  for (const auto& [name, symbol] : symbols) {
    parts.push_back(str(name, " (", range_text(symbol), ")"));
  }
  return join(parts, ", ");
}

}  // namespace

io::Document load_document(const std::string& file) {
  io::Document document;
  if (file.starts_with(kModelPrefix)) {
    document.format = "plait";
    document.import.package = models::build(std::string_view(file).substr(kModelPrefix.size()));
  } else {
    document = io::read_document(file);
  }
  if (document.import.package.graphs.empty()) fail(file, ": holds no graph");
  for (const std::string& text : document.import.notes) note(str(file, ": ", text));
  return document;
}

std::string model_named(const std::string& file) {
  if (!file.starts_with(kModelPrefix)) return "";
  const std::string spec = file.substr(kModelPrefix.size());
  return spec.substr(0, spec.find('?'));
}

ir::Package set_symbols(const io::Import& import, const Args& args) {
  const std::map<std::string, Dim> symbols = symbols_of(import.package);
  DimBindings bindings;
  for (const std::string& list : args.all("--set")) {
    for (const std::string& pair : split(list, ',')) {
      const auto [name, text] = name_and_value("--set", pair);
      const auto symbol = symbols.find(name);
      if (symbol == symbols.end()) {
        fail("--set ", pair, ": ",
             symbols.empty()
                 ? "all sizes are numbers already; a model's are set in its spec, as "
                   "in model:NAME?batch=4"
                 : str("there is no symbol '", name, "'; there are ", ranges_text(symbols)));
      }
      const std::int64_t value = parse_integer(text, "--set " + name);
      if (value < symbol->second.lo() || value > symbol->second.hi()) {
        fail("--set ", pair, ": ", name, " must be in ", range_text(symbol->second));
      }
      if (!bindings.emplace(name, Dim(value)).second) {
        throw UsageError(str("--set gives ", name, " twice"));
      }
    }
  }
  bindings.merge(import.bindings());  // what the document says, where the user says nothing
  ir::Package out;
  out.logs = import.package.logs;
  for (const ir::Graph& graph : import.package.graphs) {
    out.graphs.push_back(bindings.empty() ? graph : substitute(graph, bindings));
  }
  return out;
}

void check_types(const ir::Package& package, const std::string& file) {
  for (const ir::Graph& graph : package.graphs) {
    try {
      verify_types(graph);
    } catch (const UserError& e) {
      fail(file, ": graph ", graph.name, ": ", e.what());
    }
  }
}

ir::Package load_checked(const Args& args) {
  ir::Package package = set_symbols(load_document(args.words()[0]).import, args);
  check_types(package, args.words()[0]);
  return package;
}

const ir::Graph& chosen_graph(const ir::Package& package, const Args& args) {
  return find_graph(package, args.has("--graph") ? args.text("--graph") : "");
}

void require_numbers(const ir::Graph& graph) {
  const std::map<std::string, Dim> symbols = symbols_of(graph);
  if (symbols.empty()) return;
  std::vector<std::string> example;
  for (const auto& [name, symbol] : symbols) example.push_back(str(name, "=", symbol.lo()));
  fail("graph ", graph.name, " has sizes that are not numbers: ", ranges_text(symbols),
       ". Give them with --set ", join(example, ","));
}

}  // namespace plait::cli
