// Finding the directions of a convolution: which pixels and taps walk the image together.
#include "backends/cuda/library/convolution.h"

#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <tuple>
#include <vector>

#include "backends/cuda/library/matrix.h"
#include "backends/cuda/library/way.h"

namespace plait::cuda {
namespace {

using Axes = std::vector<BoundAxis>;
using Step = std::int64_t BoundAxis::*;

constexpr std::int64_t kMostRatio = 16;  // of a stride or dilation that nothing but offsets shows

Axes without_ones(const Axes& axes) {
  Axes out;
  for (const BoundAxis& x : axes) {
    if (x.extent != 1) out.push_back(x);
  }
  return out;
}

class Finder {
 public:
  Finder(const loop::BoundContraction& c, Convolution& out) : c_(c), out_(out) {}

  Decision run() {
    for (const auto find : {&Finder::split, &Finder::take_guarded, &Finder::take_taps,
                            &Finder::take_pixels, &Finder::measure, &Finder::place}) {
      if (const Decision d = (this->*find)(); !d) return d;
    }
    return Decision::allow();
  }

 private:
  /// Channels, and the lists of what walks the image.
  Decision split() {
    if (!without_ones(c_.batch).empty()) return Decision::forbid("it has groups or batches");
    const Axes n = joined(c_.n);
    if (n.size() > 1) return Decision::forbid("its n are not one axis");
    if (!n.empty()) n_ = n[0];
    taps_ = without_ones(c_.k);
    pixels_ = without_ones(c_.m);
    if (take_channel(taps_)) return Decision::allow();
    std::swap(taps_, pixels_);
    is_filter_ = true;
    if (take_channel(taps_)) return Decision::allow();
    return Decision::forbid("the channels of its image are not next to each other");
  }

  bool take_channel(Axes& axes) {
    for (auto x = axes.begin(); x != axes.end(); ++x) {
      if (x->a != 1 || x->h != 0 || x->w != 0) continue;
      channel_ = *x;
      axes.erase(x);
      return true;
    }
    return false;
  }

  /// Axes that a guarded coordinate is made of.
  Decision take_guarded() {
    if (!c_.guarded) return Decision::allow();
    const auto take = [](Axes& from, Step q, BoundAxis& into) {
      int count = 0;
      for (auto x = from.begin(); x != from.end();) {
        if ((*x).*q == 0) {
          ++x;
          continue;
        }
        into = *x;
        x = from.erase(x);
        ++count;
      }
      return count <= 1;
    };
    for (const auto& [q, start, size] : {std::tuple{&BoundAxis::h, c_.h0, c_.height},
                                         std::tuple{&BoundAxis::w, c_.w0, c_.width}}) {
      Way way;
      const Step other = q == &BoundAxis::h ? &BoundAxis::w : &BoundAxis::h;
      if (!take(pixels_, q, way.pixel) || !take(taps_, q, way.tap)) {
        return Decision::forbid("two axes move one coordinate of its image");
      }
      if (way.pixel.*other != 0 || way.tap.*other != 0) {
        return Decision::forbid("an axis moves both coordinates of its image");
      }
      if (way.pixel.extent == 1 && way.tap.extent == 1) {
        if (start < 0 || start >= size) return Decision::forbid("all of it is padding");
        continue;
      }
      way.guarded = true;
      way.start = start;
      way.size = size;
      if (!by_coordinate(way, q)) return Decision::forbid("its image is not walked evenly");
      ways_.push_back(way);
    }
    return Decision::allow();
  }

  static bool by_coordinate(Way& way, Step q) {
    for (const BoundAxis* x : {&way.pixel, &way.tap}) {
      if (x->extent == 1) continue;
      const std::int64_t pitch = x->a / (x->*q);
      if (pitch * (x->*q) != x->a || pitch <= 0) return false;
      if (way.pitch != 0 && pitch != way.pitch) return false;
      way.pitch = pitch;
    }
    if (way.pixel.extent > 1) way.stride = way.pixel.*q;
    if (way.tap.extent > 1) way.dilation = std::abs(way.tap.*q);
    way.flipped = way.tap.*q < 0;
    return way.stride > 0;
  }

  /// Taps of unpadded directions, with the pixels that walk as they do.
  Decision take_taps() {
    for (const BoundAxis& tap : taps_) {
      Way way;
      way.tap = tap;
      way.flipped = tap.a < 0;
      way.pitch = std::abs(tap.a);
      if (way.pitch == 0) return Decision::forbid("a summed axis is not in its image");
      std::int64_t best = kMostRatio + 1;
      std::size_t which = pixels_.size();
      for (std::size_t i = 0; i < pixels_.size(); ++i) {
        if (pixels_[i].a <= 0) continue;
        const std::int64_t step = std::gcd(pixels_[i].a, tap.a);
        const std::int64_t ratio = std::max(pixels_[i].a, std::abs(tap.a)) / step;
        if (ratio >= best) continue;
        best = ratio;
        which = i;
      }
      if (which < pixels_.size()) {
        way.pixel = pixels_[which];
        pixels_.erase(pixels_.begin() + static_cast<std::ptrdiff_t>(which));
        way.pitch = std::gcd(way.pixel.a, tap.a);
        way.stride = way.pixel.a / way.pitch;
        way.dilation = std::abs(tap.a) / way.pitch;
      }
      ways_.push_back(way);
    }
    return Decision::allow();
  }

  /// Pixels without taps; what is left are images.
  Decision take_pixels() {
    std::stable_sort(pixels_.begin(), pixels_.end(),
                     [](const BoundAxis& x, const BoundAxis& y) { return x.a > y.a; });
    // Behind one direction with taps come images, unless they lie inside it.
    const auto is_direction = [&] {
      return joined(pixels_).size() > 1 || ways_.empty() || ways_[0].pitch == 0 ||
             pixels_.back().a < ways_[0].pitch;
    };
    while (ways_.size() < 2 && !pixels_.empty() && is_direction()) {
      Way way;
      way.pixel = pixels_.back();
      pixels_.pop_back();
      ways_.push_back(way);
    }
    const Axes images = joined(pixels_);
    if (images.size() > 1) return Decision::forbid("its images are not one axis");
    if (!images.empty()) image_ = images[0];
    if (ways_.empty()) return Decision::forbid("it has no height or width");
    if (ways_.size() > 2) return Decision::forbid("it has more than two directions");
    const auto step = [](const Way& way) { return way.pitch != 0 ? way.pitch : way.pixel.a; };
    std::stable_sort(ways_.begin(), ways_.end(),
                     [&](const Way& x, const Way& y) { return step(x) > step(y); });
    if (ways_.size() == 1) ways_.insert(ways_.begin(), Way{});
    return Decision::allow();
  }

  /// Pitches and strides that no tap shows, then the kind.
  Decision measure() {
    Way &high = ways_[0], &wide = ways_[1];
    if (wide.pitch == 0) {
      const std::int64_t times = wide.pixel.a / channel_.extent;
      const bool even = wide.pixel.a % channel_.extent == 0 && times >= 1 && times <= 8;
      wide.stride = even ? times : 1;
      wide.pitch = wide.pixel.a / wide.stride;
    }
    const std::int64_t across = reach(wide) * wide.pitch;
    if (high.pitch == 0 && high.pixel.extent > 1) {
      const bool even = high.pixel.a % wide.stride == 0 && high.pixel.a / wide.stride >= across;
      high.stride = even ? wide.stride : 1;
      high.pitch = high.pixel.a / high.stride;
    }
    if (high.pitch == 0) high.pitch = wide.guarded ? wide.size * wide.pitch : across;
    if (wide.pitch <= 0 || high.pitch <= 0 || image_.a < 0) {
      return Decision::forbid("its image is walked backwards");
    }
    int forward = 0, flipped = 0;
    for (const Way& way : ways_) {
      if (way.tap.extent > 1) ++(way.flipped ? flipped : forward);
    }
    if (flipped > 0 && (forward > 0 || is_filter_)) {
      return Decision::forbid("its taps run backwards");
    }
    // One tap runs both ways: the kind is the one whose weights have x's channels together.
    const bool plain = forward == 0 && high.stride == 1 && wide.stride == 1;
    const bool turned = plain && n_.extent > 1 && n_.b == 1 && channel_.b != 1;
    out_.kind = is_filter_              ? Convolution::kFilter
                : flipped > 0 || turned ? Convolution::kData
                                        : Convolution::kForward;
    return Decision::allow();
  }

  Decision place() {
    Way &high = ways_[0], &wide = ways_[1];
    std::int64_t base = c_.a0;
    const std::int64_t rows =
        image_.extent > 1 && image_.a % high.pitch == 0 ? image_.a / high.pitch : 0;
    const std::int64_t columns = high.pitch % wide.pitch == 0 ? high.pitch / wide.pitch : 0;
    for (const auto& [way, natural, direction] :
         {std::tuple{&high, rows, &out_.high}, std::tuple{&wide, columns, &out_.wide}}) {
      const Decision d = out_.kind == Convolution::kData ? walk_y(*way, natural, *direction, base)
                                                         : walk_x(*way, natural, *direction, base);
      if (!d) return d;
    }
    const bool is_data = out_.kind == Convolution::kData;
    Placed& image = is_data ? out_.y : out_.x;
    image.offset = base;
    image.sizes = {image_.extent, channel_.extent, is_data ? out_.high.y : out_.high.x,
                   is_data ? out_.wide.y : out_.wide.x};
    image.strides = {image_.a, channel_.a, high.pitch, wide.pitch};
    if (image_.extent == 1) image.strides[0] = image.sizes[2] * high.pitch;

    const Step kept = is_filter_ ? &BoundAxis::b : &BoundAxis::c;  // the other image
    Placed& pixels = is_data ? out_.x : out_.y;
    pixels.offset = is_filter_ ? c_.b0 : c_.c0;
    pixels.sizes = {image_.extent, n_.extent, high.pixel.extent, wide.pixel.extent};
    pixels.strides = {image_.*kept, n_.*kept, high.pixel.*kept, wide.pixel.*kept};

    const Step weight = is_filter_ ? &BoundAxis::c : &BoundAxis::b;
    const BoundAxis &out = is_data ? channel_ : n_, &in = is_data ? n_ : channel_;
    out_.w.offset = is_filter_ ? c_.c0 : c_.b0;
    out_.w.sizes = {out.extent, in.extent, high.tap.extent, wide.tap.extent};
    out_.w.strides = {out.*weight, in.*weight, high.tap.*weight, wide.tap.*weight};
    for (Placed* p : {&pixels, &out_.w}) {
      if (!fill(*p)) return Decision::forbid("a tensor of it is walked backwards");
    }
    return Decision::allow();
  }

  /// Strides of axes with one point, as if nothing lay between; false when one is not positive.
  static bool fill(Placed& p) {
    std::int64_t step = 1;
    for (const std::size_t i : {1u, 3u, 2u, 0u}) {
      if (p.sizes[i] == 1) p.strides[i] = step;
      if (p.strides[i] <= 0) return false;
      step = std::max(step, p.strides[i] * p.sizes[i]);
    }
    return true;
  }

  const loop::BoundContraction& c_;
  Convolution& out_;
  Axes taps_, pixels_;
  BoundAxis channel_, n_, image_;
  std::vector<Way> ways_;
  bool is_filter_ = false;
};

}  // namespace

Decision find_convolution(const loop::BoundContraction& c, Convolution& out) {
  return Finder(c, out).run();
}

}  // namespace plait::cuda
