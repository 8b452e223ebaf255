// models, ops, check and stats: what they print, as tables and as JSON.
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "backends/backends.h"
#include "base/text.h"
#include "io/file.h"
#include "models/registry.h"
#include "ops/table.h"
#include "tests/cli/program.h"
#include "tests/temporary.h"

namespace plait::test {
namespace {

using Json = nlohmann::ordered_json;

Json json_of(const std::string& arguments) {
  const Outcome o = plait(arguments);
  EXPECT_EQ(o.code, 0) << o.err;
  return Json::parse(o.out);
}

std::vector<std::string> keys_of(const Json& object) {
  std::vector<std::string> keys;
  for (const auto& [key, value] : object.items()) keys.push_back(key);
  return keys;
}

/// A file with a graph whose batch is a symbol.
class Symbolic : public ::testing::Test {
 protected:
  void SetUp() override {
    io::write_file(file, {"symbol batch = 1..64\nsymbol t = 2..8\n"
                          "graph g(x: f32[batch,t]) state(w: f32[3]) {\n"
                          "  %y = neg(x) : f32[batch,t]\n  return %y\n}\n"});
  }
  const TemporaryFolder folder;
  const std::string file = folder / "g.plait";
};

TEST(Models, ListsEveryModelWithItsKeys) {
  const Outcome o = plait("models");
  EXPECT_EQ(o.code, 0);
  for (const models::Entry& entry : models::all_models()) {
    EXPECT_NE(("\n" + o.out).find(str("\n", entry.name, " ")), std::string::npos) << entry.name;
    for (const models::Key& key : models::keys_of(entry)) {
      EXPECT_NE(o.out.find(str(key.name, "=", key.value)), std::string::npos) << key.name;
    }
  }
}

TEST(Models, AsJson) {
  const Json list = json_of("models --json");
  ASSERT_EQ(list.size(), models::all_models().size());
  EXPECT_EQ(keys_of(list[0]), (std::vector<std::string>{"name", "doc", "keys"}));
  EXPECT_EQ(keys_of(list[0]["keys"][0]), (std::vector<std::string>{"name", "default", "doc"}));
}

TEST(Ops, OneLinePerOpAndNothingElse) {
  const Outcome o = plait("ops");
  EXPECT_EQ(o.code, 0);
  EXPECT_EQ(o.err, "");
  const std::vector<std::string> lines = split(trim(o.out), '\n');
  ASSERT_EQ(lines.size(), all_ops().size());
  for (std::size_t i = 0; i < lines.size(); ++i) {
    EXPECT_TRUE(lines[i].starts_with(str(all_ops()[i]->name, " "))) << lines[i];
  }
}

TEST(Ops, SaysWhatEachIs) {
  const Outcome o = shell("$PLAIT ops | grep -E '^(matmul|neg|softmax|scatter_add) ' | tr -s ' '");
  const std::vector<std::string> lines = split(trim(o.out), '\n');
  ASSERT_EQ(lines.size(), 4u);
  EXPECT_TRUE(lines[0].starts_with("matmul a,b ")) << lines[0];
  EXPECT_TRUE(lines[0].ends_with(" white ref,null,cpu")) << lines[0];
  EXPECT_TRUE(lines[1].starts_with("neg x nothing ")) << lines[1];
  EXPECT_NE(lines[2].find(" - "), std::string::npos) << lines[2];
  EXPECT_NE(lines[3].find(" composite "), std::string::npos) << lines[3];
}

TEST(Ops, AsJson) {
  const Json list = json_of("ops --json");
  ASSERT_EQ(list.size(), all_ops().size());
  EXPECT_EQ(keys_of(list[0]),
            (std::vector<std::string>{"name", "operands", "outputs", "attributes", "gradient",
                                      "index_map", "colour", "backends", "doc"}));
}

TEST_F(Symbolic, CheckSaysOk) {
  const Outcome o = plait("check " + file);
  EXPECT_EQ(o.code, 0) << o.err;
  EXPECT_EQ(o.out, "ok: graph g, 1 node, 1 feed, 1 state, 1 fetch\n");
}

TEST(Check, CountsOpaqueNodes) {
  const Outcome o = shell(
      "echo 'graph g(x: f32[2]) { %y = opaque \"Odd\"(x) : f32[2] return %y, x }'"
      " | $PLAIT check -");
  EXPECT_EQ(o.out, "ok: graph g, 1 node, 1 feed, 0 states, 2 fetches, 1 opaque\n");
}

TEST(Check, WrongTypesNameFileGraphAndNode) {
  const TemporaryFolder folder;
  const std::string file = folder / "g.plait";
  io::write_file(file, {"graph g(x: f32[2]) {\n  %y = neg(x) : f32[3]\n  return %y\n}\n"});
  const Outcome o = plait("check " + file);
  EXPECT_EQ(o.code, 1);
  EXPECT_EQ(o.out, "");
  EXPECT_EQ(o.err, "plait: " + file + ": graph g: [neg] states f32[3], computes f32[2] (%y)\n");
}

TEST(Check, EveryModel) {
  for (const models::Entry& entry : models::all_models()) {
    for (const std::string train : {"0", "1"}) {
      const Outcome o = plait(str("check 'model:", entry.name, "?train=", train, "'"));
      EXPECT_EQ(o.code, 0) << entry.name << ": " << o.err;
      EXPECT_TRUE(o.out.starts_with("ok: graph ")) << o.out;
    }
  }
}

TEST(Stats, HasTheAgreedKeys) {
  const Json stats = json_of("stats model:mlp --json");
  EXPECT_EQ(keys_of(stats), (std::vector<std::string>{"parameters", "operations", "bytes",
                                                      "live_peak_bytes", "by_op"}));
  EXPECT_EQ(stats["parameters"], 2 * (64 + 8));
  const Json& linear = stats["by_op"]["linear"];
  EXPECT_EQ(keys_of(linear), (std::vector<std::string>{"count", "operations", "bytes"}));
  EXPECT_EQ(linear["count"], 2);
}

TEST(Stats, SumsAreTheSumsOfTheOps) {
  const Json stats = json_of("stats 'model:conv_add?train=1' --json");
  std::int64_t operations = 0, bytes = 0;
  for (const auto& [name, op] : stats["by_op"].items()) {
    EXPECT_TRUE(find_op(name)) << name;
    operations += op["operations"].get<std::int64_t>();
    bytes += op["bytes"].get<std::int64_t>();
  }
  EXPECT_EQ(stats["operations"], operations);
  EXPECT_EQ(stats["bytes"], bytes);
}

TEST(Stats, AsATable) {
  const Outcome o = plait("stats model:mlp");
  EXPECT_EQ(o.code, 0);
  EXPECT_TRUE(o.out.starts_with("graph       mlp\nparameters  144\noperations  ")) << o.out;
  EXPECT_NE(o.out.find("\nop "), std::string::npos);
}

TEST(Stats, AGraphByName) {
  EXPECT_EQ(json_of("stats 'model:mlp?train=1' --graph eval --json")["parameters"], 144);
  const Outcome o = plait("stats 'model:mlp?train=1' --graph evil");
  EXPECT_EQ(o.code, 1);
  EXPECT_EQ(o.err, "plait: there is no graph 'evil'. Did you mean 'eval'? There are train, eval\n");
}

TEST_F(Symbolic, StatsNeedNumbers) {
  const Outcome o = plait("stats " + file);
  EXPECT_EQ(o.code, 1);
  EXPECT_EQ(o.err,
            "plait: graph g has sizes that are not numbers: batch (1..64), t (2..8). Give "
            "them with --set batch=1,t=2\n");
}

TEST_F(Symbolic, SetFixesSymbols) {
  EXPECT_EQ(json_of("stats " + file + " --set batch=4,t=5 --json")["operations"], 20);
  EXPECT_EQ(json_of("stats " + file + " --set batch=4 --set=t=2 --json")["operations"], 8);
  const Outcome o = plait("show " + file + " --set batch=4");
  EXPECT_NE(o.out.find("f32[4,t]"), std::string::npos) << o.out;
}

TEST_F(Symbolic, SetOutOfRange) {
  const Outcome o = plait("stats " + file + " --set batch=65");
  EXPECT_EQ(o.code, 1);
  EXPECT_EQ(o.err, "plait: --set batch=65: batch must be in 1..64\n");
}

TEST_F(Symbolic, SetUnknownSymbol) {
  const Outcome o = plait("stats " + file + " --set b=6");
  EXPECT_EQ(o.code, 1);
  EXPECT_EQ(o.err, "plait: --set b=6: there is no symbol 'b'; there are batch (1..64), t (2..8)\n");
}

TEST_F(Symbolic, SetTwice) {
  const Outcome o = plait("stats " + file + " --set t=3,t=4");
  EXPECT_EQ(o.code, 2);
  EXPECT_EQ(o.err, "plait: stats: --set gives t twice. See `plait stats --help`\n");
}

TEST_F(Symbolic, SetToNoNumber) {
  const Outcome o = plait("stats " + file + " --set t=x");
  EXPECT_EQ(o.code, 1);
  EXPECT_EQ(o.err, "plait: --set t must be a whole number, not 'x'\n");
}

TEST(Stats, SetWithoutSymbols) {
  const Outcome o = plait("stats model:mlp --set batch=4");
  EXPECT_EQ(o.code, 1);
  EXPECT_EQ(o.err,
            "plait: --set batch=4: all sizes are numbers already; a model's are set in its "
            "spec, as in model:NAME?batch=4\n");
}

}  // namespace
}  // namespace plait::test
