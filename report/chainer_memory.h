// The memory of a recorded step: when each array and gradient is needed, by the document's retain
// lists. Exact for the order of the operations; parameters and their gradients are left out.
#pragma once

#include <vector>

#include "io/chainer/links.h"
#include "report/memory.h"

namespace plait::report {

/// What is kept, and what shares memory.
struct StepRules {
  bool views = true;         // a reshape owns nothing
  bool keep_arrays = false;  // every array lives to the end of the step
  bool trust_tags = false;   // the backward needs what its record reads, not what is retained
  /// A max-pooling keeps the position of its maximum in a byte; a ReLU works in place, and one that
  /// only max-poolings read takes its mask from their results.
  bool saves_less = false;
};

/// One buffer per array and gradient; steps are the operations in the order they run. What is fed
/// counts as an array, its gradient does not exist.
std::vector<Buffer> step_buffers(const io::chainer::Record& record, const io::chainer::Links& links,
                                 const StepRules& rules, std::int64_t element_bytes);

}  // namespace plait::report
