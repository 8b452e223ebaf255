// The command line itself: help, exit codes, one case per message about wrong usage.
#include <gtest/gtest.h>

#include <algorithm>

#include "cli/command.h"
#include "tests/cli/program.h"

namespace plait::test {
namespace {

void expect_usage(const std::string& arguments, const std::string& message) {
  const Outcome o = plait(arguments);
  EXPECT_EQ(o.code, 2) << arguments;
  EXPECT_EQ(o.out, "") << arguments;
  EXPECT_EQ(o.err, "plait: " + message + "\n") << arguments;
}

TEST(Usage, HelpListsEveryCommand) {
  for (const std::string arguments : {"help", "--help", "-h"}) {
    const Outcome o = plait(arguments);
    EXPECT_EQ(o.code, 0);
    EXPECT_EQ(o.err, "");
    for (const cli::Command* command : cli::all_commands()) {
      EXPECT_NE(o.out.find("  " + std::string(command->name) + " "), std::string::npos);
    }
  }
}

TEST(Usage, EveryCommandExplainsItself) {
  for (const cli::Command* command : cli::all_commands()) {
    const std::string name(command->name);
    const Outcome o = plait(name + " --help");
    EXPECT_EQ(o.code, 0) << name;
    EXPECT_TRUE(o.out.starts_with("usage: plait " + name)) << o.out;
    for (const cli::Flag& flag : command->flags) {
      EXPECT_NE(o.out.find(flag.name), std::string::npos) << name << " " << flag.name;
    }
    EXPECT_EQ(plait("help " + name).out, o.out);
  }
}

TEST(Usage, Version) {
  EXPECT_EQ(plait("version").out, plait("--version").out);
  EXPECT_TRUE(plait("version").out.starts_with("plait "));
}

TEST(Usage, NoCommand) {
  const Outcome o = plait("");
  EXPECT_EQ(o.code, 2);
  EXPECT_TRUE(o.err.starts_with("plait: wants a command.\nusage: plait COMMAND")) << o.err;
}

TEST(Usage, UnknownCommand) {
  expect_usage("statz", "there is no command 'statz'. Did you mean 'stats'? See `plait help`");
  expect_usage("help statz",
               "help: there is no command 'statz'. Did you mean 'stats'? See `plait "
               "help --help`");
}

TEST(Usage, PlannedCommandsSaySo) {
  for (const std::string name : {"pack"}) {
    expect_usage(name + " model:mlp",
                 "`" + name +
                     "` comes with a later version; this one has models, ops, show, check, stats, "
                     "report, convert, run, plan, compile, explain, profile, train, eval, predict, "
                     "generate, bench, "
                     "doctor, version, help");
  }
}

TEST(Usage, UnknownOption) {
  expect_usage("run model:mlp --step 3",
               "run: there is no option '--step'. Did you mean '--steps'? See `plait run --help`");
  expect_usage("stats model:mlp --steps=3",
               "stats: there is no option '--steps'. See `plait stats --help`");
}

TEST(Usage, OptionWithoutItsValue) {
  expect_usage("run model:mlp --steps",
               "run: --steps needs a value: --steps N. See `plait run --help`");
}

TEST(Usage, SwitchWithAValue) {
  expect_usage("stats model:mlp --json=1",
               "stats: --json takes no value. See `plait stats --help`");
}

TEST(Usage, OptionGivenTwice) {
  expect_usage("run model:mlp --steps 1 --steps 2",
               "run: --steps is given twice. See `plait run --help`");
}

TEST(Usage, ValuesThatAreNoNumbers) {
  expect_usage("run model:mlp --steps many",
               "run: --steps must be a whole number, not 'many'. See "
               "`plait run --help`");
  expect_usage("run model:mlp --steps=0",
               "run: --steps must be at least 1, is 0. See `plait run --help`");
}

TEST(Usage, ValuesThatAreNoPairs) {
  expect_usage("run model:mlp --feed x.npy",
               "run: --feed wants name=value, is given 'x.npy'. See `plait run --help`");
  expect_usage("stats model:mlp --set batch",
               "stats: --set wants name=value, is given 'batch'. See `plait stats --help`");
}

TEST(Usage, NoFile) {
  for (const std::string name : {"show", "check", "stats", "run"}) {
    expect_usage(name, name + ": wants FILE [options]. See `plait " + name + " --help`");
  }
}

TEST(Usage, TooManyWords) {
  expect_usage("check model:mlp extra",
               "check: does not know what to do with 'extra'. See `plait check --help`");
  expect_usage("ops extra", "ops: does not know what to do with 'extra'. See `plait ops --help`");
}

TEST(Usage, StatesNeedAFolder) {
  expect_usage("run model:mlp --states", "run: --states needs --out DIR. See `plait run --help`");
}

TEST(Usage, FormatsOfShow) {
  expect_usage("show model:mlp --as dott",
               "show: --as knows plait, aicf, megengine, chainer, oneflow, aitemplate, dot, not "
               "'dott'. Did you mean 'dot'? See `plait show --help`");
}

TEST(Usage, ConvertWantsAFormat) {
  expect_usage("convert model:mlp out.txt",
               "convert: the name out.txt does not say the format; give --to FORMAT, or end it in "
               ".plait or .dot. See `plait convert --help`");
  expect_usage("convert model:mlp out.txt --to aitemplat",
               "convert: --to knows plait, aicf, megengine, chainer, oneflow, aitemplate, dot, not "
               "'aitemplat'. Did you mean 'aitemplate'? See `plait convert --help`");
  expect_usage("convert model:mlp", "convert: wants IN OUT [options]. See `plait convert --help`");
}

TEST(Usage, WithinNeedsAgainst) {
  expect_usage("run model:mlp --within 0.1",
               "run: --within needs --against FILE. See `plait run --help`");
}

TEST(Usage, AReaderThatHasGoneIsNoError) {
  const Outcome o = shell("$PLAIT ops | head -n 1");
  EXPECT_EQ(o.code, 0);
  EXPECT_EQ(o.err, "");
  EXPECT_EQ(std::count(o.out.begin(), o.out.end(), '\n'), 1);
}

TEST(Usage, ClosedNotesAndInputAreNoError) {
  const Outcome o = shell("$PLAIT ops >/dev/null 2>&- <&-");
  EXPECT_EQ(o.code, 0);
  EXPECT_EQ(o.err, "");
}

TEST(Usage, AResultThatAClosedOutputLosesIsAnError) {
  for (const char* words : {"ops", "run model:mlp", "stats model:mlp --json"}) {
    const Outcome o = plait(std::string(words) + " >&-");
    EXPECT_EQ(o.code, 1) << words;
    EXPECT_TRUE(o.err.ends_with("plait: cannot write the output: standard output is closed\n"))
        << words << "\n"
        << o.err;
  }
}

TEST(Usage, AFullDiskIsAnError) {
  const Outcome o = shell("$PLAIT ops >/dev/full");
  EXPECT_EQ(o.code, 1);
  EXPECT_EQ(o.err, "plait: cannot write the output: No space left on device\n");
}

}  // namespace
}  // namespace plait::test
