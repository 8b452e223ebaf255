// Convolutions of 3x3 with stride 1 by Winograd's F(4x4, 3x3): a quarter of the products, and
// transforms before and behind them. Sums are off by some units of the last place more than direct
// ones; PLAIT_CPU_WINOGRAD=0 turns it off.
#pragma once

#include "backends/cpu/contract/stencil.h"
#include "backends/cpu/contract/work.h"

namespace plait::cpu {

/// Whether a Winograd variant can compute the problem, forwards or as the weights' gradient
/// (a swapped Variant).
Decision accepts_winograd(const Problem& problem, const Variant& variant, const Kernels& kernels);

/// The best sizes of blocks for one tile shape and a guess of one thread's cycles. Forwards mc
/// counts rows of tiles of a task; for the weights (swapped) kc counts tiles, mc and nc filters and
/// channels. Says why when it is not accepted.
struct WinogradGuess {
  Variant variant;
  double cycles = 0;
  std::int64_t tasks = 0;
};
Decision guess_winograd(const Problem& problem, Isa isa, const Kernels& kernels, int shape,
                        bool swapped, bool b_constant, WinogradGuess& out);

std::unique_ptr<const Work> make_winograd(const Problem& problem, const Variant& variant,
                                          const Kernels& kernels);

}  // namespace plait::cpu
