// A profile as trace events.
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>

#include "tests/profile/small_profile.h"

namespace plait::profile {
namespace {

using Json = nlohmann::json;

Json events_of(const Profile& p) { return Json::parse(to_trace(p)).at("traceEvents"); }

TEST(ProfileTrace, HasAnEventForEveryRunStepAndThread) {
  std::map<std::string, int> phases;
  std::map<int, int> tracks;
  for (const Json& e : events_of(small_profile())) {
    ++phases[e.at("ph")];
    if (e.at("ph") == "X") ++tracks[e.at("tid")];
  }
  EXPECT_EQ(tracks[0], 3 * (1 + 4));
  EXPECT_EQ(tracks[1], 3 * 4);
  EXPECT_EQ(tracks[2], 3 * 2);  // one span is empty, the last is not there
  EXPECT_EQ(phases["C"], 3 * (4 + 1));
  EXPECT_EQ(phases["M"], 1 + 3);
}

TEST(ProfileTrace, TimesAreMicrosecondsFromTheFirstRun) {
  for (const Json& e : events_of(small_profile())) {
    if (e.at("name") != "%relu" || e.at("tid") != 0) continue;
    EXPECT_DOUBLE_EQ(e.at("ts"), 150);
    EXPECT_DOUBLE_EQ(e.at("dur"), 30);
    EXPECT_EQ(e.at("cat"), "Elemwise");
    EXPECT_EQ(e.at("args").at("kernel"), "relu.kernel");
    EXPECT_EQ(e.at("args").at("nodes"), Json({"relu", "relu_more"}));
    return;
  }
  FAIL() << "no event of %relu";
}

TEST(ProfileTrace, CountsLiveBytes) {
  std::vector<std::int64_t> live;
  for (const Json& e : events_of(small_profile())) {
    if (e.at("ph") == "C") live.push_back(e.at("args").at("bytes"));
  }
  live.resize(5);
  // x and y; y; y, out and what nobody reads; out; nothing behind the run.
  EXPECT_EQ(live, (std::vector<std::int64_t>{2688, 1152, 1740, 576, 0}));
}

TEST(ProfileTrace, ManyRunsAreCutAndItSaysSo) {
  Profile p = small_profile();
  p.runs.resize(5'000, p.runs[0]);
  const Json trace = Json::parse(to_trace(p));
  EXPECT_LE(trace.at("traceEvents").size(), 50'000u);
  EXPECT_GT(trace.at("traceEvents").size(), 49'000u);
  EXPECT_EQ(trace.at("otherData").at("runs"), 5'000);
  EXPECT_LT(trace.at("otherData").at("runs_written"), 5'000);
}

TEST(ProfileTrace, OddNamesStayValid) {
  Profile p = small_profile();
  p.steps[0].name = "a \"quoted\"\n\xff name";
  EXPECT_NO_THROW(events_of(p));
}

}  // namespace
}  // namespace plait::profile
