// What a user of the log did not know.
#pragma once

#include "io/oneflow/record.h"
#include "report/oneflow_plan.h"
#include "report/page.h"

namespace plait::report {

/// What the findings look at, computed once.
struct OneflowFacts {
  const io::oneflow::Record& record;
  std::vector<const io::oneflow::Operator*> order;
  std::vector<io::oneflow::HiddenInput> hidden;
  std::vector<Product> products;
  std::vector<Reboxing> changes;
  std::int64_t step_operations = 0;  // of the traced graph; of the products where there is none
  std::int64_t state_bytes = 0;      // one process, on its accelerator
};

/// Replicated work, unread buffers, units, fused sums the tree hides, a loss near zero, the end.
void find_in_oneflow(Page& page, const OneflowFacts& facts);

/// 10^6 or 2^20 bytes, whichever the printed size of the states is in; 0 when it is neither.
double unit_of(const io::oneflow::Record& record, std::int64_t state_bytes);

}  // namespace plait::report
