// Two programs compared member by member, by a walk of its own: a struct that gains a member does
// not compile here before the member is added, and then fails when it is not kept.
#pragma once

#include <gtest/gtest.h>

#include <bit>
#include <tuple>

#include "program/program.h"

namespace plait::program {

// clang-format off
inline auto members(const Function& x) { const auto& [a, b, c] = x; return std::tie(a, b, c); }
inline auto members(const Argument& x) { const auto& [a, b] = x; return std::tie(a, b); }
inline auto members(const Workspace& x) { const auto& [a, b] = x; return std::tie(a, b); }
inline auto members(const LoopCall& x) {
  const auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p] = x;
  return std::tie(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p);
}
inline auto members(const loop::AxisOf<Dim>& x) {
  const auto& [a, b, c, d, e, f] = x;
  return std::tie(a, b, c, d, e, f);
}
inline auto members(const loop::Contraction& x) {
  const auto& [a, b, c, d, e, f, g, h, i, j, k, l, m] = x;
  return std::tie(a, b, c, d, e, f, g, h, i, j, k, l, m);
}
inline auto members(const ProductCall::Part& x) {
  const auto& [a, b, c, d, e, f, g, h, i] = x;
  return std::tie(a, b, c, d, e, f, g, h, i);
}
inline auto members(const ProductCall& x) {
  const auto& [a, b, c, d, e] = x;
  return std::tie(a, b, c, d, e);
}
inline auto members(const HandCall& x) {
  const auto& [a, b, c, d, e, f, g, h] = x;
  return std::tie(a, b, c, d, e, f, g, h);
}
inline auto members(const Buffer& x) {
  const auto& [a, b, c, d, e, f] = x;
  return std::tie(a, b, c, d, e, f);
}
inline auto members(const View& x) {
  const auto& [a, b, c, d, e] = x;
  return std::tie(a, b, c, d, e);
}
inline auto members(const Step& x) {
  const auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o] = x;
  return std::tie(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o);
}
inline auto members(const Binding& x) { const auto& [a, b] = x; return std::tie(a, b); }
inline auto members(const StateBinding& x) { const auto& [a, b, c] = x; return std::tie(a, b, c); }
inline auto members(const LogEntry& x) {
  const auto& [a, b, c, d] = x;
  return std::tie(a, b, c, d);
}
inline auto members(const Program& x) {
  const auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, y, z, aa, bb, cc, dd, ee, log,
               seconds] = x;
  return std::tie(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, y, z, aa, bb, cc, dd, ee, log,
                  seconds);
}
// clang-format on

/// f(number, member of x, member of y) for each member.
template <class T, class F, std::size_t... I>
void each_member(const T& x, const T& y, F f, std::index_sequence<I...>) {
  (f(I, std::get<I>(members(x)), std::get<I>(members(y))), ...);
}
template <class T, class F>
void each_member(const T& x, const T& y, F f) {
  constexpr std::size_t kCount = std::tuple_size_v<decltype(members(x))>;
  each_member(x, y, f, std::make_index_sequence<kCount>());
}

/// One name for all: in a struct each sees the others.
struct Compare {
  static bool same(double x, double y) {
    return std::bit_cast<std::uint64_t>(x) == std::bit_cast<std::uint64_t>(y);
  }
  static bool same(const Array& x, const Array& y) { return x.same_bits(y); }
  static bool same(const Dim& x, const Dim& y) {
    return x == y && x.lo() == y.lo() && x.hi() == y.hi();
  }
  /// Numbers by their bits: 0.0 and -0.0 are two.
  static bool same(const ir::Attrs& x, const ir::Attrs& y) {
    const auto text = [](const ir::Attrs& attrs) {
      std::string out;
      for (const auto& [name, value] : attrs) out += name + "=" + ir::attr_text(value) + " ";
      return out;
    };
    return x == y && text(x) == text(y);
  }
  template <class T>
  static bool same(const std::vector<T>& x, const std::vector<T>& y) {
    if (x.size() != y.size()) return false;
    for (std::size_t i = 0; i < x.size(); ++i) {
      if (!same(x[i], y[i])) return false;
    }
    return true;
  }
  template <class K, class V>
  static bool same(const std::pair<K, V>& x, const std::pair<K, V>& y) {
    return same(x.first, y.first) && same(x.second, y.second);
  }
  template <class T>
  static bool same(const std::map<std::string, T>& x, const std::map<std::string, T>& y) {
    return std::equal(x.begin(), x.end(), y.begin(), y.end(),
                      [](const auto& a, const auto& b) { return same(a, b); });
  }
  template <class... T>
  static bool same(const std::variant<T...>& x, const std::variant<T...>& y) {
    if (x.index() != y.index()) return false;
    return (... || [&] {
      const T *a = std::get_if<T>(&x), *b = std::get_if<T>(&y);
      return a && b && same(*a, *b);
    }());
  }
  template <class T>
  static bool same(const T& x, const T& y) {
    if constexpr (requires { members(x); }) {
      bool all = true;
      each_member(x, y,
                  [&](std::size_t, const auto& a, const auto& b) { all = all && same(a, b); });
      return all;
    } else {
      return x == y;
    }
  }
};

/// Says which members of the programs differ, by their numbers.
inline void expect_same(const Program& x, const Program& y) {
  each_member(x, y, [](std::size_t i, const auto& a, const auto& b) {
    EXPECT_TRUE(Compare::same(a, b)) << "member " << i << " of the program";
  });
}

}  // namespace plait::program
