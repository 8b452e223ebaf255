// Checkpoints: what is written comes back, what is damaged is passed over, and old ones go.
#include "train/checkpoint.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "io/file.h"
#include "io/safetensors.h"
#include "tests/raises.h"
#include "tests/temporary.h"
#include "tests/train/faulty_disk.h"
#include "tests/train/tensors.h"

namespace plait::train {
namespace {

namespace fs = std::filesystem;
using test::Draws;
using test::message_of;
using test::random_checkpoint;
using test::same;

Written write(const std::string& run, const Checkpoint& c, int keep = 3) {
  test::FaultyDisk unsynced;
  return write_checkpoint(run, c.state, c.weights, c.others, keep, unsynced);
}

/// One with something in every file.
Checkpoint at_step(std::int64_t step) {
  Checkpoint c = random_checkpoint(static_cast<std::uint64_t>(step));
  c.state.step = step;
  c.weights.emplace("w", Array::of(DType::bf16, {2, 3}, {1, 2, 3, 4, 5, double(step)}));
  c.others.emplace("adam.v.w", Array::of(DType::f32, {2}, {0.5, double(step)}));
  return c;
}

void put(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

std::vector<std::int64_t> steps_in(const std::string& run) {
  std::vector<std::int64_t> steps;
  for (const std::string& path : checkpoints_of(run)) {
    steps.push_back(read_checkpoint(path).state.step);
  }
  return steps;
}

TEST(Checkpoint, TwoHundredRoundTrips) {
  const test::TemporaryFolder run;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const Checkpoint c = random_checkpoint(seed);
    const Written written = write(run.path(), c, 1);
    EXPECT_TRUE(written.notes.empty());
    ASSERT_TRUE(same(read_checkpoint(written.path), c)) << "seed " << seed;
    ASSERT_TRUE(same(load_latest(run.path()).checkpoint, c)) << "seed " << seed;
  }
}

TEST(Checkpoint, OnTheRealDisk) {
  const test::TemporaryFolder run;
  const Checkpoint c = at_step(12);
  EXPECT_TRUE(write_checkpoint(run.path(), c.state, c.weights, c.others, 2).notes.empty());
  EXPECT_TRUE(same(load_latest(run.path()).checkpoint, c));
}

TEST(Checkpoint, FilesAsHuggingFaceReadsThem) {
  const test::TemporaryFolder run;
  const Written written = write(run.path(), at_step(100));
  EXPECT_EQ(written.path, run / "checkpoints/step-00000100");
  std::uint64_t bytes = 0;
  for (const auto& entry : fs::directory_iterator(written.path)) bytes += entry.file_size();
  EXPECT_EQ(written.bytes, bytes);
  const std::string file = io::read_file(written.path + "/weights.safetensors");
  EXPECT_NE(file.find(R"("__metadata__":{"format":"pt"})"), std::string::npos);
  EXPECT_NE(file.find(R"("w":{"dtype":"BF16","shape":[2,3],)"), std::string::npos);
  EXPECT_EQ(io::read_safetensors(written.path + "/optimizer.safetensors").tensors.count("adam.v.w"),
            1u);
}

TEST(Checkpoint, EqualContentsGiveEqualFiles) {
  const test::TemporaryFolder a, b;
  const std::string pa = write(a.path(), at_step(7)).path, pb = write(b.path(), at_step(7)).path;
  for (const char* name : {kWeightsFile, kOthersFile, kStateFile}) {
    EXPECT_EQ(io::read_file(str(pa, "/", name)), io::read_file(str(pb, "/", name))) << name;
  }
}

TEST(Checkpoint, WritingHoldsNoSecondCopy) {
  const Checkpoint c = at_step(1);
  const auto bytes = io::safetensors_bytes(c.weights, {}, "x");
  std::size_t shared = 0;
  for (const auto& [name, array] : c.weights) {
    for (const std::string_view part : bytes.elements) {
      shared +=
          array.byte_count() > 0 && part.data() == reinterpret_cast<const char*>(array.data());
    }
  }
  std::size_t filled = 0;
  for (const auto& [name, array] : c.weights) filled += array.byte_count() > 0;
  EXPECT_EQ(shared, filled);
}

TEST(Checkpoint, TheNewestAreKept) {
  const test::TemporaryFolder run;
  for (const std::int64_t step : {1, 2, 10, 99'999'999, 100'000'000}) {
    write(run.path(), at_step(step), 3);
  }
  EXPECT_EQ(steps_in(run.path()), (std::vector<std::int64_t>{100'000'000, 99'999'999, 10}));
  write(run.path(), at_step(100'000'001), 1);
  EXPECT_EQ(steps_in(run.path()), (std::vector<std::int64_t>{100'000'001}));
}

TEST(Checkpoint, ARunThatWentBackForgetsWhatLayBeyond) {
  const test::TemporaryFolder run;
  for (const std::int64_t step : {100, 200, 300}) write(run.path(), at_step(step));
  write(run.path(), at_step(150));
  EXPECT_EQ(steps_in(run.path()), (std::vector<std::int64_t>{150, 100}));
}

TEST(Checkpoint, TheSameStepIsReplaced) {
  const test::TemporaryFolder run;
  write(run.path(), at_step(5), 1);
  Checkpoint c = at_step(5);
  c.state.samples = 12345;
  write(run.path(), c, 1);
  EXPECT_TRUE(same(load_latest(run.path()).checkpoint, c));
  int entries = 0;
  for ([[maybe_unused]] const auto& e : fs::directory_iterator(run / "checkpoints")) ++entries;
  EXPECT_EQ(entries, 1);
}

TEST(Checkpoint, WeightsAlone) {
  const test::TemporaryFolder run;
  const Checkpoint c = at_step(3);
  write(run.path(), c);
  const Latest latest = load_latest(run.path(), Need::weights);
  EXPECT_TRUE(same(latest.checkpoint.weights, c.weights));
  EXPECT_TRUE(latest.checkpoint.others.empty());
  EXPECT_EQ(latest.checkpoint.state, c.state);
}

TEST(Checkpoint, OtherNamesAreLeftAlone) {
  const test::TemporaryFolder run;
  write(run.path(), at_step(3));
  for (const char* name : {"step-", "step-3", "step-0000000x", "best", "step-00000009 copy"}) {
    io::make_folder(run / (std::string("checkpoints/") + name));
  }
  write(run.path(), at_step(4), 1);
  EXPECT_EQ(steps_in(run.path()), (std::vector<std::int64_t>{4}));
  EXPECT_TRUE(fs::exists(run / "checkpoints/best"));
}

/// A run with a whole checkpoint of step 1 and one of step 2 that a test damages.
struct Damaged : ::testing::Test {
  Damaged() : first(at_step(1)) {
    write(run.path(), first);
    newest = write(run.path(), at_step(2)).path;
  }
  /// The first is used, and the note about the second is this, behind its path.
  void expect_fallback(const std::string& why) {
    const Latest latest = load_latest(run.path());
    EXPECT_TRUE(same(latest.checkpoint, first));
    ASSERT_EQ(latest.notes.size(), 1u);
    EXPECT_EQ(latest.notes[0], "the checkpoint " + newest + " is damaged: " + why);
  }
  std::string file(const std::string& name) const { return newest + "/" + name; }

  test::TemporaryFolder run;
  Checkpoint first;
  std::string newest;
};

TEST_F(Damaged, EachMissingFile) {
  for (const char* name : {kStateFile, kOthersFile, kWeightsFile}) {
    fs::rename(file(name), file("away"));
    expect_fallback("cannot open " + file(name) + ": No such file or directory");
    fs::rename(file("away"), file(name));
  }
  EXPECT_EQ(load_latest(run.path()).checkpoint.state.step, 2);
}

TEST_F(Damaged, ACutFile) {
  const auto bytes = fs::file_size(file(kWeightsFile));
  fs::resize_file(file(kWeightsFile), bytes - 1);
  expect_fallback(str("weights.safetensors has ", bytes - 1, " bytes, ", bytes, " were written"));
}

TEST_F(Damaged, AStateThatIsNoJson) {
  io::write_file(file(kStateFile), {"{\"step\": "});
  expect_fallback("state.json is no JSON from byte 10 on, its end");
  io::write_file(file(kStateFile), {""});
  expect_fallback("state.json is no JSON from byte 1 on, its end");
  io::write_file(file(kStateFile), {"{}\n"});
  expect_fallback("state.json does not match its own checksum");
}

TEST_F(Damaged, AFolderUnderTheNameOfAnotherStep) {
  fs::rename(newest, run / "checkpoints/step-00000009");
  newest = run / "checkpoints/step-00000009";
  expect_fallback("state.json is of step 2");
}

TEST_F(Damaged, AFileInPlaceOfTheFolder) {
  fs::remove_all(newest);
  io::write_file(newest, {"x"});
  expect_fallback("cannot open " + file(kStateFile) + ": Not a directory");
  write(run.path(), at_step(2));  // and it can be replaced
  EXPECT_EQ(load_latest(run.path()).checkpoint.state.step, 2);
}

TEST_F(Damaged, RandomCutsFlipsAndOverwrites) {
  Draws draws(11);
  for (int trial = 0; trial < 300; ++trial) {
    const char* name = std::array{kStateFile, kOthersFile, kWeightsFile}[trial % 3];
    const std::string good = io::read_file(file(name));
    std::string bad = good;
    const auto place = static_cast<std::size_t>(draws.below(std::int64_t(good.size())));
    switch (draws.below(4)) {
      case 0:
        bad.resize(place);
        break;
      case 1:
        bad[place] = static_cast<char>(bad[place] ^ 1 << draws.below(8));
        break;
      case 2:
        bad += static_cast<char>(draws.bits());
        break;
      default:
        for (std::size_t i = place; i < std::min(place + 512, bad.size()); ++i) bad[i] = '\0';
    }
    if (bad == good) continue;
    put(file(name), bad);
    const Latest latest = load_latest(run.path());
    ASSERT_TRUE(same(latest.checkpoint, first)) << name << " at " << place;
    ASSERT_EQ(latest.notes.size(), 1u);
    put(file(name), good);
  }
  EXPECT_EQ(load_latest(run.path()).checkpoint.state.step, 2);
}

TEST_F(Damaged, AllOfThem) {
  fs::remove(file(kStateFile));
  const std::string older = checkpoints_of(run.path())[1];
  fs::remove(older + "/" + kStateFile);
  EXPECT_EQ(message_of<UserError>([&] { load_latest(run.path()); }),
            run.path() + " has no whole checkpoint: the checkpoint " + newest +
                " is damaged: cannot open " + file(kStateFile) +
                ": No such file or directory; the checkpoint " + older +
                " is damaged: cannot open " + older + "/state.json: No such file or directory");
}

TEST(Checkpoint, NoneYet) {
  const test::TemporaryFolder run;
  EXPECT_EQ(message_of<UserError>([&] { load_latest(run.path()); }),
            run.path() + " has no checkpoint to go on from");
}

TEST(TrainState, EveryFlippedBitIsSeen) {
  const TrainState state = random_checkpoint(5).state;
  const FileSums sums{{"a", {123, 0xdeadbeef}}, {"b", {0, 0}}};
  std::string text = state_text(state, sums);
  FileSums read;
  EXPECT_EQ(parse_state(text, read), state);
  EXPECT_EQ(read, sums);
  for (std::size_t bit = 0; bit < text.size() * 8; ++bit) {
    text[bit / 8] = static_cast<char>(text[bit / 8] ^ 1 << bit % 8);
    EXPECT_THROW(parse_state(text, read), UserError) << bit;
    text[bit / 8] = static_cast<char>(text[bit / 8] ^ 1 << bit % 8);
  }
}

TEST(TrainState, InfinitiesAndDeepText) {
  FileSums files;
  TrainState state;
  state.loss_scale = std::numeric_limits<double>::infinity();
  EXPECT_EQ(parse_state(state_text(state, {}), files), state);
  const std::string deep = "{\"a\":" + std::string(1'000'000, '[');
  EXPECT_EQ(message_of<UserError>([&] { parse_state(deep, files); }), "is nested more than 4 deep");
}

}  // namespace
}  // namespace plait::train
