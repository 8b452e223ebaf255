// Whether a program holds together, whoever wrote it.
#pragma once

#include "program/program.h"

namespace plait::program {

/// UserError when a number names no buffer or no view, a buffer lies outside its region, a value, a
/// constant or a workspace does not fit the memory it has, a step reads what nothing wrote, two
/// buffers that live at one time overlap, or a step does not wait for one that it meets in memory.
void verify(const Program& program);

}  // namespace plait::program
