// A signed id, index or count as an index into a container. It checks nothing.

#pragma once

#include <cstddef>
#include <cstdint>

namespace plait {

constexpr std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

}  // namespace plait
