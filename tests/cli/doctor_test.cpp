// plait doctor, on any machine: a table, JSON, and answers where something is missing.
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "io/file.h"
#include "tests/cli/program.h"
#include "tests/temporary.h"

namespace plait::test {
namespace {

TEST(Doctor, SaysWhatThereIs) {
  const Outcome o = plait("doctor");
  EXPECT_EQ(o.code, 0);
  EXPECT_EQ(o.err, "");
  for (const char* part : {"cpus ", "memory ", "C compiler ", "cache ", "cuda part "}) {
    EXPECT_NE(o.out.find(part), std::string::npos) << part << "\n" << o.out;
  }
}

TEST(Doctor, AsJson) {
  const Outcome o = plait("doctor --json");
  EXPECT_EQ(o.code, 0);
  const auto list = nlohmann::json::parse(o.out);
  ASSERT_GE(list.size(), 5u);
  EXPECT_EQ(list[0].at("part"), "cpus");
  for (const auto& finding : list) {
    EXPECT_TRUE(finding.at("found").is_boolean());
    EXPECT_NE(finding.at("what"), "");
    EXPECT_TRUE(finding.at("found") || finding.at("costs") != "") << finding;
  }
}

TEST(Doctor, WithoutTheCudaPart) {
  const TemporaryFolder empty;
  const Outcome o = shell("PLAIT_PLUGINS='" + empty / "" + "' $PLAIT doctor");
  EXPECT_EQ(o.code, 0);
  EXPECT_NE(o.out.find("there is no libplait_cuda.so in "), std::string::npos) << o.out;
  EXPECT_NE(o.out.find("cuda part: --backend cuda cannot run; all else can"), std::string::npos)
      << o.out;
}

TEST(Doctor, ACudaPartThatIsNone) {
  const TemporaryFolder folder;
  io::write_file(folder / "libplait_cuda.so", {"not a library"});
  const Outcome o = shell("PLAIT_PLUGINS='" + folder / "" + "' $PLAIT doctor");
  EXPECT_EQ(o.code, 0);
  EXPECT_NE(o.out.find("libplait_cuda.so cannot be loaded: "), std::string::npos) << o.out;
}

TEST(Doctor, WithoutACompiler) {
  const Outcome o = shell("CC=no-such-compiler $PLAIT doctor");
  EXPECT_EQ(o.code, 0);
  EXPECT_NE(o.out.find("C compiler: --backend cpu cannot run; ref can"), std::string::npos)
      << o.out;
}

TEST(Doctor, WithoutACache) {
  const Outcome o = shell("PLAIT_CACHE=/dev/null/none $PLAIT doctor");
  EXPECT_EQ(o.code, 0);
  EXPECT_NE(o.out.find("/dev/null/none cannot be written"), std::string::npos) << o.out;
}

TEST(Doctor, MeasuresAnewWhenAsked) {
  const TemporaryFolder folder;
  const std::string call = "PLAIT_CACHE='" + folder / "cache" + "' $PLAIT doctor ";
  const auto kept = [&] {
    for (const auto& file : std::filesystem::directory_iterator(folder / "cache")) {
      if (file.path().filename().string().starts_with("device-")) return file.path().string();
    }
    return std::string();
  };
  const Outcome first = shell(call + "--measure");
  EXPECT_NE(first.out.find("; measured now"), std::string::npos) << first.out;
  ASSERT_FALSE(kept().empty());
  const std::string before = io::read_file(kept());
  EXPECT_EQ(shell(call + "-o " + folder / "d.txt").out.find("; measured now"), std::string::npos);
  EXPECT_EQ(io::read_file(kept()), before);
  EXPECT_TRUE(before.starts_with(io::read_file(folder / "d.txt")));
  EXPECT_NE(shell(call + "--measure").out.find("; measured now"), std::string::npos);
  EXPECT_NE(io::read_file(kept()), before);  // no two measurements are equal to the last bit
}

TEST(Doctor, ACacheThatOthersMayWrite) {
  const TemporaryFolder folder;
  const Outcome o =
      shell("chmod 777 " + folder.path() + "; PLAIT_CACHE=" + folder.path() + " $PLAIT doctor");
  EXPECT_EQ(o.code, 0);
  EXPECT_NE(o.out.find(folder.path() + " may be written by others (mode 0777): chmod go-w it"),
            std::string::npos)
      << o.out;
}

}  // namespace
}  // namespace plait::test
