// The trainer when something goes wrong: signals, damaged checkpoints, data that changed, losses
// that are not finite.
#include <gtest/gtest.h>
#include <signal.h>

#include <filesystem>
#include <fstream>

#include "io/file.h"
#include "io/safetensors.h"
#include "tests/raises.h"
#include "tests/train/data_pictures.h"
#include "tests/train/small_run.h"
#include "train/job.h"
#include "train/metrics.h"
#include "train/resume.h"
#include "train/states.h"
#include "train/stop_signal.h"

namespace plait::train {
namespace {

namespace fs = std::filesystem;
using test::message_of;
using test::same_end;
using test::SmallRuns;

bool holds(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(TrainerFaults, ASignalEndsTheRunAfterItsStep) {
  SmallRuns runs({"checkpoint.every=0"});
  runs.run("whole");
  const StopSignal signal;
  TrainRequest request = runs.request("run", RunFolder::Open::fresh);
  int asked = 0;
  request.stop = [&] {
    if (++asked == 6) raise(SIGTERM);
    return StopSignal::asked();
  };
  const TrainResult result = train(request);
  EXPECT_STREQ(StopSignal::name(), "SIGTERM");
  EXPECT_FALSE(result.finished);
  EXPECT_EQ(result.step, 5);
  EXPECT_EQ(runs.end_of("run").state.step, 5);
  EXPECT_TRUE(runs.resume("run").finished);
  EXPECT_TRUE(same_end(runs.end_of("run"), runs.end_of("whole")));
}

TEST(TrainerFaults, ATerminalThatClosesAsksOnce) {
  {
    const StopSignal signal;
    raise(SIGHUP);
    raise(SIGHUP);  // the shell and the system may both say so
    EXPECT_STREQ(StopSignal::name(), "SIGHUP");
  }
  const auto before = ::signal(SIGHUP, SIG_IGN);  // nohup
  {
    const StopSignal signal;
    raise(SIGHUP);
    EXPECT_FALSE(StopSignal::asked());
  }
  ::signal(SIGHUP, before);
}

TEST(TrainerFaultsDeathTest, ASecondSignalEndsTheProcess) {
  EXPECT_EXIT(
      {
        const StopSignal signal;
        raise(SIGINT);
        raise(SIGINT);
      },
      testing::KilledBySignal(SIGINT), "");
}

TEST(TrainerFaults, AStopBeforeTheFirstStepLeavesNothing) {
  SmallRuns runs;
  TrainRequest request = runs.request("run", RunFolder::Open::fresh);
  request.stop = [] { return true; };
  const TrainResult result = train(request);
  EXPECT_FALSE(result.finished);
  EXPECT_FALSE(result.begun);
  EXPECT_FALSE(fs::exists(runs.path("run")));
}

TEST(TrainerFaults, AStopAfterTheFirstStep) {
  SmallRuns runs;
  EXPECT_TRUE(runs.run("run", 1).begun);
  EXPECT_TRUE(runs.resume("run").finished);
  runs.run("whole");
  EXPECT_TRUE(same_end(runs.end_of("run"), runs.end_of("whole")));
}

/// A start that fails before its first step leaves what was there, and else nothing.
TEST(TrainerFaults, AStartThatFailsLeavesNothing) {
  SmallRuns runs;
  const std::vector<std::string> bad = {"init_from=" + runs.path("none")};
  message_of([&] { runs.run("run", 0, bad); });
  EXPECT_FALSE(fs::exists(runs.path("run")));
  runs.run("run", 3);
  const Checkpoint before = runs.end_of("run");
  message_of([&] { runs.run("run", 0, bad, RunFolder::Open::overwrite); });
  EXPECT_TRUE(same_end(runs.end_of("run"), before));
  Tensors weights = before.weights;  // a first loss that is not finite: none is looked for there
  for (auto& [name, w] : weights) std::memset(w.data(), 0x7f, w.byte_count());
  const auto bytes = io::safetensors_bytes(weights, {}, "huge");
  io::write_file(runs.path("huge"), bytes.parts());
  message_of<RunError>(
      [&] { runs.run("run", 0, {"init_from=" + runs.path("huge")}, RunFolder::Open::overwrite); });
  EXPECT_TRUE(same_end(runs.end_of("run"), before));
  EXPECT_TRUE(runs.resume("run").finished);
}

TEST(TrainerFaults, ARunTakesThePlaceOfTheOneItsWeightsAreOf) {
  SmallRuns runs;
  runs.run("run", 3);
  const std::string weights = checkpoints_of(runs.path("run"))[0] + "/" + kWeightsFile;
  fs::copy_file(weights, runs.path("copy"));
  runs.run("whole", 0, {"init_from=" + runs.path("copy")});
  const auto first = runs.run("run", 2, {"init_from=" + weights}, RunFolder::Open::overwrite);
  EXPECT_FALSE(fs::exists(weights));
  EXPECT_EQ(first.step, 2);
  EXPECT_TRUE(runs.resume("run").finished);
  EXPECT_TRUE(test::same(runs.end_of("run").weights, runs.end_of("whole").weights));
}

TEST(TrainerFaults, ADamagedCheckpointIsPassedOver) {
  SmallRuns runs({"checkpoint.every=4"});
  runs.run("whole");
  runs.run("run", 14);
  const std::string newest = checkpoints_of(runs.path("run"))[0];
  fs::resize_file(newest + "/" + kWeightsFile, 100);
  runs.said.clear();
  EXPECT_TRUE(runs.resume("run").finished);
  EXPECT_TRUE(holds(runs.said, "from step 12 to")) << runs.said;
  EXPECT_TRUE(holds(runs.said, newest)) << runs.said;
  EXPECT_TRUE(same_end(runs.end_of("run"), runs.end_of("whole")));
}

TEST(TrainerFaults, DamagedProgramsArePlannedAnew) {
  SmallRuns runs;
  runs.run("whole");
  runs.run("run", 8);
  fs::resize_file(runs.path("run") + "/train.plan", 500);
  std::ofstream(runs.path("run") + "/eval.plan.json") << "{\"hash\": \"1\"}";
  runs.said.clear();
  EXPECT_TRUE(runs.resume("run").finished);
  EXPECT_TRUE(holds(runs.said, "train.plan")) << runs.said;
  EXPECT_TRUE(holds(runs.said, "eval.plan is for another model")) << runs.said;
  EXPECT_TRUE(same_end(runs.end_of("run"), runs.end_of("whole")));
}

/// Changes a run's program and makes its checksum right.
template <class Change>
void change_program(const std::string& path, Change change) {
  program::Program program = program::from_bytes(io::read_file(path), path);
  change(program);
  io::write_file(path, {program::to_bytes(program)});
}

/// Code that would run as soon as it is loaded.
std::string leaves(const std::string& marker) {
  return str("#include <stdio.h>\n__attribute__((constructor)) static void leave(void) { fopen(\"",
             marker, "\", \"w\"); }\n");
}

TEST(TrainerFaults, NothingOfAKeptProgramIsRun) {
  SmallRuns runs;
  runs.run("whole");
  runs.run("run", 8);
  const std::string path = runs.path("run") + "/train.plan", marker = runs.path("marker");
  const std::string good = io::read_file(path);
  const auto refusal = [&](auto change) {
    io::write_file(path, {good});
    change_program(path, change);
    const std::string said = message_of([&] { runs.resume("run"); });
    EXPECT_TRUE(said.starts_with(path + " is not the plan of this run's graph (")) << said;
    EXPECT_TRUE(said.ends_with("Remove it, and the run goes on by a plan made anew")) << said;
    return said;
  };
  EXPECT_TRUE(holds(
      refusal([&](program::Program& p) { p.texts.begin()->second += leaves(marker); }), "(texts)"));
  EXPECT_TRUE(holds(refusal([](program::Program& p) { p.steps[1].kernel = "other"; }),
                    "kernel \"other\", not \""));
  EXPECT_TRUE(holds(refusal([](program::Program& p) { p.steps.pop_back(); }), " steps, not "));
  EXPECT_TRUE(
      holds(refusal([](program::Program& p) { p.buffers.back().offset += 64; }), "buffers"));
  EXPECT_TRUE(holds(refusal([](program::Program& p) { p.tuning["choice-1"] = "1"; }), "tuning"));
  EXPECT_FALSE(fs::exists(marker));
  EXPECT_EQ(runs.end_of("run").state.step, 8);
  fs::remove(path);
  runs.said.clear();
  EXPECT_TRUE(runs.resume("run").finished);
  EXPECT_FALSE(holds(runs.said, "note:")) << runs.said;
  EXPECT_TRUE(same_end(runs.end_of("run"), runs.end_of("whole")));
}

TEST(TrainerFaults, AProgramOfAnotherBuildIsPlannedAnew) {
  SmallRuns runs;
  runs.run("whole");
  runs.run("run", 8);
  const std::string path = runs.path("run") + "/train.plan", marker = runs.path("marker");
  std::string origin = io::read_file(path + ".json");
  const std::size_t build = origin.find("\"build\":\"") + 9;
  origin[build] = origin[build] == '0' ? '1' : '0';
  io::write_file(path + ".json", {origin});
  change_program(path, [&](program::Program& p) { p.texts.begin()->second += leaves(marker); });
  runs.said.clear();
  EXPECT_TRUE(runs.resume("run").finished);
  EXPECT_TRUE(holds(runs.said, path + " was planned otherwise (texts) by another build of Plait"))
      << runs.said;
  EXPECT_FALSE(fs::exists(marker));
  EXPECT_TRUE(same_end(runs.end_of("run"), runs.end_of("whole")));
}

TEST(TrainerFaults, WhatAProgramIsOfMayBeDamagedToo) {
  SmallRuns runs;
  runs.run("run", 8);
  const std::string path = runs.path("run") + "/train.plan.json";
  io::write_file(path, {R"({"hash": 5, "build": "x"})"});
  EXPECT_FALSE(runs.resume("run", 2).finished);
  EXPECT_TRUE(holds(runs.said, path + " has as \"hash\" 5, not a text: planned anew")) << runs.said;
  io::write_file(path, {std::string(200'000, '[')});
  EXPECT_TRUE(runs.resume("run").finished);
  EXPECT_TRUE(holds(runs.said, path + " is nested more than 32 deep: planned anew")) << runs.said;
}

TEST(TrainerFaults, TheKeptProgramIsUsed) {
  SmallRuns runs;
  runs.run("run", 8);
  const std::string path = runs.path("run") + "/train.plan";
  const auto written = fs::last_write_time(path);
  runs.said.clear();
  runs.resume("run");
  EXPECT_EQ(fs::last_write_time(path), written);
  EXPECT_FALSE(holds(runs.said, "note:")) << runs.said;
}

TEST(TrainerFaults, DataThatShrankIsRefused) {
  SmallRuns runs;
  runs.run("run", 8);
  fs::resize_file(runs.path("text.txt"), 3000);
  const std::string said = message_of([&] { runs.resume("run"); });
  EXPECT_TRUE(said.starts_with("the data is not what it was when " + runs.path("run"))) << said;
  EXPECT_EQ(runs.end_of("run").state.step, 8);
}

/// A classifier of pictures of 2x2, and pictures for it: two classes of two, all of one size.
class PictureRuns {
 public:
  PictureRuns() {
    io::write_file(folder_ / "net.plait", {R"(symbol batch = 1..8
graph net(x: f32[batch,3,2,2], labels: i64[batch]) state(w: f32[2,12] = xavier) {
  %f = reshape(x, shape=[batch,12])      : f32[batch,12]
  %logits = linear(%f, w)                : f32[batch,2]
  %loss = cross_entropy(%logits, labels) : f32[]
  return %loss, %logits
}
)"});
    for (const char* name : {"a/1", "a/2", "b/1", "b/2"}) write(name, 10);
  }
  void write(const std::string& name, std::uint8_t grey) {
    const std::string path = str(folder_ / "d/", name, ".png");
    io::make_folder(fs::path(path).parent_path().string());
    io::write_file(path, {test::png_bytes(2, 2, PNG_FORMAT_GRAY, test::Pixels(4, grey))});
  }
  void damage(const std::string& name) {
    io::write_file(str(folder_ / "d/", name, ".png"), {"\x89PNG"});
  }
  std::vector<std::string> arguments() const {
    return {"model.file=" + (folder_ / "net.plait"),
            "data.kind=images",
            "data.path=" + (folder_ / "d"),
            "steps=6",
            "eval.every=0",
            "valid_fraction=0"};
  }

 private:
  test::TemporaryFolder folder_;
};

TEST(TrainerFaults, PicturesThatWereReplacedAreRefused) {
  PictureRuns pictures;
  SmallRuns runs(pictures.arguments());
  runs.run("run", 2);
  EXPECT_FALSE(runs.resume("run", 2).finished);
  pictures.write("b/2", 200);  // the same name, the same number of bytes
  const std::string said = message_of([&] { runs.resume("run"); });
  EXPECT_TRUE(said.starts_with("the data is not what it was when " + runs.path("run"))) << said;
  pictures.write("b/2", 10);
  EXPECT_TRUE(runs.resume("run").finished);
}

TEST(TrainerFaults, DamagedNamesOfClassesAreWrittenAgain) {
  PictureRuns pictures;
  SmallRuns runs(pictures.arguments());
  runs.run("run", 2);
  const std::string path = runs.path("run") + "/classes.json", names = io::read_file(path);
  for (const char* damage : {"[\"a\"", "[\"a\", \"c\"]\n", ""}) {
    if (*damage != 0) {
      std::ofstream(path) << damage;
    } else {
      fs::remove(path);
    }
    Job job = open_job(runs.request("run", RunFolder::Open::resume));
    std::vector<std::string> notes;
    restore(job, notes);
    ASSERT_EQ(notes.size(), 1) << damage;
    EXPECT_TRUE(notes[0].starts_with(path + " was ")) << notes[0];
    EXPECT_EQ(io::read_file(path), names);
  }
}

TEST(TrainerFaults, APictureDamagedMeanwhileSaysWhatToDo) {
  PictureRuns pictures;
  SmallRuns runs(pictures.arguments());
  runs.run("run", 2);
  pictures.damage("b/2");
  const std::string said = message_of([&] { runs.run("other"); });
  EXPECT_TRUE(holds(said, "b/2.png: ")) << said;
  EXPECT_TRUE(holds(said, ". Put the picture back as it was and go on with --resume, or ")) << said;
}

// Checkpoints of versions that looked at names and sizes alone are gone on with.
TEST(TrainerFaults, PicturesOfAnOlderCheckpoint) {
  PictureRuns pictures;
  SmallRuns runs(pictures.arguments());
  runs.run("run", 2);
  const Job job = open_job(runs.request("other", RunFolder::Open::fresh));
  Checkpoint older = runs.end_of("run");
  ASSERT_EQ(older.state.more.at("data"), job.data);
  older.state.more["data"] = str(job.sources.train->older_fingerprint());
  ASSERT_NE(older.state.more.at("data"), job.data);
  write_checkpoint(runs.path("run"), older.state, older.weights, older.others, 3);
  EXPECT_TRUE(runs.resume("run").finished);
  EXPECT_EQ(runs.end_of("run").state.more.at("data"), job.data);
}

TEST(TrainerFaults, AnotherModelIsRefused) {
  SmallRuns runs;
  runs.run("run", 8);
  const std::string said = message_of([&] { runs.resume("run", 0, {"width=32"}); });
  EXPECT_TRUE(holds(said, "step-00000008: state '")) << said;
  EXPECT_TRUE(holds(said, "the graph wants")) << said;
}

TEST(TrainerFaults, ARefusedResumeChangesNoConfig) {
  SmallRuns runs;
  runs.run("run", 2);
  const std::string path = runs.path("run") + "/config.toml", config = io::read_file(path);
  message_of([&] { runs.resume("run", 0, {"width=32"}); });
  EXPECT_EQ(io::read_file(path), config);
  EXPECT_TRUE(runs.resume("run").finished);
}

TEST(TrainerFaults, NothingToEvaluateOn) {
  SmallRuns runs({"one_chunk=true"});
  const std::string said = message_of([&] { runs.run("run"); });
  EXPECT_TRUE(said.starts_with("data.one_chunk leaves nothing to evaluate on")) << said;
  EXPECT_FALSE(fs::exists(runs.path("run")));
}

TEST(TrainerFaults, ARunIsNotOverwrittenUnasked) {
  SmallRuns runs;
  runs.run("run", 2);
  const std::string said = message_of([&] { runs.run("run"); });
  EXPECT_TRUE(holds(said, "holds a run already: go on with it by --resume")) << said;
  EXPECT_TRUE(runs.run("run", 0, {}, RunFolder::Open::overwrite).finished);
}

TEST(TrainerFaults, AFolderThatCannotBeMade) {
  SmallRuns runs;
  std::ofstream(runs.path("file")) << "x";
  const std::string said = message_of<RunError>([&] { runs.run("file/run"); });
  EXPECT_TRUE(holds(said, runs.path("file/run"))) << said;
}

/// Diverges: the weights grow by a factor in every step.
std::vector<std::string> diverging() {
  return {"model.name=mlp",      "dtype=f32",   "width=4",
          "data.kind=synthetic", "batch=8",     "samples=64",
          "optimizer.kind=sgd",  "lr=1e6",      "schedule.kind=constant",
          "warmup_steps=0",      "eval.every=0"};
}

TEST(TrainerFaults, ALossThatIsNotFiniteStopsTheRunAndNamesTheOp) {
  SmallRuns runs(diverging());
  const std::string said = message_of<RunError>([&] { runs.run("run"); });
  EXPECT_TRUE(said.starts_with("loss is ")) << said;
  EXPECT_TRUE(holds(said, " at step ")) << said;
  EXPECT_TRUE(holds(said, "the first ")) << said;
  EXPECT_TRUE(holds(said, "was made by [")) << said;
  EXPECT_TRUE(holds(said, "no checkpoint was written before it")) << said;
}

TEST(TrainerFaults, NothingThatIsNotFiniteIsKept) {
  auto arguments = diverging();
  arguments.push_back("checkpoint.every=1");
  SmallRuns runs(arguments);
  const std::string said = message_of<RunError>([&] { runs.run("run"); });
  EXPECT_TRUE(holds(said, "is not finite at step ") || said.starts_with("loss is ")) << said;
  EXPECT_TRUE(holds(said, "the last checkpoint is ")) << said;
  for (const auto& [name, tensor] : runs.end_of("run").weights) {
    EXPECT_TRUE(all_finite(tensor)) << name;
  }
}

TEST(TrainerFaults, UpdatesAreLeftOutWhenAskedTo) {
  auto arguments = diverging();
  arguments.push_back("on_nan=skip");
  SmallRuns runs(arguments);
  const TrainResult result = runs.run("run");
  EXPECT_TRUE(result.finished);
  EXPECT_FALSE(holds(result.summary, "\"updates_left_out\": 0,")) << result.summary;
  for (const auto& [name, tensor] : runs.end_of("run").weights) {
    EXPECT_TRUE(all_finite(tensor)) << name;
  }
}

}  // namespace
}  // namespace plait::train
