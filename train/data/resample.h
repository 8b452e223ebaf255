// From a picture of any size to a model's feed: scaled so that it covers the feed, cut at the
// centre, normalised.
#pragma once

#include <vector>

#include "train/data/image.h"
#include "train/data/source.h"

namespace plait::train {

/// (pixel / 255 - mean) / deviation, by channel or one for all.
struct Normal {
  std::vector<double> mean, deviation;
};

/// How a feed holds a picture: NCHW or NHWC of 1 or 3 channels.
struct PictureForm {
  std::int64_t channels = 3, height = 0, width = 0;
  bool channels_last = false;
  std::vector<float> scale, shift;  // by channel: value = pixel * scale + shift

  std::size_t elements() const { return static_cast<std::size_t>(channels * height * width); }
};

/// UserError when the feed is no picture or `normal` does not fit its channels.
PictureForm picture_form(const FeedType& feed, const Normal& normal);

/// The picture in the feed's form, into form.elements() values. Bilinear; when the picture shrinks
/// each value is an average over all the pixels it stands for (the triangle widens), as in PIL.
void resample(const Image& image, const PictureForm& form, std::span<float> out);

}  // namespace plait::train
