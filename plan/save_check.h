// Whether a program that was read holds together. Private to plan/save*.
#pragma once

#include "plan/program.h"

namespace plait::plan {

/// UserError when a number names no buffer or no held value, a buffer lies outside its space, or a
/// value, a constant or the workspace does not fit the memory it has.
void check_program(const Program& program);

}  // namespace plait::plan
