// Arrays from and to the bytes of files.
#include "io/bytes.h"

#include <algorithm>
#include <cstring>

namespace plait::io {

std::uint64_t little_endian(std::string_view bytes) {
  std::uint64_t value = 0;
  for (std::size_t i = bytes.size(); i-- > 0;) {
    value = value << 8 | static_cast<unsigned char>(bytes[i]);
  }
  return value;
}

std::string little_endian(std::uint64_t value, std::size_t width) {
  std::string out;
  for (std::size_t i = 0; i < width; ++i, value >>= 8) out += static_cast<char>(value & 0xff);
  return out;
}

std::size_t tensor_bytes(DType dtype, const Sizes& sizes, std::string_view name) {
  auto bytes = static_cast<std::int64_t>(size_of(dtype));
  bool empty = false;
  for (std::int64_t d : sizes) {
    empty |= d == 0;  // the other sizes must be countable all the same
    if (d != 0 && __builtin_mul_overflow(bytes, d, &bytes)) {
      fail(name, ": ", dtype, shape_text(sizes), " has more bytes than 64 bits can count");
    }
  }
  return empty ? 0 : static_cast<std::size_t>(bytes);
}

Array array_from_bytes(DType dtype, const Sizes& sizes, std::string_view bytes,
                       std::string_view name) {
  const std::size_t needed = tensor_bytes(dtype, sizes, name);
  if (bytes.size() != needed) {
    fail(name, bytes.size() < needed ? ": cut off: " : ": too long: ", dtype, shape_text(sizes),
         " takes ", needed, " bytes, there are ", bytes.size());
  }
  Array array(dtype, sizes);
  if (needed > 0) std::memcpy(array.data(), bytes.data(), needed);
  if (dtype == DType::boolean) {
    for (std::size_t i = 0; i < needed; ++i) {
      array.data()[i] = array.data()[i] == std::byte{0} ? std::byte{0} : std::byte{1};
    }
  }
  return array;
}

std::string_view bytes_of(const Array& array) {
  return {reinterpret_cast<const char*>(array.data()), array.byte_count()};
}

void swap_bytes(Array& array) {
  const std::size_t width = size_of(array.dtype());
  for (std::size_t i = 0; i < array.byte_count(); i += width) {
    std::reverse(array.data() + i, array.data() + i + width);
  }
}

}  // namespace plait::io
