// A tiny program as one C function: the calls of its steps, one after the other.
#pragma once

#include <string>

#include "program/program.h"

namespace plait {

/// `void plait_single_kernel(char* const* p, char* scratch, int* bad)`: each call in order, over
/// all its rows; `p` has the pointers of all calls, one call's behind the other's.
std::string single_kernel_text(const program::Program& program);

}  // namespace plait
