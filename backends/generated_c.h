// Generated C as planning takes it: a call without its buffers, and the kernel id in its name.
#pragma once

#include <string>
#include <utility>

#include "backends/target.h"
#include "codegen/print_c.h"

namespace plait {

inline PrintedLoop printed_loop(codegen::Printed p) {
  PrintedLoop out;
  out.call.function = {p.name, p.parameters};
  out.call.column_sizes = p.column_sizes;
  out.call.kept = p.kept;
  out.call.kept_size = p.kept_size;
  out.call.rows = p.rows;
  out.call.finish_rows = p.finish_rows;
  out.text = std::move(p.text);
  return out;
}

/// `k_pointwise_0c6674c5...` is loop.pointwise.0c6674c5.
inline std::string loop_kernel_id(const std::string& function) {
  const std::size_t cut = function.rfind('_');
  return str("loop.", function.substr(2, cut - 2), ".", function.substr(cut + 1, 8));
}

}  // namespace plait
