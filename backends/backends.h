// The backends by name.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "backends/backend.h"
#include "backends/target.h"

namespace plait {

std::vector<std::string> backend_names();
/// UserError with the names there are when there is none of this name.
std::unique_ptr<Backend> make_backend(std::string_view name);

/// A backend that runs programs; null for one that runs graphs node by node. UserError as above.
/// `threads` 0: as many as the machine has cpus for this process.
std::unique_ptr<Target> make_target(std::string_view name, int threads = 0);

}  // namespace plait
