// dlopen of an open file, and the way round a folder that nothing may be executed from.
#include "codegen/library.h"

#include <dlfcn.h>
#include <sys/mman.h>

#include <atomic>
#include <cstdint>

#include "base/error.h"

namespace plait::codegen {

struct Library::Loaded {
  void* handle = nullptr;
  Loaded() = default;
  Loaded(const Loaded&) = delete;
  Loaded& operator=(const Loaded&) = delete;
  ~Loaded() {
    if (handle != nullptr) ::dlclose(handle);
  }
};

namespace {

/// A path of the open file that no other load has: the loader takes two of one name for the same
/// library, and a descriptor's number is used again.
std::string path_of(const Descriptor& file) {
  static std::atomic<std::uint64_t> loads{0};
  std::string path = "/proc/self/fd/";
  for (std::uint64_t n = ++loads; n > 0; n >>= 1) path += n & 1 ? ".//" : "./";
  return str(path, file.number());
}

void* open_library(const Descriptor& file) {
  return ::dlopen(path_of(file).c_str(), RTLD_NOW | RTLD_LOCAL);
}

Descriptor copy_in_memory(std::string_view bytes) {
  Descriptor copy(::memfd_create("plait", MFD_CLOEXEC));
  while (copy && !bytes.empty()) {
    const ssize_t put = ::write(copy.number(), bytes.data(), bytes.size());
    if (put <= 0) return {};
    bytes.remove_prefix(static_cast<std::size_t>(put));
  }
  return copy;
}

}  // namespace

Library Library::load(const Descriptor& file, std::string_view bytes) {
  Library library;
  library.loaded_ = std::make_shared<Loaded>();
  Loaded& loaded = *library.loaded_;
  loaded.handle = open_library(file);
  if (loaded.handle != nullptr) return library;
  const char* said = ::dlerror();
  const std::string reason = said != nullptr ? said : "unknown";
  const Descriptor copy = copy_in_memory(bytes);
  if (copy) loaded.handle = open_library(copy);
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
