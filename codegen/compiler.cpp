// Finding the compiler, naming it, running it.
#include "codegen/compiler.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <mutex>
#include <sstream>
#include <string_view>

#include "base/error.h"
#include "base/hash.h"
#include "codegen/cache.h"
#include "codegen/compile.h"

namespace plait::codegen {
namespace {

std::string environment(const char* name, const char* otherwise) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : otherwise;
}

bool is_program(const std::string& path) {
  struct stat about {};
  return ::stat(path.c_str(), &about) == 0 && S_ISREG(about.st_mode) &&
         ::access(path.c_str(), X_OK) == 0;
}

/// The path of a program as a shell would find it; empty when there is none.
std::string find_program(const std::string& name) {
  if (name.find('/') != std::string::npos) return is_program(name) ? name : "";
  std::istringstream path(environment("PATH", "/usr/local/bin:/usr/bin:/bin"));
  for (std::string folder; std::getline(path, folder, ':');) {
    if (folder.empty()) continue;
    if (std::string program = folder + "/" + name; is_program(program)) return program;
  }
  return "";
}

std::vector<std::string> find_command() {
  if (std::vector<std::string> command = words(environment("CC", "")); !command.empty()) {
    const std::string program = find_program(command[0]);
    if (program.empty()) {
      throw RunError(str("CC is \"", environment("CC", ""), "\", but there is no program ",
                         command[0], ": set CC to a C compiler or unset it"));
    }
    command[0] = program;
    return command;
  }
  for (const char* name : {"cc", "gcc", "clang"}) {
    if (std::string program = find_program(name); !program.empty()) return {program};
  }
  throw RunError(
      "no C compiler was found (looked for cc, gcc, clang in PATH): install one (Debian: apt-get "
      "install gcc) or set CC=..., or run with --backend ref");
}

/// What -march=native can look at, as a number.
std::uint64_t cpu_features() {
  std::string text;
#if defined(__x86_64__)
  const auto add = [&text](unsigned leaf, unsigned part, bool with_b) {
    unsigned a = 0, b = 0, c = 0, d = 0;
    if (__get_cpuid_count(leaf, part, &a, &b, &c, &d) == 0) return;
    text += str(leaf, ".", part, ":", a, ",", with_b ? b : 0, ",", c, ",", d, ";");
  };
  add(0, 0, true);   // the maker
  add(1, 0, false);  // model and features; b holds the number of the core we happen to be on
  add(7, 0, true);   // features
  add(7, 1, true);
  add(0x19, 0, true);
  add(0x80000001, 0, false);
  add(0x80000008, 0, true);
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (__get_cpuid(1, &a, &b, &c, &d) != 0 && (c & bit_OSXSAVE) != 0) {
    unsigned low = 0, high = 0;  // the registers that the system saves: no AVX without
    __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    text += str("x", low, ",", high);
  }
#else
  text = str(::getauxval(AT_HWCAP), ",", ::getauxval(AT_HWCAP2));
#endif
  return fnv1a64(text);
}

/// The first line of `cc --version`. Kept in the cache under the file's own marks (clang takes 30
/// ms to say it), so a compiler behind a wrapper that stays the same keeps its name when updated.
std::string version_of(const std::vector<std::string>& command) {
  std::string marks;
  for (const std::string& word : command) {
    struct stat about {};
    const std::string program = find_program(word);
    if (program.empty() || ::stat(program.c_str(), &about) != 0) continue;
    std::error_code error;
    marks += str(word, "|", std::filesystem::canonical(program, error).string(), "|", about.st_size,
                 "|", about.st_ino, "|", about.st_mtim.tv_sec, ".", about.st_mtim.tv_nsec, ";");
  }
  const std::uint64_t key = fnv1a64(marks);
  if (std::optional<std::string> known = cache::load("compiler", key)) return *known;
  std::vector<std::string> ask = command;
  ask.push_back("--version");
  const Outcome outcome = run_program(ask, "");
  std::string line = outcome.output.substr(0, outcome.output.find('\n'));
  if (!outcome.ok() || line.empty()) {
    line = str(std::filesystem::path(command[0]).filename().string(), " of unknown version ", key);
  }
  cache::store("compiler", key, line);
  return line;
}

/// Our environment with LC_ALL=C and, if asked, TMPDIR: NAME=value lines.
std::vector<std::string> child_environment(const std::string& temporary_folder) {
  std::vector<std::string> lines{"LC_ALL=C"};
  if (!temporary_folder.empty()) lines.push_back("TMPDIR=" + temporary_folder);
  for (char** line = environ; line != nullptr && *line != nullptr; ++line) {
    const std::string_view text = *line;
    if (text.starts_with("LC_ALL=")) continue;
    if (text.starts_with("TMPDIR=") && !temporary_folder.empty()) continue;
    lines.emplace_back(text);
  }
  return lines;
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> out;
  for (std::string& text : texts) out.push_back(text.data());
  out.push_back(nullptr);
  return out;
}

/// Starts the program with its output in the file `output`; errno when that fails.
int start(std::vector<std::string> command, std::vector<std::string> environment, int output,
          pid_t& child) {
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_adddup2(&actions, output, 1);
  ::posix_spawn_file_actions_adddup2(&actions, output, 2);
  sigset_t none;
  sigset_t usual;
  ::sigemptyset(&none);
  ::sigemptyset(&usual);
  for (int signal : {SIGCHLD, SIGPIPE, SIGXFSZ}) ::sigaddset(&usual, signal);
  ::posix_spawnattr_init(&attributes);
  ::posix_spawnattr_setsigmask(&attributes, &none);
  ::posix_spawnattr_setsigdefault(&attributes, &usual);
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  const int error = ::posix_spawn(&child, command[0].c_str(), &actions, &attributes,
                                  pointers(command).data(), pointers(environment).data());
  ::posix_spawnattr_destroy(&attributes);
  ::posix_spawn_file_actions_destroy(&actions);
  return error;
}

std::string text_of(int file) {
  std::string text(64 << 10, '\0');
  const ssize_t got = ::pread(file, text.data(), text.size(), 0);
  text.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  return text;
}

}  // namespace

std::vector<std::string> words(const std::string& text) {
  std::istringstream in(text);
  std::vector<std::string> out;
  for (std::string word; in >> word;) out.push_back(word);
  return out;
}

Outcome run_program(const std::vector<std::string>& command, const std::string& temporary_folder) {
  Outcome outcome;
  const int output = ::memfd_create("output", MFD_CLOEXEC);  // not a file: the disk may be full
  if (output < 0) {
    outcome.error = errno;
    return outcome;
  }
  pid_t child = 0;
  outcome.error = start(command, child_environment(temporary_folder), output, child);
  if (outcome.error == 0) {
    int ended = 0;
    pid_t got = 0;
    do {
      got = ::waitpid(child, &ended, 0);
    } while (got < 0 && errno == EINTR);
    // Where our host ignores SIGCHLD nobody knows how it ended: what it left behind has to tell.
    if (got == child && WIFEXITED(ended)) outcome.status = WEXITSTATUS(ended);
    if (got == child && WIFSIGNALED(ended)) outcome.signal = WTERMSIG(ended);
    outcome.output = text_of(output);
  }
  ::close(output);
  return outcome;
}

Compiler find_compiler() {
  static std::mutex mutex;
  static std::string known_for;
  static Compiler known;
  const std::lock_guard lock(mutex);
  const std::string wanted = environment("CC", "") + "\n" + environment("PATH", "");
  if (known.identity.empty() || wanted != known_for) {
    Compiler found;
    found.command = find_command();
    found.identity = version_of(found.command);
    found.is_clang = found.identity.find("clang") != std::string::npos;
    for (std::size_t i = 1; i < found.command.size(); ++i) found.identity += " " + found.command[i];
    found.identity += str("; cpu ", std::hex, cpu_features());
    known = found;
    known_for = wanted;
  }
  return known;
}

std::string compiler_identity() { return find_compiler().identity; }
bool compiler_is_clang() { return find_compiler().is_clang; }

}  // namespace plait::codegen
