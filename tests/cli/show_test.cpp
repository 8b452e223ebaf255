// show: the text form round trip, passes, dumps, pictures; and FILEs that cannot be loaded.
#include <gtest/gtest.h>

#include <filesystem>

#include "io/file.h"
#include "ir/text.h"
#include "loop/kernel_text.h"
#include "models/registry.h"
#include "passes/pipeline.h"
#include "program/program.h"
#include "tests/cli/program.h"
#include "tests/temporary.h"

namespace plait::test {
namespace {

/// As the printer writes it.
const std::string kText = ir::print(ir::parse(R"(
graph g(x: f32[2]) state(w: f32[2] = ones) {
  %one = constant(value=f32[]{1.0}) : f32[]
  %a = mul(x, %one) : f32[2] @ m.a
  %b = mul(%a, w)   : f32[2] @ m.b
  %loss = sum(%b)   : f32[]
  return %loss
})"));

class Show : public ::testing::Test {
 protected:
  void SetUp() override { io::write_file(file, {kText}); }
  void expect_failed(const std::string& arguments, const std::string& message) {
    const Outcome o = plait(arguments);
    EXPECT_EQ(o.code, 1) << arguments;
    EXPECT_EQ(o.out, "");
    EXPECT_EQ(o.err, "plait: " + message + "\n");
  }
  const TemporaryFolder folder;
  const std::string file = folder / "g.plait";
};

TEST_F(Show, PrintsTheTextForm) {
  const Outcome o = plait("show " + file);
  EXPECT_EQ(o.code, 0) << o.err;
  EXPECT_EQ(o.out, kText);
}

TEST_F(Show, EveryModelReadsBackTheSame) {
  for (const models::Entry& entry : models::all_models()) {
    for (const std::string train : {"0", "1"}) {
      const std::string spec = str("'model:", entry.name, "?train=", train, "'");
      const Outcome o = shell("$PLAIT show " + spec + " >" + folder / "a" + " && $PLAIT show " +
                              folder / "a" + " | cmp - " + folder / "a");
      EXPECT_EQ(o.code, 0) << spec << o.out << o.err;
    }
  }
}

TEST_F(Show, ReadsStandardInput) {
  EXPECT_EQ(shell("$PLAIT show - <" + file).out, kText);
  EXPECT_EQ(shell("$PLAIT show " + file + " | $PLAIT show -").out, kText);
}

TEST_F(Show, AfterAPass) {
  const Outcome o = plait("show " + file + " --after dead");
  EXPECT_EQ(o.code, 0) << o.err;
  EXPECT_EQ(o.out.find("constant"), std::string::npos) << o.out;  // x * 1 is x
}

TEST_F(Show, AfterAnUnknownPassOrStage) {
  const std::string known =
      " The passes are verify, differentiate, amp, amp_f16, expand, fold, simplify, cse, dead, "
      "slice; the stages are keep_rounded, facts, layout, group, choose, order, recompute, batch, join, "
      "place, "
      "streams, code";
  expect_failed("show " + file + " --after simplyfy",
                "there is no pass or stage 'simplyfy'. Did you mean 'simplify'?" + known);
  expect_failed("show " + file + " --after stream",
                "there is no pass or stage 'stream'. Did you mean 'streams'?" + known);
}

/// Every step with what it runs; what stands there is kernels' own text form.
TEST_F(Show, KernelsOfSteps) {
  const std::string command = "show 'model:mlp?dtype=f32' --after choose --backend null";
  const Outcome steps = plait(command), o = plait(command + " --kernels");
  EXPECT_EQ(o.code, 0) << o.err;
  EXPECT_EQ(steps.out.find("contraction"), std::string::npos);
  const std::size_t first = o.out.find("  contraction f32 {\n"), end = o.out.find("\n  }\n", first);
  ASSERT_NE(end, std::string::npos) << o.out;
  const loop::Contraction c = loop::parse_contraction(o.out.substr(first, end + 4 - first));
  EXPECT_TRUE(operations(c).is(2 * 64 * 8 * 8));
  const std::size_t kernel = o.out.find("  epilogue "), last = o.out.find("\n  }\n", kernel);
  ASSERT_NE(last, std::string::npos) << o.out;
  EXPECT_TRUE(loop::parse_kernel(o.out.substr(kernel, last + 4 - kernel)).epilogue);
  EXPECT_NE(o.out.find("  # a = x, b = 0.W\n"), std::string::npos) << o.out;
}

/// The last stage leaves the program itself, with the graph that it was planned from.
TEST_F(Show, TheLastStageIsReadBack) {
  const Outcome o = plait("show " + file + " --after code");
  EXPECT_EQ(o.code, 0) << o.err;
  const program::Program p = program::from_bytes(o.out, "the text");
  EXPECT_EQ(p.graph_text, plait("show " + file + " --after dead").out);
  EXPECT_FALSE(p.texts.empty());
  EXPECT_EQ(to_text(p), o.out);
}

TEST_F(Show, KernelsAreOfStagesThatLeaveSteps) {
  for (const std::string after : {"", " --after group", " --after dead", " --after place"}) {
    const Outcome o = plait("show " + file + after + " --kernels");
    EXPECT_EQ(o.code, 2);
    EXPECT_TRUE(
        o.err.starts_with("plait: show: --kernels goes with --after and a stage that leaves steps: "
                          "choose, order, recompute, batch, join"))
        << o.err;
  }
}

TEST_F(Show, Gradients) {
  const Outcome o = plait("show " + file + " --grad");
  EXPECT_EQ(o.code, 0) << o.err;
  EXPECT_NE(o.out.find("d_w"), std::string::npos) << o.out;
}

TEST_F(Show, TimingAndLogGoToStandardError) {
  const Outcome o = plait("show " + file + " --timing --log");
  EXPECT_EQ(o.code, 0);
  EXPECT_TRUE(o.out.starts_with("graph g(")) << o.out;
  EXPECT_TRUE(o.err.starts_with("graph g\npass ")) << o.err;
  EXPECT_NE(o.err.find("simplify: "), std::string::npos) << o.err;
}

TEST_F(Show, DumpsOneFilePerPass) {
  const Outcome o = plait("show " + file + " --dump " + folder / "dumps");
  EXPECT_EQ(o.code, 0) << o.err;
  EXPECT_EQ(io::read_file(folder / "dumps/g.00_input.plait"), kText);
  EXPECT_EQ(io::read_file(folder / "dumps/g.01_verify.plait"), kText);
  std::size_t files = 0, always = 0;
  for (const auto& f : std::filesystem::directory_iterator(folder / "dumps")) files += f.exists();
  for (const Pass& pass : pipeline()) always += !pass.on_request;
  EXPECT_EQ(files, always + 1);
}

TEST_F(Show, DumpIntoAFile) {
  expect_failed("show " + file + " --dump " + file,
                "cannot make the folder " + file + ": Not a directory");
}

TEST_F(Show, AsAPicture) {
  const Outcome o = plait("show " + file + " --as dot");
  EXPECT_EQ(o.code, 0);
  EXPECT_TRUE(o.out.starts_with("digraph \"g\" {\n")) << o.out;
  EXPECT_NE(o.out.find("subgraph \"cluster_m.a\""), std::string::npos) << o.out;
  EXPECT_NE(o.out.find("n1 -> n2"), std::string::npos) << o.out;
  EXPECT_TRUE(o.out.ends_with("}\n"));
}

TEST_F(Show, OneGraphOfSeveral) {
  const Outcome o = plait("show 'model:mlp?train=1' --graph eval");
  EXPECT_EQ(o.code, 0) << o.err;
  EXPECT_TRUE(o.out.starts_with("graph eval(")) << o.out;
  EXPECT_EQ(o.out.find("graph train("), std::string::npos);
}

TEST_F(Show, MissingFile) {
  expect_failed("show no/such.plait", "cannot open no/such.plait: No such file or directory");
}

TEST_F(Show, AFolder) {
  expect_failed("show " + folder.path(), folder.path() + " is a folder, not a file");
}

TEST_F(Show, AnEmptyFile) {
  io::write_file(file, {"# nothing\n\n"});
  expect_failed("show " + file, file + ": holds no graph");
  io::write_file(file, {"symbol n = 1..3\n"});
  expect_failed("show " + file, file + ": holds no graph");
}

TEST_F(Show, APlanIsShownAsItIs) {
  const std::string plan = folder / "g.plan";
  ASSERT_EQ(plait("compile " + file + " --backend null -o " + plan).code, 0);
  for (const std::string flag : {"--after group", "--log", "--as aicf"}) {
    const Outcome o = plait("show " + plan + " " + flag);
    EXPECT_EQ(o.code, 2) << flag << o.out;
    EXPECT_NE(o.err.find(plan +
                         " is a plan, shown as it is: passes and stages ran when it was "
                         "compiled. `plait explain " +
                         plan + "` says"),
              std::string::npos)
        << o.err;
  }
}

TEST_F(Show, AnUnknownFormat) {
  io::write_file(file, {std::string_view("\x08\x07\x12\0PK", 6)});
  expect_failed(
      "show " + file,
      file +
          ": not a document that Plait knows; it starts with \"....PK\". Known are, by how they "
          "begin: the text form (.plait) with `graph` or `symbol`; aicf with `=== IRGraph:`; "
          "megengine with `{\"profiler\": ...` (JSON); chainer with a line of two counts, `86 92`; "
          "oneflow with lines of `libai` or `(GRAPH:...` (a log); aitemplate with `Tensors: {`");
}

TEST_F(Show, MalformedTextNamesThePlace) {
  io::write_file(file, {"graph g(x: f32[2]) {\n  %y = neg(z) : f32[2]\n}\n"});
  const Outcome o = plait("show " + file);
  EXPECT_EQ(o.code, 1);
  EXPECT_TRUE(o.err.starts_with("plait: " + file + ":2:")) << o.err;
}

TEST_F(Show, AnUnknownModel) {
  const Outcome o = plait("show model:rwkv");
  EXPECT_EQ(o.code, 1);
  EXPECT_TRUE(o.err.starts_with("plait: there is no model 'rwkv'. Did you mean 'rwkv4'?")) << o.err;
}

TEST_F(Show, AnUnknownKey) {
  const Outcome o = plait("show 'model:mlp?bach=3'");
  EXPECT_EQ(o.code, 1);
  EXPECT_TRUE(o.err.starts_with("plait: mlp has no key 'bach'. Did you mean 'batch'?")) << o.err;
}

}  // namespace
}  // namespace plait::test
