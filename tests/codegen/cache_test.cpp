// The cache's files: whole or not there, swept, bounded, and nobody else's.
#include <fcntl.h>
#include <sys/stat.h>

#include <chrono>
#include <cstdio>
#include <ctime>

#include "tests/codegen/compile_case.h"
#include "tests/raises.h"
#include "tests/resident.h"

namespace plait::codegen {
namespace {

using Cache = CompileCase;

void set_age(const std::string& path, std::time_t seconds) {
  const timespec then{std::time(nullptr) - seconds, 0};
  const timespec times[2] = {then, then};
  ASSERT_EQ(::utimensat(AT_FDCWD, path.c_str(), times, 0), 0) << path;
}

TEST_F(Cache, FolderComesFromTheEnvironment) {
  EXPECT_EQ(cache_folder(), cache_);
  ::setenv("PLAIT_CACHE", "relative", 1);
  EXPECT_EQ(cache_folder(), (std::filesystem::current_path() / "relative").string());
  ::unsetenv("PLAIT_CACHE");
  ::setenv("XDG_CACHE_HOME", "/xdg", 1);
  EXPECT_EQ(cache_folder(), "/xdg/plait");
  ::unsetenv("XDG_CACHE_HOME");
  ::setenv("HOME", "/somewhere", 1);
  EXPECT_EQ(cache_folder(), "/somewhere/.cache/plait");
  ::unsetenv("HOME");
  EXPECT_EQ(test::message_of<RunError>([] { cache_folder(); }),
            "there is no folder for the cache: set PLAIT_CACHE=<folder> (or HOME)");
  EXPECT_FALSE(cache::load("plan", 1));
  EXPECT_FALSE(cache::store("plan", 1, "bytes"));
}

TEST_F(Cache, LoadsWhatWasStored) {
  EXPECT_FALSE(cache::load("plan", 7));
  std::string bytes(100001, '\0');
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<char>(i * 7);
  EXPECT_TRUE(cache::store("plan", 7, bytes));
  EXPECT_EQ(cache::load("plan", 7), bytes);
  EXPECT_FALSE(cache::load("plan", 8));
  EXPECT_FALSE(cache::load("choice", 7));
  EXPECT_TRUE(cache::store("plan", 7, ""));
  EXPECT_EQ(cache::load("plan", 7), "");
}

TEST_F(Cache, StoringTakesNoCopyOfTheBytes) {
  constexpr std::int64_t kBytes = 64 << 20;
  const std::string bytes(kBytes, 'x');
  EXPECT_LT(test::peak_bytes_during([&] { ASSERT_TRUE(cache::store("plan", 7, bytes)); }),
            kBytes / 2);
}

TEST_F(Cache, DamageIsNoticed) {
  ASSERT_TRUE(cache::store("plan", 7, "some thirty bytes of a good plan"));
  const std::string path = entries(".plait").at(0);
  const std::string good = read_text(path);
  for (std::size_t length = 0; length < good.size(); ++length) {
    write_text(path, good.substr(0, length));
    ASSERT_FALSE(cache::load("plan", 7)) << "cut to " << length;
  }
  for (std::size_t i = 0; i < good.size() * 8; ++i) {
    std::string bad = good;
    bad[i / 8] = static_cast<char>(bad[i / 8] ^ (1 << (i % 8)));
    write_text(path, bad);
    ASSERT_FALSE(cache::load("plan", 7)) << "bit " << i;
  }
  write_text(path, good + "x");
  EXPECT_FALSE(cache::load("plan", 7)) << "longer";
  write_text(path, good);
  EXPECT_TRUE(cache::load("plan", 7));
  std::filesystem::rename(path, cache_ + "/plan-0000000000000008.plait");
  EXPECT_FALSE(cache::load("plan", 8)) << "a file under another's name";
}

TEST_F(Cache, NamesTellPartsApart) {
  const std::string name = cache::content_name({"ab", "c"});
  EXPECT_EQ(name.size(), 32u);
  EXPECT_EQ(name, cache::content_name({"ab", "c"}));
  for (const auto& other : std::vector<std::vector<std::string_view>>{
           {"a", "bc"}, {"abc"}, {"abc", ""}, {"ab", "d"}, {"bb", "c"}}) {
    const std::string differs = cache::content_name(other);
    EXPECT_NE(name.substr(0, 16), differs.substr(0, 16));
    EXPECT_NE(name.substr(16), differs.substr(16)) << "both halves see everything";
  }
}

TEST_F(Cache, SweepRemovesWhatTheDeadLeft) {
  ASSERT_TRUE(cache::store("plan", 1, "x"));
  for (const char* name : {"plait-tmp-aaaaaa", "plait-tmp-bbbbbb"})
    write_text(cache_ + "/" + name, "x");
  for (const char* name : {"plait-work-aaaaaa", "plait-work-bbbbbb"}) {
    std::filesystem::create_directories(cache_ + "/" + name);
    write_text(cache_ + "/" + name + "/k.c", "x");
  }
  cache::WorkFolder held(cache_);
  write_text(cache_ + "/mine.txt", "x");
  for (const char* name : {"plait-tmp-aaaaaa", "plait-work-aaaaaa", "mine.txt"}) {
    set_age(cache_ + "/" + name, 660);
  }
  set_age(held.path(), 660);
  set_age(entries(".plait").at(0), 660);
  cache::sweep(cache_);
  const auto there = [&](const std::string& name) {
    return std::filesystem::exists(cache_ + "/" + name);
  };
  EXPECT_FALSE(there("plait-tmp-aaaaaa"));
  EXPECT_FALSE(there("plait-work-aaaaaa"));
  EXPECT_TRUE(there("plait-tmp-bbbbbb")) << "perhaps still being written";
  EXPECT_TRUE(there("plait-work-bbbbbb"));
  EXPECT_TRUE(there("mine.txt"));
  EXPECT_TRUE(std::filesystem::exists(held.path())) << "old, but in use";
  EXPECT_TRUE(cache::load("plan", 1));
}

TEST_F(Cache, SweepKeepsTheRecentlyUsed) {
  for (std::uint64_t key = 0; key < 10; ++key) {
    ASSERT_TRUE(cache::store("plan", key, std::string(1000, 'x')));
  }
  write_text(cache_ + "/mine.so", std::string(100000, 'x'));
  for (const std::string& path : entries(".plait")) set_age(path, 1000);
  ASSERT_TRUE(cache::load("plan", 3)) << "used now";
  cache::sweep(cache_, 20000);
  EXPECT_EQ(entries(".plait").size(), 10u) << "within bounds, and mine.so does not count";
  cache::sweep(cache_, 8000);
  EXPECT_EQ(entries(".plait").size(), 5u) << "1032 bytes each, down to three quarters";
  EXPECT_TRUE(cache::load("plan", 3));
  EXPECT_TRUE(std::filesystem::exists(cache_ + "/mine.so"));
  cache::sweep(cache_ + "/nowhere", 1);
}

TEST_F(Cache, WorkFolderGoesWithItsFiles) {
  std::string path;
  {
    cache::WorkFolder folder(cache_);
    path = folder.path();
    ASSERT_FALSE(path.empty());
    write_text(path + "/k.c", "x");
  }
  EXPECT_FALSE(std::filesystem::exists(path));
  write_text(temporary_ / "file", "x");
  const cache::WorkFolder nowhere(temporary_ / "file/below");
  EXPECT_TRUE(nowhere.path().empty());
  EXPECT_EQ(nowhere.why(), "Not a directory");
}

}  // namespace
}  // namespace plait::codegen
