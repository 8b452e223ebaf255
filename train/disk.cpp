// File operations by POSIX calls.
#include "train/disk.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

#include "base/error.h"
#include "base/text.h"
#include "train/crc32c.h"

namespace plait::train {
namespace {

constexpr std::size_t kPieceBytes = 4 << 20;  // summed while it is in cache, then written

}  // namespace

int Disk::open(const std::string& path, int flags) {
  return ::open(path.c_str(), flags | O_CLOEXEC, 0666);
}
ssize_t Disk::write(int file, const char* bytes, std::size_t count) {
  return ::write(file, bytes, count);
}
int Disk::sync(int file) { return ::fsync(file); }
int Disk::close(int file) { return ::close(file); }
int Disk::make_folder(const std::string& path) { return ::mkdir(path.c_str(), 0777); }
int Disk::rename(const std::string& from, const std::string& to) {
  return ::rename(from.c_str(), to.c_str());
}
int Disk::rename_new(const std::string& from, const std::string& to) {
  const int result = ::renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_NOREPLACE);
  if (result == 0 || (errno != EINVAL && errno != ENOSYS)) return result;
  struct stat about {};  // a file system that cannot: in two steps
  if (::lstat(to.c_str(), &about) != 0) return ::rename(from.c_str(), to.c_str());
  errno = EEXIST;
  return -1;
}
int Disk::exchange(const std::string& a, const std::string& b) {
  return ::renameat2(AT_FDCWD, a.c_str(), AT_FDCWD, b.c_str(), RENAME_EXCHANGE);
}
int Disk::cut(int file, std::int64_t bytes) { return ::ftruncate(file, bytes); }
int Disk::remove_file(const std::string& path) { return ::unlink(path.c_str()); }
int Disk::remove_folder(const std::string& path) { return ::rmdir(path.c_str()); }

Disk& real_disk() {
  static Disk disk;
  return disk;
}

OpenFile::~OpenFile() {
  if (good()) disk_.close(file_);
}

bool OpenFile::write(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t wrote = disk_.write(file_, bytes.data(), bytes.size());
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote == 0) errno = ENOSPC;
    if (wrote <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(wrote));
  }
  return true;
}

bool OpenFile::close() { return disk_.close(std::exchange(file_, -1)) == 0; }

bool write_synced(Disk& disk, const std::string& path, const std::vector<std::string_view>& parts,
                  FileSum& sum) {
  sum = {};
  OpenFile file(disk, path, O_WRONLY | O_CREAT | O_EXCL);
  if (!file.good()) return false;
  for (std::string_view part : parts) {
    sum.bytes += part.size();
    while (!part.empty()) {
      const std::string_view piece = part.substr(0, kPieceBytes);
      sum.crc = crc32c(piece, sum.crc);
      if (!file.write(piece)) return false;
      part.remove_prefix(piece.size());
    }
  }
  return file.sync() && file.close();
}

void append_whole(Disk& disk, OpenFile& file, const std::string& path, std::string_view bytes) {
  struct stat info {};
  const bool known = ::fstat(file.get(), &info) == 0 && S_ISREG(info.st_mode);
  if (file.write(bytes)) return;
  const int cause = errno;
  if (known) disk.cut(file.get(), info.st_size);
  throw RunError(str("cannot write ", path, ": ", std::strerror(cause)));
}

bool sync_folder(Disk& disk, const std::string& path) {
  OpenFile folder(disk, path, O_RDONLY | O_DIRECTORY);
  if (!folder.good()) return false;
  return folder.sync() || errno == EINVAL || errno == ENOTSUP;
}

bool remove_tree(Disk& disk, const std::string& path) {
  namespace fs = std::filesystem;
  std::error_code error;
  if (fs::symlink_status(path, error).type() != fs::file_type::directory) {
    return disk.remove_file(path) == 0 || errno == ENOENT;
  }
  std::vector<std::string> inside;
  for (fs::directory_iterator it(path, error), end; !error && it != end; it.increment(error)) {
    inside.push_back(it->path().string());
  }
  int cause = 0;
  for (const std::string& entry : inside) {
    if (!remove_tree(disk, entry)) cause = errno;
  }
  if (disk.remove_folder(path) != 0 && errno != ENOENT && cause == 0) cause = errno;
  errno = cause;
  return cause == 0;
}

std::string free_space_text(const std::string& path) {
  struct statvfs info {};
  if (::statvfs(path.c_str(), &info) != 0) return "";
  const auto bytes = static_cast<std::int64_t>(info.f_bavail * info.f_frsize);
  return str("; free there: ", bytes_text(bytes));
}

}  // namespace plait::train
