// The three kinds of error and the functions that raise them. Only the command line turns them into
// exit codes; expected outcomes are return values (Decision), never exceptions.
#pragma once

#include <sstream>
#include <stdexcept>
#include <string>

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

/// Joins anything printable into one string.
template <class... Parts>
std::string str(const Parts&... parts) {
  std::ostringstream out;
  (out << ... << parts);
  return out.str();
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
