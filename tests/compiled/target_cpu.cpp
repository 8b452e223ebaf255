// Programs of this room on the cpu.
#include "backends/backends.h"
#include "tests/compiled/target_under_test.h"

namespace plait::test {

Tested tested() { return Tested::kCpu; }

std::unique_ptr<Target> target_under_test(int threads) { return make_target("cpu", threads); }

}  // namespace plait::test
