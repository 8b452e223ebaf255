// A program as text: a first line `plait-plan FORMAT HASH LENGTH`, then that many bytes of members
// (fields.h) as writer.h writes them. `plait-plan FORMAT` alone is for people who edit.
#include <charconv>

#include "base/hash.h"
#include "base/text.h"
#include "program/program.h"
#include "program/reader.h"
#include "program/verify.h"
#include "program/writer.h"

namespace plait::program {
namespace {

constexpr std::string_view kMagic = "plait-plan ";
// Raised when members keep their names and change their meaning; names are checked anyway.
constexpr int kFormat = 7;
constexpr std::size_t kLongestFirstLine = 80;

/// The bytes behind the first line, when they are those that were written.
std::string_view opened(std::string_view bytes, const std::string& where) {
  const std::string_view head = bytes.substr(0, kMagic.size());
  const std::size_t end = bytes.substr(0, kLongestFirstLine).find('\n');
  if (head.empty() || head != kMagic.substr(0, head.size())) fail(where, ": this is not a plan");
  if (end == std::string_view::npos) {
    if (bytes.size() >= kLongestFirstLine) fail(where, ": this is not a plan");
    fail(where, ": the plan is cut in its first line: compile again");
  }
  const std::vector<std::string> words =
      split(bytes.substr(kMagic.size(), end - kMagic.size()), ' ');
  if (words[0] != std::to_string(kFormat)) {
    fail(where, ": the plan was written by another version (format '", words[0], "', this one has ",
         kFormat, "): compile again");
  }
  const std::string_view body = bytes.substr(end + 1);
  if (words.size() == 1) return body;  // nobody vouches for it: it may have been edited
  std::size_t length = 0;
  const char* const last = words.back().data() + words.back().size();
  const auto read = std::from_chars(words.back().data(), last, length);
  if (words.size() != 3 || read.ec != std::errc() || read.ptr != last || body.size() > length) {
    fail(where, ": the plan is damaged (its first line does not fit it): compile again");
  }
  if (body.size() < length) {
    fail(where, ": the plan is cut (", body.size(), " of ", length, " bytes): compile again");
  }
  if (words[1] != hex_digits(fnv1a64(body))) {
    fail(where, ": the plan is damaged (its content is not what was written): compile again");
  }
  return body;
}

/// More than a program's text has but for large constants: what is not written takes no memory.
std::size_t expected_bytes(const Program& program) { return 8 * program.graph_text.size(); }

}  // namespace

std::string to_text(const Program& program) {
  Writer writer(expected_bytes(program));
  fields(writer, program);
  return writer.take().insert(0, str(kMagic, kFormat, "\n"));
}

std::string to_bytes(const Program& program) {
  Writer writer(expected_bytes(program));
  fields(writer, program);
  std::string text = writer.take();  // of tens of megabytes: never held twice
  text.insert(0, str(kMagic, kFormat, " ", hex_digits(fnv1a64(text)), " ", text.size(), "\n"));
  return text;
}

Program from_bytes(std::string_view bytes, const std::string& where) {
  const std::string_view body = opened(bytes, where);
  Program program;
  try {
    Reader reader(body);
    fields(reader, program);
    reader.expect_end();
    verify(program);
  } catch (const UserError& e) {
    fail(where, ": the plan is damaged (", e.what(), "): compile again");
  }
  return program;
}

}  // namespace plait::program
