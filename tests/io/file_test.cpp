// Whole files: what is written is read back, and failures name the path and leave nothing behind.
#include "io/file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "base/error.h"
#include "tests/raises.h"
#include "tests/temporary.h"

namespace plait::io {
namespace {

using test::message_of;

TEST(File, RoundTripOfParts) {
  const test::TemporaryFolder folder;
  const std::string big(300'000, 'x');
  write_file(folder / "a", {"one ", "", "two", big});
  EXPECT_EQ(read_file(folder / "a"), "one two" + big);
  write_file(folder / "a", {});
  EXPECT_EQ(read_file(folder / "a"), "");
}

TEST(File, ReplacesWithoutLeavingTemporaries) {
  const test::TemporaryFolder folder;
  write_file(folder / "a", {"old"});
  write_file(folder / "a", {"new"});
  EXPECT_EQ(read_file(folder / "a"), "new");
  int files = 0;
  for ([[maybe_unused]] const auto& f : std::filesystem::directory_iterator(folder.path())) ++files;
  EXPECT_EQ(files, 1);
}

TEST(File, MissingFileNamesItself) {
  const test::TemporaryFolder folder;
  const std::string path = folder / "missing";
  EXPECT_EQ(message_of<UserError>([&] { read_file(path); }),
            "cannot open " + path + ": No such file or directory");
}

TEST(File, AFolderIsNotAFile) {
  const test::TemporaryFolder folder;
  EXPECT_EQ(message_of<UserError>([&] { read_file(folder.path()); }),
            folder.path() + " is a folder, not a file");
}

TEST(File, WhatMayNeverEndIsRefused) {
  const test::TemporaryFolder folder;
  const std::string fifo = folder / "fifo";
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  EXPECT_EQ(message_of<UserError>([&] { read_file(fifo); }),
            fifo + " is a FIFO, not a file: store what comes out of it, or pipe it to '-'");
  EXPECT_EQ(message_of<UserError>([&] { write_file(fifo, {"x"}); }),
            "cannot write " + fifo + ": nobody reads from it");
  EXPECT_EQ(message_of<UserError>([&] { read_file("/dev/zero"); }),
            "/dev/zero is a device, not a file");
  EXPECT_EQ(read_file("/dev/null"), "");
}

TEST(File, APipeOfTheShellIsRead) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  ASSERT_EQ(::write(ends[1], "abc", 3), 3);
  ::close(ends[1]);
  EXPECT_EQ(read_file("/dev/fd/" + std::to_string(ends[0])), "abc");
  ::close(ends[0]);
}

TEST(File, NamesThatAreNone) {
  EXPECT_EQ(message_of<UserError>([] { read_file(""); }), "cannot open a file whose name is empty");
  EXPECT_EQ(message_of<UserError>([] { read_file(std::string("a\0b", 3)); }),
            "a file's name has a NUL byte: \"a\\u0000b\"");
}

TEST(File, WhatIsThere) {
  const test::TemporaryFolder folder;
  write_file(folder / "b", {"x"});
  make_folder(folder / "a");
  std::filesystem::create_symlink("loop", folder / "loop");
  std::filesystem::create_symlink("nowhere", folder / "nothing");
  EXPECT_TRUE(is_there(folder / "b"));
  EXPECT_FALSE(is_there(folder / "b/below"));
  EXPECT_FALSE(is_there(folder / "nothing"));
  EXPECT_TRUE(is_folder(folder / "a"));
  EXPECT_FALSE(is_folder(folder / "b"));
  EXPECT_FALSE(is_folder(folder / "c"));
  EXPECT_EQ(names_in(folder.path()), (std::vector<std::string>{"a", "b", "loop", "nothing"}));
  const std::string loop = folder / "loop", longest = folder / std::string(300, 'n');
  EXPECT_EQ(message_of<UserError>([&] { is_there(loop); }),
            "cannot look at " + loop + ": Too many levels of symbolic links");
  EXPECT_EQ(message_of<UserError>([&] { is_folder(longest); }),
            "cannot look at " + longest + ": File name too long");
  EXPECT_EQ(message_of<UserError>([&] { names_in(folder / "b"); }),
            "cannot read the folder " + (folder / "b") + ": Not a directory");
}

TEST(File, WritingIntoAMissingFolder) {
  const test::TemporaryFolder folder;
  const std::string path = folder / "no/a";
  EXPECT_EQ(message_of<RunError>([&] { write_file(path, {"x"}); }),
            "cannot write " + path + ": No such file or directory");
}

TEST(File, WritingOverAFolderLeavesNoTemporary) {
  const test::TemporaryFolder folder;
  const std::string path = folder / "sub";
  make_folder(path);
  EXPECT_EQ(message_of<RunError>([&] { write_file(path, {"x"}); }),
            "cannot write " + path + ": Is a directory");
  int files = 0;
  for ([[maybe_unused]] const auto& f : std::filesystem::directory_iterator(folder.path())) ++files;
  EXPECT_EQ(files, 1);
}

TEST(File, AFullDiskIsARunError) {
  EXPECT_EQ(message_of<RunError>([] { write_file("/dev/full", {"x"}); }),
            "cannot write /dev/full: No space left on device");
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/full"));  // written to, not replaced
}

TEST(File, AReadOnlyFolderIsARunError) {
  if (::geteuid() == 0) GTEST_SKIP() << "root may write anywhere";
  const test::TemporaryFolder folder;
  ASSERT_EQ(::chmod(folder.path().c_str(), 0500), 0);
  const std::string path = folder / "a";
  EXPECT_EQ(message_of<RunError>([&] { write_file(path, {"x"}); }),
            "cannot write " + path + ": Permission denied");
}

TEST(File, NamesOfGraphsAsFileNames) {
  EXPECT_EQ(file_name_for("blocks.3.att$key_w-1"), "blocks.3.att$key_w-1");
  EXPECT_EQ(file_name_for("../a b%"), "%2E.%2Fa%20b%25");
  EXPECT_EQ(file_name_for("\xc3\xa9"), "%C3%A9");
}

TEST(File, FoldersAreMadeWithTheirParents) {
  const test::TemporaryFolder folder;
  make_folder(folder / "a/b");
  make_folder(folder / "a/b");
  EXPECT_TRUE(std::filesystem::is_directory(folder / "a/b"));
}

TEST(File, AFolderCannotBeMadeOfAFile) {
  const test::TemporaryFolder folder;
  write_file(folder / "a", {"x"});
  const std::string path = folder / "a";
  EXPECT_EQ(message_of<RunError>([&] { make_folder(path); }),
            "cannot make the folder " + path + ": Not a directory");
}

}  // namespace
}  // namespace plait::io
