// What may go wrong round a compiler and its cache: damage, several processes, kill -9, no folder,
// a full disk, no compiler, bad C. Where the cache is at fault the build goes on without.
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include <chrono>
#include <random>
#include <thread>

#include "tests/codegen/compile_case.h"
#include "tests/raises.h"

namespace plait::codegen {
namespace {

class CompileTrouble : public CompileCase {
 protected:
  CompileTrouble() {
    options_.note = [this](const std::string& text) { notes_.push_back(text); };
  }

  CompileOptions options_;
  std::vector<std::string> notes_;
};

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

/// Builds and calls; 0 when all is as it should be.
int build_and_call(const std::vector<int>& values, const CompileOptions& options = {}) {
  std::vector<std::string> sources;
  for (int value : values) sources.push_back(adds(value));
  const Built built = build(sources, options);
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (call(built.libraries[i], 1) != 1 + values[i]) return 1;
  }
  return 0;
}

TEST_F(CompileTrouble, DamagedEntriesAreBuiltAgain) {
  ASSERT_EQ(build_and_call({40}), 0);
  const std::string path = entries().at(0);
  const std::string good = read_text(path);
  std::vector<std::string> damaged{"",
                                   good.substr(0, 100),
                                   good.substr(0, good.size() - 1),
                                   good.substr(0, good.size() / 2),
                                   good + "\n",
                                   std::string(good.size(), '\0')};
  for (std::size_t at : {std::size_t{0}, good.size() / 2, good.size() - 1}) {
    damaged.push_back(good);
    damaged.back()[at] ^= 4;
  }
  for (const std::string& bad : damaged) {
    write_text(path, bad);
    const Built built = build({adds(40)}, options_);
    EXPECT_EQ(built.from_cache, 0);
    EXPECT_EQ(call(built.libraries[0], 1), 41);
    EXPECT_EQ(read_text(path).size(), good.size());
    EXPECT_EQ(build({adds(40)}).from_cache, 1);
  }
  EXPECT_TRUE(notes_.empty());
}

TEST_F(CompileTrouble, AnEntryOfAnotherNameIsNotLoaded) {
  ASSERT_EQ(build_and_call({1}), 0);
  const std::string one = entries().at(0);
  ASSERT_EQ(build_and_call({2}), 0);
  std::vector<std::string> both = entries();
  const std::string two = both[0] == one ? both.at(1) : both.at(0);
  const std::string bytes = read_text(one);
  write_text(two, bytes);
  const Built built = build({adds(2)});
  EXPECT_EQ(built.from_cache, 0);
  EXPECT_EQ(call(built.libraries[0], 0), 2);
}

TEST_F(CompileTrouble, ProcessesAtOnce) {
  std::vector<pid_t> children;
  for (int i = 0; i < 4; ++i) {
    children.push_back(start_process([] { return build_and_call({1, 2, 3}); }));
  }
  for (pid_t child : children) EXPECT_EQ(status_of(child), 0);
  EXPECT_EQ(entries().size(), 3u);
  EXPECT_TRUE(entries(".c").empty());
  EXPECT_EQ(build({adds(1), adds(2), adds(3)}).from_cache, 3);
}

TEST_F(CompileTrouble, KilledAtAnyMoment) {
  std::mt19937 random(7);
  int killed = 0;
  for (int round = 0; round < 20; ++round) {
    const std::vector<int> values{round * 10, round * 10 + 1};
    const pid_t child = start_process([&] { return build_and_call(values); });
    std::this_thread::sleep_for(std::chrono::microseconds(random() % 120000));
    ::kill(child, SIGKILL);
    if (status_of(child) == -1) ++killed;
    for (const std::string& path : entries()) {  // whatever has its name is whole
      const std::string name = std::filesystem::path(path).filename().string();
      EXPECT_TRUE(cache::whole(read_text(path), name)) << name;
    }
    ASSERT_EQ(build_and_call(values, options_), 0) << "round " << round;
  }
  EXPECT_GT(killed, 0) << "all were faster than the kill";
  EXPECT_TRUE(notes_.empty());
}

TEST_F(CompileTrouble, NoFolderToBeMade) {
  write_text(temporary_ / "file", "x");
  ::setenv("PLAIT_CACHE", (temporary_ / "file/cache").c_str(), 1);
  EXPECT_EQ(build_and_call({1, 2}, options_), 0);
  ASSERT_EQ(notes_.size(), 1u);
  EXPECT_EQ(notes_[0], "the cache of compiled kernels is not used: " + (temporary_ / "file/cache") +
                           ": Not a directory");
}

TEST_F(CompileTrouble, NoFolderKnown) {
  for (const char* name : {"PLAIT_CACHE", "XDG_CACHE_HOME", "HOME"}) ::unsetenv(name);
  EXPECT_EQ(build_and_call({1}, options_), 0);
  ASSERT_EQ(notes_.size(), 1u);
  EXPECT_TRUE(has(notes_[0], "set PLAIT_CACHE=<folder>")) << notes_[0];
}

TEST_F(CompileTrouble, ReadOnlyFolder) {
  ASSERT_EQ(build_and_call({1}), 0);
  std::filesystem::permissions(temporary_.path(), std::filesystem::perms(0755));
  std::filesystem::permissions(temporary_ / "below", std::filesystem::perms(0755));
  for (const std::string& path : entries("")) ::chmod(path.c_str(), 0444);
  std::filesystem::permissions(cache_, std::filesystem::perms(0555));
  const pid_t child = start_process([&] {
    if (::getuid() == 0 && ::setuid(65534) != 0) return 3;  // nothing is read-only for root
    if (build_and_call({1, 2}, options_) != 0) return 1;
    if (notes_.size() != 1 || !has(notes_[0], "Permission denied")) return 2;
    return build({adds(1)}).from_cache == 1 ? 0 : 4;
  });
  EXPECT_EQ(status_of(child), 0);
  std::filesystem::permissions(cache_, std::filesystem::perms(0755));
}

/// In a mount namespace of our own; false where that is not allowed.
bool own_mounts() {
  return ::unshare(CLONE_NEWNS) == 0 &&
         ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0;
}

bool small_disk(const std::string& folder, const char* size) {
  std::filesystem::create_directories(folder);
  return ::mount("tmpfs", folder.c_str(), "tmpfs", 0, size) == 0;
}

/// Fills a disk but for some bytes.
void fill(const std::string& folder, std::size_t but) {
  const int file = ::open((folder + "/filler").c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
  const std::string page(4096, 'x');
  off_t size = 0;
  while (::write(file, page.data(), page.size()) == static_cast<ssize_t>(page.size())) size += 4096;
  if (::ftruncate(file, size - static_cast<off_t>(but)) != 0) std::perror("ftruncate");
  ::close(file);
}

constexpr int kSkip = 77;

TEST_F(CompileTrouble, FullDisk) {
  for (std::size_t left : {0, 4096, 16384, 32768, 65536, 81920, 98304, 114688, 262144}) {
    const pid_t child = start_process([&] {
      if (!own_mounts() || !small_disk(cache_, "size=512k,mode=0700")) return kSkip;
      fill(cache_, left);
      if (build_and_call({1, 2}, options_) != 0) return 1;
      const bool kept = entries().size() == 2;
      if (kept) return notes_.empty() ? 0 : 2;
      return notes_.size() == 1 && has(notes_[0], "No space left on device") ? 0 : 3;
    });
    const int status = status_of(child);
    if (status == kSkip) GTEST_SKIP() << "no mounts allowed here";
    EXPECT_EQ(status, 0) << left << " bytes left";
  }
}

TEST_F(CompileTrouble, EveryDiskFull) {
  const pid_t child = start_process([&] {
    if (!own_mounts()) return kSkip;
    ::unsetenv("TMPDIR");
    ::setenv("PLAIT_CACHE", "/tmp/cache", 1);
    for (const char* folder : {"/tmp", "/dev/shm"}) {
      if (!small_disk(folder, "size=64k")) return kSkip;
      fill(folder, 4096);
    }
    try {
      build({adds(1)}, options_);
    } catch (const RunError& e) {
      const std::string text = e.what();
      std::printf("%s\n", text.c_str());
      return has(text, "there is no folder to compile kernels in: /tmp/cache: No space left") &&
                     has(text, "; /dev/shm: No space left on device. Free some space")
                 ? 0
                 : 1;
    }
    return 2;
  });
  const int status = status_of(child);
  if (status == kSkip) GTEST_SKIP() << "no mounts allowed here";
  EXPECT_EQ(status, 0);
}

TEST_F(CompileTrouble, NothingMayBeExecutedFromTheFolder) {
  const pid_t child = start_process([&] {
    std::filesystem::create_directories(cache_);
    if (!own_mounts()) return kSkip;
    if (::mount("tmpfs", cache_.c_str(), "tmpfs", MS_NOEXEC, "size=16m,mode=0700") != 0)
      return kSkip;
    if (build_and_call({1, 2}, options_) != 0) return 1;
    const Built one = build({adds(1)});
    const Built two = build({adds(2)});
    if (one.from_cache != 1 || two.from_cache != 1) return 2;
    return call(one.libraries[0], 0) == 1 && call(two.libraries[0], 0) == 2 ? 0 : 3;
  });
  const int status = status_of(child);
  if (status == kSkip) GTEST_SKIP() << "no mounts allowed here";
  EXPECT_EQ(status, 0);
}

TEST_F(CompileTrouble, NoCompiler) {
  const std::string path = ::getenv("PATH");
  ::setenv("PATH", "", 1);
  EXPECT_EQ(test::message_of<RunError>([] { build({adds(1)}); }),
            "no C compiler was found (looked for cc, gcc, clang in PATH): install one (Debian: "
            "apt-get install gcc) or set CC=..., or run with --backend ref");
  ::setenv("PATH", path.c_str(), 1);
  ::setenv("CC", "no-such-cc -m64", 1);
  EXPECT_EQ(test::message_of<RunError>([] { build({adds(1)}); }),
            "CC is \"no-such-cc -m64\", but there is no program no-such-cc: set CC to a C compiler "
            "or unset it");
  ::unsetenv("CC");
  EXPECT_EQ(build_and_call({1}), 0);
}

TEST_F(CompileTrouble, ACompilerThatOnlyFails) {
  ::setenv("CC", "false", 1);
  EXPECT_TRUE(has(test::message_of<RunError>([] { build({adds(1)}); }),
                  "the C compiler failed with exit status 1"));
  const std::string dies = temporary_ / "dies";
  write_text(dies, "#!/bin/sh\n[ \"$1\" = --version ] || kill -9 $$\n");
  std::filesystem::permissions(dies, std::filesystem::perms::owner_all);
  ::setenv("CC", dies.c_str(), 1);
  const std::string said = test::message_of<RunError>([] { build({adds(1)}); });
  EXPECT_TRUE(has(said, "the C compiler was ended by signal 9 (Killed)")) << said;
  ::unsetenv("CC");
}

TEST_F(CompileTrouble, SourceThatDoesNotCompile) {
  const std::string bad = "int f(int x) { return x + undeclared; }\n";
  const std::string said = test::message_of<Bug>([&] { build({adds(1), bad, adds(2)}); });
  EXPECT_TRUE(has(said, "generated C does not compile: exit status 1; the source is ")) << said;
  EXPECT_TRUE(has(said, "undeclared")) << said;
  ASSERT_EQ(entries(".c").size(), 1u);
  EXPECT_TRUE(has(said, entries(".c")[0])) << said;
  EXPECT_EQ(read_text(entries(".c")[0]), bad);
  const std::string other = "int g(int x) { return x + unknown; }\n";
  try {
    build({other});
    FAIL();
  } catch (const CompileError& e) {
    EXPECT_TRUE(e.first_error.find(".c:1:27: error: ") != std::string::npos) << e.first_error;
    EXPECT_TRUE(has(e.first_error, "unknown")) << e.first_error;
    const std::string kept = e.first_error.substr(0, e.first_error.find(":1:27:"));
    EXPECT_EQ(read_text(kept), other);
  }
  EXPECT_EQ(build_and_call({1, 2}), 0);
}

TEST_F(CompileTrouble, AHostThatIgnoresItsChildren) {
  const pid_t child = start_process([] {
    ::signal(SIGCHLD, SIG_IGN);
    return build_and_call({1, 2});
  });
  EXPECT_EQ(status_of(child), 0);
}

}  // namespace
}  // namespace plait::codegen
