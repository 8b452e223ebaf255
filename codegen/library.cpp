// dlopen, and the way round a folder that nothing may be executed from.
#include "codegen/library.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"

namespace plait::codegen {

struct Library::Loaded {
  void* handle = nullptr;
  // Stays open as long as the handle: the loader knows a library by its name, and /proc/self/fd/N
  // must not come to mean another one.
  int memory = -1;
  Loaded() = default;
  Loaded(const Loaded&) = delete;
  Loaded& operator=(const Loaded&) = delete;
  ~Loaded() {
    if (handle != nullptr) ::dlclose(handle);
    if (memory >= 0) ::close(memory);
  }
};

namespace {

/// A copy of the file in memory; -1 when there cannot be one.
int copy_to_memory(const std::string& path) {
  const int from = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (from < 0) return -1;
  const int to = ::memfd_create("plait", MFD_CLOEXEC);
  struct stat file {};
  bool copied = to >= 0 && ::fstat(from, &file) == 0;
  for (off_t done = 0; copied && done < file.st_size;) {
    copied = ::sendfile(to, from, &done, static_cast<std::size_t>(file.st_size - done)) > 0;
  }
  ::close(from);
  if (to >= 0 && !copied) ::close(to);
  return copied ? to : -1;
}

}  // namespace

Library Library::open(const std::string& path) {
  Library library;
  library.loaded_ = std::make_shared<Loaded>();
  Loaded& loaded = *library.loaded_;
  loaded.handle = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (loaded.handle != nullptr) return library;
  const char* said = ::dlerror();
  const std::string reason = said != nullptr ? said : "unknown";
  loaded.memory = copy_to_memory(path);
  if (loaded.memory >= 0) {
    loaded.handle = ::dlopen(str("/proc/self/fd/", loaded.memory).c_str(), RTLD_NOW | RTLD_LOCAL);
  }
  if (loaded.handle == nullptr) throw RunError("a compiled kernel cannot be loaded: " + reason);
  return library;
}

void* Library::symbol(const std::string& name) const {
  check(loaded_ != nullptr, "symbol ", name, " of no library");
  void* address = ::dlsym(loaded_->handle, name.c_str());
  check(address != nullptr, "a compiled library has no ", name);
  return address;
}

}  // namespace plait::codegen
