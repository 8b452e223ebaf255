// Protobuf's text form, as far as op confs use it: fields with a scalar or a message, one a line.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "io/lines.h"

namespace plait::io::oneflow {

struct ProtoField {
  std::string key;
  std::string text;                // of a scalar; a string without its quotes
  bool quoted = false;             // it was a string
  std::vector<ProtoField> fields;  // of a message
  bool message = false;
  std::int64_t line = 0;
};

/// Reads fields up to an empty line; the first stands on the next line, `: ` before it or not.
/// UserError on a line that is no field, nesting deeper than 16, or the end of the log.
std::vector<ProtoField> read_message(Lines& lines);

/// A string with the escapes that reading takes.
std::string proto_quoted(std::string_view text);

}  // namespace plait::io::oneflow
