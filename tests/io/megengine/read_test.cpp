// Reading: what is detected, what is kept, and that writing gives it back.
#include <nlohmann/json.hpp>

#include "tests/io/megengine/samples.h"

namespace plait::io::megengine {
namespace {

TEST(Detect, ByItsFirstKeyWhateverTheBlanks) {
  for (const char* name : {"classifier", "perceptron", "moves", "step", "relu"}) {
    EXPECT_TRUE(detects(sample_text(name).substr(0, 64 * 1024))) << name;
  }
  EXPECT_TRUE(detects("{\"profiler\":{"));
  EXPECT_TRUE(detects("\n { \t\"graph_exec\": {"));
  EXPECT_FALSE(detects(""));
  EXPECT_FALSE(detects("{"));
  EXPECT_FALSE(detects("{}"));
  EXPECT_FALSE(detects("[\"profiler\"]"));
  EXPECT_FALSE(detects("{\"weights\": {\"dtype\": \"F32\"}}"));
  EXPECT_FALSE(detects("profiler graph_exec"));
  EXPECT_FALSE(detects("=== IRGraph: step ==="));
  EXPECT_FALSE(detects("graph g(x: f32[2]) { return x = x }"));
}

TEST(Read, KeepsTimesAddressesFlagsAndPlans) {
  const Record r = sample("step");
  ASSERT_TRUE(r.profiler && r.profiler->device && r.profiler->host);
  EXPECT_EQ(r.ops.size(), 10u);
  EXPECT_EQ(r.comp_seq.size(), 10u);
  EXPECT_EQ(r.profiler->device->size(), 10u);
  EXPECT_EQ(r.profiler->device->at(0).by_place.at(0).first, "gpu0:1");
  EXPECT_EQ(r.profiler->host->at(0).by_place.at(0).first, "worker");
  const Span& span = r.profiler->device->at(0).by_place.at(0).second;
  EXPECT_NEAR(span.end - span.kern, 1e-6, 1e-12);

  const Var& next = r.vars.at(7);
  EXPECT_EQ(next.name, "SUB(w,MUL)[13]");
  EXPECT_TRUE(next.has_flag("FLAG_OF_TOMORROW"));
  EXPECT_EQ(next.force_update_src, 3);
  ASSERT_TRUE(next.mem_plan);
  EXPECT_EQ(next.mem_plan->chunk, "chk3");
  EXPECT_EQ(next.mem_plan->layout.dtype, "Float32");
  EXPECT_EQ(next.mem_plan->layout.stride, (Sizes{3, 1}));
  EXPECT_EQ(*next.prev_dev_ptr_end - next.prev_dev_ptr, 48);
}

TEST(Read, KeepsWhatItDoesNotKnow) {
  const Record r = sample("step");
  EXPECT_EQ(r.vars.at(7).others, (Others{{"colour", "blue"}}));
  EXPECT_EQ(json_text(r.graph_others), "{ \"planner\": { \"version\": 3}}");
  EXPECT_EQ(json_text(*r.profiler->internal),
            "{ \"6\": [ [ \"gemm\", 0.02], [ \"split_k\", 0.01]]}");
  const Operator& product = r.ops.at(3);
  ASSERT_TRUE(product.waiting);
  EXPECT_EQ(product.waiting->at(0).first, "gpu0:0");
  EXPECT_EQ(product.waiting->at(0).second, std::vector<Id>{1});
  EXPECT_EQ(json_text(r.profiler->footprints->at(3).others), "{ \"in_layouts\": [ null, [ 1, 4]]}");
}

TEST(Read, SectionsMayBeMissing) {
  const Record planned = sample("perceptron");
  EXPECT_TRUE(planned.footprints_on_top);
  EXPECT_FALSE(planned.profiler->device || planned.profiler->host);
  const Record no_host = sample("moves");
  EXPECT_TRUE(no_host.profiler->device);
  EXPECT_FALSE(no_host.profiler->host);
}

TEST(Read, InferenceSaysWhatWasKnownBeforeTheRun) {
  const Record r = sample("classifier");
  const Var& data = r.vars.at(0);
  ASSERT_TRUE(data.shape);
  EXPECT_EQ(data.shape->infer_type, "NO_DESC");
  EXPECT_TRUE(data.shape->result.is_null());
  const Var& weights = r.vars.at(2);
  EXPECT_EQ(weights.shape->infer_type, "CONST");
  EXPECT_EQ(json_text(weights.shape->result), "[ 4, 3, 3, 3]");
  EXPECT_EQ(json_text(weights.value->result), "\"Large Array\"");
  const Var& conv = r.vars.at(7);
  EXPECT_EQ(conv.shape->infer_type, "MISSING_INP");
  EXPECT_EQ(conv.shape->deps, (std::vector<InferTag::Dep>{{"SHAPE", 1}, {"SHAPE", 4}}));
}

TEST(Write, GivesBackEveryKeyAndValue) {
  for (const char* name : {"classifier", "perceptron", "moves", "step", "relu"}) {
    const std::string text = sample_text(name);
    const Record record = read(text, name);
    const std::string written = write(record);
    EXPECT_EQ(read(written, name), record) << name;
    EXPECT_EQ(nlohmann::json::parse(written), nlohmann::json::parse(text)) << name;
    EXPECT_EQ(write(read(written, name)), written) << name;
  }
}

}  // namespace
}  // namespace plait::io::megengine
