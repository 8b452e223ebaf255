// plait help [COMMAND]
#include "base/error.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/output.h"

namespace plait::cli {
namespace {

void run_help(const Args& args) {
  if (args.words().empty()) return print(help_text());
  const std::string& name = args.words()[0];
  const Command* command = find_command(name);
  if (!command) {
    throw UsageError(
        str(is_planned(name) ? "a later version has the command '" : "there is no command '", name,
            "'.", suggestion(name, command_names())));
  }
  print(help_text(*command));
}

}  // namespace

constinit const Command kHelp{.name = "help",
                              .usage = "[COMMAND]",
                              .doc = "lists the commands, or explains one",
                              .most_words = 1,
                              .run = run_help};

}  // namespace plait::cli
