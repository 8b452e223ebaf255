// The trainer on small models: a run that was stopped and resumed ends with the same bits as one
// that was not, in every precision and with everything that keeps a state of its own; what a run
// leaves behind; that losses fall.
#include "train/trainer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "io/file.h"
#include "io/safetensors.h"
#include "program/state_table.h"
#include "tests/train/small_run.h"
#include "train/metrics.h"

namespace plait::train {
namespace {

namespace fs = std::filesystem;
using test::same_end;
using test::SmallRuns;

struct Case {
  const char* name;
  std::vector<std::string> arguments;
};

class Resume : public testing::TestWithParam<Case> {};

TEST_P(Resume, GivesTheSameBitsAsAWholeRun) {
  SmallRuns runs(GetParam().arguments);
  ASSERT_TRUE(runs.run("whole").finished);
  const TrainResult stopped = runs.run("parts", 10);
  ASSERT_FALSE(stopped.finished);
  ASSERT_EQ(stopped.step, 10);
  const Checkpoint half = runs.end_of("parts");
  ASSERT_TRUE(runs.resume("parts").finished);
  ASSERT_TRUE(runs.run("again").finished);

  const Checkpoint whole = runs.end_of("whole");
  EXPECT_EQ(whole.state.step, 20);
  EXPECT_FALSE(test::same(half.weights, whole.weights));
  EXPECT_TRUE(same_end(runs.end_of("parts"), whole)) << "stopped and resumed";
  EXPECT_TRUE(same_end(runs.end_of("again"), whole)) << "twice in a row";
  // What was logged agrees too, each step once.
  const auto logged = [&](const std::string& run) {
    std::vector<Record> records;
    for (const Record& r : read_metrics(runs.path(run) + "/" + kMetricsFile)) {
      records.push_back(without_timings(r));
    }
    return records;
  };
  EXPECT_EQ(logged("whole"), logged("parts"));
}

INSTANTIATE_TEST_SUITE_P(
    Of, Resume,
    testing::Values(Case{"f32", {}}, Case{"bf16", {"precision=bf16"}},
                    Case{"f16", {"precision=f16", "loss_scale_every=3"}},
                    Case{"accumulation", {"accumulate=3", "clip=1.0"}},
                    Case{"accumulation_bf16", {"accumulate=2", "precision=bf16"}},
                    Case{"dropout",
                         {"model.name=gpt2", "layers=1", "width=16", "heads=2", "context=8",
                          "dropout=0.2"}},
                    Case{"dropout_accumulated",
                         {"model.name=gpt2", "layers=1", "width=16", "heads=2", "context=8",
                          "dropout=0.2", "accumulate=2", "precision=bf16"}},
                    Case{"sequential", {"shuffle=false", "prefetch=0"}},
                    Case{"momentum", {"optimizer.kind=sgd", "momentum=0.9", "on_nan=skip"}},
                    Case{"groups",
                         {"groups=[\"*.weight lr=2e-3\", \"*.time_* lr=1e-3\"]",
                          "freeze=[\"blocks.0.ffn.*\", \"emb.*\"]", "optimizer.kind=adamw",
                          "weight_decay=0.1"}},
                    Case{"reference", {"backend=ref", "batch=2"}},
                    Case{"running_statistics",
                         {"model.name=unet", "image=8", "width=4", "depth=1", "classes=2",
                          "data.kind=synthetic", "samples=40"}}),
    [](const auto& info) { return std::string(info.param.name); });

TEST(Trainer, LeavesWhatItPromises) {
  SmallRuns runs;
  const TrainResult result = runs.run("run");
  const std::string run = runs.path("run");
  for (const char* name : {kConfigFile, kMetricsFile, kCurveFile, kSummaryFile, kVocabFile}) {
    EXPECT_TRUE(fs::exists(run + "/" + name)) << name;
  }
  EXPECT_EQ(result.checkpoint, run + "/checkpoints/step-00000020");
  EXPECT_EQ(io::read_file(run + "/" + kSummaryFile), result.summary);
  // The config is whole: it gives the same run.
  const Config config = load_config(run + "/" + kConfigFile);
  EXPECT_EQ(config.model.keys.at("vocab"), "256");
  // Weights alone are in the weights' file, under the model's names.
  const io::TensorFile weights = io::read_safetensors(result.checkpoint + "/" + kWeightsFile);
  EXPECT_TRUE(weights.tensors.count("blocks.0.att.key.weight")) << weights.tensors.begin()->first;
  for (const auto& [name, tensor] : weights.tensors) EXPECT_FALSE(name.starts_with("optim."));
}

TEST(Trainer, LogsWhenItIsToldTo) {
  SmallRuns runs;
  runs.run("run");
  std::vector<std::int64_t> steps, evaluated;
  int with_mfu = 0;
  for (const Record& r : read_metrics(runs.path("run") + "/" + kMetricsFile)) {
    steps.push_back(r.step);
    if (r.eval_loss) evaluated.push_back(r.step);
    EXPECT_TRUE(r.loss && r.smoothed_loss && r.lr && r.tokens_per_second && r.memory_bytes);
    with_mfu += r.mfu.has_value();
    const double mfu = r.mfu.value_or(0.5);
    EXPECT_TRUE(mfu > 0 && mfu <= 1) << mfu;
    EXPECT_EQ(r.eval_loss.has_value(), r.eval_perplexity.has_value());
  }
  EXPECT_EQ(steps, (std::vector<std::int64_t>{1, 3, 6, 7, 9, 12, 14, 15, 18, 20}));
  EXPECT_GT(with_mfu, 0);
  EXPECT_EQ(evaluated, (std::vector<std::int64_t>{7, 14, 20}));
  EXPECT_NE(runs.said.find("step 20/20"), std::string::npos) << runs.said;
  EXPECT_NE(runs.said.find("plait train --resume "), std::string::npos) << runs.said;
}

TEST(Trainer, WithoutEvaluationsTheEndSaysNone) {
  SmallRuns runs;
  runs.run("a", 14, {"eval.every=7"});
  EXPECT_NE(runs.said.find("eval loss"), std::string::npos) << runs.said;
  runs.said.clear();
  runs.resume("a", 0, {"eval.every=0"});
  EXPECT_NE(runs.said.find("trained"), std::string::npos) << runs.said;
  EXPECT_EQ(runs.said.find("eval loss"), std::string::npos) << runs.said;
}

/// Programs of a run share their states and an arena as large as the larger one's.
TEST(Trainer, EvaluationChangesNothingAndTakesNoMemoryOfItsOwn) {
  SmallRuns runs;
  runs.run("alone", 0, {"eval.every=0"});
  runs.run("both", 0, {"eval.every=2"});
  const Checkpoint alone = runs.end_of("alone"), both = runs.end_of("both");
  EXPECT_TRUE(test::same(alone.weights, both.weights));
  EXPECT_TRUE(test::same(alone.others, both.others));

  const auto plan = [&](const std::string& name) {
    const std::string path = runs.path("both") + "/" + name + ".plan";
    return program::from_bytes(io::read_file(path), path);
  };
  const program::Program train = plan("train"), eval = plan("eval");
  const auto bytes = [&](const std::string& run) {
    return static_cast<std::int64_t>(
        *read_metrics(runs.path(run) + "/" + kMetricsFile).back().memory_bytes);
  };
  EXPECT_EQ(bytes("alone"), train.peak_bytes());
  EXPECT_LE(eval.work_bytes(), train.work_bytes());
  EXPECT_EQ(bytes("both"), train.peak_bytes() + eval.constants_bytes);
  EXPECT_TRUE(program::begins_with(program::table_of(train), program::table_of(eval)));
  EXPECT_TRUE(program::begins_with(program::table_of(eval), program::table_of(train)));

  // Planned again in the same order when the run goes on, and found to be the same.
  runs.resume("both", 0, {"eval.every=2", "steps=22"});
  EXPECT_EQ(runs.said.find("planned"), std::string::npos) << runs.said;
}

TEST(Trainer, LossesFall) {
  SmallRuns runs({"steps=150", "lr=0.01", "eval.every=0", "valid_fraction=0", "log_every=1"});
  runs.run("run");
  const auto records = read_metrics(runs.path("run") + "/" + kMetricsFile);
  ASSERT_EQ(records.size(), 150u);
  EXPECT_GT(*records.front().loss, 5.0);  // log 256 is 5.5
  EXPECT_LT(*records.back().smoothed_loss, 2.2);
}

TEST(Trainer, ClassifiersHaveAnAccuracy) {
  SmallRuns runs({"model.name=unet", "image=8", "width=4", "depth=1", "classes=2", "steps=60",
                  "lr=0.02", "data.kind=synthetic", "eval.every=60", "samples=200"});
  runs.run("run");
  const Record last = read_metrics(runs.path("run") + "/" + kMetricsFile).back();
  ASSERT_TRUE(last.eval_accuracy);
  EXPECT_FALSE(last.eval_perplexity);
  EXPECT_GT(*last.eval_accuracy, 0.8);
  EXPECT_LE(*last.eval_accuracy, 1.0);
}

TEST(Trainer, EpochsAreCounted) {
  SmallRuns runs({"model.name=mlp", "dtype=f32", "width=4", "data.kind=synthetic", "samples=50",
                  "epochs=3", "batch=10", "eval.every=0", "valid_fraction=0"});
  EXPECT_EQ(runs.run("run").steps, 15);
  EXPECT_EQ(runs.end_of("run").state.epoch, 3);
}

TEST(Trainer, OldCheckpointsAreRemoved) {
  SmallRuns runs({"checkpoint.every=3", "keep=2"});
  runs.run("run");
  const std::vector<std::string> left = checkpoints_of(runs.path("run"));
  ASSERT_EQ(left.size(), 2u);
  EXPECT_TRUE(left[0].ends_with("step-00000020"));
  EXPECT_TRUE(left[1].ends_with("step-00000018"));
}

TEST(Trainer, AFinishedRunCanGoOn) {
  SmallRuns runs;
  runs.run("run");
  const TrainResult more = runs.resume("run", 0, {"steps=24"});
  EXPECT_TRUE(more.finished);
  EXPECT_EQ(more.step, 24);
  EXPECT_NE(runs.said.find("the config is not the one"), std::string::npos) << runs.said;
}

TEST(Trainer, FirstWeightsFromAFile) {
  SmallRuns runs;
  const TrainResult first = runs.run("first");
  const std::string file = first.checkpoint + "/" + kWeightsFile;
  runs.run("second", 0, {"init_from=" + file, "lr=0"});
  // Without a learning rate they stay.
  EXPECT_TRUE(test::same(runs.end_of("second").weights, runs.end_of("first").weights));
}

TEST(Trainer, GroupsHaveTheirOwnRatesAndFrozenOnesStay) {
  SmallRuns runs({"steps=6"});
  const auto changed = [&](const std::string& run, const std::string& name) {
    const Checkpoint end = runs.end_of(run);
    return !end.weights.at(name).same_bits(runs.end_of("still").weights.at(name));
  };
  runs.run("still", 0, {"lr=0"});
  runs.run("run", 0,
           {"groups=[\"ln_out.* lr=0\", \"head.* lr=0.1\"]", "freeze=\"emb.*\"", "lr=1e-3"});
  for (const char* name : {"emb.weight", "ln_out.weight", "ln_out.bias"}) {
    EXPECT_FALSE(changed("run", name)) << name;
  }
  for (const char* name : {"head.weight", "blocks.0.att.key.weight"}) {
    EXPECT_TRUE(changed("run", name)) << name;
  }
  const Checkpoint end = runs.end_of("run");
  EXPECT_EQ(end.others.count("optim.m.emb.weight"), 0u);
  EXPECT_EQ(end.others.count("optim.m.ln_out.weight"), 1u);
  // All rates follow the schedule from where they begin.
  const double share = end.others.at("optim.lr").real(0) / 1e-3;
  EXPECT_GT(share, 0);
  EXPECT_LT(share, 1);
  EXPECT_NEAR(end.others.at("optim.lr.2").real(0), 0.1 * share, 1e-7);
  EXPECT_EQ(end.others.at("optim.lr.1").real(0), 0);
}

TEST(Trainer, TheSampleIsWritten) {
  SmallRuns runs({"sample.length=20", "sample.prompt=line", "sample.temperature=0"});
  const TrainResult result = runs.run("run");
  EXPECT_NE(runs.said.find("it writes:\nline"), std::string::npos) << runs.said;
  EXPECT_NE(result.summary.find("\"sample\": \"line"), std::string::npos) << result.summary;
}

}  // namespace
}  // namespace plait::train
