// Between arrays and the bytes of files: little-endian numbers, sizes checked before anything is
// allocated, booleans made 0 or 1.
#pragma once

#include <bit>
#include <string>
#include <string_view>

#include "base/array.h"

namespace plait::io {

static_assert(std::endian::native == std::endian::little, "files are read in the host's order");

/// An unsigned number of up to 8 bytes.
std::uint64_t little_endian(std::string_view bytes);
std::string little_endian(std::uint64_t value, std::size_t width);

/// How many bytes a tensor of these sizes has; UserError, starting with `name`, where 64 bits
/// cannot count them.
std::size_t tensor_bytes(DType dtype, const Sizes& sizes, std::string_view name);

/// An array whose elements are exactly `bytes`, in the host's order. UserError, starting with
/// `name`, when there are too few or too many; nothing is allocated before.
Array array_from_bytes(DType dtype, const Sizes& sizes, std::string_view bytes,
                       std::string_view name);
std::string_view bytes_of(const Array& array);

/// Reverses the bytes of every element.
void swap_bytes(Array& array);

}  // namespace plait::io
