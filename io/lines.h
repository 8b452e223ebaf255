// The lines of a text document, one at a time: from memory, or from a file in pieces, so that a log
// of any length needs memory for one line. Errors name the file and the line.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "base/error.h"

namespace plait::io {

/// Fills a buffer with the next bytes and says how many; 0 at the end.
using ByteSource = std::function<std::size_t(char* buffer, std::size_t room)>;

class Lines {
 public:
  /// A longer line is no line of any format here: UserError.
  static constexpr std::size_t kMaxBytes = 1 << 20;

  /// `text` must outlive this; `name` is the file's, for messages.
  Lines(std::string_view text, std::string name);
  Lines(ByteSource source, std::string name);

  /// From now on a carriage return before the newline is part of the line's end.
  void take_carriage_returns() { takes_returns_ = true; }

  /// Moves to the next line; false at the end of the text.
  bool next();
  /// The current line, without its newline. Good until the next call of next().
  std::string_view line() const { return line_; }
  /// Of the current line, from 1; 0 before the first.
  std::int64_t number() const { return number_; }
  /// Whether a newline ended the current line (the last line may have none).
  bool ended() const { return ended_; }
  const std::string& name() const { return name_; }

  /// UserError `NAME:LINE: parts`.
  template <class... Parts>
  [[noreturn]] void fail(const Parts&... parts) const {
    plait::fail(name_, ":", number_, ": ", parts...);
  }

 private:
  bool next_of_text();
  bool next_of_source();

  std::string_view text_;  // what is left of the text
  ByteSource source_;
  std::string buffer_;  // bytes of the source that are not used up: [begin_, size)
  std::size_t begin_ = 0;
  bool source_ended_ = false;
  std::string_view line_;
  std::int64_t number_ = 0;
  bool ended_ = true;
  bool takes_returns_ = false;
  std::string name_;
};

}  // namespace plait::io
