// A tiny program as one kernel of one block: the bodies of all its calls, dealt out to warps, with
// barriers where a call needs what others wrote, any number of runs in one launch. What fits is
// brought into shared memory first, so that a value that was just written is read again at once.
#pragma once

#include <string>
#include <vector>

#include "backends/cuda/device.h"
#include "backends/target.h"

namespace plait::cuda {

/// Calls f(call) for every generated call of a step.
template <class F>
void each_generated(const std::vector<Call>& calls, F f) {
  for (const Call& call : calls) {
    if (const auto* loop = std::get_if<LoopCall>(&call)) {
      f(*loop);
    } else {
      for (const ProductCall::Part& part : std::get<ProductCall>(call).parts) f(part.generated);
    }
  }
}

/// The kernel `plait_whole`, with the texts of the functions that it calls.
std::string whole_text(const std::vector<std::vector<Call>>& steps,
                       const std::vector<std::string>& texts);

/// `calls`: the launches of all calls alone, in order. Its first word is the number of runs.
Launch whole_launch(const std::vector<std::vector<Call>>& steps, const std::vector<Launch>& calls,
                    const Memory& memory, int most_block_bytes);

}  // namespace plait::cuda
