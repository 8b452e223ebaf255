// What every fuzz target does with its bytes: a document or a clear refusal, nothing else.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "base/error.h"

namespace plait::fuzz {

/// Messages are one line or a few, not the document again.
inline constexpr std::size_t kMaxMessage = 4000;

/// Calls `read` with the bytes. A UserError with a message of reasonable length is an answer; what
/// else it throws ends the process, and that is a finding.
template <class Read>
int survives(const std::uint8_t* data, std::size_t size, Read read) {
  try {
    read(std::string_view(reinterpret_cast<const char*>(data), size));
  } catch (const UserError& e) {
    const std::string_view message = e.what();
    if (message.empty() || message.size() > kMaxMessage) {
      std::fprintf(stderr, "a message of %zu bytes\n", message.size());
      std::abort();
    }
  }
  return 0;
}

}  // namespace plait::fuzz
