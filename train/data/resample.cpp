// Separable resampling: rows first, then columns; the weights of each output line are made once.
#include "train/data/resample.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"

namespace plait::train {
namespace {

/// out[i] = sum over k of weights[k] * in[first + k]
struct Taps {
  std::int64_t first = 0;
  std::vector<float> weights;
};

/// `scale` input pixels per output pixel; the outputs' middle lies on the input's.
std::vector<Taps> taps_for(std::int64_t in, std::int64_t out, double scale) {
  const double start = (static_cast<double>(in) - static_cast<double>(out) * scale) / 2;
  const double reach = std::max(scale, 1.0);
  std::vector<Taps> all;
  for (std::int64_t i = 0; i < out; ++i) {
    const double centre = start + (static_cast<double>(i) + 0.5) * scale;
    const auto lo = static_cast<std::int64_t>(std::floor(centre - reach - 0.5));
    const auto hi = static_cast<std::int64_t>(std::ceil(centre + reach + 0.5));
    Taps taps{std::clamp<std::int64_t>(lo, 0, in - 1), {}};
    std::vector<double> weights;
    double sum = 0;
    for (std::int64_t j = taps.first; j < std::min(in, hi); ++j) {
      const double distance = std::abs(static_cast<double>(j) + 0.5 - centre) / reach;
      weights.push_back(std::max(0.0, 1 - distance));
      sum += weights.back();
    }
    check(sum > 0, "an output pixel without input at ", centre, " of ", in);
    for (const double weight : weights) taps.weights.push_back(static_cast<float>(weight / sum));
    all.push_back(std::move(taps));
  }
  return all;
}

/// [height, width, channels of the picture] -> [height, taps, channels], for the rows in use only.
std::vector<float> shrink_rows(const Image& image, const std::vector<Taps>& taps,
                               std::int64_t first_row, std::int64_t end_row) {
  const std::int64_t channels = image.channels;
  std::vector<float> out;
  out.reserve(static_cast<std::size_t>(end_row - first_row) * taps.size() *
              static_cast<std::size_t>(channels));
  for (std::int64_t y = first_row; y < end_row; ++y) {
    const std::uint8_t* row = image.pixels.data() + y * image.width * channels;
    for (const Taps& tap : taps) {
      for (std::int64_t c = 0; c < channels; ++c) {
        float sum = 0;
        const std::uint8_t* pixel = row + tap.first * channels + c;
        for (const float weight : tap.weights) {
          sum += weight * static_cast<float>(*pixel);
          pixel += channels;
        }
        out.push_back(sum);
      }
    }
  }
  return out;
}

/// The feed's channels from the picture's: as they are, one for three, or three for one by luma.
float channel(const float* pixel, std::int64_t has, std::int64_t wants, std::int64_t c) {
  if (has == wants) return pixel[c];
  if (has == 1) return pixel[0];
  return 0.299f * pixel[0] + 0.587f * pixel[1] + 0.114f * pixel[2];
}

void fill(std::vector<double>& values, std::int64_t channels, std::string_view what) {
  const auto wanted = static_cast<std::size_t>(channels);
  if (values.size() == 1) values.resize(wanted, values[0]);
  // Three given and one wanted: their average stands for the grey.
  if (values.size() == 3 && wanted == 1) values = {(values[0] + values[1] + values[2]) / 3};
  if (values.size() != wanted) {
    fail(what, " has ", values.size(), " values; the model's pictures have ", channels,
         channels == 1 ? " channel" : " channels");
  }
}

}  // namespace

PictureForm picture_form(const FeedType& feed, const Normal& normal) {
  const auto is_channels = [](std::int64_t size) { return size == 1 || size == 3; };
  const bool picture = is_float(feed.dtype) && feed.sizes.size() == 3 &&
                       (is_channels(feed.sizes[0]) || is_channels(feed.sizes[2]));
  if (!picture) {
    fail("the model's feed ", feeds_text({&feed, 1}), " is no picture: floats [channels, height, ",
         "width] or [height, width, channels] with 1 or 3 channels");
  }
  PictureForm form;
  form.channels_last = !is_channels(feed.sizes[0]);
  const std::size_t at = form.channels_last ? 0 : 1;
  form.channels = feed.sizes[form.channels_last ? 2 : 0];
  form.height = feed.sizes[at];
  form.width = feed.sizes[at + 1];
  if (form.height < 1 || form.width < 1) fail("the model's pictures have no pixels");
  Normal n = normal;
  fill(n.mean, form.channels, "mean");
  fill(n.deviation, form.channels, "deviation");
  for (std::size_t c = 0; c < n.mean.size(); ++c) {
    if (!(n.deviation[c] > 0)) fail("deviation ", n.deviation[c], " is not above 0");
    form.scale.push_back(static_cast<float>(1 / (255 * n.deviation[c])));
    form.shift.push_back(static_cast<float>(-n.mean[c] / n.deviation[c]));
  }
  return form;
}

void resample(const Image& image, const PictureForm& form, std::span<float> out) {
  check(out.size() == form.elements(), "a picture of ", form.elements(), " values into ",
        out.size());
  const double scale =
      std::min(static_cast<double>(image.height) / static_cast<double>(form.height),
               static_cast<double>(image.width) / static_cast<double>(form.width));
  const std::vector<Taps> across = taps_for(image.width, form.width, scale);
  const std::vector<Taps> down = taps_for(image.height, form.height, scale);
  const std::int64_t first = down.front().first;
  std::int64_t end = 0;
  for (const Taps& t : down) {
    end = std::max(end, t.first + static_cast<std::int64_t>(t.weights.size()));
  }
  // [rows in use, form.width, image.channels]
  const std::vector<float> rows = shrink_rows(image, across, first, end);
  const std::int64_t width = form.width * image.channels;
  std::vector<float> line(static_cast<std::size_t>(width));
  for (std::int64_t y = 0; y < form.height; ++y) {
    const Taps& taps = down[static_cast<std::size_t>(y)];
    std::fill(line.begin(), line.end(), 0.0f);
    const float* row = rows.data() + (taps.first - first) * width;
    for (const float weight : taps.weights) {
      for (std::int64_t i = 0; i < width; ++i) line[static_cast<std::size_t>(i)] += weight * row[i];
      row += width;
    }
    for (std::int64_t x = 0; x < form.width; ++x) {
      for (std::int64_t c = 0; c < form.channels; ++c) {
        const float* pixel = line.data() + x * image.channels;
        const float value = channel(pixel, image.channels, form.channels, c);
        const std::int64_t at = form.channels_last ? (y * form.width + x) * form.channels + c
                                                   : (c * form.height + y) * form.width + x;
        const auto ch = static_cast<std::size_t>(c);
        out[static_cast<std::size_t>(at)] = value * form.scale[ch] + form.shift[ch];
      }
    }
  }
}

}  // namespace plait::train
