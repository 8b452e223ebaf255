// The backends by name.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "backends/backend.h"

namespace plait {

std::vector<std::string> backend_names();
/// UserError with the names there are when there is none of this name.
std::unique_ptr<Backend> make_backend(std::string_view name);

}  // namespace plait
