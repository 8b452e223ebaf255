// Cutting a text into lines.
#include "io/lines.h"

#include <utility>

namespace plait::io {

Lines::Lines(std::string_view text, std::string name) : text_(text), name_(std::move(name)) {}

Lines::Lines(ByteSource source, std::string name)
    : source_(std::move(source)), name_(std::move(name)) {}

bool Lines::next() {
  const bool more = source_ ? next_of_source() : next_of_text();
  if (!more) return false;
  ++number_;
  if (takes_returns_ && ended_ && line_.ends_with('\r')) line_.remove_suffix(1);
  if (line_.size() > kMaxBytes) {
    fail("the line is longer than ", kMaxBytes, " bytes; is this a text document?");
  }
  return true;
}

bool Lines::next_of_text() {
  if (text_.empty()) return false;
  const std::size_t end = text_.find('\n');
  ended_ = end != std::string_view::npos;
  line_ = text_.substr(0, end);
  text_.remove_prefix(ended_ ? end + 1 : text_.size());
  return true;
}

bool Lines::next_of_source() {
  constexpr std::size_t kPiece = 64 * 1024;
  std::size_t searched = begin_;
  for (;;) {
    const std::size_t end = buffer_.find('\n', searched);
    ended_ = end != std::string::npos;
    // A line that is too long already is handed over unfinished: next() refuses it.
    if (ended_ || source_ended_ || buffer_.size() - begin_ > kMaxBytes) {
      const std::size_t stop = ended_ ? end : buffer_.size();
      line_ = std::string_view(buffer_).substr(begin_, stop - begin_);
      const bool more = ended_ || !line_.empty();
      begin_ = ended_ ? end + 1 : stop;
      return more;
    }
    buffer_.erase(0, begin_);
    begin_ = 0;
    searched = buffer_.size();
    buffer_.resize(searched + kPiece);
    const std::size_t got = source_(buffer_.data() + searched, kPiece);
    buffer_.resize(searched + got);
    source_ended_ = got == 0;
  }
}

}  // namespace plait::io
