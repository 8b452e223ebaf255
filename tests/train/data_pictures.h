// PNG and JPEG files made for tests.
#pragma once

#include <stdio.h>  // jpeglib.h wants FILE and size_t

#include <jpeglib.h>
#include <png.h>

#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "base/error.h"

namespace plait::test {

using Pixels = std::vector<std::uint8_t>;

/// `pixels` in libpng's format (PNG_FORMAT_GRAY, _RGB, _RGBA, or _RGB_COLORMAP with a map).
inline std::string png_bytes(int width, int height, png_uint_32 format,
                             const std::vector<std::uint8_t>& pixels,
                             const std::vector<std::uint8_t>& map = {}) {
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  image.width = static_cast<png_uint_32>(width);
  image.height = static_cast<png_uint_32>(height);
  image.format = format;
  image.colormap_entries = static_cast<png_uint_32>(map.size() / 3);
  check(pixels.size() == PNG_IMAGE_SIZE(image), "a PNG of ", pixels.size(), " bytes");
  std::string out(1 << 20, '\0');
  png_alloc_size_t used = out.size();
  const int done = png_image_write_to_memory(&image, out.data(), &used, 0, pixels.data(), 0,
                                             map.empty() ? nullptr : map.data());
  check(done != 0, image.message);
  out.resize(used);
  return out;
}

/// Quality 100; `space` is JCS_GRAYSCALE, JCS_RGB or JCS_CMYK with 1, 3 or 4 bytes a pixel.
inline std::string jpeg_bytes(int width, int height, J_COLOR_SPACE space,
                              std::vector<std::uint8_t> pixels) {
  jpeg_compress_struct jpeg{};
  jpeg_error_mgr errors{};
  jpeg.err = jpeg_std_error(&errors);
  jpeg_create_compress(&jpeg);
  unsigned char* out = nullptr;
  unsigned long used = 0;
  jpeg_mem_dest(&jpeg, &out, &used);
  jpeg.image_width = static_cast<JDIMENSION>(width);
  jpeg.image_height = static_cast<JDIMENSION>(height);
  jpeg.in_color_space = space;
  jpeg.input_components = space == JCS_GRAYSCALE ? 1 : space == JCS_RGB ? 3 : 4;
  jpeg_set_defaults(&jpeg);
  jpeg_set_quality(&jpeg, 100, TRUE);
  jpeg_start_compress(&jpeg, TRUE);
  while (jpeg.next_scanline < jpeg.image_height) {
    const JDIMENSION stride = jpeg.image_width * static_cast<JDIMENSION>(jpeg.input_components);
    JSAMPROW row = pixels.data() + jpeg.next_scanline * stride;
    jpeg_write_scanlines(&jpeg, &row, 1);
  }
  jpeg_finish_compress(&jpeg);
  jpeg_destroy_compress(&jpeg);
  std::string bytes(reinterpret_cast<const char*>(out), used);
  std::free(out);
  return bytes;
}

/// One colour all over.
inline std::vector<std::uint8_t> filled(int pixels, const std::vector<std::uint8_t>& colour) {
  std::vector<std::uint8_t> out;
  for (int i = 0; i < pixels; ++i) out.insert(out.end(), colour.begin(), colour.end());
  return out;
}

}  // namespace plait::test
