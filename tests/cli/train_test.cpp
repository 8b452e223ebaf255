// plait train: a small run from the command line, what goes where, and what is wrong usage.
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "io/file.h"
#include "tests/cli/program.h"
#include "tests/temporary.h"

namespace plait::test {
namespace {

namespace fs = std::filesystem;

std::string small(const std::string& run) {
  return "train preset:mlp width=4 batch=8 steps=12 samples=100 eval.every=6 output.folder=" + run;
}

TEST(Train, FromAPresetToASummary) {
  const TemporaryFolder folder;
  const std::string run = folder / "run";
  const Outcome o = plait(small(run));
  EXPECT_EQ(o.code, 0) << o.err;
  EXPECT_EQ(o.err, "");
  EXPECT_NE(o.out.find("\nstep 12/12  loss "), std::string::npos) << o.out;
  EXPECT_NE(o.out.find("plait train --resume " + run + " steps=24"), std::string::npos) << o.out;
  for (const char* name : {"config.toml", "metrics.jsonl", "curve.svg", "summary.json"}) {
    EXPECT_TRUE(fs::exists(run + "/" + name)) << name;
  }
}

TEST(Train, TheDefaultTextIsBesideTheProgram) {
  const TemporaryFolder folder;
  const Outcome o = plait(
      "train preset:rwkv4-small layers=1 width=8 context=8 batch=1 steps=1 eval.every=0 "
      "sample.length=0 output.folder=" +
      folder / "run");
  EXPECT_EQ(o.code, 0) << o.err;
  EXPECT_NE(o.out.find("corpus.txt: "), std::string::npos) << o.out;
}

TEST(Train, JsonIsTheSummaryAlone) {
  const TemporaryFolder folder;
  const Outcome o = plait(small(folder / "run") + " --json");
  EXPECT_EQ(o.code, 0) << o.err;
  const auto json = nlohmann::json::parse(o.out);
  EXPECT_EQ(json.at("steps"), 12);
  EXPECT_EQ(json.at("parameters"), 40);
  EXPECT_NE(o.err.find("step 12/12"), std::string::npos) << o.err;
}

TEST(Train, ARunIsTakenUpOrRefused) {
  const TemporaryFolder folder;
  const std::string run = folder / "run";
  ASSERT_EQ(plait(small(run)).code, 0);
  const Outcome again = plait(small(run));
  EXPECT_EQ(again.code, 1);
  EXPECT_NE(again.err.find("holds a run already"), std::string::npos) << again.err;
  EXPECT_EQ(plait(small(run) + " --overwrite").code, 0);
  const Outcome more = plait("train --resume " + run + " steps=15");
  EXPECT_EQ(more.code, 0) << more.err;
  EXPECT_NE(more.out.find("from step 12 to 15 steps"), std::string::npos) << more.out;
  const Outcome picture = plait("train --curves " + run + "," + run + " -o " + (folder / "c.svg"));
  EXPECT_EQ(picture.out, "wrote " + (folder / "c.svg") + "\n");
}

TEST(Train, GoesOnWhenNobodyReadsItsOutput) {
  const TemporaryFolder folder;
  const std::string run = folder / "run";
  const Outcome closed = shell("{ sleep 0.1; $PLAIT " + small(run) + "; echo $? >&2; } | true");
  EXPECT_EQ(closed.err,
            "plait: nobody reads the output any more: training goes on without it\n0\n");
  EXPECT_TRUE(fs::exists(run + "/checkpoints/step-00000012/state.json"));
  const Outcome full = plait(small(folder / "full") + " >/dev/full");
  EXPECT_EQ(full.code, 0);
  EXPECT_EQ(full.err,
            "plait: cannot write the output: No space left on device: training goes on without "
            "it\n");
  EXPECT_TRUE(fs::exists(folder / "full/checkpoints/step-00000012/state.json"));
}

TEST(Train, ALimitOnFileSizesIsAsAFullDisk) {
  const TemporaryFolder folder;
  const std::string run = folder / "run";
  const Outcome o = shell(
      "ulimit -f 100; $PLAIT train preset:mlp width=4 batch=8 steps=100000 samples=100 "
      "eval.every=0 log_every=1 output.folder=" +
      run + " >/dev/null");
  EXPECT_EQ(o.code, 1);
  EXPECT_NE(o.err.find("cannot write " + run + "/metrics.jsonl: File too large. To go on: "),
            std::string::npos)
      << o.err;
  EXPECT_NE(o.err.find(" train --resume " + run), std::string::npos) << o.err;
}

TEST(Train, ATerminalThatClosesIsASignalToStop) {
  const TemporaryFolder folder;
  const std::string run = folder / "run";
  const Outcome o = shell("$PLAIT train preset:mlp steps=100000000 output.folder=" + run +
                          " & for i in $(seq 300); do [ -s " + run +
                          "/metrics.jsonl ] && break; sleep 0.1; done; kill -HUP $!; wait $!");
  EXPECT_EQ(o.code, 0) << o.err;
  EXPECT_NE(o.out.find("SIGHUP: stopped after step "), std::string::npos) << o.out;
  EXPECT_NE(o.out.find("checkpoint " + run), std::string::npos) << o.out;
}

TEST(Train, HowToGoOnIsSaidOnStandardErrorWhereTheOutputIsLost) {
  const TemporaryFolder folder;
  const std::string run = folder / "run";
  const Outcome o = shell("$PLAIT train preset:mlp steps=100000000 output.folder=" + run +
                          " >/dev/full & for i in $(seq 300); do [ -s " + run +
                          "/metrics.jsonl ] && break; sleep 0.1; done; kill -TERM $!; wait $!");
  EXPECT_EQ(o.code, 0) << o.err;
  EXPECT_NE(o.err.find("plait: SIGTERM: stopped after step "), std::string::npos) << o.err;
  EXPECT_NE(o.err.find(" train --resume " + run + "\n"), std::string::npos) << o.err;
}

TEST(Train, AStartThatFailsLeavesWhatWasThere) {
  const TemporaryFolder folder;
  const std::string run = folder / "run";
  EXPECT_EQ(shell("CC=/nowhere PLAIT_CACHE=" + (folder / "cache") + " $PLAIT " + small(run)).code,
            1);
  EXPECT_FALSE(fs::exists(run));
  ASSERT_EQ(plait(small(run)).code, 0);
  const Outcome o = shell("CC=/nowhere PLAIT_CACHE=" + (folder / "cache") + " $PLAIT " +
                          small(run) + " --overwrite");
  EXPECT_EQ(o.code, 1);
  EXPECT_EQ(o.err.find("--resume"), std::string::npos) << o.err;
  EXPECT_EQ(plait("train --resume " + run + " steps=13").code, 0);
}

TEST(Train, AMeasuredProcessorChangesNoRunsProgram) {
  const TemporaryFolder folder;
  const std::string run = folder / "run";
  const std::string called = "PLAIT_CACHE='" + folder / "cache" + "' $PLAIT ";
  ASSERT_EQ(shell(called + small(run)).code, 0);
  const std::string before = io::read_file(run + "/train.plan");
  ASSERT_EQ(shell(called + "doctor --measure").code, 0);
  const Outcome o = shell(called + "train --resume " + run + " steps=15");
  EXPECT_EQ(o.code, 0) << o.err;
  EXPECT_EQ((o.out + o.err).find("planned anew"), std::string::npos) << o.out << o.err;
  EXPECT_EQ(io::read_file(run + "/train.plan"), before);
  const Outcome plan = shell(called + "plan " + run + "/train.plan");
  EXPECT_NE(plan.out.find("generic, built in"), std::string::npos) << plan.out << plan.err;
}

TEST(Train, TheBackendIsAFlagToo) {
  const TemporaryFolder folder;
  const Outcome o = plait(small(folder / "run") + " --backend ref --threads 1");
  EXPECT_EQ(o.code, 0) << o.err;
  EXPECT_NE(o.out.find(" on ref, 1 thread"), std::string::npos) << o.out;
  const Outcome wrong = plait(small(folder / "run") + " --backend gpu");
  EXPECT_EQ(wrong.code, 1);
  EXPECT_NE(wrong.err.find("train.backend must be one of"), std::string::npos) << wrong.err;
}

TEST(Train, WrongUsage) {
  EXPECT_EQ(plait("train").err,
            "plait: train: wants CONFIG.toml, preset:NAME or --resume RUN. See `plait train "
            "--help`\n");
  EXPECT_TRUE(plait("train preset:mlpp")
                  .err.starts_with("plait: there is no preset 'mlpp'. Did you mean 'mlp'?"));
  EXPECT_EQ(plait("train --resume nowhere").err,
            "plait: nowhere is not a run's folder: there is no nowhere/config.toml\n");
  EXPECT_EQ(plait("train --resume a --overwrite").code, 2);
  EXPECT_EQ(plait("train preset:mlp -o x.svg").code, 2);
}

TEST(Train, EveryPresetIsListed) {
  const Outcome o = plait("train --presets");
  EXPECT_TRUE(o.out.starts_with("preset:mlp ")) << o.out;
  EXPECT_NE(o.out.find("preset:rwkv4-small "), std::string::npos) << o.out;
}

}  // namespace
}  // namespace plait::test
