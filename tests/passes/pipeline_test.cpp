// The pipeline: its table, what is run, stopped, timed and dumped.
#include "passes/pipeline.h"

#include <set>

#include "text_case.h"

namespace plait::test {
namespace {

const char* const kLoss = R"(
  graph g(x: f32[3]) state(w: f32[3]) {
    %c = copy(w)       : f32[3]
    %m = mul(x, %c)    : f32[3] @ m
    %dead = exp(%m)    : f32[3]
    %loss = sum(%m)    : f32[]
    return %loss
  })";

std::vector<std::string> ran(const PipelineResult& result) {
  std::vector<std::string> names;
  for (const PassTiming& t : result.timings) names.push_back(t.pass);
  return names;
}

TEST(Pipeline, EveryPassHasAnOwnNameAndSaysWhy) {
  std::set<std::string_view> names;
  for (const Pass& pass : pipeline()) {
    EXPECT_TRUE(names.insert(pass.name).second) << pass.name;
    EXPECT_FALSE(pass.why.empty()) << pass.name;
  }
  EXPECT_EQ(join(pass_names(), " "),
            "verify differentiate amp amp_f16 expand fold simplify cse dead slice");
}

TEST(Pipeline, RunsAllButWhatWaitsForARequest) {
  const PipelineResult result = run_pipeline(ir::parse_graph(kLoss));
  EXPECT_EQ(join(ran(result), " "), "verify fold simplify cse dead slice");
  EXPECT_EQ(ir::print(result.graph), normal(R"(
    graph g(x: f32[3]) state(w: f32[3]) {
      %m = mul(x, w)    : f32[3] @ m
      %loss = sum(%m)   : f32[]
      return %loss
    })"));
  const PassTiming& dead = result.timings[result.timings.size() - 2];
  EXPECT_EQ(dead.nodes_before, 3u);
  EXPECT_EQ(dead.nodes_after, 2u);
  ASSERT_EQ(result.log.size(), 2u);
  EXPECT_EQ(result.log[0].pass, "simplify");
  EXPECT_EQ(result.log[1].pass, "dead");
}

TEST(Pipeline, DifferentiatesOnRequest) {
  const PipelineResult result = run_pipeline(ir::parse_graph(kLoss), {{"differentiate"}, "", {}});
  EXPECT_EQ(join(ran(result), " "), "verify differentiate fold simplify cse dead slice");
  ASSERT_EQ(result.graph.fetches.size(), 2u);
  EXPECT_EQ(result.graph.fetches[1].name, "d_w");
  EXPECT_EQ(result.graph.type(result.graph.fetches[1].value), (ir::Type{DType::f32, {3}}));
}

TEST(Pipeline, StopsAfterAPassAndDumpsEach) {
  std::string seen;
  PipelineOptions options;
  options.stop_after = "fold";
  options.after_each = [&](const Pass& pass, const ir::Graph& graph) {
    seen += str(pass.name, ' ', graph.nodes.size(), ' ');
  };
  EXPECT_EQ(join(ran(run_pipeline(ir::parse_graph(kLoss), options)), " "), "verify fold");
  EXPECT_EQ(seen, "verify 4 fold 4 ");
}

TEST(Pipeline, StoppingAfterAPassAsksForIt) {
  const PipelineResult result = run_pipeline(ir::parse_graph(kLoss), {{}, "differentiate", {}});
  EXPECT_EQ(join(ran(result), " "), "verify differentiate");
  EXPECT_EQ(result.graph.fetches.size(), 2u);
}

TEST(Pipeline, UnknownPass) {
  const ir::Graph graph = ir::parse_graph(kLoss);
  EXPECT_EQ(message_of<UserError>([&] {
              run_pipeline(graph, {{}, "simplfy", {}});
            }),
            "there is no pass 'simplfy'. Did you mean 'simplify'? The passes are verify, "
            "differentiate, amp, amp_f16, expand, fold, simplify, cse, dead, slice");
  EXPECT_EQ(message_of<UserError>([&] {
              run_pipeline(graph, {{"shard"}, "", {}});
            }),
            "there is no pass 'shard'. The passes are verify, differentiate, amp, amp_f16, "
            "expand, fold, simplify, cse, dead, slice");
}

TEST(Pipeline, RejectsAMalformedGraphAsTheUsers) {
  const ir::Graph graph = ir::parse_graph("graph g(x: f32[3]) { %a = relu(x) : f32[2] return %a }");
  EXPECT_EQ(message_of<UserError>([&] { run_pipeline(graph); }),
            "[relu] states f32[2], computes f32[3] (%a)");
}

}  // namespace
}  // namespace plait::test
