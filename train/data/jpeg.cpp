// JPEG by libjpeg. Its errors jump back to decode(), past frames of C only: nothing that has a
// destructor lives between the jump and its landing.
#include <stdio.h>  // jpeglib.h wants FILE and size_t

#include <jpeglib.h>

#include <jerror.h>

#include <csetjmp>

#include "base/error.h"
#include "train/data/image.h"

namespace plait::train {
namespace {

/// libjpeg's state and where its errors go; destroyed in every case.
struct Decoder {
  jpeg_decompress_struct jpeg{};
  jpeg_error_mgr errors{};
  std::jmp_buf landing{};
  char message[JMSG_LENGTH_MAX] = "";
  Decoder() = default;
  ~Decoder() { jpeg_destroy_decompress(&jpeg); }
  Decoder(const Decoder&) = delete;
  Decoder& operator=(const Decoder&) = delete;
};

[[noreturn]] void jump_out(j_common_ptr jpeg) {
  auto* decoder = static_cast<Decoder*>(jpeg->client_data);
  jpeg->err->format_message(jpeg, decoder->message);
  std::longjmp(decoder->landing, 1);
}

/// Warnings are of pixels that had to be guessed: an error, but for those that lose nothing.
void on_message(j_common_ptr jpeg, int level) {
  const int code = jpeg->err->msg_code;
  const bool harmless =
      code == JWRN_EXTRANEOUS_DATA || code == JWRN_ADOBE_XFORM || code == JWRN_JFIF_MAJOR;
  if (level < 0 && !harmless) jump_out(jpeg);
}

bool is_cmyk(const jpeg_decompress_struct& jpeg) {
  return jpeg.jpeg_color_space == JCS_CMYK || jpeg.jpeg_color_space == JCS_YCCK;
}

/// False after an error of libjpeg, whose text is in decoder.message. Throws only out of frames
/// that are C++'s own.
bool begin(Decoder& decoder, std::string_view bytes) {
  jpeg_decompress_struct& jpeg = decoder.jpeg;
  jpeg.err = jpeg_std_error(&decoder.errors);
  decoder.errors.error_exit = jump_out;
  decoder.errors.emit_message = on_message;
  jpeg.client_data = &decoder;
  if (setjmp(decoder.landing) != 0) return false;
  jpeg_create_decompress(&jpeg);
  jpeg_mem_src(&jpeg, reinterpret_cast<const unsigned char*>(bytes.data()),
               static_cast<unsigned long>(bytes.size()));
  jpeg_read_header(&jpeg, TRUE);
  jpeg.out_color_space = is_cmyk(jpeg) ? JCS_CMYK : JCS_RGB;
  jpeg.dct_method = JDCT_ISLOW;
  jpeg_calc_output_dimensions(&jpeg);
  return true;
}

bool read_rows(Decoder& decoder, std::uint8_t* pixels) {
  jpeg_decompress_struct& jpeg = decoder.jpeg;
  if (setjmp(decoder.landing) != 0) return false;
  jpeg_start_decompress(&jpeg);
  const std::size_t stride = std::size_t{jpeg.output_width} * jpeg.output_components;
  while (jpeg.output_scanline < jpeg.output_height) {
    JSAMPROW row = pixels + jpeg.output_scanline * stride;
    jpeg_read_scanlines(&jpeg, &row, 1);
  }
  jpeg_finish_decompress(&jpeg);
  return true;
}

/// Adobe's programs, the only ones that write CMYK, store it inverted: 255 is no ink.
Image rgb_of_cmyk(const Image& cmyk, bool inverted) {
  Image rgb{cmyk.height, cmyk.width, 3, {}};
  rgb.pixels.reserve(cmyk.pixels.size() / 4 * 3);
  const auto paper = [&](std::size_t i) {
    return static_cast<unsigned>(inverted ? cmyk.pixels[i] : 255 - cmyk.pixels[i]);
  };
  for (std::size_t i = 0; i + 3 < cmyk.pixels.size(); i += 4) {
    for (std::size_t c = 0; c < 3; ++c) {
      rgb.pixels.push_back(static_cast<std::uint8_t>((paper(i + c) * paper(i + 3) + 127) / 255));
    }
  }
  return rgb;
}

}  // namespace

Image decode_jpeg(std::string_view bytes, std::string_view name) {
  Decoder decoder;
  if (!begin(decoder, bytes)) fail(name, ": corrupt JPEG: ", decoder.message);
  const jpeg_decompress_struct& jpeg = decoder.jpeg;
  check_image_size(jpeg.output_height, jpeg.output_width, name);
  const bool cmyk = is_cmyk(jpeg);
  Image image{jpeg.output_height, jpeg.output_width, cmyk ? 4 : 3, {}};
  image.pixels.resize(static_cast<std::size_t>(image.height * image.width * image.channels));
  if (!read_rows(decoder, image.pixels.data())) fail(name, ": corrupt JPEG: ", decoder.message);
  return cmyk ? rgb_of_cmyk(image, jpeg.saw_Adobe_marker) : image;
}

}  // namespace plait::train
