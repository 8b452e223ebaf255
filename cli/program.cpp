// Finds the command, runs it, and turns what it raises into messages and exit codes.
#include "cli/program.h"

#include <algorithm>
#include <filesystem>
#include <new>
#include <system_error>

#include "base/error.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/output.h"

namespace plait::cli {
namespace {

enum ExitCode { kDone = 0, kFailed = 1, kUsage = 2, kBug = 3 };

bool asks_for_help(const std::vector<std::string>& words) {
  const auto end = std::find(words.begin(), words.end(), "--");
  return std::any_of(words.begin(), end,
                     [](const std::string& word) { return word == "--help" || word == "-h"; });
}

void run_command(const Command& command, const std::vector<std::string>& words) {
  if (asks_for_help(words)) return print(help_text(command));
  try {
    const Args args(command.flags, words);
    const auto count = static_cast<int>(args.words().size());
    if (count < command.least_words) throw UsageError(str("wants ", command.usage));
    if (count > command.most_words) {
      const auto extra = static_cast<std::size_t>(command.most_words);
      throw UsageError(str("does not know what to do with '", args.words()[extra], "'"));
    }
    command.run(args);
  } catch (const UsageError& e) {
    const std::string_view said = e.what();
    const std::string_view end = said.ends_with('?') || said.ends_with('.') ? " " : ". ";
    throw UsageError(str(command.name, ": ", said, end, "See `plait ", command.name, " --help`"));
  }
}

void dispatch(const std::vector<std::string>& words) {
  if (words.empty()) throw UsageError("wants a command.\n" + help_text());
  const std::string& name = words[0];
  const std::vector<std::string> rest(words.begin() + 1, words.end());
  if (name == "--help" || name == "-h") return print(help_text());
  if (const Command* command = find_command(name == "--version" ? "version" : name)) {
    return run_command(*command, rest);
  }
  if (is_planned(name)) {
    throw UsageError(
        str("`", name, "` comes with a later version; this one has ", join(command_names(), ", ")));
  }
  throw UsageError(str("there is no command '", name, "'.", suggestion(name, command_names()),
                       " See `plait help`"));
}

int ended(ExitCode code, std::string_view message) {
  note(message);
  return code;
}

}  // namespace

int run_program(const std::vector<std::string>& words) {
  prepare_output();
  try {
    dispatch(words);
    return kDone;
  } catch (const OutputClosed&) {
    return kDone;
  } catch (const UsageError& e) {
    return ended(kUsage, e.what());
  } catch (const UserError& e) {
    return ended(kFailed, e.what());
  } catch (const RunError& e) {
    return ended(kFailed, e.what());
  } catch (const std::bad_alloc&) {
    return ended(kFailed, "out of memory");
  } catch (const std::filesystem::filesystem_error& e) {
    return ended(kFailed, str("cannot use ", e.path1().string(), ": ", e.code().message()));
  } catch (const std::system_error& e) {
    return ended(kFailed, str("the system refuses a thread or a lock: ", e.code().message(),
                              ". May this user have more processes (ulimit -u)?"));
  } catch (const std::exception& e) {
    return ended(kBug, str("this is a bug of Plait, please report it: ", e.what()));
  }
}

}  // namespace plait::cli
