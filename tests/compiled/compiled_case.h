// What the tests of compiled programs share: a kernel cache of their own, many graphs as one
// program, and how results are compared.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "run/session.h"
#include "tests/compiled/target_under_test.h"

namespace plait::test {

/// The kernel cache lies beside the test program: all cases share it, and the next run finds what
/// has not changed since. It goes by content (text, compiler, flags; plans by the program's build).
class CompiledCase : public testing::Test {
 protected:
  static void SetUpTestSuite();
};

/// While it lives, kernels of the cpu are compiled at -O1, vectorised all the same: in about half
/// the time. Not so in a sweep.
class QuickCompiler {
 public:
  QuickCompiler();
  ~QuickCompiler();
  QuickCompiler(const QuickCompiler&) = delete;
  QuickCompiler& operator=(const QuickCompiler&) = delete;

 private:
  std::string before_;  // $CC; empty when it was not set
  bool active_ = false;
};

/// While it lives, programs run in a mode of PLAIT_FENCE (run/placement.h): their buffers stand
/// between protected pages, and what no step wrote is NaN.
class Fence {
 public:
  explicit Fence(const std::string& mode);
  ~Fence();
  Fence(const Fence&) = delete;
  Fence& operator=(const Fence&) = delete;

 private:
  std::string before_;
};

/// Whether all of this process runs in a mode of PLAIT_FENCE: `make fence`.
bool is_swept();
/// The modes with protected pages in which a test runs its programs once more: none in a sweep,
/// which is in one, and none where memory is not the host's.
std::vector<std::string> protected_modes();

/// Independent graphs side by side as one: names of graph i are prefixed with `gI.`. One program
/// then takes one compilation. When they are small it is one function, on one thread.
ir::Graph side_by_side(const std::vector<ir::Graph>& parts);

/// A graph without feeds beside which others are never one function: its scan is written by hand.
ir::Graph scan_graph();

/// The arrays of part i under the names they have in side_by_side.
Arrays named_in(std::size_t i, const Arrays& arrays);

/// A session of one graph on the target under test.
Session compiled_session(ir::Graph graph, int threads = 2, CompileRequest request = {});

/// The graph once on the target under test: fetches by name, next states as `next NAME`.
Arrays run_compiled(const ir::Graph& graph, const Arrays& feeds, const Arrays& states = {},
                    int threads = 2, CompileRequest request = {});

/// Whether the results of another run, or on another number of threads, are worth a look: an
/// emulated device has but one order of doing things.
bool may_differ();

/// How many random graphs to take: `usual`, a tenth of it where kernels are emulated, or
/// $PLAIT_SOAK for a soak.
std::uint64_t soak_seeds(std::uint64_t usual);

/// Where two results differ in a bit, NaN included; empty when nowhere.
std::string differing_bits(const Arrays& a, const Arrays& b);

}  // namespace plait::test
