// A program's code on the CPU: compiled loops, prepared contractions and hand kernels on a pool.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "backends/cpu/contract/problem.h"
#include "backends/cpu/hand/hand.h"
#include "backends/runtime.h"
#include "backends/target.h"

namespace plait::cpu {

Problem problem_of(const loop::BoundContraction& c);
/// A call's kernel with sizes fixed.
std::unique_ptr<HandKernel> make_hand(const HandCall& call, const DimBindings& sizes);

std::unique_ptr<Runtime> make_runtime(int threads);

}  // namespace plait::cpu
