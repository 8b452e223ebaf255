// Patterns over names.
#include "base/glob.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace plait {
namespace {

TEST(Glob, StarsTakeAnyCharacters) {
  for (const char* glob : {"layer1.*", "*", "*weight", "layer1.0.conv1.weight", "l*0*w*t", "**",
                           "layer?.0.conv1.weight", "layer1.0.conv1.weight*"}) {
    EXPECT_TRUE(matches_glob(glob, "layer1.0.conv1.weight")) << glob;
  }
  for (const char* glob :
       {"layer1", "layer2.*", "*bias", "", "?", "layer1.0.conv1.weight?", "*weigh", "l*x*t"}) {
    EXPECT_FALSE(matches_glob(glob, "layer1.0.conv1.weight")) << glob;
  }
  EXPECT_TRUE(matches_glob("", ""));
  EXPECT_TRUE(matches_glob("*ab", "aab"));
  EXPECT_TRUE(matches_glob("a*ba*c", "a.ba.bac"));
  EXPECT_TRUE(matches_any({"x", "a*"}, "ab"));
  EXPECT_FALSE(matches_any({}, "ab"));
}

TEST(Glob, TakesNoMoreThanLengthTimesLength) {
  const std::string name(20000, 'a');
  EXPECT_FALSE(matches_glob("*a*a*a*a*a*a*a*a*a*a*b", name));
}

TEST(Glob, NamesWhatMatchesNothing) {
  try {
    check_matches("fc1.wieght", {"fc1.weight", "fc2.weight"}, "parameter", "mlp: freeze");
    FAIL();
  } catch (const UserError& e) {
    EXPECT_STREQ(e.what(),
                 "mlp: freeze: no parameter is matched by 'fc1.wieght'. Did you mean "
                 "'fc1.weight'?");
  }
  check_matches("fc?.*", {"fc1.weight"}, "parameter", "mlp: freeze");
}

}  // namespace
}  // namespace plait
