// Programs whose buffers stand apart between protected pages, in memory that was filled with NaN
// before the run: what reads or writes beside a buffer is a fault, and what is left unwritten
// shows.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tests/compiled/compiled_case.h"

namespace plait::test {

/// Samples as an op's entry writes them, made by a test.
struct OpSamples {
  std::string op;
  std::string text;  // "f32[1,2], f32[2,1] | stride=[2,2]; ..."
};

/// All samples side by side as one program, in every mode, against the reference backend in f64:
/// once as it comes (small ones are one function) and once with a step that keeps it from being
/// one; f32 operands get dtype `real`. Samples that the op refuses are left out; how many were not.
/// Where kernels are emulated, every second one is run.
int check_in_fences(const std::vector<OpSamples>& samples, DType real = DType::f32);

/// The same bits without fences, between protected pages and in a sweep's mode.
void expect_same_in_fences(const std::function<Arrays()>& run);

}  // namespace plait::test
