// Programs whose buffers stand apart between protected pages, in memory that was filled with NaN
// before the run: what reads or writes beside a buffer is a fault, and what is left unwritten
// shows.
#pragma once

#include <string>
#include <vector>

#include "tests/compiled/compiled_case.h"

namespace plait::test {

/// While it lives, programs run in a mode of PLAIT_FENCE: see run/placement.h.
class Fence {
 public:
  explicit Fence(const std::string& mode);
  ~Fence();
  Fence(const Fence&) = delete;
  Fence& operator=(const Fence&) = delete;

 private:
  std::string before_;
};

/// The modes that the target under test has: protected pages are the host's.
std::vector<std::string> fence_modes();

/// Samples as an op's entry writes them, made by a test.
struct OpSamples {
  std::string op;
  std::string text;  // "f32[1,2], f32[2,1] | stride=[2,2]; ..."
};

/// All samples side by side as one program, in every mode, against the reference backend in f64:
/// once as it comes (small ones are one function) and once with a step that keeps it from being
/// one. Samples that the op refuses are left out; how many were not. Where kernels are emulated,
/// every second one is run.
int check_in_fences(const std::vector<OpSamples>& samples);

}  // namespace plait::test
