// A folder or an entry that somebody else may write is not used: what lies there is run. A line
// says whose it is, and the build goes on without.
#include <fcntl.h>
#include <sys/stat.h>

#include "tests/codegen/compile_case.h"

namespace plait::codegen {
namespace {

constexpr uid_t kNobody = 65534;

class CacheTrust : public CompileCase {
 protected:
  CacheTrust() {
    options_.note = [this](const std::string& text) { notes_.push_back(text); };
  }

  /// f(1), which is 41; what the cache gives instead, where it is asked, is 0.
  int built() {
    notes_.clear();
    const Built built = build({adds(40)}, options_);
    from_cache_ = built.from_cache;
    return call(built.libraries[0], 1);
  }

  /// The cache's entry for adds(40), sealed as it has to be, is code of somebody else's.
  std::string planted() {
    const std::string evil = temporary_ / "evil";
    ::setenv("PLAIT_CACHE", evil.c_str(), 1);
    build({"int f(int x) { return 0; }\n"});
    ::setenv("PLAIT_CACHE", cache_.c_str(), 1);
    build({adds(40)});
    std::string bytes;
    for (const auto& file : std::filesystem::directory_iterator(evil)) {
      if (file.path().extension() == ".so") bytes = read_text(file.path().string());
    }
    const std::string path = entries().at(0);
    bytes.resize(bytes.size() - 32);  // its seal
    write_text(path, bytes + cache::seal(bytes, std::filesystem::path(path).filename().string()));
    return path;
  }

  void expect_refused(const std::string& reason) {
    EXPECT_EQ(built(), 41);
    EXPECT_EQ(from_cache_, 0);
    ASSERT_EQ(notes_.size(), 1u);
    EXPECT_NE(notes_[0].find(reason), std::string::npos) << notes_[0];
  }

  /// It was made anew in the place of the one that was refused, and is taken from now on.
  void expect_mended() {
    EXPECT_EQ(built(), 41);
    EXPECT_EQ(from_cache_, 1);
    EXPECT_TRUE(notes_.empty());
  }

  CompileOptions options_;
  std::vector<std::string> notes_;
  int from_cache_ = 0;
};

void give_away(const std::string& path) {
  ASSERT_EQ(::lchown(path.c_str(), kNobody, kNobody), 0) << path;
}

TEST_F(CacheTrust, WhatIsPlantedWouldBeLoaded) {
  planted();
  EXPECT_EQ(built(), 0) << "one's own cache is trusted";
  EXPECT_EQ(from_cache_, 1);
}

TEST_F(CacheTrust, AFolderOfAnotherUser) {
  if (::geteuid() != 0) GTEST_SKIP() << "files are given away by root alone";
  planted();
  give_away(cache_);
  expect_refused("the cache of compiled kernels is not used: " + cache_ + " belongs to user 65534");
  EXPECT_NE(notes_[0].find(
                ", this is user 0 (root): remove it, or set PLAIT_CACHE to a folder of your own"),
            std::string::npos)
      << notes_[0];
}

TEST_F(CacheTrust, AFolderThatOthersMayWrite) {
  planted();
  for (const auto& [mode, text] : {std::pair{0777, "0777"}, {01777, "1777"}, {0770, "0770"}}) {
    ASSERT_EQ(::chmod(cache_.c_str(), static_cast<mode_t>(mode)), 0);
    expect_refused(str(cache_, " may be written by others (mode ", text, "): chmod go-w it"));
  }
  ASSERT_EQ(::chmod(cache_.c_str(), 0755), 0);
  EXPECT_EQ(built(), 0) << "others may read";
}

TEST_F(CacheTrust, AnEntryOfAnotherUser) {
  if (::geteuid() != 0) GTEST_SKIP() << "files are given away by root alone";
  give_away(planted());
  expect_refused(".so belongs to user 65534");
  expect_mended();
}

TEST_F(CacheTrust, AnEntryThatOthersMayWrite) {
  for (const mode_t mode : {0666, 0620}) {
    ASSERT_EQ(::chmod(planted().c_str(), mode), 0);
    expect_refused(".so may be written by others (mode 06");
    expect_mended();
  }
}

TEST_F(CacheTrust, AnEntryThatIsALink) {
  const std::string path = planted(), elsewhere = temporary_ / "elsewhere";
  std::filesystem::rename(path, elsewhere);
  std::filesystem::create_symlink(elsewhere, path);
  expect_refused(path + " is a link: remove it");
  EXPECT_FALSE(std::filesystem::is_symlink(path));
  expect_mended();
}

TEST_F(CacheTrust, AnEntryThatIsNoFile) {
  const std::string path = planted();
  std::filesystem::remove(path);
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  EXPECT_EQ(built(), 41) << "and does not wait for the other end of the pipe";
  expect_mended();
}

TEST_F(CacheTrust, WhatWasCheckedIsLoaded) {
  build({adds(40)});
  const std::string path = entries().at(0), name = std::filesystem::path(path).filename().string();
  const cache::File entry = cache::open_entry(cache_, name);
  ASSERT_TRUE(entry);
  std::filesystem::rename(path, temporary_ / "before");
  const std::string other = planted();  // under the same name, after the check
  ASSERT_EQ(other, path);
  EXPECT_EQ(call(Library::load(entry.file, entry.bytes), 1), 41);
}

TEST_F(CacheTrust, LibrariesOfOneDescriptorAreTold) {
  build({adds(1)});
  build({adds(2)});
  std::vector<Library> libraries;
  std::vector<int> numbers;
  for (const std::string& path : entries()) {
    const std::string name = std::filesystem::path(path).filename().string();
    const cache::File entry = cache::open_entry(cache_, name);
    numbers.push_back(entry.file.number());
    libraries.push_back(Library::load(entry.file, entry.bytes));
  }
  ASSERT_EQ(numbers.at(0), numbers.at(1));
  EXPECT_EQ(call(libraries[0], 0) + call(libraries[1], 0), 3);
}

TEST_F(CacheTrust, MeasuredChoicesAndAllElse) {
  ASSERT_TRUE(cache::store("choice", 1, "mine"));
  EXPECT_EQ(cache::refusal_of(cache_), "");
  const std::string path = entries(".plait").at(0);
  ASSERT_EQ(::chmod(path.c_str(), 0666), 0);
  EXPECT_FALSE(cache::load("choice", 1));
  ASSERT_TRUE(cache::store("choice", 1, "mine"));
  EXPECT_EQ(cache::load("choice", 1), "mine");
  ASSERT_EQ(::chmod(cache_.c_str(), 0777), 0);
  EXPECT_FALSE(cache::load("choice", 1));
  EXPECT_FALSE(cache::store("cubin", 2, "bytes"));
  EXPECT_EQ(cache::keep_text("some.c", "text"), "");
  EXPECT_EQ(cache::write_entry(cache_, "name", "bytes"), EPERM);
  EXPECT_EQ(entries("").size(), 1u) << "and nothing is written there";
  cache::sweep(cache_, 0);
  EXPECT_EQ(entries("").size(), 1u) << "nor removed";
}

TEST_F(CacheTrust, OneLineForAllOfAProcess) {
  planted();
  ASSERT_EQ(::chmod(cache_.c_str(), 0777), 0);
  const std::string said = temporary_ / "said";
  const pid_t child = start_process([&] {
    const int file = ::open(said.c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
    ::dup2(file, 2);
    if (cache::load("plan", 1) || cache::load("choice", 2) || cache::store("cubin", 3, "x"))
      return 2;
    for (int i = 0; i < 3; ++i) {
      if (call(build({adds(40)}).libraries[0], 1) != 41) return 1;
    }
    return 0;
  });
  EXPECT_EQ(status_of(child), 0);
  EXPECT_EQ(read_text(said),
            "plait: the cache is not used: " + cache_ +
                " may be written by others (mode 0777): chmod go-w it, or set PLAIT_CACHE to a "
                "folder of your own\n");
}

/// Root's folder serves a user who may only read it; another user's serves nobody else.
TEST_F(CacheTrust, WhoRunsIt) {
  if (::geteuid() != 0) GTEST_SKIP() << "users are changed by root alone";
  planted();
  for (const std::string& folder : {temporary_.path(), temporary_ / "below", cache_}) {
    ASSERT_EQ(::chmod(folder.c_str(), 0755), 0);
  }
  ASSERT_EQ(::chmod(entries().at(0).c_str(), 0644), 0);
  const auto as = [&](uid_t user) {
    return status_of(start_process([&] { return ::setuid(user) == 0 ? built() : 99; }));
  };
  EXPECT_EQ(as(kNobody), 0) << "root's";
  for (const std::string& path : {cache_, entries().at(0)}) give_away(path);
  EXPECT_EQ(as(kNobody), 0) << "one's own";
  EXPECT_EQ(as(kNobody - 1), 41);
  EXPECT_EQ(as(0), 41);
}

TEST_F(CacheTrust, WorkIsDoneWhereNobodyCanReplaceIt) {
  const std::string open = temporary_ / "open";
  std::filesystem::create_directory(open);
  ASSERT_EQ(::chmod(open.c_str(), 0777), 0);
  const cache::WorkFolder refused(open);
  EXPECT_TRUE(refused.path().empty());
  EXPECT_EQ(refused.why(), "may be written by others (mode 0777): chmod go-w it");
  ASSERT_EQ(::chmod(open.c_str(), 01777), 0);
  const cache::WorkFolder work(open);
  ASSERT_FALSE(work.path().empty()) << work.why();

  std::filesystem::rename(work.path(), work.path() + "-away");
  std::filesystem::create_directory(work.path());
  write_text(work.anchor() + "/k.c", "ours");
  write_text(work.path() + "/k.c", "theirs");
  EXPECT_EQ(work.open("k.c").bytes, "ours");
  EXPECT_EQ(read_text(work.anchor() + "/k.c"), "ours");
}

}  // namespace
}  // namespace plait::codegen
