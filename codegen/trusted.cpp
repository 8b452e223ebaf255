// Owners and modes.
#include "codegen/trusted.h"

#include <pwd.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <mutex>
#include <set>
#include <vector>

#include "base/error.h"

namespace plait::codegen {
namespace {

std::string user_text(uid_t user) {
  std::vector<char> text(1 << 14);
  passwd entry{};
  passwd* found = nullptr;
  const int error = ::getpwuid_r(user, &entry, text.data(), text.size(), &found);
  return str("user ", user, error == 0 && found != nullptr ? str(" (", entry.pw_name, ")") : "");
}

std::string mode_text(mode_t mode) {
  char text[8];
  std::snprintf(text, sizeof text, "%04o", static_cast<unsigned>(mode & 07777));
  return text;
}

std::string others(const Descriptor& file, bool sticky_will_do) {
  struct stat about {};
  if (::fstat(file.number(), &about) != 0) return std::strerror(errno);
  if (about.st_uid != 0 && about.st_uid != ::geteuid()) {
    return str("belongs to ", user_text(about.st_uid), ", this is ", user_text(::geteuid()),
               ": remove it");
  }
  if ((about.st_mode & (S_IWGRP | S_IWOTH)) == 0) return "";
  if (sticky_will_do && (about.st_mode & S_ISVTX) != 0) return "";
  return str("may be written by others (mode ", mode_text(about.st_mode), "): chmod go-w it");
}

}  // namespace

std::string others_may_write(const Descriptor& file) { return others(file, false); }
std::string others_may_replace(const Descriptor& folder) { return others(folder, true); }

void say_once(const std::string& what, const std::string& reason) {
  static std::mutex mutex;
  static std::set<std::string> said;
  const std::lock_guard lock(mutex);
  if (said.insert(reason).second)
    std::fprintf(stderr, "plait: %s: %s\n", what.c_str(), reason.c_str());
}

}  // namespace plait::codegen
