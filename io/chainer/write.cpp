// Graph to record, record to text.
#include "io/chainer/format.h"

#include "base/error.h"

namespace plait::io::chainer {

Record from_graph(const ir::Graph&) { fail("chainer: no record yet"); }

std::string write(const Record&) { fail("chainer: not written yet"); }

}  // namespace plait::io::chainer
