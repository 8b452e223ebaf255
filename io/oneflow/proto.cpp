// Fields by line, messages by a stack of bounded depth.
#include "io/oneflow/proto.h"

#include <cstdio>

#include "base/text.h"

namespace plait::io::oneflow {
namespace {

constexpr int kMaxDepth = 16;
constexpr std::size_t kMaxFields = 100'000;  // of one message

bool is_key(std::string_view key) {
  if (key.empty()) return false;
  for (char c : key) {
    const bool good =
        (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
    if (!good) return false;
  }
  return true;
}

/// The text between the quotes, escapes resolved.
std::string unquoted(std::string_view text, const Lines& lines) {
  if (text.size() < 2 || text.back() != '"') lines.fail("a string without its closing quote");
  std::string out;
  for (std::size_t i = 1; i + 1 < text.size(); ++i) {
    if (text[i] == '"') lines.fail("a quote inside a string. Write \\\"");
    if (text[i] != '\\') {
      out += text[i];
      continue;
    }
    if (++i + 1 >= text.size()) lines.fail("a string without its closing quote");
    const char c = text[i];
    if (c >= '0' && c <= '7') {
      int value = 0;
      std::size_t digits = 0;
      for (; digits < 3 && i + digits + 1 < text.size(); ++digits) {
        const char d = text[i + digits];
        if (d < '0' || d > '7') break;
        value = value * 8 + (d - '0');
      }
      i += digits - 1;
      out += static_cast<char>(value);
    } else {
      out += c == 'n' ? '\n' : c == 't' ? '\t' : c == 'r' ? '\r' : c;
    }
  }
  return out;
}

ProtoField read_field(std::string_view text, const Lines& lines) {
  ProtoField field;
  field.line = lines.number();
  const std::size_t end = text.find_first_of(": {");
  field.key = std::string(text.substr(0, end));
  constexpr std::size_t kMaxKey = 64;
  if (field.key.size() > kMaxKey || !is_key(field.key)) {
    lines.fail("expected a field of an op conf, `key: value` or `key {`, found ",
               quoted(text.substr(0, 40)));
  }
  const std::string_view rest = end == std::string_view::npos ? "" : text.substr(end);
  if (rest == " {") {
    field.message = true;
    return field;
  }
  if (!rest.starts_with(": ") || rest.size() == 2) {
    lines.fail("field ", field.key, " has no value. Is the log cut off?");
  }
  const std::string_view value = rest.substr(2);
  field.quoted = value[0] == '"';
  field.text = field.quoted ? unquoted(value, lines) : std::string(value);
  return field;
}

}  // namespace

std::vector<ProtoField> read_message(Lines& lines) {
  const std::int64_t first = lines.number() + 1;
  std::vector<ProtoField> open;  // messages on the way down, the outermost first
  open.push_back({});
  std::size_t count = 0;
  while (lines.next()) {
    std::string_view text = lines.line();
    if (count == 0 && text.starts_with(": ")) text.remove_prefix(2);
    text = trim(text);
    if (!lines.ended()) break;
    if (text.empty()) {
      if (open.size() == 1) return std::move(open[0].fields);
      lines.fail("an empty line inside ", open.back().key, " of the op conf of line ", first,
                 "; expected a field or '}'");
    }
    if (++count > kMaxFields) lines.fail("the op conf of line ", first, " has over 100,000 lines");
    if (text == "}") {
      if (open.size() == 1) lines.fail("a '}' that closes nothing");
      ProtoField done = std::move(open.back());
      open.pop_back();
      open.back().fields.push_back(std::move(done));
      continue;
    }
    ProtoField field = read_field(text, lines);
    if (!field.message) {
      open.back().fields.push_back(std::move(field));
    } else if (open.size() > kMaxDepth) {
      lines.fail("messages of an op conf are nested deeper than ", kMaxDepth);
    } else {
      open.push_back(std::move(field));
    }
  }
  lines.fail("the log ends inside the op conf that begins at line ", first, ". Is it cut off?");
}

std::string proto_quoted(std::string_view text) {
  std::string out = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\' || c == '\'') {
      out += '\\';
      out += c;
    } else if (static_cast<unsigned char>(c) < ' ') {
      char octal[8];
      std::snprintf(octal, sizeof octal, "\\%03o", static_cast<unsigned char>(c));
      out += octal;
    } else {
      out += c;
    }
  }
  return out + "\"";
}

}  // namespace plait::io::oneflow
