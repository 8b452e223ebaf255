// The cache on disk. A file is its bytes and a seal behind them (a shared object may carry one: the
// loader reads what the headers name). Only names of our own patterns are ever removed.
#include "codegen/cache.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <filesystem>

#include "base/error.h"
#include "base/hash.h"

namespace plait::codegen {
namespace files = std::filesystem;

std::string cache_folder() {
  const auto set = [](const char* name) -> std::string {
    const char* value = std::getenv(name);
    return value != nullptr ? value : "";
  };
  if (const std::string ours = set("PLAIT_CACHE"); !ours.empty()) {
    std::error_code error;
    const files::path folder = files::absolute(ours, error);
    return error ? ours : folder.string();
  }
  // A relative XDG_CACHE_HOME is to be ignored (XDG base directory specification).
  if (const std::string xdg = set("XDG_CACHE_HOME"); xdg.starts_with('/')) return xdg + "/plait";
  if (const std::string home = set("HOME"); home.starts_with('/')) return home + "/.cache/plait";
  throw RunError("there is no folder for the cache: set PLAIT_CACHE=<folder> (or HOME)");
}

namespace cache {
namespace {

constexpr std::string_view kTemporary = "plait-tmp-";
constexpr std::string_view kWork = "plait-work-";
constexpr std::string_view kSuffix = ".plait";
constexpr std::time_t kStaleSeconds = 600;

/// Eight bytes at a time: the second hash of a name, and the checksum of a file.
std::uint64_t mix64(std::string_view bytes, std::uint64_t hash = 0x9e3779b97f4a7c15ull) {
  const auto add = [&hash](std::uint64_t word) {
    hash = (hash ^ word) * 0xff51afd7ed558ccdull;
    hash ^= hash >> 32;
  };
  add(bytes.size());
  for (; bytes.size() >= 8; bytes.remove_prefix(8)) {
    std::uint64_t word;
    std::memcpy(&word, bytes.data(), 8);
    add(word);
  }
  std::uint64_t rest = 0;
  std::memcpy(&rest, bytes.data(), bytes.size());
  add(rest);
  return hash;
}

struct Seal {
  std::array<char, 8> magic{'p', 'l', 'a', 'i', 't', '-', '1', '\n'};
  std::uint64_t length = 0;
  std::uint64_t checksum = 0;
  std::uint64_t name = 0;
  bool operator==(const Seal&) const = default;
};

Seal seal_of(std::string_view bytes, std::string_view name) {
  Seal seal;
  seal.length = bytes.size();
  seal.checksum = mix64(bytes);
  seal.name = mix64(name);
  return seal;
}

std::string hexadecimal(std::uint64_t value) {
  std::string text(16, '0');
  for (std::size_t i = 16; i-- > 0; value >>= 4) text[i] = "0123456789abcdef"[value & 15];
  return text;
}

/// The whole of an open file; false on an error.
bool read_all(int file, std::string& bytes) {
  struct stat about {};
  if (::fstat(file, &about) != 0 || !S_ISREG(about.st_mode)) return false;
  bytes.resize(static_cast<std::size_t>(about.st_size));
  std::size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t got = ::read(file, bytes.data() + done, bytes.size() - done);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    done += static_cast<std::size_t>(got);
  }
  return true;
}

int write_all(int file, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t put = ::write(file, bytes.data(), bytes.size());
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return errno;
    bytes.remove_prefix(static_cast<std::size_t>(put));
  }
  return 0;
}

int make_folder(const std::string& folder) {
  if (::mkdir(folder.c_str(), 0700) == 0 || errno == EEXIST) return 0;  // for us alone: it is code
  std::error_code error;
  const files::path parent = files::path(folder).parent_path();
  if (errno == ENOENT && !parent.empty()) files::create_directories(parent, error);
  if (error) return error.value();
  return ::mkdir(folder.c_str(), 0700) == 0 || errno == EEXIST ? 0 : errno;
}

std::string entry_name(const std::string& kind, std::uint64_t key) {
  return kind + "-" + hexadecimal(key) + std::string(kSuffix);
}

bool is_hexadecimal(std::string_view text) {
  return text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

/// Ours to remove: <32 digits>.so, <32 digits>.c (a source that failed), <kind>-<16 digits>.plait.
bool is_entry(std::string_view name) {
  if (name.ends_with(kSuffix)) {
    name.remove_suffix(kSuffix.size());
    return name.size() > 17 && name[name.size() - 17] == '-' &&
           is_hexadecimal(name.substr(name.size() - 16));
  }
  const std::size_t dot = name.find('.');
  if (dot != 32 || !is_hexadecimal(name.substr(0, 32))) return false;
  return name.substr(dot) == ".so" || name.substr(dot) == ".c";
}

/// Removes a work folder unless its process still holds it.
void remove_stale_work(const std::string& path) {
  const int folder = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0) return;
  std::error_code ignored;
  if (::flock(folder, LOCK_EX | LOCK_NB) == 0) files::remove_all(path, ignored);
  ::close(folder);
}

struct Entry {
  timespec used;
  std::uint64_t bytes;
  std::string path;
};

void remove_oldest(std::vector<Entry>& entries, std::uint64_t total, std::uint64_t target) {
  std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
    return a.used.tv_sec != b.used.tv_sec ? a.used.tv_sec < b.used.tv_sec
                                          : a.used.tv_nsec < b.used.tv_nsec;
  });
  for (const Entry& entry : entries) {
    if (total <= target) return;
    if (::unlink(entry.path.c_str()) == 0) total -= entry.bytes;
  }
}

}  // namespace

std::string content_name(const std::vector<std::string_view>& parts) {
  std::uint64_t first = kFnv64;
  std::uint64_t second = mix64("");
  for (std::string_view part : parts) {
    first = fnv1a64(part, fnv1a64(hexadecimal(part.size()), first));
    second = mix64(part, second);
  }
  return hexadecimal(first) + hexadecimal(second);
}

std::string sealed(std::string_view bytes, std::string_view name) {
  const Seal seal = seal_of(bytes, name);
  std::string file;
  file.reserve(bytes.size() + sizeof seal);
  file.append(bytes).append(reinterpret_cast<const char*>(&seal), sizeof seal);
  return file;
}

std::optional<std::size_t> whole(std::string_view file, std::string_view name) {
  Seal seal;
  if (file.size() < sizeof seal) return std::nullopt;
  const std::string_view bytes = file.substr(0, file.size() - sizeof seal);
  std::memcpy(&seal, bytes.data() + bytes.size(), sizeof seal);
  if (seal != seal_of(bytes, name)) return std::nullopt;
  return bytes.size();
}

std::optional<std::string> read_entry(const std::string& folder, const std::string& name) {
  const int file = ::open((folder + "/" + name).c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return std::nullopt;
  std::string bytes;
  std::optional<std::size_t> length;
  if (read_all(file, bytes)) length = whole(bytes, name);
  if (length) ::futimens(file, nullptr);  // used now; only a hint for sweep
  ::close(file);
  if (!length) return std::nullopt;
  bytes.resize(*length);
  return bytes;
}

int write_entry(const std::string& folder, const std::string& name, std::string_view bytes) {
  if (const int error = make_folder(folder)) return error;
  std::string temporary = folder + "/" + std::string(kTemporary) + "XXXXXX";
  const int file = ::mkostemp(temporary.data(), O_CLOEXEC);
  if (file < 0) return errno;
  int error = write_all(file, sealed(bytes, name));
  if (error == 0 && ::fsync(file) != 0) error = errno;
  if (::close(file) != 0 && error == 0) error = errno;
  if (error == 0 && ::rename(temporary.c_str(), (folder + "/" + name).c_str()) != 0) error = errno;
  if (error != 0) ::unlink(temporary.c_str());
  return error;
}

std::optional<std::string> load(const std::string& kind, std::uint64_t key) {
  try {
    return read_entry(cache_folder(), entry_name(kind, key));
  } catch (const RunError&) {
    return std::nullopt;
  }
}

bool store(const std::string& kind, std::uint64_t key, std::string_view bytes) {
  static std::atomic<unsigned> stores{0};
  try {
    const std::string folder = cache_folder();
    if (write_entry(folder, entry_name(kind, key), bytes) != 0) return false;
    if (stores.fetch_add(1) % 64 == 0) sweep(folder);
    return true;
  } catch (const RunError&) {
    return false;
  }
}

WorkFolder::WorkFolder(const std::string& parent) {
  error_ = make_folder(parent);
  if (error_ != 0) return;
  std::string path = parent + "/" + std::string(kWork) + "XXXXXX";
  if (::mkdtemp(path.data()) == nullptr) {
    error_ = errno;
    return;
  }
  path_ = path;
  lock_ = ::open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (lock_ >= 0) ::flock(lock_, LOCK_EX | LOCK_NB);  // where it cannot be held, age protects it
}

WorkFolder::~WorkFolder() {
  std::error_code ignored;
  if (!path_.empty()) files::remove_all(path_, ignored);
  if (lock_ >= 0) ::close(lock_);
}

void sweep(const std::string& folder, std::uint64_t max_bytes) {
  std::vector<Entry> entries;
  std::uint64_t total = 0;
  std::error_code error;
  const std::time_t now = std::time(nullptr);
  for (files::directory_iterator i(folder, error), end; !error && i != end; i.increment(error)) {
    const std::string name = i->path().filename().string();
    const std::string path = i->path().string();
    struct stat about {};
    if (::lstat(path.c_str(), &about) != 0) continue;
    const bool stale = now - about.st_mtime > kStaleSeconds;
    if (S_ISREG(about.st_mode) && is_entry(name)) {
      const auto bytes = static_cast<std::uint64_t>(about.st_size);
      entries.push_back({about.st_mtim, bytes, path});
      total += bytes;
    } else if (stale && S_ISREG(about.st_mode) && name.starts_with(kTemporary)) {
      ::unlink(path.c_str());
    } else if (stale && S_ISDIR(about.st_mode) && name.starts_with(kWork)) {
      remove_stale_work(path);
    }
  }
  if (total > max_bytes) remove_oldest(entries, total, max_bytes / 4 * 3);
}

}  // namespace cache
}  // namespace plait::codegen
