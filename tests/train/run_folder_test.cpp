// A run's folder: one process at a time, new or resumed, cleared of what killed runs left.
#include "train/run_folder.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

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
  EXPECT_EQ(run.file(kConfigFile), path + "/config.toml");
  EXPECT_EQ(message_of<UserError>([&] { RunFolder(path, Open::fresh); }),
            str(path, " is in use by process ", ::getpid(), " (", path,
                "/lock): wait for it, or choose another folder"));
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

TEST(RunFolder, ARunIsNotOverwrittenUnasked) {
  const test::TemporaryFolder folder;
  const std::string path = folder / "run";
  {
    const RunFolder run(path, Open::fresh);
    run.write(kConfigFile, "[train]\n");
    run.write(kMetricsFile, "");
    run.write("events.out.tfevents.1", "");
    run.write("notes of mine", "");
    write_checkpoint(path, {.step = 1, .config_hash = "", .more = {}}, {}, {}, 1);
  }
  EXPECT_EQ(message_of<UserError>([&] { RunFolder(path, Open::fresh); }),
            path + " holds a run already: go on with it by --resume " + path +
                ", choose another folder, or --overwrite it");
  {
    const RunFolder run(path, Open::resume);
    EXPECT_TRUE(run.notes().empty());
    EXPECT_EQ(io::read_file(run.file(kConfigFile)), "[train]\n");
  }
  const RunFolder run(path, Open::overwrite);
  EXPECT_FALSE(fs::exists(run.file(kConfigFile)));
  EXPECT_FALSE(fs::exists(run.file(kMetricsFile)));
  EXPECT_FALSE(fs::exists(run.file("events.out.tfevents.1")));
  EXPECT_FALSE(fs::exists(run.file(kCheckpointFolder)));
  EXPECT_TRUE(fs::exists(run.file("notes of mine")));
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
                "/lock: Read-only file system. The run's folder must be writable.");
}

TEST(RunFolder, AFileInItsPlace) {
  const test::TemporaryFolder folder;
  io::write_file(folder / "run", {"x"});
  EXPECT_EQ(message_of<RunError>([&] { RunFolder(folder / "run", Open::fresh); }),
            "cannot make the folder " + (folder / "run") + ": Not a directory");
}

}  // namespace
}  // namespace plait::train
