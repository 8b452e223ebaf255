// Tuning results: what was measured, by kind and key. A program keeps those that its choices were
// made by; other programs find them in the cache.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "backends/target.h"

namespace plait {

/// The result of an earlier planning that is being repeated, else the cache's. It becomes one of
/// those that the program keeps.
std::optional<std::string> known_result(Tuning& tuning, const std::string& kind, std::uint64_t key);

/// What has just been measured.
void keep_result(Tuning& tuning, const std::string& kind, std::uint64_t key,
                 const std::string& result);

/// What could not be measured, and may be another time: the program keeps it, the cache does not.
void keep_here(Tuning& tuning, const std::string& kind, std::uint64_t key,
               const std::string& result);

}  // namespace plait
