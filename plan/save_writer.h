// Values as bytes: numbers and words as text, strings behind their length (`5:conv1`), lists behind
// their count, every member behind its name. What members there are is in save_fields.h.
#pragma once

#include <charconv>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "plan/save_fields.h"

namespace plait::plan {

class Writer {
 public:
  template <class T>
  Writer& operator()(std::string_view name, const T& member) {
    word(name);
    value(member);
    return *this;
  }

  void symbols(const std::map<std::string, Dim>& all) {
    word("symbols");
    number(all.size());
    for (const auto& [name, symbol] : all) {
      value(name);
      number(symbol.lo());
      number(symbol.hi());
    }
  }

  template <class T>
  void value(const T& x) {
    if constexpr (std::is_enum_v<T>) {
      word(words_of(x)[static_cast<std::size_t>(x)]);
    } else if constexpr (std::is_arithmetic_v<T>) {
      number(x);
    } else {
      out_ += '\n';
      fields(*this, x);
    }
  }
  void value(const bool& x) { word(x ? "1" : "0"); }
  void value(const std::string& x) { bytes(x); }
  void value(const Dim& x) { x.is_const() ? number(x.value()) : bytes(x.text()); }
  void value(const ir::Literal& x) {
    value(x.array != nullptr);
    if (x.array) value(*x.array);
  }
  void value(const Array& x) {
    value(x.dtype());
    value(x.sizes());
    bytes({reinterpret_cast<const char*>(x.data()), x.byte_count()});
  }
  void value(const ir::Attrs& x) {
    number(x.end() - x.begin());
    for (const auto& [name, attr] : x) {
      value(name);
      value(attr);
    }
  }
  template <class T>
  void value(const std::vector<T>& x) {
    number(x.size());
    for (const T& item : x) value(item);
  }
  template <class T>
  void value(const std::map<std::string, T>& x) {
    number(x.size());
    for (const auto& item : x) value(item);
  }
  template <class K, class V>
  void value(const std::pair<K, V>& x) {
    value(x.first);
    value(x.second);
  }
  template <class... T>
  void value(const std::variant<T...>& x) {
    number(x.index());
    std::visit([&](const auto& held) { value(held); }, x);
  }

  std::string take() { return std::move(out_); }

 private:
  void word(std::string_view text) {
    out_ += text;
    out_ += ' ';
  }
  /// The shortest text that reads back as the same number.
  template <class T>
  void number(T x) {
    char text[32];
    word({text, static_cast<std::size_t>(std::to_chars(text, text + sizeof text, x).ptr - text)});
  }
  void bytes(std::string_view text) {
    number(text.size());
    out_.back() = ':';
    word(text);
  }

  std::string out_;
};

}  // namespace plait::plan
