// Pictures of 8 bits a channel, read from PNG and JPEG by libpng and libjpeg. Orientation notes of
// cameras (EXIF) are not followed.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace plait::train {

struct Image {
  std::int64_t height = 0, width = 0, channels = 3;
  std::vector<std::uint8_t> pixels;  // [height, width, channels]
};

/// PNG or JPEG, told apart by content, as RGB. Grey and palettes become RGB, 16 bits 8, what is
/// transparent is laid over white. UserError names the file: missing, neither of both, cut,
/// corrupt.
Image read_image(const std::string& path);

/// The same on bytes in memory; `name` is for messages.
Image decode_png(std::string_view bytes, std::string_view name);
Image decode_jpeg(std::string_view bytes, std::string_view name);

/// Refuses sizes that no picture for training has, before memory is taken for them.
void check_image_size(std::int64_t height, std::int64_t width, std::string_view name);

}  // namespace plait::train
