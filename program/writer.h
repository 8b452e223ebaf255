// Values as text that a person can read and edit, and that reads back as the same values: numbers
// and words bare, strings in quotation marks or, of several lines, between lines of three, lists in
// brackets, structs in braces, every member behind its name. What members there are is in
// fields.h.
#pragma once

#include <charconv>
#include <cmath>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/text.h"
#include "program/fields.h"

namespace plait::program {

/// Items of a list that stand on one line.
template <class Item>
inline constexpr bool is_plain = std::is_arithmetic_v<Item> || std::is_same_v<Item, Dim>;
template <class Kind>
inline constexpr bool is_plain<Id<Kind>> = true;

class Writer {
 public:
  /// With room for text of so many bytes, so that it is not copied while it grows.
  explicit Writer(std::size_t expected = 0) { out_.reserve(expected); }

  template <class T>
  Writer& operator()(std::string_view name, const T& member) {
    if (depth_ == 0) new_line();
    word(name);
    value(member);
    return *this;
  }

  void symbols(const std::map<std::string, Dim>& all) {
    word("symbols");
    word("[");
    for (const auto& [name, symbol] : all) {
      value(name);
      number(symbol.lo());
      number(symbol.hi());
    }
    word("]");
  }

  template <class T>
  void value(const T& x) {
    if constexpr (std::is_enum_v<T>) {
      word(words_of(x)[static_cast<std::size_t>(x)]);
    } else if constexpr (std::is_arithmetic_v<T>) {
      number(x);
    } else {
      word("{");
      ++depth_;
      fields(*this, x);
      --depth_;
      word("}");
    }
  }
  template <class Kind>
  void value(const Id<Kind>& x) {
    number(x.number());
  }
  void value(const bool& x) { word(x ? "1" : "0"); }
  void value(const std::string& x) { text(x); }
  void value(const DeviceModel& x) { text(to_text(x)); }
  void value(const Dim& x) { x.is_const() ? number(x.value()) : text(x.text()); }
  void value(const ir::Type& x) { text(type_text(x)); }
  void value(const ir::Literal& x) {
    value(x.array != nullptr);
    if (x.array) value(*x.array);
  }
  void value(const Array& x) {
    value(x.dtype());
    value(x.sizes());
    hex({reinterpret_cast<const char*>(x.data()), x.byte_count()});
  }
  void value(const ir::Attrs& x) {
    word("[");
    for (const auto& [name, attr] : x) {
      value(name);
      value(attr);
    }
    word("]");
  }
  template <class T>
  void value(const std::vector<T>& x) {
    list(x);
  }
  template <class T>
  void value(const std::map<std::string, T>& x) {
    list(x);
  }
  template <class K, class V>
  void value(const std::pair<K, V>& x) {
    value(x.first);
    value(x.second);
  }
  template <class... T>
  void value(const std::variant<T...>& x) {
    word(words_of(x)[x.index()]);
    std::visit([&](const auto& held) { value(held); }, x);
  }

  std::string take() {
    new_line();
    return std::move(out_);
  }

 private:
  /// What is a line each: items of the program's own lists, and calls.
  template <class List>
  void list(const List& x) {
    using Item = typename List::value_type;
    constexpr bool kPlain = is_plain<Item>;
    word("[");
    ++depth_;
    for (const auto& item : x) {
      if constexpr (!kPlain) new_line();
      value(item);
    }
    --depth_;
    if (!kPlain && !x.empty()) new_line();
    word("]");
  }
  void new_line() {
    while (!out_.empty() && out_.back() == ' ') out_.pop_back();
    if (!out_.empty()) out_ += '\n';
    out_.append(static_cast<std::size_t>(depth_) * 2, ' ');
  }
  void word(std::string_view text) {
    out_ += text;
    out_ += ' ';
  }
  /// The shortest text that reads back as the same number.
  template <class T>
  void number(T x) {
    if constexpr (std::is_floating_point_v<T>) {
      if (std::isnan(x)) return word("nan");  // whatever its sign, as in the graph's text
    }
    char text[32];
    word({text, static_cast<std::size_t>(std::to_chars(text, text + sizeof text, x).ptr - text)});
  }
  void text(std::string_view x) {
    const bool lines = x.find('\n') != x.npos && x.find(kFence) == x.npos && x.back() != '"';
    lines ? word(str(kFence, "\n", x, kFence)) : word(quoted(x));
  }
  void hex(std::string_view bytes) {
    std::string out = "x";
    for (const char c : bytes) {
      out += kHexDigits[static_cast<unsigned char>(c) >> 4];
      out += kHexDigits[static_cast<unsigned char>(c) & 15];
    }
    word(out);
  }

  std::string out_;
  int depth_ = 0;
};

}  // namespace plait::program
