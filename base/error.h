// The three kinds of error and the functions that raise them. Only the command line turns them into
// exit codes; expected outcomes are return values (Decision), never exceptions.
#pragma once

#include <charconv>
#include <concepts>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>

namespace plait {

/// The user's graph, file or flag is wrong: the message says what, the values, where and a hint.
struct UserError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// The run failed for a reason outside the graph: memory, device, disk, a lost peer.
struct RunError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// An invariant of ours does not hold.
struct Bug : std::logic_error {
  using std::logic_error::logic_error;
};

/// What needs no stream to be printed. A stream costs more than most of what is joined here.
template <class T>
concept PlainPart = std::convertible_to<const T&, std::string_view> || std::is_arithmetic_v<T>;

/// Appends a part as a stream prints it.
template <PlainPart T>
void append_part(std::string& out, const T& part) {
  if constexpr (std::convertible_to<const T&, std::string_view>) {
    out += std::string_view(part);
  } else if constexpr (std::is_same_v<T, bool>) {
    out += part ? '1' : '0';
  } else if constexpr (sizeof(T) == 1) {
    out += static_cast<char>(part);
  } else {
    char digits[32];
    std::to_chars_result end{};
    if constexpr (std::is_floating_point_v<T>) {
      end = std::to_chars(digits, digits + sizeof digits, part, std::chars_format::general, 6);
    } else {
      end = std::to_chars(digits, digits + sizeof digits, part);
    }
    out.append(digits, end.ptr);
  }
}

/// Joins anything printable into one string.
template <class... Parts>
std::string str(const Parts&... parts) {
  if constexpr ((PlainPart<Parts> && ...)) {
    std::string out;
    (append_part(out, parts), ...);
    return out;
  } else {
    std::ostringstream out;
    (out << ... << parts);
    return out.str();
  }
}

template <class... Parts>
[[noreturn]] void fail(const Parts&... parts) {
  throw UserError(str(parts...));
}

/// A condition that remembers the line that stated it.
struct Condition {
  bool holds;
  const char* file;
  int line;
  Condition(bool holds, const char* file = __builtin_FILE(), int line = __builtin_LINE())
      : holds(holds), file(file), line(line) {}
};

/// Raises Bug when an invariant of ours is broken. Never for the user's mistakes.
template <class... Parts>
void check(Condition condition, const Parts&... parts) {
  if (!condition.holds) {
    throw Bug(str(parts..., " (", condition.file, ":", condition.line, ")"));
  }
}

/// An expected yes or no, with the reason for the no.
struct [[nodiscard]] Decision {
  bool yes = true;
  std::string why;
  static Decision allow() { return {}; }
  static Decision forbid(std::string why) { return {false, std::move(why)}; }
  explicit operator bool() const { return yes; }
};

}  // namespace plait
