// plait run F.plan: a program that was compiled before, step by step.
#pragma once

#include <cstdint>

#include "cli/args.h"

namespace plait::cli {

/// With the options of `plait run`. UserError when the plan is for another machine.
void run_plan_file(const Args& args, std::int64_t steps, std::uint64_t seed);

}  // namespace plait::cli
