// Running the program and collecting its output.
#include "tests/cli/program.h"

#include <fcntl.h>
#include <grp.h>
#include <sys/wait.h>
#include <unistd.h>

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

namespace {

/// In a process of its own; what it said comes back through a file that was opened before.
int run_as_nobody(const std::string& command, const std::string& result) {
  constexpr unsigned kNobody = 65534;
  const int file = ::open(result.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  if (file < 0 || ::setgroups(0, nullptr) != 0) return 1;
  if (::setgid(kNobody) != 0 || ::setuid(kNobody) != 0) return 1;
  const Outcome o = shell(command);
  const std::string all = std::to_string(o.code) + "\n" + o.out + '\0' + o.err;
  return ::write(file, all.data(), all.size()) == static_cast<ssize_t>(all.size()) ? 0 : 1;
}

}  // namespace

Outcome as_nobody(const std::string& command) {
  if (::getuid() != 0) return shell(command);
  const TemporaryFolder folder;
  const pid_t child = ::fork();
  if (child == 0) ::_exit(run_as_nobody(command, folder / "result"));
  int status = 0;
  ::waitpid(child, &status, 0);
  check(WIFEXITED(status) && WEXITSTATUS(status) == 0, "cannot run as nobody: ", command);
  const std::string all = io::read_file(folder / "result");
  const std::size_t line = all.find('\n'), zero = all.find('\0');
  return {std::stoi(all), all.substr(line + 1, zero - line - 1), all.substr(zero + 1)};
}

Outcome plait(const std::string& arguments) { return shell("$PLAIT " + arguments); }

}  // namespace plait::test
