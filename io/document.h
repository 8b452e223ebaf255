// A document of one of the formats, whichever it is: read whole, its format found by its content.
// The formats are the rows of one table.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <variant>

#include "io/aicf/record.h"
#include "io/aitemplate/record.h"
#include "io/chainer/record.h"
#include "io/import.h"
#include "io/lines.h"
#include "io/megengine/record.h"
#include "io/oneflow/record.h"
#include "io/run_times.h"

namespace plait::io {

/// What a document says beyond its graphs. The text form says nothing beyond them.
using Record = std::variant<std::monostate, aicf::Record, megengine::Record, chainer::Record,
                            oneflow::Record, aitemplate::Record>;

struct Document {
  std::string format;  // a name of formats()
  Record record;
  Import import;
};

struct Format {
  std::string_view name;
  std::string_view begins;  // how such a document begins, for people
  bool (*detects)(std::string_view head);
  Record (*read)(Lines& lines, std::string_view text);
  Import (*to_graphs)(const Record& record);
  Record (*from_graph)(const ir::Graph& graph, const RunTimes& times);
  std::string (*write)(const Record& record);
  bool streams = false;      // read from `lines` alone; the others from `text`
  bool wants_times = false;  // from_graph needs real times
};

/// The five formats; the text form and pictures are not among them.
std::span<const Format> formats();
/// Null when there is none.
const Format* find_format(std::string_view name);

/// Reads a file, or standard input for `-`. UserError names the file and line; where the format is
/// not known, how those that are known begin. Memory is bounded: a document that is not a log may
/// have 256 MB.
Document read_document(const std::string& path);
/// The same from memory; `name` is for messages.
Document read_document(std::string_view text, const std::string& name);

}  // namespace plait::io
