// A page about a document or a graph: facts, tables and findings, for people (text) and programs
// (the same as data). What goes on it is said by one file per format.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/text.h"

namespace plait::report {

struct Fact {
  std::string name;              // `parameters`
  std::string text;              // `25,526,632`
  std::optional<double> number;  // the same as a number, where it is one
};

struct Section {
  std::string title;  // a line above it
  std::vector<Fact> facts;
  Table table;  // may be empty
};

/// Something the user did not know: what, with its figures; why it matters or what to do; where.
struct Finding {
  std::string what;
  std::string advice;
  std::vector<std::string> nodes;  // all of them; the text shows the first few and says how many
};

struct Page {
  std::string title;
  std::vector<Section> sections;
  std::vector<Finding> findings;

  Section& section(std::string title);
  std::string text() const;
};

// One line each, so that a page reads like its sections.
Fact count(std::string name, std::int64_t n);                         // 94,803,968
Fact bytes(std::string name, std::int64_t n, std::string note = "");  // 574,668,960 (574.7 MB)
Fact words(std::string name, std::string text);
Fact milliseconds(std::string name, double seconds, std::string note = "");  // 22.80 ms

/// `28.0%`; `-` of nothing.
std::string percent_text(double part, double whole);

}  // namespace plait::report
