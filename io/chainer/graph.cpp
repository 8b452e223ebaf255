// Record to graph.
#include "io/chainer/format.h"

#include "base/error.h"

namespace plait::io::chainer {

Import to_graphs(const Record&) { fail("chainer: no graphs yet"); }

}  // namespace plait::io::chainer
