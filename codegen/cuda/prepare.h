// Rewrites of a loop kernel before it is dealt out to threads: each gives a kernel that computes
// the same.
#pragma once

#include "loop/kernel.h"

namespace plait::codegen::cuda {

/// Without guards that always hold.
loop::Kernel without_idle_guards(const loop::Kernel& kernel);

/// Indices named by their place alone: what computes the same is the same text.
loop::Kernel with_plain_names(const loop::Kernel& kernel);

/// What several stages load or compute, and what is stored and loaded again, is kept from the first
/// of them: the loads, or the values made of them where these are no more.
loop::Kernel with_kept(const loop::Kernel& kernel);

}  // namespace plait::codegen::cuda
