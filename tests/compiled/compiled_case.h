// What the tests of compiled programs share: a kernel cache of their own, many graphs as one
// program, and how results are compared.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "run/session.h"
#include "tests/temporary.h"

namespace plait::test {

/// The kernel cache is a temporary folder, empty at first, that all cases of a process share.
class CompiledCase : public testing::Test {
 protected:
  static void SetUpTestSuite();
};

/// Independent graphs side by side as one: names of graph i are prefixed with `gI.`. One program
/// then takes one compilation.
ir::Graph side_by_side(const std::vector<ir::Graph>& parts);

/// The arrays of part i under the names they have in side_by_side.
Arrays named_in(std::size_t i, const Arrays& arrays);

/// A session of one graph on the cpu backend.
Session cpu_session(ir::Graph graph, int threads = 2, CompileRequest request = {});

/// The graph once on the cpu: fetches by name, next states as `next NAME`.
Arrays run_compiled(const ir::Graph& graph, const Arrays& feeds, const Arrays& states = {},
                    int threads = 2, CompileRequest request = {});

/// How many random graphs to take: `usual`, or $PLAIT_SOAK for a soak.
std::uint64_t soak_seeds(std::uint64_t usual);

/// Where two results differ in a bit, NaN included; empty when nowhere.
std::string differing_bits(const Arrays& a, const Arrays& b);

}  // namespace plait::test
