// Generated C as planning takes it: a call without its buffers.
#pragma once

#include <string>
#include <utility>

#include "backends/target.h"
#include "codegen/print_c.h"

namespace plait {

inline PrintedLoop printed_loop(codegen::Printed p) {
  PrintedLoop out;
  out.call.kernel = p.kernel;
  out.call.function = {p.name, p.parameters};
  out.call.column_sizes = p.column_sizes;
  out.call.scratch_rows = p.scratch_rows;
  out.call.scratch_row_size = p.scratch_row_size;
  out.call.rows = p.rows;
  out.call.finish_rows = p.finish_rows;
  out.text = std::move(p.text);
  return out;
}

}  // namespace plait
