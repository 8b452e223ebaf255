// How often operator new was called in this process.
#pragma once

namespace plait::test {

long allocations();

}  // namespace plait::test
