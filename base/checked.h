// Sums that may not fit 64 bits: what a user's sizes add up to is checked, never wrapped.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/error.h"

namespace plait {

/// sum += more; UserError naming `what` when 64 bits cannot hold it.
inline void add_checked(std::int64_t& sum, std::int64_t more, std::string_view what) {
  if (__builtin_add_overflow(sum, more, &sum)) {
    fail("more ", what, " than 64 bits can count: are the sizes right?");
  }
}

}  // namespace plait
