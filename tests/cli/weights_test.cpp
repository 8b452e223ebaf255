// Weights from training to where they are used: show lists them, run takes them, eval and predict
// find them in a run.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/text.h"
#include "io/file.h"
#include "io/npy.h"
#include "io/safetensors.h"
#include "tests/cli/program.h"
#include "tests/temporary.h"

namespace plait::test {
namespace {

using Json = nlohmann::ordered_json;

class Weights : public ::testing::Test {
 protected:
  void SetUp() override {
    io::TensorFile tensors;
    tensors.tensors.emplace("w", Array::of(DType::f32, {2}, {3, 4}));
    tensors.tensors.emplace("more", Array(DType::bf16, {2, 0, 3}));
    tensors.metadata["made"] = "by hand";
    io::write_safetensors(file, tensors);
    io::write_file(graph, {"graph g(x: f32[2]) state(w: f32[2] = ones) {\n"
                           "  %y = mul(w, x) : f32[2]\n  return %y\n}\n"});
    io::write_npy(folder / "x.npy", Array::of(DType::f32, {2}, {1, 2}));
  }
  const TemporaryFolder folder;
  const std::string file = folder / "w.safetensors", graph = folder / "g.plait";
};

TEST_F(Weights, AreListed) {
  const Outcome o = plait("show " + file);
  EXPECT_EQ(o.code, 0) << o.err;
  EXPECT_EQ(o.out,
            "tensor  dtype  shape    bytes\n"
            "w       f32    [2]          8\n"
            "more    bf16   [2,0,3]      0\n"
            "2 tensors, 2 elements, 8 B\n"
            "metadata made: by hand\n");
  const Json json = Json::parse(plait("show --json " + file).out);
  EXPECT_EQ(json["tensors"][0], Json::parse(R"({"name":"w","dtype":"f32","shape":[2],"bytes":8})"));
  EXPECT_EQ(json["elements"], 2);
  EXPECT_EQ(json["metadata"]["made"], "by hand");
  EXPECT_EQ(plait("show --grad " + file).code, 2);
  EXPECT_EQ(plait("show --json model:mlp").code, 2);
  const std::string bytes = io::read_file(file);
  io::write_file(file, {std::string_view(bytes).substr(0, bytes.size() - 1)});
  EXPECT_NE(plait("show " + file).err.find("the file is cut off"), std::string::npos);
}

TEST_F(Weights, AreTakenByRunForGraphsAndPlans) {
  const std::string flags = " --json --fetch y --feed x=" + folder / "x.npy" + " --weights " + file;
  const Outcome o = plait("run " + graph + flags);
  ASSERT_EQ(o.code, 0) << o.err;
  EXPECT_EQ(Json::parse(o.out)["fetches"][0]["max"], 8.0);
  ASSERT_EQ(plait("compile " + graph + " -o " + folder / "g.plan").code, 0);
  const Outcome plan = plait("run " + folder / "g.plan" + flags);
  ASSERT_EQ(plan.code, 0) << plan.err;
  EXPECT_EQ(Json::parse(plan.out)["fetches"][0]["max"], 8.0);
  io::write_safetensors(file, {});
  for (const std::string& source : {graph, folder / "g.plan"}) {
    const Outcome lacking = plait("run " + source + flags);
    EXPECT_EQ(lacking.code, 1) << source;
    EXPECT_NE(lacking.err.find(file + " lacks "), std::string::npos) << lacking.err;
  }
}

TEST_F(Weights, ThatAreNotFiniteAreTakenAndNamed) {
  io::TensorFile tensors;
  tensors.tensors.emplace("w", Array::of(DType::f32, {2}, {3, NAN}));
  io::write_safetensors(file, tensors);
  ASSERT_EQ(plait("compile " + graph + " -o " + folder / "g.plan").code, 0);
  for (const std::string& source : {graph, folder / "g.plan"}) {
    const Outcome o = plait("run " + source + " --weights " + file);
    EXPECT_EQ(o.code, 0) << o.err;
    const std::string said = file + ": w is not finite: it holds a NaN or an infinity";
    EXPECT_NE(o.err.find(said), std::string::npos) << o.err;
  }
}

TEST_F(Weights, OfARunAreEvaluatedAndPredictWith) {
  const std::string run = folder / "run";
  ASSERT_EQ(
      plait("train preset:mlp width=4 batch=8 steps=6 samples=30 eval.every=6 output.folder=" + run)
          .code,
      0);
  const Json e = Json::parse(plait("eval " + run + " --json").out);
  EXPECT_EQ(e["samples"], 3);
  EXPECT_EQ(e["step"], 6);
  EXPECT_EQ(e["model"], "mlp");
  const Outcome text = plait("eval " + run + " --backend ref");
  EXPECT_EQ(text.out.find("model    mlp, 40 parameters\nweights  " + run), 0u) << text.out;
  EXPECT_NE(text.out.find("\nloss     "), std::string::npos) << text.out;

  io::write_npy(folder / "in.npy", Array(DType::f32, {2, 4}));
  const Outcome p = plait("predict " + run + " --input " + folder / "in.npy" + " --out " +
                          folder / "out" + " --json");
  ASSERT_EQ(p.code, 0) << p.err;
  const std::vector<std::string> lines = split(p.out, '\n');
  ASSERT_EQ(lines.size(), 3u);
  const Json line = Json::parse(lines[1]);
  EXPECT_EQ(line["input"], folder / "in.npy[1]");
  const Array y = io::read_npy(line["results"]["y"].get<std::string>());
  EXPECT_EQ(type_text(y), "f32[4]");
  EXPECT_EQ(plait("predict " + run).code, 2);
  EXPECT_EQ(plait("eval").code, 2);
}

}  // namespace
}  // namespace plait::test
