// Checkpoints on disks that fail at any operation and in processes that are killed there: what was
// whole stays, what is not whole is never seen.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <filesystem>

#include "io/file.h"
#include "tests/raises.h"
#include "tests/temporary.h"
#include "tests/train/faulty_disk.h"
#include "tests/train/tensors.h"
#include "train/checkpoint.h"

namespace plait::train {
namespace {

namespace fs = std::filesystem;
using test::FaultyDisk;
using test::message_of;
using test::random_checkpoint;
using test::same;

Checkpoint at_step(std::int64_t step) {
  Checkpoint c = random_checkpoint(static_cast<std::uint64_t>(step));
  c.state.step = step;
  c.weights.emplace("w", Array(DType::f32, {1000}));
  return c;
}

Written write(const std::string& run, const Checkpoint& c, int keep, Disk& disk) {
  return write_checkpoint(run, c.state, c.weights, c.others, keep, disk);
}
Written write(const std::string& run, const Checkpoint& c, int keep) {
  FaultyDisk none;
  return write(run, c, keep, none);
}

/// Entries of the checkpoints' folder whose name starts with this.
int entries(const std::string& run, const std::string& prefix) {
  int found = 0;
  for (const auto& e : fs::directory_iterator(run + "/checkpoints")) {
    found += e.path().filename().string().starts_with(prefix);
  }
  return found;
}

/// How many operations writing step 2 beside step 1 takes, where one is kept.
int operations_of_a_write(std::int64_t step) {
  const test::TemporaryFolder run;
  write(run.path(), at_step(1), 1);
  FaultyDisk counts;
  write(run.path(), at_step(step), 1, counts);
  return counts.operations();
}

TEST(CheckpointFaults, AFullDiskAtEveryOperation) {
  const int operations = operations_of_a_write(2);
  ASSERT_GT(operations, 15);
  int refused = 0;
  for (int at = 0; at < operations; ++at) {
    const test::TemporaryFolder run;
    const Checkpoint first = at_step(1), second = at_step(2);
    write(run.path(), first, 1);
    FaultyDisk disk(at, ENOSPC);
    disk.spare_removals();
    try {
      write(run.path(), second, 1, disk);
    } catch (const RunError& e) {
      ++refused;
      EXPECT_NE(std::string(e.what()).find("No space left on device"), std::string::npos);
    }
    const Latest latest = load_latest(run.path());
    EXPECT_TRUE(latest.notes.empty()) << at;
    EXPECT_TRUE(same(latest.checkpoint, first) || same(latest.checkpoint, second)) << at;
    EXPECT_EQ(entries(run.path(), ".tmp"), 0) << at;
    EXPECT_GE(entries(run.path(), "step-"), 1) << at;
    write(run.path(), at_step(3), 1);  // and once there is space again
    EXPECT_EQ(load_latest(run.path()).checkpoint.state.step, 3);
  }
  EXPECT_GT(refused, 10);
}

TEST(CheckpointFaults, OneFailureAtEveryOperation) {
  for (const std::int64_t step : {2, 1}) {  // a new one, and one that is replaced
    const int operations = operations_of_a_write(step);
    for (int at = 0; at < operations; ++at) {
      const test::TemporaryFolder run;
      write(run.path(), at_step(1), 1);
      FaultyDisk disk(at, EIO);
      disk.fail_once();
      try {
        write(run.path(), at_step(step), 1, disk);
      } catch (const RunError& e) {
        EXPECT_NE(std::string(e.what()).find("Input/output error"), std::string::npos) << e.what();
      }
      const Latest latest = load_latest(run.path());
      EXPECT_TRUE(latest.notes.empty()) << at;
      EXPECT_TRUE(same(latest.checkpoint, at_step(latest.checkpoint.state.step))) << at;
    }
  }
}

TEST(CheckpointFaults, KilledAtEveryOperation) {
  for (const std::int64_t step : {2, 1}) {
    const int operations = operations_of_a_write(step);
    int killed = 0;
    for (int at = 0; at < operations; ++at) {
      const test::TemporaryFolder run;
      write(run.path(), at_step(1), 1);
      killed += test::killed([&] {
        FaultyDisk disk(at, FaultyDisk::kKill);
        write(run.path(), at_step(step), 1, disk);
      });
      const Latest latest = load_latest(run.path());
      EXPECT_TRUE(latest.notes.empty()) << at;
      for (const std::string& path : checkpoints_of(run.path())) {
        EXPECT_TRUE(check_checkpoint(path)) << path << ": " << check_checkpoint(path).why;
      }
      EXPECT_TRUE(same(latest.checkpoint, at_step(latest.checkpoint.state.step))) << at;
      remove_leftovers(run.path());
      EXPECT_EQ(entries(run.path(), ".tmp"), 0) << at;
      write(run.path(), at_step(3), 1);
      EXPECT_EQ(load_latest(run.path()).checkpoint.state.step, 3);
    }
    EXPECT_EQ(killed, operations);
  }
}

TEST(CheckpointFaults, TheMessageOfAFullDisk) {
  const test::TemporaryFolder run;
  const Checkpoint c = at_step(100);
  const std::uint64_t bytes = write(run.path(), at_step(100), 1).bytes;
  fs::remove_all(run / "checkpoints");
  FaultyDisk disk(6, ENOSPC);  // the first write
  disk.spare_removals();
  const std::string text = message_of<RunError>([&] { write(run.path(), c, 1, disk); });
  EXPECT_TRUE(text.starts_with("cannot write " + run.path() + "/checkpoints/.tmp-")) << text;
  EXPECT_NE(text.find("-step-00000100/weights.safetensors: No space left on device. The checkpoint "
                      "of step 100 is not written; it needs "),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("; free there: "), std::string::npos) << text;
  EXPECT_TRUE(text.ends_with(". Older checkpoints are as they were.")) << text;
  // The need is told before the sums are known: within a few digits of what is written.
  const std::string needs = text.substr(text.find("needs ") + 6);
  std::int64_t told = 0;
  for (const char ch : needs.substr(0, needs.find(' '))) {
    if (ch != ',') told = 10 * told + (ch - '0');
  }
  EXPECT_NEAR(double(told), double(bytes), 64);
}

TEST(CheckpointFaults, AReadOnlyFolder) {
  const test::TemporaryFolder run;
  FaultyDisk disk(0, EROFS);
  EXPECT_EQ(message_of<RunError>([&] { write(run.path(), at_step(4), 1, disk); }),
            "cannot make the folder " + run.path() +
                "/checkpoints: Read-only file system. The checkpoint of step 4 is not written; the "
                "run's folder must be writable. Older checkpoints are as they were.");
}

TEST(CheckpointFaults, OldOnesThatCannotBeRemovedAreANote) {
  const int operations = operations_of_a_write(2);
  const test::TemporaryFolder run;
  write(run.path(), at_step(1), 1);
  FaultyDisk disk(operations - 5, EACCES);  // rename, three files, the folder come last
  const Written written = write(run.path(), at_step(2), 1, disk);
  ASSERT_EQ(written.notes.size(), 1u);
  EXPECT_TRUE(written.notes[0].starts_with("cannot remove the old checkpoint " + run.path()))
      << written.notes[0];
  EXPECT_EQ(load_latest(run.path()).checkpoint.state.step, 2);
}

/// The system's own refusal, not a simulated one: files may not grow beyond a limit.
TEST(CheckpointFaults, ALimitOfTheSystem) {
  const test::TemporaryFolder run;
  write(run.path(), at_step(1), 2);
  rlimit old{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &old), 0);
  const auto handler = ::signal(SIGXFSZ, SIG_IGN);
  for (rlim_t bytes : {0, 1, 100, 4000}) {
    const rlimit small{bytes, old.rlim_max};
    ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
    const std::string text = message_of<RunError>([&] { write(run.path(), at_step(2), 2); });
    ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &old), 0);
    EXPECT_NE(text.find("File too large"), std::string::npos) << text;
    EXPECT_EQ(entries(run.path(), "."), 0);
    EXPECT_TRUE(same(load_latest(run.path()).checkpoint, at_step(1)));
  }
  ::signal(SIGXFSZ, handler);
}

}  // namespace
}  // namespace plait::train
