// Plans that were changed in one or a few places and sealed again: numbers at their extremes, items
// gone, doubled or exchanged, other names and words; or the text itself, cut or with other bytes.
#pragma once

#include <algorithm>
#include <limits>
#include <random>
#include <string>

#include "base/hash.h"
#include "program/fields.h"

namespace plait::program {

using Random = std::mt19937_64;

/// A visitor of a program's members (program/fields.h) that changes one of all the places there
/// are: the first walk counts them.
class Mutator {
 public:
  static void change(Program& program, Random& random) {
    Mutator counting(random, 0);
    fields(counting, program);
    Mutator changing(random, 1 + random() % counting.places_);
    fields(changing, program);
  }

  template <class T>
  Mutator& operator()(std::string_view, T& member) {
    value(member);
    return *this;
  }
  void symbols(std::map<std::string, Dim>& all) {
    for (auto& [name, symbol] : all) {
      if (is_it()) symbol = Dim::symbol(name, 0, std::abs(extreme() / 2) + 1);
    }
  }

 private:
  Mutator(Random& random, std::uint64_t chosen) : random_(random), chosen_(chosen) {}

  bool is_it() { return ++places_ == chosen_; }
  std::size_t below(std::size_t n) { return static_cast<std::size_t>(random_() % n); }

  std::int64_t extreme() {
    constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
    constexpr std::int64_t kValues[] = {
        0,         1,           -1,        2,     63,        64,         4096,
        1 << 30,   INT32_MAX,   INT32_MIN, kMost, kMost - 1, -kMost - 1, kMost / 2 + 1,
        1ll << 40, -(1ll << 40)};
    return kValues[below(std::size(kValues))];
  }
  std::int64_t near(std::int64_t x) {
    switch (below(6)) {
      case 0:
        return static_cast<std::int64_t>(static_cast<std::uint64_t>(x) + 1);
      case 1:
        return static_cast<std::int64_t>(static_cast<std::uint64_t>(x) - 1);
      case 2:
        return static_cast<std::int64_t>(static_cast<std::uint64_t>(x) * 2);
      case 3:
        return x / 2;
      default:
        return extreme();
    }
  }

  template <class T>
  void value(T& x) {
    if constexpr (std::is_enum_v<T>) {
      if (is_it()) x = static_cast<T>(below(words_of(x).size()));
    } else if constexpr (std::is_floating_point_v<T>) {
      if (is_it()) x = static_cast<T>(near(1)) / 3;
    } else if constexpr (std::is_arithmetic_v<T>) {
      if (is_it()) x = static_cast<T>(near(static_cast<std::int64_t>(x)));
    } else {
      fields(*this, x);
    }
  }
  void value(bool& x) {
    if (is_it()) x = !x;
  }
  void value(DeviceModel& x) {
    value(x.name);
    value(x.backend);
    value(x.processors);
    value(x.bytes_per_second);
    value(x.cache_bytes);
    value(x.step_seconds);
  }
  /// An id that a file cannot hold (below -1) is none here; the text's changes try those.
  template <class Kind>
  void value(Id<Kind>& x) {
    if (!is_it()) return;
    const auto number = static_cast<std::int32_t>(near(x.number()));
    x = number < 0 ? Id<Kind>() : Id<Kind>(static_cast<std::size_t>(number));
  }
  void value(std::string& x) {
    if (!is_it()) return;
    if (!seen_.empty() && below(2) == 0) {
      x = seen_[below(seen_.size())];
    } else if (x.empty() || below(4) == 0) {
      x = below(2) == 0 ? "" : "other";
    } else if (below(2) == 0) {
      x[below(x.size())] = "0123456789abcxyz(),*+-/%[]= \n"[below(28)];
    } else {
      x.resize(below(x.size()));
    }
  }
  void value(Dim& x) {
    if (is_it()) x = x.is_const() ? Dim(near(x.value())) : Dim(extreme());
  }
  void value(ir::Type& x) {
    value(x.dtype);
    value(x.shape);
  }
  void value(ir::Literal& x) {
    if (is_it()) x.array = nullptr;
  }
  void value(Array& x) {
    if (is_it() && x.byte_count() > 0) x.data()[below(x.byte_count())] ^= std::byte{1};
  }
  void value(ir::Attrs& x) {
    if (is_it()) x = {};
    std::vector<std::pair<std::string, ir::AttrValue>> all(x.begin(), x.end());
    for (auto& [name, attr] : all) {
      value(attr);
      x.set(name, attr);
    }
  }
  template <class T>
  void value(std::vector<T>& x) {
    if (is_it() && !x.empty()) {
      const std::size_t i = below(x.size()), j = below(x.size());
      switch (below(4)) {
        case 0:
          x.erase(x.begin() + static_cast<std::ptrdiff_t>(i));
          break;
        case 1:
          x.push_back(T(x[i]));
          break;
        case 2:
          std::swap(x[i], x[j]);
          break;
        default:
          x.clear();
          break;
      }
    }
    for (T& item : x) remember(item);
    for (T& item : x) value(item);
  }
  template <class T>
  void value(std::map<std::string, T>& x) {
    if (is_it() && !x.empty()) x.erase(x.begin());
    for (auto& [name, item] : x) value(item);
  }
  template <class K, class V>
  void value(std::pair<K, V>& x) {
    value(x.first);
    value(x.second);
  }
  template <class... T>
  void value(std::variant<T...>& x) {
    std::visit([&](auto& held) { value(held); }, x);
  }

  template <class T>
  void remember(const T&) {}
  void remember(const std::string& x) { seen_.push_back(x); }
  void remember(const Step& x) { seen_.push_back(x.kernel); }
  void remember(const View& x) { seen_.push_back(x.name); }

  Random& random_;
  std::uint64_t chosen_, places_ = 0;
  std::vector<std::string> seen_;
};

inline std::string sealed_plan(const std::string& body) {
  return str("plait-plan 7 ", hex_digits(fnv1a64(body)), " ", body.size(), "\n", body);
}

/// One change of the text: a line, a number, a byte, the end.
inline void change_text(std::string& body, Random& random) {
  const auto below = [&](std::size_t n) { return static_cast<std::size_t>(random() % n); };
  const auto line_at = [&](std::size_t at) {
    const std::size_t begin = body.rfind('\n', at) == body.npos ? 0 : body.rfind('\n', at);
    return std::pair{begin, std::min(body.find('\n', begin + 1), body.size()) - begin};
  };
  if (body.empty()) return;
  const std::size_t at = below(body.size());
  const auto [begin, length] = line_at(at);
  switch (below(7)) {
    case 0:
      body.erase(begin, length);
      break;
    case 1:
      body.insert(begin, body.substr(begin, length));
      break;
    case 2:
      body.insert(line_at(below(body.size())).first, body.substr(begin, length));
      break;
    case 3:
      body.resize(at);
      break;
    case 4:
      body[at] = static_cast<char>(random());
      break;
    default: {
      const std::size_t digit = body.find_first_of("0123456789", at);
      if (digit == body.npos) break;
      const std::size_t end = std::min(body.find_first_not_of("0123456789", digit), body.size());
      constexpr const char* kNumbers[] = {
          "0", "1", "-1", "2147483647", "9223372036854775807", "64", "7", "-9223372036854775808"};
      body.replace(digit, end - digit, kNumbers[below(std::size(kNumbers))]);
    }
  }
}

/// The plan with one to three changes, and a first line that fits it.
inline std::string mutated(const Program& program, Random& random) {
  const std::uint64_t changes = 1 + random() % 3, how = random() % 6;
  if (how < 4) {
    Program changed = program;
    for (std::uint64_t i = 0; i < changes; ++i) {
      how == 0 ? change_text(changed.graph_text, random) : Mutator::change(changed, random);
    }
    return to_bytes(changed);
  }
  std::string bytes = to_bytes(program), body = bytes.substr(bytes.find('\n') + 1);
  for (std::uint64_t i = 0; i < changes; ++i) change_text(body, random);
  return sealed_plan(body);
}

}  // namespace plait::program
