// The file operations that a run's folder is changed with. Each is one virtual call, so that a test
// can let any of them fail, or the process die there; and what is built on them: files and folders
// that are on the disk when a function returns.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace plait::train {

/// POSIX: -1 and errno on failure.
class Disk {
 public:
  virtual ~Disk() = default;
  virtual int open(const std::string& path, int flags);
  virtual ssize_t write(int file, const char* bytes, std::size_t count);
  virtual int sync(int file);
  virtual int close(int file);
  virtual int make_folder(const std::string& path);
  virtual int rename(const std::string& from, const std::string& to);
  /// EEXIST where `to` is there.
  virtual int rename_new(const std::string& from, const std::string& to);
  /// Both must exist: each takes the other's name at once.
  virtual int exchange(const std::string& a, const std::string& b);
  virtual int cut(int file, std::int64_t bytes);
  virtual int remove_file(const std::string& path);
  virtual int remove_folder(const std::string& path);
};

/// The machine's.
Disk& real_disk();

/// Owns an open file of a disk.
class OpenFile {
 public:
  OpenFile(Disk& disk, const std::string& path, int flags)
      : disk_(disk), file_(disk.open(path, flags)) {}
  ~OpenFile();
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;
  bool good() const { return file_ >= 0; }
  int get() const { return file_; }
  /// All of it; false and errno where that fails.
  [[nodiscard]] bool write(std::string_view bytes);
  [[nodiscard]] bool sync() { return disk_.sync(file_) == 0; }
  /// False where the last bytes could not be written.
  [[nodiscard]] bool close();

 private:
  Disk& disk_;
  int file_;
};

/// What was written: enough to tell later whether it is still that.
struct FileSum {
  std::uint64_t bytes = 0;
  std::uint32_t crc = 0;
  bool operator==(const FileSum&) const = default;
};

/// Makes the file of these parts and syncs it. False and errno on failure; then a piece may remain.
[[nodiscard]] bool write_synced(Disk& disk, const std::string& path,
                                const std::vector<std::string_view>& parts, FileSum& sum);
/// Appends in one write. RunError names the path; then the file ends where it ended before.
void append_whole(Disk& disk, OpenFile& file, const std::string& path, std::string_view bytes);
/// So that names in it survive a power cut. Not every file system can, which is no failure.
[[nodiscard]] bool sync_folder(Disk& disk, const std::string& path);
/// The folder with everything in it, or the file; false and errno where something remains.
bool remove_tree(Disk& disk, const std::string& path);

/// `; free there: 12,345 (12.3 kB)`, or nothing where that cannot be told.
std::string free_space_text(const std::string& path);

}  // namespace plait::train
