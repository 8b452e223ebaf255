// The script that makes the default text: order, headings, exact contents, what it leaves out.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "io/file.h"
#include "tests/temporary.h"

namespace plait::train {
namespace {

class Corpus : public ::testing::Test {
 protected:
  void write(const std::string& name, const std::string& bytes) {
    const std::string path = folder / ("tree/" + name);
    io::make_folder(std::filesystem::path(path).parent_path().string());
    io::write_file(path, {bytes});
  }
  /// The script's exit status.
  int make(const std::string& folders) {
    const std::string command = "cmake -DROOT=" + folder / "tree" +
                                " -DOUT=" + folder / "corpus.txt" + " '-DFOLDERS=" + folders +
                                "' -P train/data/corpus.cmake >" + folder / "log" + " 2>&1";
    return std::system(command.c_str());
  }
  test::TemporaryFolder folder;
};

TEST_F(Corpus, FilesInOrderWithTheirPaths) {
  const std::string awkward = "a;b [c] \\; ${ROOT} \"q\" @x@ $<1:y> \xC3\xA4\n";
  write("b/z.h", awkward);
  write("b/Z.cpp", "upper\n");
  write("a/deep/x.cpp", "no newline");
  write("README.md", "# Read\n");
  write("a/picture.svg", "no");
  write("other/x.h", "no");
  ASSERT_EQ(make("b;a"), 0) << io::read_file(folder / "log");
  EXPECT_EQ(io::read_file(folder / "corpus.txt"),
            "// ==== README.md\n# Read\n// ==== a/deep/x.cpp\nno newline\n// ==== b/Z.cpp\nupper\n"
            "// ==== b/z.h\n" +
                awkward);
}

TEST_F(Corpus, AMissingFolderIsAnError) {
  write("a/x.h", "x\n");
  EXPECT_NE(make("a;gone"), 0);
  EXPECT_NE(io::read_file(folder / "log").find("has no folder gone"), std::string::npos);
}

TEST_F(Corpus, WhatDidNotChangeIsNotWritten) {
  write("a/x.h", "x\n");
  ASSERT_EQ(make("a"), 0);
  const auto long_ago = std::filesystem::file_time_type::clock::now() - std::chrono::hours(1);
  std::filesystem::last_write_time(folder / "corpus.txt", long_ago);
  const auto before = std::filesystem::last_write_time(folder / "corpus.txt");
  ASSERT_EQ(make("a"), 0);
  EXPECT_EQ(std::filesystem::last_write_time(folder / "corpus.txt"), before);
}

}  // namespace
}  // namespace plait::train
