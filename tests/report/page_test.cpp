// A page as text.
#include "report/page.h"

#include <gtest/gtest.h>

namespace plait::report {
namespace {

TEST(Page, SectionsFactsAndTables) {
  Page page{"Title", {}, {}};
  Section& s = page.section("Counts");
  s.facts = {count("nodes", 1234567), bytes("weights", 574668960, "all of them"),
             words("dtype", "f32"), milliseconds("span", 0.0228)};
  s.table = {{"op", "n"}, {false, true}, {{"matmul", "2"}, {"relu", "10"}}};
  EXPECT_EQ(page.text(),
            "Title\n"
            "\n"
            "Counts\n"
            "  nodes    1,234,567\n"
            "  weights  574,668,960 (574.7 MB) all of them\n"
            "  dtype    f32\n"
            "  span     22.80 ms\n"
            "\n"
            "  op       n\n"
            "  matmul   2\n"
            "  relu    10\n");
}

TEST(Page, NumbersAreKeptBesideTheirText) {
  EXPECT_EQ(count("n", 7).number, 7.0);
  EXPECT_EQ(bytes("n", 8).number, 8.0);
  EXPECT_EQ(milliseconds("t", 0.5).number, 500.0);
  EXPECT_EQ(words("w", "text").number, std::nullopt);
}

TEST(Page, FindingsAreNumbered) {
  Page page{"T", {}, {}};
  page.findings = {{"One thing.", "Do this.", {"a", "b"}}, {"Another.", "", {}}};
  EXPECT_EQ(page.text(),
            "T\n"
            "\n"
            "Findings\n"
            "  1. One thing.\n"
            "     Do this.\n"
            "     at: a, b\n"
            "  2. Another.\n");
}

TEST(Page, ManyNodesAreCutAndCounted) {
  Page page{"T", {}, {}};
  page.findings = {{"Many.", "", {"a", "b", "c", "d", "e", "f", "g", "h", "i", "j"}}};
  EXPECT_NE(page.text().find("at: a, b, c, d, e, f, g, h and 2 more\n"), std::string::npos)
      << page.text();
}

std::vector<std::string> lines_of(const std::string& text) { return split(text, '\n'); }

TEST(Page, LongTextIsWrappedUnderItsBeginning) {
  std::string sentence;
  for (int i = 0; i < 60; ++i) sentence += (i ? " word" : "word") + std::to_string(i);
  Page page{"T", {}, {}};
  page.section("S").facts = {words("fact", sentence)};
  page.findings = {{sentence, sentence, {sentence}}};
  std::string joined;
  for (const std::string& line : lines_of(page.text())) {
    EXPECT_LE(line.size(), 100u) << line;
    joined += std::string(trim(line)) + " ";
  }
  // Nothing is lost or torn: all sentences are there, with single blanks.
  std::size_t found = 0;
  for (std::size_t at = joined.find(sentence); at != std::string::npos;
       at = joined.find(sentence, at + 1)) {
    ++found;
  }
  EXPECT_EQ(found, 4u);
  const std::vector<std::string> lines = lines_of(page.text());
  ASSERT_GT(lines.size(), 4u);
  EXPECT_TRUE(lines[3].starts_with("  fact  word0"));
  EXPECT_TRUE(lines[4].starts_with("        word"));
}

TEST(Page, AWordThatIsTooLongStaysWhole) {
  const std::string word(150, 'x');
  Page page{"T", {}, {}};
  page.findings = {{"see " + word + " there", "", {}}};
  EXPECT_NE(page.text().find("see\n     " + word + "\n     there"), std::string::npos)
      << page.text();
}

TEST(Page, Percent) {
  EXPECT_EQ(percent_text(28, 100), "28.0%");
  EXPECT_EQ(percent_text(1, 3), "33.3%");
  EXPECT_EQ(percent_text(1, 0), "-");
}

}  // namespace
}  // namespace plait::report
