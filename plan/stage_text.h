// What the stages of planning leave, as text.
#pragma once

#include <string>

#include "plan/planning.h"

namespace plait::plan {

std::string graph_text(const Planning& planning);
/// A line per node: what kind of work it is.
std::string facts_text(const Planning& planning);
/// Values whose axes do not lie in their own order.
std::string layout_text(const Planning& planning);
/// Groups in order: their index space, nodes and stored values.
std::string group_text(const Planning& planning);
/// Steps in order: kernel id, what they read and write.
std::string steps_text(const Planning& planning);
/// The same, with the contractions and kernels of each step behind it (loop/kernel_text.h), those
/// of several once.
std::string kernels_text(const Planning& planning);
/// The program's own text form.
std::string program_text(const Planning& planning);

}  // namespace plait::plan
