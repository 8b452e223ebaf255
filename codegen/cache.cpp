// The cache on disk. A file is its bytes and a seal behind them (a shared object may carry one: the
// loader reads what the headers name). Only names of our own patterns are ever removed. The folder
// is opened and looked at first; everything in it is reached from there.
#include "codegen/cache.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/prctl.h>
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
#include <initializer_list>
#include <random>

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
bool read_all(const Descriptor& file, std::string& bytes) {
  struct stat about {};
  if (::fstat(file.number(), &about) != 0 || !S_ISREG(about.st_mode)) return false;
  bytes.resize(static_cast<std::size_t>(about.st_size));
  std::size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t got =
        ::pread(file.number(), bytes.data() + done, bytes.size() - done, static_cast<off_t>(done));
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

Descriptor open_folder(const std::string& path) {
  return Descriptor(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
}

/// A file of a folder; never a link, and no waiting for the other end of a pipe.
Descriptor open_in(const Descriptor& folder, const std::string& name) {
  constexpr int kHow = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
  return Descriptor(::openat(folder.number(), name.c_str(), kHow));
}

std::string unused_name(std::string_view prefix) {
  std::random_device random;
  const std::uint64_t high = random();
  return std::string(prefix) + hexadecimal(high << 32 | random());
}

/// The cache's folder. Without one, `refusal` says whose it is or `error` why it cannot be opened.
struct OpenFolder {
  explicit OpenFolder(const std::string& path) : folder(open_folder(path)) {
    error = folder ? 0 : errno;
    const std::string others = folder ? others_may_write(folder) : "";
    if (others.empty()) return;
    error = EPERM;
    folder.reset();
    refusal = str(path, " ", others, ", or set PLAIT_CACHE to a folder of your own");
  }
  Descriptor folder;
  int error = 0;
  std::string refusal{};
};

/// Writes a file beside its name, and renames it.
int write_file(const std::string& path, const std::string& name,
               std::initializer_list<std::string_view> parts) {
  if (const int error = make_folder(path)) return error;
  const OpenFolder opened(path);
  if (!opened.folder) return opened.error;
  const int folder = opened.folder.number();
  const std::string temporary = unused_name(kTemporary);
  Descriptor file(::openat(folder, temporary.c_str(),
                           O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!file) return errno;
  int error = 0;
  for (std::string_view part : parts) {
    if (error == 0) error = write_all(file.number(), part);
  }
  if (error == 0 && ::fsync(file.number()) != 0) error = errno;
  file.reset();
  if (error == 0 && ::renameat(folder, temporary.c_str(), folder, name.c_str()) != 0) error = errno;
  if (error != 0) ::unlinkat(folder, temporary.c_str(), 0);
  return error;
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
void remove_stale_work(const Descriptor& folder, const std::string& path, const std::string& name) {
  const Descriptor work = open_in(folder, name);
  std::error_code ignored;
  if (work && ::flock(work.number(), LOCK_EX | LOCK_NB) == 0) {
    files::remove_all(path + "/" + name, ignored);
  }
}

struct Entry {
  timespec used;
  std::uint64_t bytes;
  std::string name;
};

void remove_oldest(const Descriptor& folder, std::vector<Entry>& entries, std::uint64_t total,
                   std::uint64_t target) {
  std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
    return a.used.tv_sec != b.used.tv_sec ? a.used.tv_sec < b.used.tv_sec
                                          : a.used.tv_nsec < b.used.tv_nsec;
  });
  for (const Entry& entry : entries) {
    if (total <= target) return;
    if (::unlinkat(folder.number(), entry.name.c_str(), 0) == 0) total -= entry.bytes;
  }
}

std::vector<std::string> names_in(const Descriptor& folder) {
  std::vector<std::string> names;
  const int again = ::fcntl(folder.number(), F_DUPFD_CLOEXEC, 0);
  DIR* const list = again >= 0 ? ::fdopendir(again) : nullptr;
  if (list == nullptr) {
    if (again >= 0) ::close(again);
    return names;
  }
  while (const dirent* entry = ::readdir(list)) names.emplace_back(entry->d_name);
  ::closedir(list);
  return names;
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

std::string seal(std::string_view bytes, std::string_view name) {
  const Seal proof = seal_of(bytes, name);
  return {reinterpret_cast<const char*>(&proof), sizeof proof};
}

std::optional<std::size_t> whole(std::string_view file, std::string_view name) {
  Seal seal;
  if (file.size() < sizeof seal) return std::nullopt;
  const std::string_view bytes = file.substr(0, file.size() - sizeof seal);
  std::memcpy(&seal, bytes.data() + bytes.size(), sizeof seal);
  if (seal != seal_of(bytes, name)) return std::nullopt;
  return bytes.size();
}

std::string refusal_of(const std::string& folder) { return OpenFolder(folder).refusal; }

File open_entry(const std::string& folder, const std::string& name) {
  File out;
  OpenFolder opened(folder);
  out.refusal = std::move(opened.refusal);
  if (!opened.folder) return out;
  Descriptor file = open_in(opened.folder, name);
  const std::string others = file             ? others_may_write(file)
                             : errno == ELOOP ? "is a link: remove it"
                                              : "";
  if (!others.empty()) out.refusal = str(folder, "/", name, " ", others);
  if (!file || !others.empty() || !read_all(file, out.bytes)) return out;
  const std::optional<std::size_t> length = whole(out.bytes, name);
  if (!length) return out;
  ::futimens(file.number(), nullptr);  // used now; only a hint for sweep
  out.bytes.resize(*length);
  out.file = std::move(file);
  return out;
}

int write_entry(const std::string& folder, const std::string& name, std::string_view bytes) {
  return write_file(folder, name, {bytes, seal(bytes, name)});
}

std::string keep_text(const std::string& name, std::string_view text) {
  try {
    const std::string folder = cache_folder();
    return write_file(folder, name, {text}) == 0 ? folder + "/" + name : "";
  } catch (const RunError&) {
    return "";
  }
}

std::optional<std::string> load(const std::string& kind, std::uint64_t key) {
  try {
    File entry = open_entry(cache_folder(), entry_name(kind, key));
    if (!entry.refusal.empty()) say_once("the cache is not used", entry.refusal);
    if (!entry) return std::nullopt;
    return std::move(entry.bytes);
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
  if (const int error = make_folder(parent)) {
    why_ = std::strerror(error);
    return;
  }
  const Descriptor opened = open_folder(parent);
  why_ = opened ? others_may_replace(opened) : std::strerror(errno);
  if (!why_.empty()) return;
  const std::string name = unused_name(kWork);
  if (::mkdirat(opened.number(), name.c_str(), 0700) == 0) {
    folder_ = open_in(opened, name);
    why_ = folder_ ? others_may_write(folder_) : std::strerror(errno);
  } else {
    why_ = std::strerror(errno);
  }
  if (!why_.empty()) return;
  path_ = parent + "/" + name;
  ::flock(folder_.number(), LOCK_EX | LOCK_NB);  // where it cannot be held, age protects it
}

WorkFolder::~WorkFolder() {
  std::error_code ignored;
  if (!path_.empty()) files::remove_all(path_, ignored);
}

std::string WorkFolder::anchor() const {
  // Of a process that others may not look into, those it starts cannot either.
  if (::prctl(PR_GET_DUMPABLE) != 1) return path_;
  std::string anchor = str("/proc/", ::getpid(), "/fd/", folder_.number());
  return ::access(anchor.c_str(), W_OK) == 0 ? anchor : path_;
}

File WorkFolder::open(const std::string& name) const {
  File out;
  Descriptor file = open_in(folder_, name);
  if (file && read_all(file, out.bytes)) out.file = std::move(file);
  return out;
}

void sweep(const std::string& path, std::uint64_t max_bytes) {
  const OpenFolder opened(path);
  if (!opened.folder) return;
  std::vector<Entry> entries;
  std::uint64_t total = 0;
  const std::time_t now = std::time(nullptr);
  for (const std::string& name : names_in(opened.folder)) {
    struct stat about {};
    const int folder = opened.folder.number();
    if (::fstatat(folder, name.c_str(), &about, AT_SYMLINK_NOFOLLOW) != 0) continue;
    const bool stale = now - about.st_mtime > kStaleSeconds;
    if (S_ISREG(about.st_mode) && is_entry(name)) {
      const auto bytes = static_cast<std::uint64_t>(about.st_size);
      entries.push_back({about.st_mtim, bytes, name});
      total += bytes;
    } else if (stale && S_ISREG(about.st_mode) && name.starts_with(kTemporary)) {
      ::unlinkat(folder, name.c_str(), 0);
    } else if (stale && S_ISDIR(about.st_mode) && name.starts_with(kWork)) {
      remove_stale_work(opened.folder, path, name);
    }
  }
  if (total > max_bytes) remove_oldest(opened.folder, entries, total, max_bytes / 4 * 3);
}

}  // namespace cache
}  // namespace plait::codegen
