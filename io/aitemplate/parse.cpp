// The reader of Python's printed values. Knows literals, containers and OrderedDict; other calls,
// `<...>` and formulas are kept as they are printed.
#include <charconv>
#include <limits>

#include "base/error.h"
#include "base/text.h"
#include "io/aitemplate/value.h"
#include "io/import.h"

namespace plait::io::aitemplate {
namespace {

constexpr int kMaxDepth = 64;
constexpr std::int64_t kMaxValues = 4 * kMaxItems;
constexpr int kWidth = 80;  // pprint's

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || (c & 0x80);
}
bool is_space(char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; }

}  // namespace

void PyReader::fail_at(At at, const std::string& message) const {
  plait::fail(file_, ":", at.line, ":", at.column, ": ", message);
}

void PyReader::advance() {
  if (text_[pos_] == '\n') {
    ++line_;
    line_start_ = pos_ + 1;
  }
  ++pos_;
}

void PyReader::skip_space() {
  while (!at_end() && is_space(peek())) advance();
}

bool PyReader::accept(std::string_view word) {
  if (!text_.substr(pos_).starts_with(word)) return false;
  for (std::size_t i = 0; i < word.size(); ++i) advance();
  return true;
}

/// What stands here, for messages.
std::string PyReader::shown() const {
  if (at_end()) return "the end of the text";
  std::string out;
  for (char c : text_.substr(pos_, 16)) {
    if (c == '\n') break;
    out += c >= ' ' && c < 127 ? c : '?';
  }
  return out.empty() ? "the end of the line" : "`" + out + "`";
}

bool PyReader::at_delimiter() {
  skip_space();
  return at_end() || std::string_view(",:]})").find(peek()) != std::string_view::npos;
}

PyValue PyReader::value() {
  skip_space();
  if (++count_ > kMaxValues) {
    fail(str("more than ", with_commas(kMaxValues), " values; no document is that large"));
  }
  if (depth_ == kMaxDepth) {
    fail(str("values are nested deeper than ", kMaxDepth, "; is a bracket not closed?"));
  }
  const At start = at();
  ++depth_;
  PyValue v = plain_value();
  --depth_;
  v.at = start;
  return v;
}

PyValue PyReader::plain_value() {
  const Mark start = mark();
  const char c = peek();
  if (c == '{') return braces();
  if (c == '[') return sequence(']', PyValue::kList);
  if (c == '(') {
    PyValue v = sequence(')', PyValue::kTuple);
    // A formula that begins with a bracket: `(n + 1)*2`.
    if (at_delimiter() || v.is(PyValue::kText)) return v;
    rewind(start);
    return foreign(start);
  }
  if (c == '\'' || c == '"') return PyValue::of(quoted_text());
  if (accept("OrderedDict(")) return ordered_dict();
  if (is_digit(c) || c == '-' || c == '+' || c == '.') return number_or_foreign();
  if (!is_letter(c) && c != '<') fail("a value was expected, found " + shown());
  std::size_t end = pos_;
  while (end < text_.size() && (is_letter(text_[end]) || is_digit(text_[end]))) ++end;
  const std::string_view word = text_.substr(pos_, end - pos_);
  // b'...' and the like keep their prefix out of the value.
  if (word.size() == 1 && end < text_.size() && (text_[end] == '\'' || text_[end] == '"')) {
    return foreign(start);
  }
  if (word == "None" || word == "True" || word == "False" || word == "inf" || word == "nan") {
    accept(word);
    if (at_delimiter()) {
      if (word == "None") return {};
      if (word[0] == 'T' || word[0] == 'F') return PyValue::of(word == "True");
      return PyValue::of(word == "inf" ? std::numeric_limits<double>::infinity()
                                       : std::numeric_limits<double>::quiet_NaN());
    }
    rewind(start);
  }
  return foreign(start);
}

PyValue PyReader::braces() {
  const Mark start = mark();
  const At open = at();
  accept("{");
  const bool broken = peek() == ' ';  // pprint's mark of a dict that does not fit on a line
  PyValue v = PyValue::dict({}, false);
  skip_space();
  while (!accept("}")) {
    if (peek() == '.') return rewind(start), foreign(start);  // {...}
    if (!v.entries.empty() && line_ != open.line && at().column == 3 && open.column != 1) {
      v.object = true;
    }
    Entry e;
    e.key = value();
    skip_space();
    if (v.entries.empty() && (peek() == ',' || peek() == '}')) {
      return rewind(start), foreign(start);  // a set
    }
    if (!accept(":")) fail("`:` was expected after a key, found " + shown());
    e.value = value();
    v.entries.push_back(std::move(e));
    skip_space();
    if (peek() == '}') continue;
    if (!accept(","))
      fail(str("`,` or `}` was expected in the dict opened at ", open.line, ":", open.column,
               ", found ", shown()));
    skip_space();
  }
  // A dict that passes the width and is not broken is an object's text.
  if (line_ == open.line && at().column > kWidth && !broken) v.object = true;
  return v;
}

PyValue PyReader::sequence(char close, PyValue::Kind kind) {
  const Mark start = mark();
  const At open = at();
  advance();
  PyValue v;
  v.kind = kind;
  bool comma = false;
  skip_space();
  while (peek() != close) {
    if (peek() == '.' && text_.substr(pos_).starts_with("...")) {
      return rewind(start), foreign(start);
    }
    v.items.push_back(value());
    skip_space();
    comma = accept(",");
    skip_space();
    if (!comma && peek() != close) {
      fail(str("`,` or `", std::string(1, close), "` was expected in the ",
               kind == PyValue::kList ? "list" : "tuple", " opened at ", open.line, ":",
               open.column, ", found ", shown()));
    }
  }
  advance();
  // Brackets round one value are no tuple: pprint puts them round a text of several lines. Round
  // anything else they belong to it: `(1+2j)`.
  if (kind == PyValue::kTuple && v.items.size() == 1 && !comma) {
    if (!v.items[0].is(PyValue::kText)) return rewind(start), foreign(start);
    PyValue inner = std::move(v.items[0]);
    return inner;
  }
  return v;
}

/// Behind `OrderedDict(`.
PyValue PyReader::ordered_dict() {
  PyValue v;
  v.kind = PyValue::kOrderedDict;
  skip_space();
  if (accept(")")) return v;
  const PyValue pairs = value();
  if (!pairs.is(PyValue::kList)) {
    fail_at(pairs.at, "OrderedDict holds a list of pairs, found " + describe(pairs));
  }
  for (const PyValue& pair : pairs.items) {
    if (!pair.is(PyValue::kTuple) || pair.items.size() != 2) {
      fail_at(pair.at, "OrderedDict holds pairs, found " + describe(pair));
    }
    v.entries.push_back({pair.items[0], pair.items[1]});
  }
  skip_space();
  if (!accept(")")) fail("`)` was expected after OrderedDict's list, found " + shown());
  return v;
}

/// Text up to a delimiter outside all brackets and quotes.
PyValue PyReader::foreign(const Mark& from) {
  std::string open;  // the brackets that are open
  const At start = at();
  std::size_t end = pos_;
  while (!at_end()) {
    const char c = peek();
    if (open.empty() && std::string_view(",:]})").find(c) != std::string_view::npos) break;
    if (c == '\'' || c == '"') {
      quoted_text();
      end = pos_;
      continue;
    }
    if (c == '(' || c == '[' || c == '{' || c == '<') {
      open += c;
    } else if (!open.empty() && (c == ')' || c == ']' || c == '}' || c == '>')) {
      const bool angle = open.back() == '<';
      if ((c == '>') == angle) open.pop_back();
    }
    const bool space = is_space(c);
    advance();
    if (!space) end = pos_;
  }
  if (!open.empty()) fail_at(start, "a `" + open.substr(0, 1) + "` is not closed");
  return PyValue::foreign(std::string(text_.substr(from.pos, end - from.pos)));
}

PyValue PyReader::number_or_foreign() {
  const Mark start = mark();
  std::size_t end = pos_;
  while (end < text_.size() && (is_letter(text_[end]) || is_digit(text_[end]) ||
                                text_[end] == '.' || text_[end] == '-' || text_[end] == '+')) {
    ++end;
  }
  const std::string_view word = text_.substr(pos_, end - pos_);
  const char* last = word.data() + word.size();
  accept(word);
  // A formula goes on with an operator; anything else ends a number.
  const bool ends =
      at_delimiter() || std::string_view("+-*/%").find(peek()) == std::string_view::npos;
  if (ends) {
    PyValue v = PyValue::of(0);
    if (const auto r = std::from_chars(word.data(), last, v.whole);
        r.ec == std::errc{} && r.ptr == last) {
      return v;
    }
    v = PyValue::of(0.0);
    if (const auto r = std::from_chars(word.data(), last, v.real);
        r.ec == std::errc{} && r.ptr == last &&
        word.find_first_of(".eEn") != std::string_view::npos) {
      v.text = word;
      return v;
    }
  }
  rewind(start);
  PyValue v = foreign(start);
  if (v.text.empty()) fail("a value was expected, found " + shown());
  return v;
}

}  // namespace plait::io::aitemplate
