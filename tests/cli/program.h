// Starts the program as a user does and keeps what it said.
#pragma once

#include <string>

namespace plait::test {

struct Outcome {
  int code = 0;  // exit code; 128 + signal when it was killed
  std::string out, err;
};

/// Runs `plait ARGUMENTS` through the shell: quotes, pipes and redirections work.
/// `$PLAIT` is the program, for commands that pipe one into another.
Outcome plait(const std::string& arguments);
/// Runs any shell command.
Outcome shell(const std::string& command);
/// The same as a user who is not root: permissions and limits do not hold for root.
Outcome as_nobody(const std::string& command);

}  // namespace plait::test
