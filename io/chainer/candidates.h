// Shapes that a feed may have, the most plausible first. Sizes in bytes and the sizes that some
// functions name are all that speaks for them.
#pragma once

#include <vector>

#include "io/chainer/links.h"
#include "ops/builder.h"

namespace plait::io::chainer {

/// Numbers of rows.
struct Rows {
  Sizes told;           // by linear layers, labels, and sizes in attributes; the surest first
  Sizes possible;       // those that divide everything with rows, from the fewest
  bool images = false;  // whether a function of images is there
};

Rows rows_of(const Record& record, const Links& links, DType real);

/// Shapes of a feed: with rows that are told before others; in a network for images these first,
/// square ones before others. At most `most`.
std::vector<Sizes> candidates(const Record& record, int variable, const Rows& rows, DType real,
                              std::size_t most);

}  // namespace plait::io::chainer
