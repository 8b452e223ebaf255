// FILE as every command takes it: a path whose format is detected by content, or a model's spec.
#pragma once

#include <string>

#include "cli/args.h"
#include "io/document.h"

namespace plait::cli {

/// `model:NAME?key=value&...`, a path, or `-` for standard input. Structure is checked, types are
/// not. UserError names the file and, when it is no known format, the formats that are.
io::Document load_document(const std::string& file);

/// The name in `model:NAME?...`; empty for files.
std::string model_named(const std::string& file);

/// The package of a document with its sizes fixed: those the document fixes itself, and those that
/// `--set` says. UserError with names and ranges on an unknown symbol, with the range on a value
/// outside it.
ir::Package set_symbols(const io::Import& import, const Args& args);

/// UserError naming file, graph and node unless every graph is what its ops compute.
void check_types(const ir::Package& package, const std::string& file);

/// FILE of the command line, its symbols set and its types checked.
ir::Package load_checked(const Args& args);

/// The graph that `--graph` names, or the first; UserError lists the names there are.
const ir::Graph& chosen_graph(const ir::Package& package, const Args& args);

/// UserError naming symbols, ranges and `--set` when sizes of the graph are not numbers.
void require_numbers(const ir::Graph& graph);

}  // namespace plait::cli
