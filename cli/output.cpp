// Writing with POSIX calls, so that a reader that has gone is told apart from a full disk.
#include "cli/output.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iterator>

#include "base/error.h"

namespace plait::cli {
namespace {

/// Marks that turn the direction of the text behind them, with which a name can look like another.
constexpr struct {
  std::string_view bytes, shown;
} kDirections[] = {
    {"\xd8\x9c", "\\u061c"},     {"\xe2\x80\x8e", "\\u200e"}, {"\xe2\x80\x8f", "\\u200f"},
    {"\xe2\x80\xaa", "\\u202a"}, {"\xe2\x80\xab", "\\u202b"}, {"\xe2\x80\xac", "\\u202c"},
    {"\xe2\x80\xad", "\\u202d"}, {"\xe2\x80\xae", "\\u202e"}, {"\xe2\x81\xa6", "\\u2066"},
    {"\xe2\x81\xa7", "\\u2067"}, {"\xe2\x81\xa8", "\\u2068"}, {"\xe2\x81\xa9", "\\u2069"},
};

constexpr std::string_view kRedraw = "\r\x1b[K";  // to the line's begin, and erase it

}  // namespace

std::string shown(std::string_view text) {
  constexpr const char* kDigits = "0123456789abcdef";
  std::string out;
  std::size_t i = 0;
  if (text.starts_with(kRedraw)) out = text.substr(0, i = kRedraw.size());
  for (; i < text.size(); ++i) {
    const std::string_view rest = text.substr(i);
    const auto* direction =
        std::find_if(std::begin(kDirections), std::end(kDirections),
                     [&](const auto& mark) { return rest.starts_with(mark.bytes); });
    if (direction != std::end(kDirections)) {
      out += direction->shown;
      i += direction->bytes.size() - 1;
      continue;
    }
    auto c = static_cast<unsigned char>(text[i]);
    const auto next = static_cast<unsigned char>(i + 1 < text.size() ? text[i + 1] : 0);
    const bool second = c == 0xc2 && next >= 0x80 && next < 0xa0;  // U+0080 to U+009f in UTF-8
    if (second) c = next, ++i;
    if (second || (c < ' ' && c != '\n' && c != '\t') || c == 0x7f) {
      out += str("\\u00", kDigits[c >> 4], kDigits[c & 15]);
    } else {
      out += text[i];
    }
  }
  return out;
}

void print(std::string_view given) {
  const std::string safe = output_is_terminal() ? shown(given) : "";
  std::string_view text = output_is_terminal() ? safe : given;
  while (!text.empty()) {
    const ssize_t wrote = ::write(STDOUT_FILENO, text.data(), text.size());
    if (wrote >= 0) {
      text.remove_prefix(static_cast<std::size_t>(wrote));
    } else if (errno == EPIPE) {
      throw OutputClosed{};
    } else if (errno == EBADF) {
      throw RunError("cannot write the output: standard output is closed");
    } else if (errno != EINTR) {
      throw RunError(str("cannot write the output: ", std::strerror(errno)));
    }
  }
}

void print_error(std::string_view given) {
  const std::string safe = shown(given);
  std::string_view text = safe;
  while (!text.empty()) {
    const ssize_t wrote = ::write(STDERR_FILENO, text.data(), text.size());
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote < 0) return;
    text.remove_prefix(static_cast<std::size_t>(wrote));
  }
}

void note(std::string_view text) { print_error(str("plait: ", text, "\n")); }

bool output_is_terminal() { return ::isatty(STDOUT_FILENO) == 1; }
bool error_is_terminal() { return ::isatty(STDERR_FILENO) == 1; }

void prepare_output() {
  ::signal(SIGPIPE, SIG_IGN);
  ::signal(SIGXFSZ, SIG_IGN);
  for (int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(fd, F_GETFD) != -1) continue;
    // The lowest free number is taken, which is fd: those below are open by now.
    // A result that cannot be written is an error; a note is not worth one.
    const int opened = ::open("/dev/null", fd == STDOUT_FILENO ? O_RDONLY : O_RDWR);
    if (opened >= 0 && opened != fd) ::close(opened);
  }
}

}  // namespace plait::cli
