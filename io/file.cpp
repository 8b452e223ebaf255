// Reading and writing whole files with POSIX calls, whose errors can be told apart.
#include "io/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

#include "base/error.h"

namespace plait::io {
namespace {

std::string reason() { return std::strerror(errno); }

/// Owns a file descriptor.
class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() {
    if (fd_ > STDIN_FILENO) ::close(fd_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  bool good() const { return fd_ >= 0; }
  int get() const { return fd_; }
  /// Someone else closes it.
  void release() { fd_ = -1; }
  /// Closes now; false where the last bytes could not be written.
  [[nodiscard]] bool close() { return ::close(std::exchange(fd_, -1)) == 0; }

 private:
  int fd_;
};

/// All parts; on failure errno says why.
[[nodiscard]] bool write_all(int fd, const std::vector<std::string_view>& parts) {
  for (std::string_view part : parts) {
    while (!part.empty()) {
      const ssize_t wrote = ::write(fd, part.data(), part.size());
      if (wrote < 0 && errno == EINTR) continue;
      if (wrote < 0) return false;
      part.remove_prefix(static_cast<std::size_t>(wrote));
    }
  }
  return true;
}

[[noreturn]] void cannot_write(const std::string& path) {
  throw RunError(str("cannot write ", path, ": ", reason()));
}

/// Devices and pipes are written to as they are: a rename would replace them.
bool is_special(const std::string& path) {
  struct stat info {};
  return ::stat(path.c_str(), &info) == 0 && !S_ISREG(info.st_mode) && !S_ISDIR(info.st_mode);
}

void write_special(const std::string& path, const std::vector<std::string_view>& parts) {
  Descriptor file(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  if (!file.good() || !write_all(file.get(), parts) || !file.close()) cannot_write(path);
}

/// A name beside `path` that no other process or thread uses.
std::string temporary_name(const std::string& path) {
  static std::atomic<unsigned> counter{0};
  const std::filesystem::path p(path);
  const std::string name =
      str(".", p.filename().string(), ".", ::getpid(), ".", counter.fetch_add(1), ".tmp");
  return (p.parent_path() / name).string();
}

/// So that the rename itself survives a power cut. Not every file system can, so no error.
void sync_folder_of(const std::string& path) {
  std::string folder = std::filesystem::path(path).parent_path().string();
  if (folder.empty()) folder = ".";
  const Descriptor file(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (file.good()) static_cast<void>(::fsync(file.get()));
}

}  // namespace

InputFile::InputFile(std::string path)
    : path_(std::move(path)),
      descriptor_(path_ == "-" ? STDIN_FILENO : ::open(path_.c_str(), O_RDONLY | O_CLOEXEC)) {
  Descriptor opened(descriptor_);  // closes it where the constructor fails
  if (!opened.good()) fail("cannot open ", path_, ": ", reason());
  struct stat info {};
  if (::fstat(descriptor_, &info) != 0) throw RunError(str("cannot read ", path_, ": ", reason()));
  if (S_ISDIR(info.st_mode)) fail(path_, " is a folder, not a file");
  if (S_ISREG(info.st_mode)) expected_bytes_ = static_cast<std::size_t>(info.st_size);
  opened.release();
}

InputFile::~InputFile() { const Descriptor closes(descriptor_); }

std::size_t InputFile::read(char* buffer, std::size_t room) {
  for (;;) {
    const ssize_t got = ::read(descriptor_, buffer, room);
    if (got >= 0) return static_cast<std::size_t>(got);
    if (errno != EINTR) throw RunError(str("cannot read ", path_, ": ", reason()));
  }
}

std::size_t InputFile::read_fully(char* buffer, std::size_t room) {
  std::size_t used = 0;
  while (used < room) {
    const std::size_t got = read(buffer + used, room - used);
    if (got == 0) break;
    used += got;
  }
  return used;
}

std::string read_file(const std::string& path) {
  InputFile file(path);
  std::string bytes;
  constexpr std::size_t kLeast = 64 * 1024;
  std::size_t used = 0;
  for (;;) {
    // One byte more than the size, so that the end is seen without growing.
    bytes.resize(std::max({used * 2, file.expected_bytes() + 1, kLeast}));
    used += file.read_fully(bytes.data() + used, bytes.size() - used);
    if (used < bytes.size()) break;
  }
  bytes.resize(used);
  return bytes;
}

void write_file(const std::string& path, const std::vector<std::string_view>& parts) {
  if (is_special(path)) return write_special(path, parts);
  const std::string temporary = temporary_name(path);
  Descriptor file(::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
  if (!file.good()) cannot_write(path);
  const bool done = write_all(file.get(), parts) && ::fsync(file.get()) == 0 && file.close() &&
                    ::rename(temporary.c_str(), path.c_str()) == 0;
  if (!done) {
    const int cause = errno;
    ::unlink(temporary.c_str());
    errno = cause;
    cannot_write(path);
  }
  sync_folder_of(path);
}

std::string file_name_for(std::string_view name) {
  std::string out;
  for (char c : name) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       c == '_' || c == '-' || c == '$' || (c == '.' && !out.empty());
    constexpr std::string_view kDigits = "0123456789ABCDEF";
    const auto byte = static_cast<unsigned char>(c);
    out += plain ? std::string(1, c) : std::string{'%', kDigits[byte >> 4], kDigits[byte & 15]};
  }
  return out;
}

void make_folder(const std::string& path) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (!error && !std::filesystem::is_directory(path, error) && !error) {
    error = std::make_error_code(std::errc::not_a_directory);
  }
  if (error) throw RunError(str("cannot make the folder ", path, ": ", error.message()));
}

}  // namespace plait::io
