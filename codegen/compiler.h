// The system's C compiler as a program: which one it is, what it is, and one run of it.
#pragma once

#include <string>
#include <vector>

namespace plait::codegen {

struct Compiler {
  std::vector<std::string> command;  ///< the program, and the first arguments that $CC may give
  std::string identity;              ///< as compiler_identity() says it
  bool is_clang = false;             ///< it takes clang's flags, not gcc's
};

/// $CC, else the first of cc, gcc and clang in PATH. RunError when there is none.
Compiler find_compiler();

/// How a program ended, and what it said (stdout and stderr together).
struct Outcome {
  int error = 0;   ///< errno when it could not be started
  int status = 0;  ///< exit status when it ended by itself
  int signal = 0;  ///< the signal that ended it
  std::string output;
  bool ok() const { return error == 0 && status == 0 && signal == 0; }
};

/// Runs a program to its end, without a shell; its messages in English, its temporaries in
/// `temporary_folder` (empty: as in our own environment).
Outcome run_program(const std::vector<std::string>& command, const std::string& temporary_folder);

/// The words of a text, separated by blanks.
std::vector<std::string> words(const std::string& text);

}  // namespace plait::codegen
