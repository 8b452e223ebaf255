// How the log's names become ours: module paths, states, feeds, fetches, lines of source.
#pragma once

#include <string>
#include <string_view>

#include "io/oneflow/record.h"
#include "ir/graph.h"

namespace plait::io::oneflow {

struct Names {
  std::string file;  // the document
  std::string root;  // `model.`, when every variable begins so

  explicit Names(const Record& record);

  /// `model.blocks.0.ln1.weight` -> `blocks.0.ln1.weight`
  std::string state(std::string_view variable) const;
  /// `_GraphBase_0_input.1.0_idx` -> `idx`; `_GraphBase_0_output.0.0.0_loss` -> `loss`
  std::string port(std::string_view op) const;
  /// The module of `<module path>-<type>-<number>`.
  std::string path(std::string_view op) const;
  /// The last Python frame of `loc`, or the line of the document.
  ir::Source source(std::string_view loc, LineNumber line) const;
};

/// The type in `<module path>-<type>-<number>`; empty when a name has another form.
std::string_view type_in_name(std::string_view op);

}  // namespace plait::io::oneflow
