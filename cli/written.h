// Graphs and documents as text in any of the formats that Plait writes.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "io/document.h"

namespace plait::cli {

inline constexpr std::string_view kFormatsHelp =
    "plait (the default), aicf, megengine, chainer, oneflow, aitemplate or dot";

/// `plait`, `dot` and the document formats.
std::vector<std::string> format_names();
/// UsageError with the nearest name unless it is one of them.
void check_format(std::string_view flag, const std::string& format);

/// The document in its own format, as it was read.
std::string text_as_read(const io::Document& document);
/// The package in a format. Those of documents hold one graph: the package's first. MegEngine's
/// holds times: the graph is run for them, once, on the reference backend. UserError names the node
/// that the format has no word for.
std::string text_of(const ir::Package& package, const std::string& format);

}  // namespace plait::cli
