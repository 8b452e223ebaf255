// Compiling twice plans once: what the kept program depends on, and what is not taken from the
// cache.
#include "run/compile.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>

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
    for (const std::string& text : made.program.texts) {
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
  for (const std::string& text : made.program.texts) {
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
  EXPECT_EQ(plan::to_bytes(first.program), plan::to_bytes(second.program));
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
  const std::string bytes = plan::to_bytes(compiled().program);
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
    Executor executor(std::move(now.program), *target);
    Array x(DType::f32, {6, 4}), w(DType::f32, {3, 4});
    for (int i = 0; i < 24; ++i) x.set(i, 0.25 * i - 2);
    for (int i = 0; i < 12; ++i) w.set(i, 0.5 - 0.125 * i);
    executor.set_feed("x", x);
    executor.set_state("w", w);
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
