// Running the program and collecting its output.
#include "tests/cli/program.h"

#include <sys/wait.h>

#include <cstdlib>

#include "io/file.h"
#include "tests/temporary.h"

namespace plait::test {

Outcome shell(const std::string& command) {
  const TemporaryFolder folder;
  io::write_file(folder / "command", {command});
  const std::string line = "PLAIT='" PLAIT_PROGRAM "' sh '" + folder / "command" + "' >'" +
                           folder / "out" + "' 2>'" + folder / "err" + "'";
  const int status = std::system(line.c_str());
  Outcome outcome;
  outcome.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  outcome.out = io::read_file(folder / "out");
  outcome.err = io::read_file(folder / "err");
  return outcome;
}

Outcome plait(const std::string& arguments) { return shell("$PLAIT " + arguments); }

}  // namespace plait::test
