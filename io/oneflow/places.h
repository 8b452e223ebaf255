// Where the log says that each tensor lives.
#pragma once

#include <string>
#include <unordered_map>

#include "io/oneflow/record.h"
#include "ir/place.h"

namespace plait::io::oneflow {

/// By tensor: from the tree, and from the notes of tracing for variables and inputs.
std::unordered_map<std::string, ir::Place> places_of(const Record& record);

ir::Place place_of(const Placement& placement, const Layouts& layouts);

}  // namespace plait::io::oneflow
