// Laying a page out as text.
#include "report/page.h"

#include <algorithm>
#include <cstdio>

#include "base/error.h"

namespace plait::report {
namespace {

constexpr std::size_t kWidth = 100;
constexpr std::size_t kShownNodes = 8;

/// `text` broken at blanks, every line but the first behind `indent` blanks.
std::string wrapped(const std::string& text, std::size_t indent) {
  std::string out;
  std::size_t column = indent;
  for (const std::string& word : split(text, ' ')) {
    if (column > indent && column + 1 + word.size() > kWidth) {
      out += "\n" + std::string(indent, ' ');
      column = indent;
    } else if (column > indent) {
      out += ' ';
      ++column;
    }
    out += word;
    column += word.size();
  }
  return out;
}

std::string facts_text(const std::vector<Fact>& facts) {
  std::size_t widest = 0;
  for (const Fact& f : facts) widest = std::max(widest, f.name.size());
  std::string out;
  for (const Fact& f : facts) {
    out += "  " + f.name + std::string(widest - f.name.size() + 2, ' ');
    out += wrapped(f.text, widest + 4) + "\n";
  }
  return out;
}

std::string indented(const std::string& text) {
  std::string out;
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t end = std::min(text.find('\n', i), text.size());
    out += "  " + text.substr(i, end - i) + "\n";
    i = end + 1;
  }
  return out;
}

std::string nodes_text(const std::vector<std::string>& nodes) {
  const std::size_t shown = std::min(nodes.size(), kShownNodes);
  std::string out = join({nodes.begin(), nodes.begin() + static_cast<std::ptrdiff_t>(shown)}, ", ");
  if (shown < nodes.size()) out += str(" and ", nodes.size() - shown, " more");
  return out;
}

}  // namespace

Section& Page::section(std::string name) {
  sections.push_back({std::move(name), {}, {}});
  return sections.back();
}

std::string Page::text() const {
  std::string out = title + "\n";
  for (const Section& s : sections) {
    out += "\n" + s.title + "\n" + facts_text(s.facts);
    if (s.table.rows.empty()) continue;
    if (!s.facts.empty()) out += "\n";
    out += indented(s.table.text());
  }
  if (findings.empty()) return out;
  out += "\nFindings\n";
  int number = 0;
  for (const Finding& f : findings) {
    const std::string mark = str(++number < 10 ? "  " : " ", number, ". ");
    out += mark + wrapped(f.what, 5) + "\n";
    if (!f.advice.empty()) out += "     " + wrapped(f.advice, 5) + "\n";
    if (!f.nodes.empty()) out += "     at: " + wrapped(nodes_text(f.nodes), 9) + "\n";
  }
  return out;
}

Fact count(std::string name, std::int64_t n) {
  return {std::move(name), with_commas(n), static_cast<double>(n)};
}

Fact bytes(std::string name, std::int64_t n, std::string note) {
  return {std::move(name), bytes_text(n) + (note.empty() ? "" : " " + note),
          static_cast<double>(n)};
}

Fact words(std::string name, std::string text) {
  return {std::move(name), std::move(text), std::nullopt};
}

Fact milliseconds(std::string name, double seconds, std::string note) {
  char text[64];
  std::snprintf(text, sizeof text, "%.2f ms", seconds * 1e3);
  return {std::move(name), text + (note.empty() ? "" : " " + note), seconds * 1e3};
}

std::string percent_text(double part, double whole) {
  if (!(whole > 0)) return "-";
  char text[64];
  std::snprintf(text, sizeof text, "%.1f%%", 100 * part / whole);
  return text;
}

}  // namespace plait::report
