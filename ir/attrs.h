// Attributes of a node. In the graph they are a sorted list of name and value, so that every node
// (an opaque one too) can be printed, parsed and compared; an op reads them as its own plain struct
// through the struct's `fields()`. Values equal to the struct's defaults are not stored.
#pragma once

#include <bit>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "base/array.h"
#include "base/error.h"
#include "base/text.h"

namespace plait::ir {

/// A tensor written out in the graph.
struct Literal {
  std::shared_ptr<const Array> array;
  bool operator==(const Literal& o) const {
    return array == o.array || (array && o.array && array->same_bits(*o.array));
  }
};

using AttrValue = std::variant<bool, Dim, double, std::string, DType, std::vector<Dim>,
                               std::vector<double>, std::vector<std::string>, Literal>;

/// `3`, `0.5`, `"text"`, `f16`, `[2,2]`, `[0.5]`, `f32[2]{1.0,2.0}`
std::string attr_text(const AttrValue& value);

/// Name and value pairs sorted by name.
class Attrs {
 public:
  bool empty() const { return items_.empty(); }
  auto begin() const { return items_.begin(); }
  auto end() const { return items_.end(); }
  const AttrValue* find(std::string_view name) const;
  void set(std::string name, AttrValue value);
  bool operator==(const Attrs&) const = default;

 private:
  std::vector<std::pair<std::string, AttrValue>> items_;
};

template <class A, class T>
struct Field {
  std::string_view name;
  T A::*member;
};
template <class A, class T>
Field(const char*, T A::*) -> Field<A, T>;

struct NoAttrs {
  bool operator==(const NoAttrs&) const = default;
  static constexpr auto fields() { return std::tuple<>{}; }
};

template <class A>
concept AttrStruct = requires {
  A::fields();
};

// One pair of functions per C++ type that a field may have.
bool read_attr(const AttrValue& v, bool& out);
bool read_attr(const AttrValue& v, std::int64_t& out);
bool read_attr(const AttrValue& v, double& out);
bool read_attr(const AttrValue& v, std::string& out);
bool read_attr(const AttrValue& v, DType& out);
bool read_attr(const AttrValue& v, std::optional<DType>& out);
bool read_attr(const AttrValue& v, Dim& out);
bool read_attr(const AttrValue& v, Shape& out);
bool read_attr(const AttrValue& v, Sizes& out);
bool read_attr(const AttrValue& v, std::vector<double>& out);
bool read_attr(const AttrValue& v, std::vector<std::string>& out);
bool read_attr(const AttrValue& v, Literal& out);
template <class T>
AttrValue write_attr(const T& x) {
  if constexpr (std::is_same_v<T, std::int64_t>) {
    return Dim(x);
  } else if constexpr (std::is_same_v<T, Sizes>) {
    return shape_of(x);
  } else if constexpr (std::is_same_v<T, std::optional<DType>>) {
    return *x;
  } else {
    return x;
  }
}

/// What a struct's fields mean to people and to checks; kSchema<A> is one constant per struct.
struct AttrSchema {
  std::vector<std::string> (*names)();
  /// `axis=0, keep=false`, or empty.
  std::string (*defaults)();
  void (*validate)(const Attrs& attrs, std::string_view op);
};

/// Equality that keeps -0.0 apart from 0.0, so that no stored bit is lost.
template <class T>
bool is_default(const T& x, const T& y) {
  if constexpr (std::is_same_v<T, double>) {
    return std::bit_cast<std::uint64_t>(x) == std::bit_cast<std::uint64_t>(y);
  } else {
    return x == y;
  }
}

template <AttrStruct A>
Attrs encode(const A& a) {
  Attrs out;
  const A defaults{};
  std::apply(
      [&](auto... f) {
        ((is_default(a.*f.member, defaults.*f.member)
              ? void()
              : out.set(std::string(f.name), write_attr(a.*f.member))),
         ...);
      },
      A::fields());
  return out;
}

template <AttrStruct A>
std::vector<std::string> field_names() {
  return std::apply([](auto... f) { return std::vector<std::string>{std::string(f.name)...}; },
                    A::fields());
}

/// Attributes as the op's own struct; UserError on an unknown name or a value of a wrong kind.
template <AttrStruct A>
A decode(const Attrs& attrs, std::string_view op) {
  A out{};
  for (const auto& item : attrs) {
    const std::string& name = item.first;  // named one by one: clang 14 captures no bindings
    const AttrValue& value = item.second;
    bool known = false, good = true;
    auto visit = [&](auto f) {
      if (f.name != name) return;
      known = true;
      good = read_attr(value, out.*f.member);
    };
    std::apply([&](auto... f) { (visit(f), ...); }, A::fields());
    if (!known) {
      fail("[", op, "] has no attribute '", name, "'.", suggestion(name, field_names<A>()));
    }
    if (!good) fail("[", op, "] attribute ", name, " cannot be ", attr_text(value));
  }
  return out;
}

template <AttrStruct A>
std::string default_text() {
  std::string out;
  const A defaults{};
  auto add = [&](auto f) {
    using T = std::remove_cvref_t<decltype(defaults.*f.member)>;
    out += (out.empty() ? "" : ", ") + std::string(f.name) + "=";
    if constexpr (std::is_same_v<T, std::optional<DType>>) {
      out += defaults.*f.member ? attr_text(write_attr(defaults.*f.member)) : "input's";
    } else {
      out += attr_text(write_attr(defaults.*f.member));
    }
  };
  std::apply([&](auto... f) { (add(f), ...); }, A::fields());
  return out;
}

template <AttrStruct A>
inline constexpr AttrSchema kSchema{
    field_names<A>, default_text<A>,
    [](const Attrs& attrs, std::string_view op) { static_cast<void>(decode<A>(attrs, op)); }};

}  // namespace plait::ir
