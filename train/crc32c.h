// CRC-32C (Castagnoli): the checksum of checkpoints and of TensorBoard's records. Finds every
// single flipped bit; not for adversaries.
#pragma once

#include <cstdint>
#include <string_view>

namespace plait::train {

/// Continues `crc`, so that pieces sum up as their concatenation does.
std::uint32_t crc32c(std::string_view bytes, std::uint32_t crc = 0);

}  // namespace plait::train
