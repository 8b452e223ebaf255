// Named sizes: reshapes over them, and the fall back to numbers.
#include "io/import.h"

#include <gtest/gtest.h>

#include "ir/text.h"
#include "tests/raises.h"

namespace plait::io {
namespace {

struct Reshape : testing::Test {
  Import import;
  Dim batch = import.named("batch", 8), time = import.named("time", 16),
      vocab = import.named("vocab", 100);
  std::string reshape(const Shape& from, const Sizes& target) {
    const std::optional<Shape> shape = reshaped(from, target, import.bindings());
    return shape ? shape_text(*shape) : "none";
  }
};

TEST_F(Reshape, JoinsAndSplitsNamedSizes) {
  EXPECT_EQ(reshape({batch, time, vocab}, {128, 100}), "[batch*time,vocab]");
  EXPECT_EQ(reshape({batch * time, vocab}, {8, 16, 100}), "[batch,time,vocab]");
  EXPECT_EQ(reshape({batch, 1, time}, {8, 16}), "[batch,time]");
  EXPECT_EQ(reshape({batch, time}, {8, 1, 16, 1}), "[batch,1,time,1]");
  EXPECT_EQ(reshape({batch, 12}, {8, 3, 4}), "[batch,3,4]");
  EXPECT_EQ(reshape({batch, 4 * time}, {8, 4, 16}), "[batch,4,time]");
  EXPECT_EQ(reshape({batch, floordiv(time, 2), 3}, {8, 24}), "[batch,3*(time//2)]");
}

TEST_F(Reshape, SaysWhenNothingExplainsIt) {
  EXPECT_EQ(reshape({batch, time}, {4, 32}), "none");
  EXPECT_EQ(reshape({batch, time}, {8, 15}), "none");
  EXPECT_EQ(reshape({batch, time}, {8}), "none");
  EXPECT_EQ(reshape({batch}, {8, 0}), "none");
}

TEST(ImportWithSizes, FallsBackToNumbersAndSaysWhy) {
  const auto build = [](bool named) {
    Import import;
    if (named) fail("width is not always 4*head");
    import.package = ir::parse("graph g(x: f32[2]) { return x = x }");
    return import;
  };
  const Import import = import_with_sizes(build);
  ASSERT_EQ(import.notes.size(), 1u);
  EXPECT_EQ(import.notes[0],
            "sizes are numbers and --set cannot change them: width is not always 4*head");
}

TEST(Sizes, NegativeAndEnormousAreRefused) {
  EXPECT_EQ(why_bad_sizes({2, 3}), "");
  EXPECT_EQ(why_bad_sizes({}), "");
  EXPECT_EQ(why_bad_sizes({2, -3}), "size -3 is negative");
  EXPECT_EQ(why_bad_sizes({0, 1LL << 40, 1LL << 40}),
            "sizes [0,1099511627776,1099511627776] are more than 2^48 elements");
}

}  // namespace
}  // namespace plait::io
