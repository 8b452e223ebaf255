// What reaches a terminal: names and texts of a file cannot move its cursor or set its title.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>

#include "base/error.h"
#include "cli/output.h"
#include "io/file.h"
#include "tests/cli/program.h"
#include "tests/temporary.h"

namespace plait {
namespace {

using cli::shown;

TEST(Terminal, ControlCharactersAreWrittenOut) {
  EXPECT_EQ(shown("a\x1b]0;title\x07z"), "a\\u001b]0;title\\u0007z");
  EXPECT_EQ(shown("two\nlines\tand a tab"), "two\nlines\tand a tab");
  EXPECT_EQ(shown("back\r\x1b[Kand gone"), "back\\u000d\\u001b[Kand gone");
  EXPECT_EQ(shown("\x7f\xc2\x9b"
                  "31m"),
            "\\u007f\\u009b31m")
      << "C1 in UTF-8";
  EXPECT_EQ(shown("caf\xc3\xa9 \xe2\x82\xac"), "caf\xc3\xa9 \xe2\x82\xac");
  EXPECT_EQ(shown("\xc2"), "\xc2");
  EXPECT_EQ(shown("a\xe2\x80\xae"
                  "b\xe2\x81\xa6\xd8\x9c\xe2\x80\x8f."),
            "a\\u202eb\\u2066\\u061c\\u200f.")
      << "marks of direction";
  EXPECT_EQ(shown("\r\x1b[Kstep 3\x1b"), "\r\x1b[Kstep 3\\u001b") << "a line that is redrawn";
}

/// What a command writes to a terminal of its own, by standard output and error.
std::string on_a_terminal(const std::string& command) {
  const int outer = ::posix_openpt(O_RDWR | O_NOCTTY);
  if (outer < 0 || ::grantpt(outer) != 0 || ::unlockpt(outer) != 0) return "no terminal";
  const std::string name = ::ptsname(outer);
  const pid_t child = ::fork();
  if (child == 0) {
    const int inner = ::open(name.c_str(), O_RDWR | O_NOCTTY);
    ::dup2(inner, 1);
    ::dup2(inner, 2);
    ::execl("/bin/sh", "sh", "-c", command.c_str(), nullptr);
    ::_exit(127);
  }
  std::string out;
  char buffer[4096];
  for (;;) {  // reading fails once nobody has the other side open
    const ssize_t count = ::read(outer, buffer, sizeof buffer);
    if (count <= 0) break;
    out.append(buffer, static_cast<std::size_t>(count));
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  ::close(outer);
  const std::string redraw = "\r\x1b[K";  // our own
  for (std::size_t i; (i = out.find(redraw)) != std::string::npos;) out.erase(i, redraw.size());
  return out;
}

TEST(Terminal, NamesOfAGraphArriveWithoutEscapeSequences) {
  const test::TemporaryFolder folder;
  const std::string file = folder / "g.plait", program = PLAIT_PROGRAM;
  io::write_file(file, {"graph \"g\x1b]0;owned\x07\"(\"x\x1b[2J\": f32[2]) {\n"
                        "  %\"y\x1b[31m\" = neg(\"x\x1b[2J\") : f32[2]\n"
                        "  return %\"y\x1b[31m\"\n}\n"});
  for (const char* command : {" run ", " show ", " stats ", " plan ", " run --fetch nothing "}) {
    const std::string out = on_a_terminal(program + command + file);
    EXPECT_EQ(out.find_first_of("\x1b\x07"), std::string::npos) << command << out;
    EXPECT_NE(out.find("u001b"), std::string::npos) << command << out;
  }
  const test::Outcome piped = test::plait("run --fetch nothing " + file);
  EXPECT_EQ(piped.code, 1);
  EXPECT_EQ(piped.err.find_first_of("\x1b\x07"), std::string::npos) << piped.err;
}

}  // namespace
}  // namespace plait
