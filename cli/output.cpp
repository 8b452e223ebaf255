// Writing with POSIX calls, so that a reader that has gone is told apart from a full disk.
#include "cli/output.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/error.h"

namespace plait::cli {
namespace {

constexpr std::string_view kRedraw = "\r\x1b[K";  // to the line's begin, and erase it

}  // namespace

std::string shown(std::string_view text) {
  constexpr const char* kDigits = "0123456789abcdef";
  std::string out;
  std::size_t i = 0;
  if (text.starts_with(kRedraw)) out = text.substr(0, i = kRedraw.size());
  for (; i < text.size(); ++i) {
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
    } else if (errno == EBADF) {
      throw RunError("cannot write the output: standard output is closed");

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
