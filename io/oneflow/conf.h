// Op confs: what tracing prints for each op, a message in protobuf's text form.
#pragma once

#include <string>

#include "io/lines.h"
#include "io/oneflow/record.h"

namespace plait::io::oneflow {

/// Reads the conf that begins on the next line and ends with an empty one. UserError when the log
/// ends inside it, when a field is missing, repeated or of another kind, or a size cannot be.
TracedOp read_conf(Lines& lines);

/// The same text again, with the empty line.
std::string conf_text(const TracedOp& op);

}  // namespace plait::io::oneflow
