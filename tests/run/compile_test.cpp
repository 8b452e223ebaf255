// Compiling twice plans once: what the kept program depends on, and what is not taken from the
// cache.
#include "run/compile.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <set>

#include "backends/backends.h"
#include "base/build_id.h"
#include "codegen/cache.h"
#include "ir/text.h"
#include "run/executor.h"
#include "tests/temporary.h"

namespace plait {
namespace {

namespace files = std::filesystem;

const char* const kGraph = R"(
graph step(x: f32[6,4]) state(w: f32[3,4] = ones) {
  %y = linear(x, w)            : f32[6,3]
  %z = softmax(%y, axis=1)     : f32[6,3]
  %old = mul(w, w)             : f32[3,4]
  next w = %old
  return %z
})";

class CompileCache : public testing::Test {
 protected:
  CompileCache() {
    const char* set = getenv("PLAIT_CACHE");
    before_ = set ? set : "";
    setenv("PLAIT_CACHE", folder_.path().c_str(), 1);
  }
  ~CompileCache() override {
    before_.empty() ? unsetenv("PLAIT_CACHE") : setenv("PLAIT_CACHE", before_.c_str(), 1);
  }

  static Compiled compiled(const std::string& text = kGraph, int threads = 1,
                           const CompileRequest& request = {}) {
    return compile(ir::parse_graph(text), *make_target("cpu", threads), request);
  }

  /// The names of the kept plans.
  std::vector<std::string> plans() const {
    std::vector<std::string> names;
    for (const auto& file : files::directory_iterator(folder_.path())) {
      const std::string name = file.path().filename().string();
      if (name.starts_with("plan-")) names.push_back(name);
    }
    return names;
  }

  test::TemporaryFolder folder_;
  std::string before_;
};

/// Bytes beside floats: a register holds 64 of them, and a row of 32 would be left to single steps.
TEST_F(CompileCache, ShortRowsTakeShortVectors) {
  const auto has_lanes = [](int columns, const char* lanes) {
    const std::string n = std::to_string(columns);
    const Compiled made =
        compiled("graph g(x: f32[50," + n + "], b: f32[" + n + "]) { %p = add(x, b) : f32[50," + n +
                 "] %m = greater(%p, b) : bool[50," + n + "] return %p, %m }");
    for (const auto& [name, text] : made.program.texts) {
      if (text.find(lanes) != std::string::npos) return true;
    }
    return false;
  };
  EXPECT_TRUE(has_lanes(32, " simdlen(32)"));
  EXPECT_TRUE(has_lanes(48, " simdlen(16)"));
  EXPECT_TRUE(has_lanes(96, " simdlen(32)"));
  EXPECT_FALSE(has_lanes(64, "simdlen"));
  EXPECT_FALSE(has_lanes(1000, "simdlen"));
}

/// What reads a reshaped value walks in steps instead of dividing for every element.
TEST_F(CompileCache, ReshapedRowsAreNotDivided) {
  const Compiled made = compiled(R"(graph g(x: f32[2,3,50,32], w: f32[96]) {
    %t = transpose(x, order=[0,2,1,3]) : f32[2,50,3,32]
    %p = reshape(%t, shape=[100,96]) : f32[100,96]
    %q = add(%p, w) : f32[100,96]
    return %q
  })");
  ASSERT_FALSE(made.program.texts.empty());
  for (const auto& [name, text] : made.program.texts) {
    if (name == program::kSingleKernel) continue;
    const std::size_t loop = text.find("#pragma omp simd");
    ASSERT_NE(loop, std::string::npos);
    EXPECT_EQ(text.find('%', loop), std::string::npos) << text;
  }
}

TEST_F(CompileCache, SecondTimeIsRead) {
  const Compiled first = compiled(), second = compiled();
  EXPECT_FALSE(first.from_cache);
  EXPECT_TRUE(second.from_cache);
  EXPECT_GT(first.passes_seconds, 0);
  EXPECT_EQ(second.passes_seconds, 0);
  EXPECT_EQ(program::to_bytes(first.program), program::to_bytes(second.program));
  EXPECT_EQ(plans().size(), 1u);
}

TEST_F(CompileCache, OnlyWhenAsked) {
  const CompileRequest alone{.plan = {}, .use_cache = false};
  EXPECT_FALSE(compiled(kGraph, 1, alone).from_cache);
  EXPECT_TRUE(plans().empty());
  EXPECT_FALSE(compiled().from_cache);
  EXPECT_FALSE(compiled(kGraph, 1, alone).from_cache);
}

TEST_F(CompileCache, AnotherGraphThreadsOrOptions) {
  compiled();
  std::string other = kGraph;
  other.replace(other.find("axis=1"), 6, "axis=0");
  EXPECT_FALSE(compiled(other).from_cache);
  EXPECT_FALSE(compiled(kGraph, 2).from_cache);
  CompileRequest apart;
  apart.plan.fuse = false;
  EXPECT_FALSE(compiled(kGraph, 1, apart).from_cache);
  EXPECT_EQ(plans().size(), 4u);
  EXPECT_TRUE(compiled(kGraph, 2).from_cache);
}

TEST_F(CompileCache, DamagedIsPlannedAnew) {
  const std::string bytes = program::to_bytes(compiled().program);
  ASSERT_EQ(plans().size(), 1u);
  const std::string name = plans()[0];
  // Cut on disk; whole, and not a plan; a plan that is cut inside a whole entry.
  files::resize_file(folder_ / name, 100);
  EXPECT_FALSE(compiled().from_cache);
  EXPECT_TRUE(compiled().from_cache);
  for (const std::string& content : {std::string("something else"), bytes.substr(0, 300)}) {
    ASSERT_EQ(codegen::cache::write_entry(folder_.path(), name, content), 0);
    EXPECT_FALSE(compiled().from_cache);
    EXPECT_TRUE(compiled().from_cache);
  }
}

/// What was measured is kept with the program: with it, and an empty cache, the same comes out.
TEST_F(CompileCache, MeasuredChoicesAreRepeated) {
  constexpr const char* kProducts = R"(graph g(x: f32[64,256], w: f32[192,256], b: f32[192]) {
    %y = linear(x, w, b) : f32[64,192]
    %z = relu(%y) : f32[64,192]
    %t = transpose(%z, order=[1,0]) : f32[192,64]
    %p = matmul(%t, x) : f32[192,256]
    return %p
  })";
  CompileRequest request{.plan = {.measure = true}};
  const program::Program first = compiled(kProducts, 1, request).program;
  ASSERT_FALSE(first.tuning.empty());
  const auto repeated = [&](const TuningResults& tuned) {
    files::remove_all(folder_.path());
    request.tuned = tuned;
    return compiled(kProducts, 1, request).program;
  };
  EXPECT_EQ(program::difference(repeated(first.tuning), first), "");
  const Compiled second = compiled(kProducts, 1, request);
  EXPECT_TRUE(second.from_cache);
  EXPECT_EQ(program::difference(second.program, first), "");

  std::set<std::string> kernels;
  for (const char* choice :
       {"0\nas told", "1\nas told", "-1\n", "99999999999999999999", "", "x\ny"}) {
    TuningResults told = first.tuning;
    told.begin()->second = choice;
    const program::Program program = repeated(told);
    EXPECT_EQ(program.tuning, told) << "as they were given";
    for (const program::Step& step : program.steps) kernels.insert(step.kernel);
  }
  EXPECT_GT(kernels.size(), first.steps.size()) << "choices are those that were given";
}

/// A plan's graph is what the passes left of the one it was made from: planned as it is, it gives
/// the same program.
TEST_F(CompileCache, APlanIsPlannedAgainFromItsOwnGraph) {
  const program::Program first = compiled().program;
  const ir::Graph graph = ir::parse_graph(first.graph_text);
  const std::unique_ptr<Target> target = make_target("cpu", 1);
  for (const bool from_cache : {false, true}) {
    const Compiled again = compile(graph, *target, {.passes = false, .tuned = first.tuning});
    EXPECT_EQ(again.from_cache, from_cache);
    EXPECT_EQ(program::difference(again.program, first), "");
  }
}

/// 0/0 is -nan where it is computed, and nan in the text of the graph that holds the result.
TEST_F(CompileCache, ANanInAConstantIsTheSameFromText) {
  const program::Program first = compiled(R"(graph g(x: bf16[3,4]) {
    %c = constant(value=bf16[3,4]{0,1,2,3,0,5,6,7,8,9,0,1}) : bf16[3,4]
    %n = div(%c, %c)   : bf16[3,4]
    %t = transpose(%n, order=[1,0]) : bf16[4,3]
    %y = matmul(x, %t) : bf16[3,3]
    %s = cumsum(%n, axis=0) : bf16[3,4]
    return %y, %n, %s
  })")
                                     .program;
  ASSERT_FALSE(first.constants.empty());
  const Compiled again = compile(ir::parse_graph(first.graph_text), *make_target("cpu", 1),
                                 {.use_cache = false, .passes = false, .tuned = first.tuning});
  EXPECT_EQ(program::difference(again.program, first), "");
}

TEST_F(CompileCache, DifferencesAreNamed) {
  const program::Program made = compiled().program;
  const auto named = [&](auto change) {
    program::Program other = made;
    change(other);
    return program::difference(made, other);
  };
  EXPECT_EQ(named([](program::Program&) {}), "");
  EXPECT_EQ(named([](program::Program& p) { p.log.clear(); }), "");
  EXPECT_EQ(named([](program::Program& p) { p.seconds.clear(); }), "");
  EXPECT_EQ(named([](program::Program& p) { p.threads = 7; }), "7 threads, not 1");
  EXPECT_EQ(named([](program::Program& p) { p.texts.begin()->second += " "; }), "texts");
  EXPECT_EQ(named([](program::Program& p) { p.symbols["n"] = Dim::symbol("n", 1, 2); }), "symbols");
  EXPECT_EQ(named([](program::Program& p) { p.steps.clear(); }),
            str("0 steps, not ", made.steps.size()));
  EXPECT_EQ(named([](program::Program& p) { p.views[0].offset += 64; }), "views");
  EXPECT_EQ(named([](program::Program& p) { p.steps[0].calls.pop_back(); }),
            str("step 1, \"", made.steps[0].name, "\": calls"));
  EXPECT_EQ(named([](program::Program& p) {
              bool changed = false;
              each_argument(p.steps[0].calls[0], [&](program::ViewId& view, program::Access) {
                if (!std::exchange(changed, true)) view = program::ViewId(view.index() + 1);
              });
            }),
            str("step 1, \"", made.steps[0].name, "\": calls"));
  EXPECT_EQ(named([](program::Program& p) { p.steps[0].kernel = "\x1b[2J"; }),
            str("step 1, \"", made.steps[0].name, "\": kernel \"\\u001b[2J\", not \"",
                made.steps[0].kernel, "\""));
}

TEST_F(CompileCache, WorksWithoutAFolder) {
  std::ofstream(folder_ / "file") << "not a folder";
  setenv("PLAIT_CACHE", (folder_ / "file/cache").c_str(), 1);
  EXPECT_FALSE(compiled().from_cache);
  EXPECT_FALSE(compiled().from_cache);
}

TEST_F(CompileCache, WhatIsReadRunsTheSame) {
  const std::unique_ptr<Target> target = make_target("cpu", 1);
  std::vector<Array> results;
  for (bool from_cache : {false, true}) {
    Compiled now = compiled();
    ASSERT_EQ(now.from_cache, from_cache);
    Executor executor(std::move(now.program), target->open());
    Array x(DType::f32, {6, 4}), w(DType::f32, {3, 4});
    for (int i = 0; i < 24; ++i) x.set(i, 0.25 * i - 2);
    for (int i = 0; i < 12; ++i) w.set(i, 0.5 - 0.125 * i);
    executor.set_feed("x", x);
    executor.memory().set_state("w", w);
    executor.run();
    results.push_back(executor.fetch("z"));
    results.push_back(executor.state("w"));
  }
  EXPECT_TRUE(results[0].same_bits(results[2]));
  EXPECT_TRUE(results[1].same_bits(results[3]));
  EXPECT_NEAR(results[1].real(0), 0.25, 1e-7);
}

TEST(BuildId, IsKnown) {
  EXPECT_FALSE(build_id().empty());
  EXPECT_EQ(&build_id(), &build_id());
}

}  // namespace
}  // namespace plait
