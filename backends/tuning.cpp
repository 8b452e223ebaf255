// Tuning results of a program and of the cache.
#include "backends/tuning.h"

#include "codegen/cache.h"

namespace plait {
namespace {

std::string name_of(const std::string& kind, std::uint64_t key) {
  return str(kind, "-", std::hex, key);
}

}  // namespace

std::optional<std::string> known_result(Tuning& tuning, const std::string& kind,
                                        std::uint64_t key) {
  const auto given = tuning.given.find(name_of(kind, key));
  std::optional<std::string> result =
      given != tuning.given.end() ? given->second : codegen::cache::load(kind, key);
  if (result) keep_here(tuning, kind, key, *result);
  return result;
}

void keep_result(Tuning& tuning, const std::string& kind, std::uint64_t key,
                 const std::string& result) {
  keep_here(tuning, kind, key, result);
  codegen::cache::store(kind, key, result);
}

void keep_here(Tuning& tuning, const std::string& kind, std::uint64_t key,
               const std::string& result) {
  tuning.used[name_of(kind, key)] = result;
}

}  // namespace plait
