// Values as Python prints them: what AITemplate's documents are made of. A tolerant reader of them
// and pprint's way of writing them. Nothing here knows tensors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace plait::io::aitemplate {

/// Where something stands in the document, from 1; 0 when it is not from one. No part of equality.
struct At {
  int line = 0, column = 0;
  bool operator==(const At&) const { return true; }
};

struct Entry;

struct PyValue {
  enum Kind { kNone, kBool, kInt, kFloat, kText, kList, kTuple, kDict, kOrderedDict, kForeign };
  Kind kind = kNone;
  /// Of kDict: printed by an object of its own, so that its lines do not follow the indentation
  /// around it.
  bool object = false;
  std::int64_t whole = 0;        // kInt; kBool as 0 or 1
  double real = 0;               // kFloat
  std::string text{};            // kText: its characters; kForeign and kFloat: as printed
  std::vector<PyValue> items{};  // kList, kTuple
  std::vector<Entry> entries;    // kDict, kOrderedDict
  At at{};

  bool is(Kind k) const { return kind == k; }
  /// The entry of a dict under a text key; null when there is none.
  const PyValue* find(std::string_view key) const;
  bool operator==(const PyValue&) const;

  static PyValue of(bool b);
  static PyValue of(std::int64_t n);
  static PyValue of(int n);
  static PyValue of(double x);
  static PyValue of(std::string text);
  static PyValue of(const char* text);
  static PyValue foreign(std::string text);
  static PyValue list(std::vector<PyValue> items);
  /// An object's attributes, keys in order.
  static PyValue dict(std::vector<Entry> entries, bool object = true);
};

struct Entry {
  PyValue key, value;
  bool operator==(const Entry&) const = default;
};

// Behind Entry: before it, a PyValue cannot be made.
inline PyValue PyValue::of(int n) { return of(static_cast<std::int64_t>(n)); }
inline PyValue PyValue::of(const char* text) { return of(std::string(text)); }

/// `a list`, `the text 'x'`, `the number 3`: a value as a message names it.
std::string describe(const PyValue& value);

/// Reads values from a text, one after the other. UserError `FILE:LINE:COLUMN: ...` on the first
/// mistake; bounded depth and count.
class PyReader {
 public:
  PyReader(std::string_view text, std::string file) : text_(text), file_(std::move(file)) {}

  PyValue value();
  void skip_space();
  bool at_end() const { return pos_ == text_.size(); }
  /// Whether `word` stands here; moves past it.
  bool accept(std::string_view word);
  char peek() const { return at_end() ? '\0' : text_[pos_]; }
  At at() const { return {line_, static_cast<int>(pos_ - line_start_) + 1}; }
  [[noreturn]] void fail(const std::string& message) const { fail_at(at(), message); }
  [[noreturn]] void fail_at(At at, const std::string& message) const;

 private:
  struct Mark {
    std::size_t pos, line_start;
    int line;
  };
  Mark mark() const { return {pos_, line_start_, line_}; }
  void rewind(const Mark& m) { pos_ = m.pos, line_start_ = m.line_start, line_ = m.line; }
  void advance();
  std::string shown() const;
  PyValue plain_value();
  PyValue braces();
  PyValue sequence(char close, PyValue::Kind kind);
  PyValue ordered_dict();
  PyValue foreign(const Mark& from);
  std::string quoted_text();
  void escape(std::string& out);
  PyValue number_or_foreign();
  bool at_delimiter();

  std::string_view text_;
  std::string file_;
  std::size_t pos_ = 0, line_start_ = 0;
  int line_ = 1;
  int depth_ = 0;
  std::int64_t count_ = 0;
};

/// As Python's pformat(value, indent=2) prints it.
std::string pformat(const PyValue& value);
/// As Python's repr: one line but for objects inside.
std::string py_repr(const PyValue& value);
/// The shortest decimal form, as Python's: `1e-05`, `0.5`.
std::string py_real(double value);

}  // namespace plait::io::aitemplate
