// How the operations of a step hang together: who makes each variable, which backward belongs to
// which forward, and an order in which they can run. The order in the document says nothing.
#pragma once

#include <vector>

#include "io/chainer/record.h"

namespace plait::io::chainer {

/// Indices into Record::operations; -1 where there is none.
struct Links {
  std::vector<int> maker;           // per variable, the forward that makes it
  std::vector<int> forward_of;      // per operation, for a backward: its forward
  std::vector<int> backward_of;     // per operation, for a forward: its backward
  std::vector<int> forward_order;   // by dependency, then rank, then line
  std::vector<int> backward_order;  // by dependency, then rank from the last, then line
};

/// UserError with the line when a variable is made twice, a forward has two backwards, or an
/// operation waits for itself.
Links links_of(const Record& record);

}  // namespace plait::io::chainer
