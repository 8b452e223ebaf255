// Digits by the size of a time.
#include "base/duration.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace plait {

std::string milliseconds_text(double ms, int decimals) {
  if (ms > 1e-12 && ms < 1) {
    decimals = std::max(decimals, 2 - static_cast<int>(std::floor(std::log10(ms))));
  }
  char text[400];  // the largest double has 309 digits
  std::snprintf(text, sizeof text, "%.*f", decimals, ms);
  return text;
}

}  // namespace plait
