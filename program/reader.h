// The inverse of writer.h over bytes that nobody vouches for: UserError on the first thing
// that is not as it was written; nothing larger than the bytes themselves is allocated.
#pragma once

#include <charconv>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "program/fields.h"

namespace plait::program {

class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}

  template <class T>
  Reader& operator()(std::string_view name, T& member) {
    expect(name);
    value(member);
    return *this;
  }

  /// Later sizes are over these.
  void symbols(std::map<std::string, Dim>& all);

  template <class T>
  void value(T& x) {
    if constexpr (std::is_enum_v<T>) {
      const auto& words = words_of(x);
      x = static_cast<T>(index_of(word(), words.data(), words.size()));
    } else if constexpr (std::is_arithmetic_v<T>) {
      x = number<T>();
    } else {
      expect("{");
      fields(*this, x);
      expect("}");
    }
  }
  template <class Kind>
  void value(Id<Kind>& x) {
    x = id<Kind>(number<std::int32_t>());
  }
  void value(bool& x);
  void value(std::string& x) { x = text(); }
  void value(DeviceModel& x) { x = device_model_from_text(text(), "its device"); }
  void value(Dim& x);
  void value(ir::Type& x);
  void value(ir::Literal& x);
  void value(Array& x);
  void value(ir::Attrs& x);
  template <class T>
  void value(std::vector<T>& x) {
    expect("[");
    while (!ends()) value(x.emplace_back());
  }
  template <class T>
  void value(std::map<std::string, T>& x) {
    expect("[");
    while (!ends()) {
      std::pair<std::string, T> item;
      value(item);
      x.insert(std::move(item));
    }
  }
  template <class K, class V>
  void value(std::pair<K, V>& x) {
    value(x.first);
    value(x.second);
  }
  template <class... T>
  void value(std::variant<T...>& x) {
    using Variant = std::variant<T...>;
    static constexpr Variant (*kMake[])() = {[] { return Variant(std::in_place_type<T>); }...};
    const auto& words = words_of(x);
    x = kMake[index_of(word(), words.data(), words.size())]();
    std::visit([&](auto& held) { value(held); }, x);
  }

  void expect_end();

 private:
  template <class... Parts>
  [[noreturn]] void bad(const Parts&... parts) const {
    fail(place(), ": ", parts...);
  }
  /// Where it reads, in the file that begins with one line more.
  std::string place() const;

  void skip() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n')) ++at_;
  }
  /// Up to the next blank; brackets and braces are words of their own.
  std::string_view word();
  void expect(std::string_view name);
  template <class T>
  T number() {
    skip();
    T x{};
    const char* const begin = text_.data() + at_;
    const auto read = std::from_chars(begin, text_.data() + text_.size(), x);
    if (read.ec != std::errc()) bad("a number is expected");
    at_ += static_cast<std::size_t>(read.ptr - begin);
    return x;
  }
  template <class Kind>
  Id<Kind> id(std::int32_t number) const {
    if (number < -1) bad("no id is ", number);
    return number < 0 ? Id<Kind>() : Id<Kind>(static_cast<std::size_t>(number));
  }
  Dim symbol(std::string_view name) const;
  /// Whether a list ends here; its bracket is taken.
  bool ends();
  std::string text();
  /// What stands for one character behind a backslash.
  char escaped();
  std::string hex();
  std::size_t index_of(std::string_view word, const std::string_view* words, std::size_t n) const;

  std::string_view text_;
  std::size_t at_ = 0;
  const std::map<std::string, Dim>* symbols_ = nullptr;
  std::unordered_map<std::string, Dim> dims_;  // expressions recur
  std::unordered_map<std::string, ir::Type> types_;
};

}  // namespace plait::program
