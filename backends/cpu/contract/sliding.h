// Convolutions of 3x3 with stride 1 or 2 on tiles that read the image as it lies: a task copies its
// rows of pixels once, with zeros round them, and every tap is the same memory some pixels further.
// With stride 2 the copy has four planes, of even and odd rows and columns, in each of which the
// pixels that a tap reads are next to each other. The sums are those of the blocked products, term
// by term; only what is copied differs.
#pragma once

#include "backends/cpu/contract/work.h"

namespace plait::cpu {

/// Whether a sliding variant can compute the problem. Of such a Variant mc counts rows of pixels.
Decision accepts_sliding(const Problem& problem, const Variant& variant, const Kernels& kernels);

/// What a guess needs to know: the result's pixels of a row, how many the tiles compute for them,
/// its rows in one image, the image's channels, and the stride.
struct SlidingSizes {
  std::int64_t wide = 0, computed = 0, high = 0, channels = 0, stride = 1;
};
Decision sliding_sizes(const Problem& problem, SlidingSizes& out);

std::unique_ptr<const Work> make_sliding(const Problem& problem, const Variant& variant,
                                         const Kernels& kernels);

}  // namespace plait::cpu
