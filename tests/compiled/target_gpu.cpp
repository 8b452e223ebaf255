// Programs of this room on a GPU; all are skipped with one message where there is none.
#include <gtest/gtest.h>

#include "backends/backends.h"
#include "backends/runtime.h"
#include "base/error.h"
#include "tests/compiled/target_under_test.h"

namespace plait::test {
namespace {

class NeedsGpu : public testing::Environment {
  void SetUp() override {
    try {
      make_target("cuda")->open();
    } catch (const UserError& e) {
      GTEST_SKIP() << "no GPU: " << e.what();
    }
  }
};

const testing::Environment* const kNeedsGpu = testing::AddGlobalTestEnvironment(new NeedsGpu);

}  // namespace

Tested tested() { return Tested::kGpu; }

std::unique_ptr<Target> target_under_test(int) { return make_target("cuda"); }

}  // namespace plait::test
