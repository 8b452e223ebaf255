// A tiny program as one kernel of one block: the bodies of all its calls, dealt out to warps, with
// barriers where a call needs what others wrote, any number of runs in one launch. What fits is
// brought into shared memory first, so that a value that was just written is read again at once.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "backends/cuda/device.h"
#include "backends/runtime.h"
#include "backends/target.h"

namespace plait::cuda {

/// f(call, its part of the step's workspace) for every generated call of a step.
template <class F>
void each_generated(const program::Step& step, F f) {
  for (const program::Call& call : step.calls) {
    if (const auto* loop = std::get_if<LoopCall>(&call)) {
      f(*loop, loop->workspace);
    } else {
      for (const ProductCall::Part& p : std::get<ProductCall>(call).parts) {
        f(p.generated, p.workspace);
      }
    }
  }
}
/// f(call) for every generated call of a program.
template <class F>
void each_generated(const program::Program& program, F f) {
  for (const program::Step& step : program.steps) {
    each_generated(step, [&](const LoopCall& call, const program::Workspace&) { f(call); });
  }
}

/// The kernel `plait_single_kernel`. Before it stand kAnyAddress and the functions that it calls.
std::string single_kernel_text(const program::Program& program);
/// Addresses may be of shared memory there: what functions assume of them says nothing.
inline constexpr std::string_view kAnyAddress =
    "#undef __isGlobal\n#define __isGlobal(address) true\n";

/// `calls`: the launches of all calls alone, in order. Its first word is the number of runs.
Launch single_kernel_launch(const program::Program& program, const std::vector<Launch>& calls,
                            const Memory& memory, int most_block_bytes);

}  // namespace plait::cuda
