// str(): what it joins without a stream looks as a stream prints it.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <sstream>

#include "base/dim.h"
#include "base/error.h"

namespace plait {
namespace {

template <class T>
std::string streamed(const T& part) {
  std::ostringstream out;
  out << part;
  return out.str();
}

TEST(Str, PrintsRealsAsAStreamDoes) {
  using limits = std::numeric_limits<double>;
  for (double x : {0.0, -0.0, 1.0, -2.5, 0.1, 1e-5, 1e-4, 123456.0, 1234567.0, 1e100, 3.14159265358,
                   limits::max(), limits::denorm_min(), limits::infinity(), -limits::infinity(),
                   limits::quiet_NaN()}) {
    EXPECT_EQ(str(x), streamed(x));
    EXPECT_EQ(str(static_cast<float>(x)), streamed(static_cast<float>(x)));
  }
}

TEST(Str, PrintsWholeNumbersAsAStreamDoes) {
  EXPECT_EQ(str(std::numeric_limits<std::int64_t>::min()), "-9223372036854775808");
  EXPECT_EQ(str(std::numeric_limits<std::uint64_t>::max()), "18446744073709551615");
  EXPECT_EQ(str(true, false, 'c', static_cast<unsigned char>('d'), short{-3}), "10cd-3");
}

TEST(Str, JoinsTextsAndWhatOnlyAStreamPrints) {
  const std::string owned = "owned";
  EXPECT_EQ(str("a", owned, std::string_view("view").substr(1), 7), "aownediew7");
  EXPECT_EQ(str("n is ", Dim::symbol("n", 1, 4) + 1, " of ", 2.5), "n is n+1 of 2.5");
}

}  // namespace
}  // namespace plait
