// The text that data.kind "text" without a path means.
#pragma once

#include <string>

namespace plait::cli {

/// What the build puts beside the program; empty where that cannot be found out.
std::string own_text();

}  // namespace plait::cli
