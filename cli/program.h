// The program: from words to an exit code.
#pragma once

#include <string>
#include <vector>

namespace plait::cli {

/// 0 done; 1 the user's input or the run failed; 2 wrong usage; 3 a bug of ours. Results on
/// standard output, errors on standard error.
int run_program(const std::vector<std::string>& words);

}  // namespace plait::cli
