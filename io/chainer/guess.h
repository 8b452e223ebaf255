// Shapes of what is fed: the document has bytes only, so shapes are tried until the network's
// functions make of them the bytes that the document has.
#pragma once

#include "io/chainer/step.h"

namespace plait::io::chainer {

/// The float type and the shapes of feeds that leave the fewest operations unexplained: f32 before
/// f16, square images with three channels before others.
Assumptions guess(const Record& record, const Links& links);

}  // namespace plait::io::chainer
