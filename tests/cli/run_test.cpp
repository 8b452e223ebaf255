// run: feeds in, fetches out, states carried, and one case per message.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/hash.h"
#include "base/text.h"
#include "io/bytes.h"
#include "io/file.h"
#include "io/npy.h"
#include "tests/cli/program.h"
#include "tests/temporary.h"

namespace plait::test {
namespace {

using Json = nlohmann::ordered_json;

const std::string kText =
    "graph g(x: f32[2], n: i64[]) state(w: f32[2] = ones, s: bf16[2]) {\n"
    "  %y = add(w, x)  : f32[2]\n"
    "  %loss = sum(%y) : f32[]\n"
    "  next w = %y\n"
    "  return loss = %loss, out/y = %y, n, s\n"
    "}\n";

class Run : public ::testing::Test {
 protected:
  void SetUp() override {
    io::write_file(file, {kText});
    io::write_npy(x, Array::of(DType::f32, {2}, {1, 2}));
    io::write_npy(folder / "n.npy", Array::scalar(DType::i64, 7));
    given = file + " --feed x=" + x + " --feed=n=" + folder / "n.npy";
  }
  void expect_failed(const std::string& arguments, const std::string& message) {
    const Outcome o = plait("run " + arguments);
    EXPECT_EQ(o.code, 1) << arguments;
    EXPECT_EQ(o.err, "plait: " + message + "\n");
  }
  const TemporaryFolder folder;
  const std::string file = folder / "g.plait", x = folder / "x.npy";
  std::string given;
};

TEST_F(Run, PrintsStepsAndATableOfFetches) {
  const Outcome o = plait("run " + given + " --steps 3");
  EXPECT_EQ(o.code, 0) << o.err;
  EXPECT_EQ(o.err, "");
  const std::vector<std::string> lines = split(o.out, '\n');
  ASSERT_EQ(lines.size(), 3u + 1 + 4 + 1);
  EXPECT_TRUE(lines[0].starts_with("step 1/3  loss 5.0000  n 7  ")) << lines[0];
  EXPECT_TRUE(lines[0].ends_with(" ms")) << lines[0];
  EXPECT_TRUE(lines[2].starts_with("step 3/3  loss 11.000  n 7  ")) << lines[2];
  EXPECT_TRUE(lines[3].starts_with("fetch  type")) << lines[3];
  EXPECT_TRUE(lines[4].starts_with("loss   f32[]")) << lines[4];
  EXPECT_TRUE(lines[4].ends_with("11.0")) << lines[4];
}

/// --set is for both graphs, where the other one has such a size too.
TEST_F(Run, SizesAreSetInTheGraphToCompareWithToo) {
  const std::string doubled = folder / "doubled.plait", summed = folder / "summed.plait",
                    fixed = folder / "fixed.plait";
  io::write_file(doubled, {"symbol batch = 1..8\nsymbol width = 1..4\n"
                           "graph g(x: f32[batch,width]) {\n  %y = add(x, x) : f32[batch,width]\n"
                           "  return y = %y\n}\n"});
  io::write_file(summed, {"symbol batch = 1..8\ngraph g(x: f32[batch,2]) {\n"
                          "  %z = neg(x) : f32[batch,2]\n  %y = sub(x, %z) : f32[batch,2]\n"
                          "  return y = %y\n}\n"});
  io::write_file(fixed, {"graph g(x: f32[3,2]) {\n  %y = add(x, x) : f32[3,2]\n"
                         "  return y = %y\n}\n"});
  for (const std::string& other : {doubled, summed, fixed}) {
    const Outcome o =
        plait("run " + doubled + " --set batch=3 --set width=2 --against " + other + " --json");
    ASSERT_EQ(o.code, 0) << other << o.err;
    const Json difference = Json::parse(o.out)["against"][0];
    EXPECT_EQ(difference["name"], "y");
    EXPECT_EQ(difference["difference"], 0);
    EXPECT_GT(difference["largest"], 0);
  }
}

TEST_F(Run, TheCpuRunsItUnlessToldOtherwise) {
  const Outcome o = plait("run " + given + " --json --trace-kernels");
  ASSERT_EQ(o.code, 0) << o.err;
  EXPECT_FALSE(Json::parse(o.out)["kernels"].empty()) << o.out;
}

TEST_F(Run, WithoutACompilerItDoesNotFallBack) {
  const Outcome o = shell("PATH=/nowhere PLAIT_CACHE=" + folder / "cache" + " $PLAIT run " + given);
  EXPECT_EQ(o.code, 1);
  EXPECT_EQ(o.out, "");
  EXPECT_TRUE(o.err.starts_with("plait: no C compiler was found")) << o.err;
  EXPECT_TRUE(o.err.ends_with(", or run with --backend ref\n")) << o.err;
}

TEST_F(Run, AsJson) {
  const Outcome o = plait("run " + given + " --steps 2 --json");
  ASSERT_EQ(o.code, 0) << o.err;
  const Json json = Json::parse(o.out);
  EXPECT_EQ(json["graph"], "g");
  EXPECT_EQ(json["steps"].size(), 2u);
  EXPECT_EQ(json["steps"][1]["step"], 2);
  EXPECT_EQ(json["steps"][1]["loss"], 8);
  ASSERT_EQ(json["fetches"].size(), 4u);
  const Json& y = json["fetches"][1];
  EXPECT_EQ(y["name"], "out/y");
  EXPECT_EQ(y["type"], "f32[2]");
  EXPECT_EQ(y["min"], 3);
  EXPECT_EQ(y["max"], 5);
  EXPECT_EQ(y["mean"], 4);
  const Array expected = Array::of(DType::f32, {2}, {3, 5});
  EXPECT_EQ(y["hash"], hex_digits(fnv1a64(io::bytes_of(expected))));
  EXPECT_FALSE(y.contains("value"));
  EXPECT_EQ(json["fetches"][0]["value"], "8.0");
}

TEST_F(Run, WritesFetchesAndStates) {
  const Outcome o = plait("run " + given + " --steps 2 --states --out " + folder / "o");
  ASSERT_EQ(o.code, 0) << o.err;
  EXPECT_TRUE(io::read_npy(folder / "o/out%2Fy.npy").same_bits(Array::of(DType::f32, {2}, {3, 5})));
  EXPECT_EQ(io::read_npy(folder / "o/loss.npy").real(0), 8);
  EXPECT_TRUE(
      io::read_npy(folder / "o/states/w.npy").same_bits(Array::of(DType::f32, {2}, {3, 5})));
  EXPECT_EQ(io::read_npy(folder / "o/states/s.npy").dtype(), DType::f32);
}

TEST_F(Run, StatesCanBeGivenEvenInBf16) {
  io::write_npy(folder / "s.npy", Array::of(DType::bf16, {2}, {0.5, 2}));
  const Outcome o =
      plait("run " + given + " --json --state w=" + x + " --state s=" + folder / "s.npy");
  ASSERT_EQ(o.code, 0) << o.err;
  const Json json = Json::parse(o.out);
  EXPECT_EQ(json["fetches"][0]["value"], "6.0");
  EXPECT_EQ(json["fetches"][3]["max"], 2);
}

TEST_F(Run, FetchesAnyValueByName) {
  const Outcome o = plait("run " + given + " --json --fetch y,w --fetch loss");
  ASSERT_EQ(o.code, 0) << o.err;
  const Json json = Json::parse(o.out);
  ASSERT_EQ(json["fetches"].size(), 3u);
  EXPECT_EQ(json["fetches"][0]["name"], "y");
  EXPECT_EQ(json["fetches"][1]["max"], 1);
}

TEST_F(Run, RandomFeedsAreSaidAndFollowTheSeed) {
  const std::string command = "run " + file + " --json --fetch y,n --feed n=" + folder / "n.npy";
  const Outcome o = plait(command);
  EXPECT_EQ(o.err, "plait: random feeds, the same in every step (seed 0): x f32[2]\n");
  const auto hash = [](const Outcome& run) { return Json::parse(run.out)["fetches"][0]["hash"]; };
  EXPECT_EQ(hash(o), hash(plait(command)));
  EXPECT_NE(hash(o), hash(plait(command + " --seed 5")));
}

TEST_F(Run, TheNullBackendComputesNothing) {
  const Outcome o = plait("run " + given + " --backend null --json");
  ASSERT_EQ(o.code, 0) << o.err;
  EXPECT_EQ(Json::parse(o.out)["fetches"][0]["value"], "0.0");
}

TEST_F(Run, RefAndNullHavePlansToo) {
  const std::string plan = folder / "g.plan";
  const auto json = [](const std::string& command) {
    return Json::parse(plait(command + " --json").out);
  };
  for (const std::string backend : {"ref", "null"}) {
    json("compile " + file + " --backend " + backend + " -o " + plan);
    EXPECT_EQ(json("run " + plan)["fetches"],
              json("run " + file + " --backend " + backend)["fetches"]);
    EXPECT_FALSE(json("profile " + plan + " --runs 2")["kinds"].empty());
  }
}

TEST_F(Run, UnknownBackend) {
  expect_failed(given + " --backend nul",
                "there is no backend 'nul' in this build; there are ref, "
                "null, cpu, cuda. Did you mean 'null'?");
}

TEST_F(Run, UnknownFeed) {
  const Outcome o = plait("run " + given + " --feed xx=" + x);
  EXPECT_EQ(o.code, 1);
  EXPECT_EQ(o.err, "plait: graph g has no feed 'xx'. Did you mean 'x'? Its feeds are x, n\n");
}

TEST_F(Run, FeedOfAnotherType) {
  expect_failed(file + " --feed n=" + x + " --feed x=" + x,
                "feed 'n' is f32[2], the graph wants i64[]");
}

TEST_F(Run, FeedTwice) {
  const Outcome o = plait("run " + given + " --feed x=" + x);
  EXPECT_EQ(o.code, 2);
  EXPECT_EQ(o.err, "plait: run: --feed gives x twice. See `plait run --help`\n");
}

TEST_F(Run, FeedFromAMissingFile) {
  expect_failed(file + " --feed x=no.npy", "cannot open no.npy: No such file or directory");
}

TEST_F(Run, UnknownState) {
  expect_failed(given + " --state v=" + x, "there is no state 'v'. Did you mean 'w'?");
}

TEST_F(Run, UnknownFetch) {
  expect_failed(given + " --fetch los",
                "graph g has no fetch or value 'los'. Did you mean 'loss'?");
}

TEST_F(Run, OutIntoAFile) {
  const Outcome o = plait("run " + given + " --out " + x);
  EXPECT_EQ(o.code, 1);
  EXPECT_EQ(o.err, "plait: cannot make the folder " + x + ": Not a directory\n");
}

TEST_F(Run, OpaqueNodes) {
  io::write_file(file,
                 {"graph g(x: f32[2]) {\n  %y = opaque \"Odd\"(x) : f32[2]\n  return %y\n}\n"});
  expect_failed(file + " --feed x=" + x,
                "[Odd] cannot be run: Plait lacks it, or this form of it (%y)");
}

TEST_F(Run, SymbolsMustBeSet) {
  io::write_file(file, {"symbol n = 1..4\ngraph g(x: f32[n]) {\n  %y = neg(x) : f32[n]\n"
                        "  return %y\n}\n"});
  expect_failed(file, "graph g has sizes that are not numbers: n (1..4). Give them with --set n=1");
  EXPECT_EQ(plait("run " + file + " --set n=2 --feed x=" + x).code, 0);
}

TEST_F(Run, ATrainingStepLearnsItsBatch) {
  const Outcome o = plait("run 'model:mlp?train=1&dtype=f32&lr=0.1' --steps 20 --json");
  ASSERT_EQ(o.code, 0) << o.err;
  const Json steps = Json::parse(o.out)["steps"];
  EXPECT_LT(steps[19]["loss"].get<double>(), steps[0]["loss"].get<double>());
}

TEST_F(Run, TheSmallLanguageModelLearnsToo) {
  const Outcome o = plait(
      "run 'model:rwkv4?layers=1&width=8&vocab=16&context=4&copy=4&batch=2&"
      "train=1' --steps 5 --json");
  ASSERT_EQ(o.code, 0) << o.err;
  const Json steps = Json::parse(o.out)["steps"];
  EXPECT_LT(steps[4]["loss"].get<double>(), steps[0]["loss"].get<double>());
}

}  // namespace
}  // namespace plait::test
