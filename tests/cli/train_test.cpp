// plait train: a small run from the command line, what goes where, and what is wrong usage.
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

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
