// Which node of a program raised the error that a generated kernel can only count.
#pragma once

#include <string>
#include <string_view>

#include "program/program.h"

namespace plait {

/// The nodes that may have divided integers by zero or read an index out of range, among those that
/// a step computes, values made where they are read included; without a step, among all. One is
/// named as `%q @ path`, several as `one of %a, %b`. Empty for any other error.
std::string culprits(const program::Program& program, const program::Step* step,
                     std::string_view error);

}  // namespace plait
