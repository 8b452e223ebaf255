// A command of the program: one value per command, each in its own file cmd_*.cpp. The table of
// commands is in commands.cpp.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/args.h"

namespace plait::cli {

struct Command {
  std::string_view name;
  std::string_view usage;  // what follows the name: `FILE [options]`
  std::string_view doc;    // one line
  int least_words = 0, most_words = 0;
  std::span<const Flag> flags{};
  std::string_view details{};  // help: what else there is to know
  std::string_view example{};  // help: a call and its output
  void (*run)(const Args& args) = nullptr;
};

/// In the order of help.
std::span<const Command* const> all_commands();
/// Null when there is none.
const Command* find_command(std::string_view name);
std::vector<std::string> command_names();

/// Commands that later versions have: named, so that asking for one gives a clear answer.
bool is_planned(std::string_view name);

/// What `plait help` and `plait CMD --help` print.
std::string help_text();
std::string help_text(const Command& command);

// One per file.
extern const Command kModels, kOps, kShow, kCheck, kStats, kReport, kConvert, kRun, kPlan, kCompile,
    kExplain, kProfile, kTrain, kEval, kPredict, kGenerate, kBench, kDoctor, kVersion, kHelp;

// Options that several commands share.
inline constexpr Flag kJsonFlag{"--json", "", "print JSON instead of a table"};
inline constexpr Flag kGraphFlag{"--graph", "NAME", "the graph to take; the first unless said"};
inline constexpr Flag kSetFlag{"--set", "SYMBOL=N,...", "fix named sizes", true};
inline constexpr std::string_view kFileHelp =
    "FILE is a path to a graph in the text form (.plait) or to a document of AICF, MegEngine,\n"
    "Chainer, OneFlow/LiBai or AITemplate (found by its content), '-' for standard input, or a\n"
    "model: model:NAME or model:NAME?key=value&key=value (`plait models` lists names and keys).\n"
    "A document names its main sizes (batch, time, image...): --set changes them.\n";

}  // namespace plait::cli
