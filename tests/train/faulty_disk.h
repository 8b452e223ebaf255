// A disk that fails, or kills the process, at a chosen operation.
#pragma once

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <limits>
#include <utility>

#include "train/disk.h"

namespace plait::test {

class FaultyDisk : public train::Disk {
 public:
  static constexpr int kKill = -1;

  /// At operation `at` (from 0) and after: errno `cause`; kKill ends the process there.
  FaultyDisk(int at, int cause) : at_(at), cause_(cause) {}
  /// Counts only.
  FaultyDisk() : FaultyDisk(std::numeric_limits<int>::max(), 0) {}

  int operations() const { return next_; }
  /// Only operation `at` fails, not those after it.
  void fail_once() { once_ = true; }
  /// Operations that undo things go on working, as on a full disk.
  void spare_removals() { spares_ = true; }

  int open(const std::string& p, int flags) override { return fails() ? -1 : Disk::open(p, flags); }
  ssize_t write(int file, const char* bytes, std::size_t count) override {
    const int now = next_;
    if (now == at_ && count > 1) Disk::write(file, bytes, count / 2);  // torn
    return fails() ? -1 : Disk::write(file, bytes, count);
  }
  /// Tests need no disk that survives a power cut.
  int sync(int) override { return fails() ? -1 : 0; }
  int close(int file) override {
    const bool bad = fails();
    const int result = Disk::close(file);
    if (bad) errno = cause_;
    return bad ? -1 : result;
  }
  int make_folder(const std::string& p) override { return fails() ? -1 : Disk::make_folder(p); }
  int rename(const std::string& a, const std::string& b) override {
    return fails() ? -1 : Disk::rename(a, b);
  }
  int rename_new(const std::string& a, const std::string& b) override {
    return fails() ? -1 : Disk::rename_new(a, b);
  }
  int exchange(const std::string& a, const std::string& b) override {
    return fails() ? -1 : Disk::exchange(a, b);
  }
  int cut(int file, std::int64_t bytes) override {
    return !spares_ && fails() ? -1 : Disk::cut(file, bytes);
  }
  int remove_file(const std::string& p) override {
    return !spares_ && fails() ? -1 : Disk::remove_file(p);
  }
  int remove_folder(const std::string& p) override {
    return !spares_ && fails() ? -1 : Disk::remove_folder(p);
  }

 private:
  bool fails() {
    const int now = next_++;
    if (once_ ? now != at_ : now < at_) return false;
    if (cause_ == kKill) ::kill(::getpid(), SIGKILL);
    errno = cause_;
    return true;
  }

  int at_, cause_, next_ = 0;
  bool once_ = false, spares_ = false;
};

/// Runs `work` in a process of its own; whether it was killed.
template <class Work>
bool killed(Work work) {
  const pid_t child = ::fork();
  if (child == 0) {
    try {
      work();
    } catch (...) {
      ::_exit(2);
    }
    ::_exit(0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFSIGNALED(status);
}

}  // namespace plait::test
