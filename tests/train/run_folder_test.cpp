// A run's folder: one process at a time, new or resumed, cleared of what killed runs left.
#include "train/run_folder.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "io/file.h"
#include "tests/raises.h"
#include "tests/temporary.h"
#include "tests/train/faulty_disk.h"
#include "train/checkpoint.h"

namespace plait::train {
namespace {

namespace fs = std::filesystem;
using test::message_of;
using Open = RunFolder::Open;

TEST(RunFolder, IsMadeAndLockedOnce) {
  const test::TemporaryFolder folder;
  const std::string path = folder / "a/run";
  const RunFolder run(path + "//", Open::fresh);
  EXPECT_EQ(run.path(), path);
  EXPECT_EQ(run.root(), path + "/.plait/new");
  EXPECT_EQ(message_of<UserError>([&] { RunFolder(path, Open::fresh); }),
            str(path, " is in use by process ", ::getpid(), " (", path,
                "/.plait/lock): wait for it, or choose another folder"));
}

TEST(RunFolder, TheLockOfAnotherProcessEndsWithIt) {
  const test::TemporaryFolder folder;
  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    const RunFolder run(folder.path(), Open::fresh);
    static_cast<void>(::write(ready[1], "x", 1) == 1);
    for (;;) ::pause();
  }
  char byte;
  ASSERT_EQ(::read(ready[0], &byte, 1), 1);
  const std::string text = message_of<UserError>([&] { RunFolder(folder.path(), Open::fresh); });
  EXPECT_NE(text.find(str("in use by process ", child, " (")), std::string::npos) << text;
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  const RunFolder run(folder.path(), Open::fresh);
  ::close(ready[0]);
  ::close(ready[1]);
}

/// A run of one checkpoint, in place.
void make_run(const std::string& path, const std::string& config, Open how = Open::fresh) {
  RunFolder run(path, how);
  run.write(kConfigFile, config);
  run.write(kVocabFile, config);
  run.take_place();
  run.write(kMetricsFile, "");
  run.write("events.out.tfevents.1", "");
  write_checkpoint(path, {.step = 1, .config_hash = "", .more = {}}, {}, {}, 1);
}

/// All names below it, but those of Plait's own folder.
std::vector<std::string> all_in(const std::string& folder) {
  std::vector<std::string> names;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    const std::string name = entry.path().string().substr(folder.size() + 1);
    if (!name.starts_with(kOwnFolder)) names.push_back(name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

TEST(RunFolder, ARunIsNotOverwrittenUnasked) {
  const test::TemporaryFolder folder;
  const std::string path = folder / "run";
  make_run(path, "[train]\n");
  io::write_file(path + "/notes of mine", {"x"});
  EXPECT_EQ(message_of<UserError>([&] { RunFolder(path, Open::fresh); }),
            path + " holds a run already: go on with it by --resume " + path +
                ", choose another folder, or --overwrite it");
  {
    const RunFolder run(path, Open::resume);
    EXPECT_TRUE(run.notes().empty());
    EXPECT_EQ(io::read_file(run.file(kConfigFile)), "[train]\n");
  }
  RunFolder run(path, Open::overwrite);
  run.write(kConfigFile, "[model]\n");
  EXPECT_EQ(io::read_file(path + "/config.toml"), "[train]\n");
  EXPECT_EQ(checkpoints_of(path).size(), 1u);
  run.take_place();
  EXPECT_EQ(all_in(path), (std::vector<std::string>{"config.toml", "notes of mine"}));
  EXPECT_EQ(io::read_file(run.file(kConfigFile)), "[model]\n");
}

TEST(RunFolder, ARunThatDoesNotStartLeavesNothing) {
  const test::TemporaryFolder folder;
  {
    RunFolder run(folder / "a/b/run", Open::fresh);
    run.write(kConfigFile, "");
  }
  EXPECT_TRUE(fs::is_empty(folder.path()));
  fs::create_directory(folder / "run");
  { RunFolder(folder / "run", Open::fresh).claim(kConfigFile); }
  EXPECT_TRUE(fs::is_empty(folder / "run"));
  make_run(folder / "run", "old");
  const auto before = all_in(folder / "run");
  { RunFolder(folder / "run", Open::overwrite).write(kConfigFile, "new"); }
  EXPECT_EQ(all_in(folder / "run"), before);
  EXPECT_EQ(io::read_file(folder / "run/config.toml"), "old");
  EXPECT_FALSE(fs::exists(folder / "run/.plait/new"));
}

TEST(RunFolder, WhatNoRunListsStaysAsItIs) {
  const test::TemporaryFolder folder;
  const std::vector<std::string> mine = {"vocab.json", "text.txt",  "summary.json",
                                         "lock",       ".mine.tmp", ".config.toml.1.0.tmp"};
  for (const std::string& name : mine) io::write_file(folder / name, {"mine"});
  io::make_folder(folder / "checkpoints/old");
  io::write_file(folder / "checkpoints/old/weights.safetensors", {"mine"});
  const auto before = all_in(folder.path());
  {
    RunFolder run(folder.path(), Open::fresh);
    for (const char* name : {kVocabFile, kTextFile, kSummaryFile}) {
      const std::string said = message_of<UserError>([&] { run.claim(name); });
      EXPECT_TRUE(said.starts_with((folder / name) +
                                   " is in the way: a run writes a file of that "
                                   "name, and no run has listed this one as its own"))
          << said;
    }
    run.write(kConfigFile, "");
    run.take_place();
    write_checkpoint(folder.path(), {.step = 1, .config_hash = "", .more = {}}, {}, {}, 1);
    io::write_file(folder / "checkpoints/step-00000001/mine", {"mine"});
  }
  {
    RunFolder run(folder.path(), Open::resume);
    EXPECT_TRUE(message_of<UserError>([&] {
                  run.write(kVocabFile, "");
                }).starts_with((folder / "vocab.json") + " is in the way"));
  }
  io::write_file(folder / ".config.toml.1.0.tmp", {"mine"});
  RunFolder run(folder.path(), Open::overwrite);
  run.write(kConfigFile, "new");
  run.take_place();
  auto after = before;
  for (const char* name :
       {"config.toml", "checkpoints/step-00000001", "checkpoints/step-00000001/mine"}) {
    after.push_back(name);
  }
  std::sort(after.begin(), after.end());
  EXPECT_EQ(all_in(folder.path()), after);
  for (const std::string& name : mine) EXPECT_EQ(io::read_file(folder / name), "mine") << name;
}

TEST(RunFolder, LinksAreNotFollowed) {
  const test::TemporaryFolder folder;
  io::make_folder(folder / "kept");
  io::write_file(folder / "kept/lock", {"mine"});
  io::make_folder(folder / "run/.plait");
  fs::create_symlink(folder / "kept/lock", folder / "run/.plait/lock");
  EXPECT_EQ(message_of<UserError>([&] { RunFolder(folder / "run", Open::fresh); }),
            (folder / "run/.plait/lock") + " is a link: it is not as a run leaves it");
  fs::remove(folder / "run/.plait/lock");
  fs::create_hard_link(folder / "kept/lock", folder / "run/.plait/lock");
  EXPECT_TRUE(message_of<UserError>([&] {
                RunFolder(folder / "run", Open::fresh);
              }).ends_with(" is no lock of a run: it is no file, or has another name too"));
  fs::remove_all(folder / "run/.plait");
  fs::create_directory_symlink(folder / "kept", folder / "run/.plait");
  EXPECT_TRUE(message_of<UserError>([&] {
                RunFolder(folder / "run", Open::fresh);
              }).starts_with((folder / "run/.plait") + " is no folder: "));
  fs::remove(folder / "run/.plait");
  make_run(folder / "run", "old");
  fs::rename(folder / "run/checkpoints", folder / "kept/checkpoints");
  fs::create_directory_symlink(folder / "kept/checkpoints", folder / "run/checkpoints");
  fs::remove(folder / "run/vocab.json");
  fs::create_symlink(folder / "kept/lock", folder / "run/vocab.json");
  EXPECT_TRUE(message_of<UserError>([&] {
                RunFolder(folder / "run", Open::overwrite);
              }).starts_with((folder / "run/checkpoints") + " is no folder, or a link to one"));
  fs::remove(folder / "run/checkpoints");
  RunFolder run(folder / "run", Open::overwrite);
  run.write(kVocabFile, "new");
  run.take_place();
  EXPECT_EQ(io::read_file(folder / "kept/lock"), "mine");
  EXPECT_FALSE(fs::is_symlink(folder / "run/vocab.json"));
  EXPECT_TRUE(fs::exists(folder / "kept/checkpoints/step-00000001/state.json"));
}

TEST(RunFolder, AListNamesNothingOutsideTheFolder) {
  const test::TemporaryFolder folder;
  make_run(folder / "run", "old");
  io::write_file(folder / "kept", {"mine"});
  io::write_file(folder / "run/.plait/files",
                 {"../kept\n", folder / "kept",
                  "\nsub/../../kept\nconfig.toml\nvocab.json\n"
                  "metrics.jsonl\nevents.out.tfevents.1\ncheckpoints/step-00000001\ncut"});
  RunFolder run(folder / "run", Open::overwrite);
  run.write(kConfigFile, "new");
  run.take_place();
  EXPECT_EQ(io::read_file(folder / "kept"), "mine");
  EXPECT_EQ(all_in(folder / "run"), (std::vector<std::string>{"config.toml"}));
}

/// Killed, or refused by the disk, anywhere in taking its place: the next start finds one whole
/// run.
TEST(RunFolder, OneOfTheTwoRunsIsThereWhateverHappens) {
  const auto take_over = [](const std::string& path, Disk& disk) {
    RunFolder run(path, Open::overwrite, disk);
    run.write(kConfigFile, "new");
    run.write(kTextFile, "new");
    run.take_place();
  };
  test::FaultyDisk counts;
  {
    const test::TemporaryFolder folder;
    make_run(folder / "run", "old");
    take_over(folder / "run", counts);
  }
  const test::TemporaryFolder made;
  make_run(made / "run", "old");
  int old_ones = 0, new_ones = 0;
  for (int at = 0; at < counts.operations(); ++at) {
    for (const int cause : {test::FaultyDisk::kKill, EIO}) {
      const test::TemporaryFolder folder;
      fs::copy(made / "run", folder / "run", fs::copy_options::recursive);
      test::killed([&] {
        test::FaultyDisk disk(at, cause);
        take_over(folder / "run", disk);
      });
      const RunFolder run(folder / "run", Open::resume);
      const auto now = all_in(folder / "run");
      if (io::read_file(run.file(kConfigFile)) == "new") {
        ++new_ones;
        EXPECT_EQ(now, (std::vector<std::string>{"config.toml", "text.txt"})) << at;
      } else {
        ++old_ones;
        EXPECT_EQ(now.size(), 9u) << at;
        EXPECT_EQ(io::read_file(run.file(kVocabFile)), "old") << at;
      }
    }
  }
  EXPECT_GT(old_ones, 20);
  EXPECT_GT(new_ones, 20);
}

TEST(RunFolder, ARunWithoutAListIsTakenUp) {
  const test::TemporaryFolder folder;
  make_run(folder / "run", "old");
  fs::remove_all(folder / "run/.plait");
  EXPECT_TRUE(message_of<UserError>([&] { RunFolder(folder / "run", Open::overwrite); })
                  .ends_with("no run has listed it (" + (folder / "run/.plait/files") +
                             "): move it, or choose another folder"));
  { const RunFolder run(folder / "run", Open::resume); }
  RunFolder run(folder / "run", Open::overwrite);
  run.write(kConfigFile, "new");
  run.take_place();
  EXPECT_EQ(all_in(folder / "run"), (std::vector<std::string>{"config.toml"}));
}

TEST(RunFolder, NothingToResume) {
  const test::TemporaryFolder folder;
  const std::string path = folder / "run";
  EXPECT_EQ(message_of<UserError>([&] { RunFolder(path, Open::resume); }),
            path + " is not a run's folder: there is no " + path + "/config.toml");
  EXPECT_FALSE(fs::exists(path));
}

TEST(RunFolder, LeftoversAreRemoved) {
  const test::TemporaryFolder folder;
  io::write_file(folder / "config.toml", {""});
  io::write_file(folder / ".config.toml.123.0.tmp", {""});
  io::make_folder(folder / "checkpoints/.tmp-123-0-step-00000001");
  io::write_file(folder / "checkpoints/.tmp-123-0-step-00000001/weights.safetensors", {"x"});
  const RunFolder run(folder.path(), Open::resume);
  EXPECT_EQ(run.notes(), (std::vector<std::string>{
                             "removed " + (folder / ".config.toml.123.0.tmp") +
                                 ", left by a run that was killed",
                             "removed " + (folder / "checkpoints/.tmp-123-0-step-00000001") +
                                 ", left by a run that was killed"}));
  EXPECT_TRUE(fs::is_empty(folder / "checkpoints"));
}

TEST(RunFolder, AReadOnlyFolder) {
  const test::TemporaryFolder folder;
  test::FaultyDisk disk(0, EROFS);
  EXPECT_EQ(message_of<RunError>([&] { RunFolder(folder.path(), Open::fresh, disk); }),
            "cannot write " + folder.path() +
                ": Read-only file system. The run's folder must be writable.");
}

TEST(RunFolder, AFileInItsPlace) {
  const test::TemporaryFolder folder;
  io::write_file(folder / "run", {"x"});
  EXPECT_EQ(message_of<RunError>([&] { RunFolder(folder / "run", Open::fresh); }),
            "cannot make the folder " + (folder / "run") + ": Not a directory");
}

}  // namespace
}  // namespace plait::train
