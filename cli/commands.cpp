// The table of commands, and help made from it.
#include <algorithm>

#include "base/error.h"
#include "base/text.h"
#include "cli/command.h"

namespace plait::cli {
namespace {

constexpr const Command* kCommands[] = {&kModels,   &kOps,     &kShow,   &kCheck,   &kStats,
                                        &kReport,   &kConvert, &kRun,    &kPlan,    &kCompile,
                                        &kExplain,  &kProfile, &kTrain,  &kEval,    &kPredict,
                                        &kGenerate, &kBench,   &kDoctor, &kVersion, &kHelp};

constexpr std::string_view kPlanned[] = {"pack"};

std::string options_text(const Command& command) {
  Table table;
  for (const Flag& flag : command.flags) {
    const std::string name = str(flag.name, flag.value.empty() ? "" : " ", flag.value);
    table.rows.push_back({"  " + name, std::string(flag.doc)});
  }
  table.rows.push_back({"  --help", "this text"});
  return table.text();
}

}  // namespace

std::span<const Command* const> all_commands() { return kCommands; }

const Command* find_command(std::string_view name) {
  for (const Command* command : kCommands) {
    if (command->name == name) return command;
  }
  return nullptr;
}

std::vector<std::string> command_names() {
  std::vector<std::string> names;
  for (const Command* command : kCommands) names.emplace_back(command->name);
  return names;
}

bool is_planned(std::string_view name) {
  return std::find(std::begin(kPlanned), std::end(kPlanned), name) != std::end(kPlanned);
}

std::string help_text() {
  Table table;
  for (const Command* command : kCommands) {
    table.rows.push_back({"  " + std::string(command->name), std::string(command->doc)});
  }
  return "usage: plait COMMAND [FILE] [options]\n\n" + table.text() +
         "\n`plait COMMAND --help` says more about each.\n";
}

std::string help_text(const Command& command) {
  std::string out = str("usage: plait ", command.name, command.usage.empty() ? "" : " ",
                        command.usage, "\n\n", command.doc, "\n");
  if (!command.details.empty()) out += str("\n", command.details);
  out += "\noptions:\n" + options_text(command);
  if (!command.example.empty()) out += str("\nexample:\n", command.example);
  return out;
}

}  // namespace plait::cli
