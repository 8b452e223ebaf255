// Ordinary mistakes: each ends with exit code 1 or 2, soon, and with a message that names what.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>

#include "tests/cli/mistakes.h"
#include "tests/cli/program.h"

namespace plait::test {
namespace {

namespace fs = std::filesystem;

const std::string kLong(300, 'n');

/// What each of these is not, as every command must say it where it wants a file.
const Mistake kNoFiles[] = {
    {"fifo", 1, "fifo is a FIFO, not a file"},
    {"loop", 1, "loop: Too many levels of symbolic links"},
    {kLong, 1, kLong + ": File name too long"},
    {".", 1, " is a folder, not a file"},
    {"/dev/zero", 1, "/dev/zero is a device, not a file"},
};

/// One mistake per row of kNoFiles, `words` with its name behind them.
std::vector<Mistake> with_no_files(const std::string& words) {
  std::vector<Mistake> out;
  for (const Mistake& m : kNoFiles) out.push_back({words + m.words, m.code, m.says});
  return out;
}

bool nobody_runs_it() { return as_nobody("$PLAIT version").code == 0; }

TEST_F(Mistakes, EveryCommandWantsAFile) {
  for (const char* command : {"show", "check", "stats --json", "run --json", "report --json",
                              "plan --json", "compile -o o.plan", "explain", "profile --json",
                              "bench --json", "convert --to dot", "train"}) {
    const std::string words = std::string(command) + " ";
    std::vector<Mistake> mistakes = with_no_files(words);
    mistakes.push_back({words + "''", 2, " is empty: is a variable of the shell not set?"});
    if (words.starts_with("convert")) {
      for (Mistake& m : mistakes) m.words += " o.dot";
    }
    expect(mistakes);
  }
}

TEST_F(Mistakes, FilesBesideTheGraph) {
  for (const char* words : {"run g --weights ", "run g --feed x=", "run g --against ",
                            "report g --beside ", "run model:mlp --state 0.W=",
                            "train preset:mlp "
                            "output.folder=o model.init_from=",
                            "train preset:mlp output.folder=o "
                            "model.file=",
                            "eval preset:mlp --weights "}) {
    std::vector<Mistake> mistakes = with_no_files(words);
    if (std::string(words).find("init_from") != std::string::npos) mistakes.pop_back();
    expect(mistakes);
  }
  expect({
      {"run g --weights ''", 2, "--weights is given an empty value"},
      {"run g --feed x=", 2, "--feed wants name=value, is given 'x='"},
      {"run g --out ''", 2, "--out is given an empty value"},
      {"run g --out fifo", 1, "cannot make the folder fifo: Not a directory"},
      {"run g --out loop", 1, "cannot make the folder loop: Too many levels"},
      {"run g --out " + kLong, 1, ": File name too long"},
      {"plan g --svg fifo", 1, "cannot write fifo: nobody reads from it"},
      {"plan g --svg " + kLong, 1, ": File name too long"},
      {"plan g --svg .", 1, "cannot write ."},
      {"compile g -o g/below", 1, "cannot write g/below: Not a directory"},
      {"compile g -o /dev/full", 1, "cannot write /dev/full: No space left"},
      {"show g --dump fifo", 1, "cannot make the folder fifo"},
      {"train preset:mlp output.folder=loop", 1, "cannot make the folder loop: Too many levels"},
      {"train preset:mlp output.folder=" + kLong, 1, "File name too long"},
      {"train preset:mlp output.folder=g", 1, "cannot make the folder g: Not a directory"},
      {"train preset:mlp output.folder=", 1, "output.folder is empty"},
  });
}

TEST_F(Mistakes, FoldersOfRuns) {
  train("run", kSmallMlp);
  for (const char* words : {"generate ", "predict --input x.npy ", "eval ", "train --resume "}) {
    expect({
        {words + std::string("''"), 2, " empty"},
        {words + std::string("loop"), 1, "cannot look at loop/config.toml: Too many levels"},
        {words + kLong, 1, "File name too long"},
    });
  }
  expect({
      {"generate fifo", 1, "'fifo' is no run"},
      {"train --resume fifo", 1, "fifo is not a run's folder"},
      {"train --curves loop", 1, "cannot open loop/metrics.jsonl: Too many levels"},
      {"train --curves run -o fifo", 1, "cannot write fifo: nobody reads from it"},
      {"predict run --input loop", 1, "cannot look at loop: Too many levels"},
      {"predict run --input ''", 2, "--input is given an empty value"},
  });
}

TEST_F(Mistakes, DataThatCannotBeRead) {
  write("texts/a.txt", {"abc"});
  fs::create_symlink("self.txt", folder / "texts/self.txt");
  const auto data = [](const std::string& kind, const std::string& path) {
    const std::string model =
        kind == "text" || kind == "tokens" ? "rwkv4-small sample.length=0" : "resnet50";
    return "train preset:" + model + " output.folder=o data.kind=" + kind + " data.path=" + path;
  };
  expect({
      {data("text", "fifo"), 1, "fifo is a FIFO, not a file"},
      {data("text", "/dev/zero"), 1, "/dev/zero is a device, not a file"},
      {data("text", "loop"), 1, "/loop: Too many levels of symbolic links"},
      {data("text", "texts"), 1, "texts/self.txt: Too many levels of symbolic links"},
      {data("text", kLong), 1, "File name too long"},
      {data("text", ""), 1, "data.path has an empty name"},
      {data("tokens", "fifo"), 1, "fifo is a FIFO, not a file"},
      {data("tokens", "loop"), 1, "Too many levels of symbolic links"},
      {data("images", "loop"), 1, "Too many levels of symbolic links"},
      {data("images", "g"), 1, "cannot read the folder"},
      {data("cifar10", "loop"), 1, "Too many levels of symbolic links"},
      {data("mnist", "loop"), 1, "Too many levels of symbolic links"},
      {data("mnist", kLong), 1, "File name too long"},
      {data("arrays", "loop"), 1, "Too many levels of symbolic links"},
  });
}

TEST_F(Mistakes, WhatOneMayNotRead) {
  if (!nobody_runs_it()) GTEST_SKIP() << "nobody may not run the program where it lies";
  train("run", kSmallMlp);
  write("texts/below/a.txt", {"abc"});
  fs::permissions(folder / "run", fs::perms::none);
  fs::permissions(folder / "texts/below", fs::perms::none);
  fs::permissions(folder / "g", fs::perms::none);
  const std::string denied = ": Permission denied";
  expect(
      {
          {"show g", 1, "cannot open g" + denied},
          {"stats run/model.plait", 1, "cannot open run/model.plait" + denied},
          {"run model:mlp --weights run/w", 1, "cannot open run/w" + denied},
          {"run model:mlp --out run/o", 1, "cannot make the folder run/o" + denied},
          {"plan model:mlp --svg run/o.svg", 1, "cannot write run/o.svg" + denied},
          {"eval run", 1, "cannot look at run/config.toml" + denied},
          {"generate run", 1, "cannot look at run/config.toml" + denied},
          {"predict run --input x.npy", 1, "cannot look at run/config.toml" + denied},
          {"train --resume run", 1, "cannot look at run/config.toml" + denied},
          {"train --curves run", 1, "cannot open run/metrics.jsonl" + denied},
          {"train preset:mlp output.folder=run", 1, "cannot write run" + denied},
          {"train preset:mlp output.folder=run/below", 1,
           "cannot make the folder run/below" + denied},
          {"train preset:rwkv4-small data.path=texts", 1, "texts/below" + denied},
          {"train preset:rwkv4-small data.path=run", 1, "cannot read the folder"},
          {"train preset:resnet50 data.kind=images data.path=run", 1, "cannot read the folder"},
          {"train preset:resnet50 data.kind=cifar10 data.path=run", 1, "cannot read the folder"},
          {"train preset:resnet50 data.kind=mnist data.path=run", 1, "cannot look at"},
      },
      User::kNobody);
  fs::permissions(folder / "run", fs::perms::all);
  fs::permissions(folder / "run/checkpoints", fs::perms::none);
  expect({{"eval run", 1, "cannot read the folder run/checkpoints" + denied},
          {"predict run --input x.npy", 1, "cannot read the folder run/checkpoints" + denied}},
         User::kNobody);
  fs::permissions(folder / "run/checkpoints", fs::perms::all);
}

TEST_F(Mistakes, AWorkingFolderThatIsGone) {
  const std::string gone = R"(sh -c 'mkdir gone && cd gone && rmdir ../gone && exec "$0" "$@"')";
  expect(
      {
          {"eval x", 1, "cannot open x: No such file"},
          {"generate .", 1, "'.' is no run"},
          {"train preset:mlp", 1, "cannot make the folder runs/mlp: No such file"},
          {"train preset:rwkv4-small data.path=x output.folder=" + (folder / "o"), 1,
           "cannot tell where the working folder is: No such file"},
      },
      User::kAnybody, gone);
}

TEST_F(Mistakes, NumbersOfThreads) {
  train("text", kSmallText);
  expect({
      {"run g --threads 4097", 2, "--threads must be at most 4096, is 4097"},
      {"run g --threads 4294967297", 2, "--threads must be at most 4096"},
      {"bench g --threads 4097", 2, "--threads must be at most 4096"},
      {"generate text --threads 4294967297", 2, "--threads must be at most 4096"},
      {"eval text --threads 4097", 1,
       "train.threads must be a whole number, at least 0, at most 4096"},
      {"train preset:mlp --threads 4097", 1, "train.threads must be"},
      {"run g --threads 1025", 0, ""},  // what the documentation allows
      {"eval text --threads 1025", 0, ""},
  });
  expect({{"run g", 1, "PLAIT_THREADS is \"4097\": give a number of threads from 1 to 4096"}},
         User::kAnybody, "env PLAIT_THREADS=4097");
}

TEST_F(Mistakes, ThreadsThatCannotBeStarted) {
  if (!nobody_runs_it()) GTEST_SKIP() << "nobody may not run the program where it lies";
  const std::string cache = "env PLAIT_CACHE=cache ";
  expect({{"bench model:mlp --threads 1 --seconds 0.01", 0, ""}}, User::kNobody, cache);
  const std::string alone = cache + "prlimit --nproc=0";
  expect(
      {
          {"run model:mlp --threads 2", 1, "only 1 of 2 threads could be started"},
          {"bench model:mlp --threads 1 --seconds 0.01", 0,
           ""},  // kernels are kept: none is needed
          {"run g --threads 1", 1, "the C compiler cannot be started"},
          {std::string("train ") + kSmallMlp + " output.folder=o", 1,
           "the C compiler cannot be started"},
          {"profile model:mlp --threads 2 --runs 1", 1, "threads could be started"},
      },
      User::kNobody, alone);
}

}  // namespace
}  // namespace plait::test
