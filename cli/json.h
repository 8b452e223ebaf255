// JSON on standard output.
#pragma once

#include <nlohmann/json.hpp>

#include "cli/output.h"

namespace plait::cli {

using Json = nlohmann::ordered_json;

inline void print_json(const Json& json) {
  print(json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n");
}

}  // namespace plait::cli
