// Durations as people read them.
#pragma once

#include <string>

namespace plait {

/// Milliseconds to so many decimals; below one to three significant digits.
std::string milliseconds_text(double ms, int decimals);

}  // namespace plait
