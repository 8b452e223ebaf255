// Which decoder a file wants; PNG by libpng's simplified interface, which keeps its own jumps.
#include "train/data/image.h"

#include <png.h>

#include <cstring>

#include "base/error.h"
#include "io/file.h"

namespace plait::train {
namespace {

constexpr std::int64_t kMaxPixels = std::int64_t{1} << 28;
constexpr std::string_view kPngMagic = "\x89PNG\r\n\x1a\n";
constexpr std::string_view kJpegMagic = "\xff\xd8\xff";

/// Frees what libpng holds, also after an error.
struct PngImage {
  png_image image{};
  PngImage() { image.version = PNG_IMAGE_VERSION; }
  ~PngImage() { png_image_free(&image); }
  PngImage(const PngImage&) = delete;
  PngImage& operator=(const PngImage&) = delete;
};

std::string first_bytes(std::string_view bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string out;
  for (const char c : bytes.substr(0, 4)) {
    const auto byte = static_cast<std::uint8_t>(c);
    if (!out.empty()) out += ' ';
    out += {kDigits[byte >> 4], kDigits[byte & 15]};
  }
  return out;
}

}  // namespace

void check_image_size(std::int64_t height, std::int64_t width, std::string_view name) {
  if (height < 1 || width < 1 || height > kMaxPixels / width) {
    fail(name, ": a picture of ", width, " x ", height, " pixels; at most ", kMaxPixels,
         " are read");
  }
}

Image decode_png(std::string_view bytes, std::string_view name) {
  PngImage png;
  if (png_image_begin_read_from_memory(&png.image, bytes.data(), bytes.size()) == 0) {
    fail(name, ": corrupt PNG: ", png.image.message);
  }
  Image image{png.image.height, png.image.width, 3, {}};
  check_image_size(image.height, image.width, name);
  png.image.format = PNG_FORMAT_RGB;
  image.pixels.resize(PNG_IMAGE_SIZE(png.image));
  const png_color white{255, 255, 255};
  const bool read = png_image_finish_read(&png.image, &white, image.pixels.data(), 0, nullptr) != 0;
  if (!read) fail(name, ": corrupt PNG: ", png.image.message);
  return image;
}

Image read_image(const std::string& path) {
  const std::string bytes = io::read_file(path);
  if (bytes.starts_with(kPngMagic)) return decode_png(bytes, path);
  if (bytes.starts_with(kJpegMagic)) return decode_jpeg(bytes, path);
  if (bytes.empty()) fail(path, ": empty");
  fail(path, ": neither PNG nor JPEG: it begins with ", first_bytes(bytes));
}

}  // namespace plait::train
