// Reading and writing whole files with POSIX calls, whose errors can be told apart.
#include "io/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <optional>
#include <utility>

#include "base/error.h"
#include "base/text.h"

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

/// A pipe that was made without a name, as shells do for `<(command)`: who writes to it is there,
/// or was.
bool is_pipe_of_shell(int fd) {
  constexpr auto kPipeFileSystem = 0x50495045;  // PIPEFS_MAGIC of linux/magic.h
  struct statfs system {};
  return ::fstatfs(fd, &system) == 0 && system.f_type == kPipeFileSystem;
}

bool is_null_device(const struct stat& info) {
  struct stat null {};
  return ::stat("/dev/null", &null) == 0 && info.st_rdev == null.st_rdev;
}

/// Why nobody can say that this ends; empty for what can be read.
std::string endless(int fd, const struct stat& info, bool standard_input) {
  if (S_ISDIR(info.st_mode)) return "a folder, not a file";
  if (S_ISFIFO(info.st_mode) && !standard_input && !is_pipe_of_shell(fd)) {
    return "a FIFO, not a file: store what comes out of it, or pipe it to '-'";
  }
  if (S_ISBLK(info.st_mode)) return "a device, not a file";
  if (S_ISCHR(info.st_mode) && ::isatty(fd) != 1 && !is_null_device(info)) {
    return "a device, not a file";
  }
  return "";
}

int open_to_read(const std::string& path) {
  if (path == "-") return STDIN_FILENO;
  if (path.empty()) fail("cannot open a file whose name is empty");
  if (path.find('\0') != path.npos) fail("a file's name has a NUL byte: ", plait::quoted(path));
  // Without O_NONBLOCK the open of a FIFO waits for a writer.
  return ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
}

/// Nothing where there is nothing of that name.
std::optional<struct stat> stat_of(const std::string& path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) == 0) return info;
  if (errno == ENOENT || errno == ENOTDIR) return std::nullopt;
  fail("cannot look at ", path, ": ", reason());
}

/// Devices and pipes are written to as they are: a rename would replace them.
bool is_special(const std::string& path) {
  struct stat info {};
  return ::stat(path.c_str(), &info) == 0 && !S_ISREG(info.st_mode) && !S_ISDIR(info.st_mode);
}

void write_special(const std::string& path, const std::vector<std::string_view>& parts) {
  // Without O_NONBLOCK the open of a FIFO waits for a reader; then writing is to wait for it.
  Descriptor file(::open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (!file.good() && errno == ENXIO) fail("cannot write ", path, ": nobody reads from it");
  if (!file.good() || ::fcntl(file.get(), F_SETFL, 0) != 0 || !write_all(file.get(), parts) ||
      !file.close())
    cannot_write(path);
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

InputFile::InputFile(std::string path) : path_(std::move(path)), descriptor_(open_to_read(path_)) {
  Descriptor opened(descriptor_);  // closes it where the constructor fails
  if (!opened.good()) fail("cannot open ", path_, ": ", reason());
  struct stat info {};
  if (::fstat(descriptor_, &info) != 0) throw RunError(str("cannot read ", path_, ": ", reason()));
  const bool standard_input = path_ == "-";
  const std::string why = endless(descriptor_, info, standard_input);
  if (!why.empty()) fail(standard_input ? "standard input" : path_, " is ", why);
  if (!standard_input)
    static_cast<void>(::fcntl(descriptor_, F_SETFL, 0));  // a writer is waited for
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

bool is_there(const std::string& path) { return stat_of(path).has_value(); }

bool is_folder(const std::string& path) {
  const auto info = stat_of(path);
  return info && S_ISDIR(info->st_mode);
}

std::vector<std::string> names_in(const std::string& folder) {
  std::vector<std::string> names;
  std::error_code error;
  std::filesystem::directory_iterator it(folder, error);
  for (const std::filesystem::directory_iterator end; !error && it != end; it.increment(error)) {
    names.push_back(it->path().filename().string());
  }
  if (error) fail("cannot read the folder ", folder, ": ", error.message());
  std::sort(names.begin(), names.end());
  return names;
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
