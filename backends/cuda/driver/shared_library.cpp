// Where NVIDIA's libraries are looked for.
#include "backends/cuda/driver/shared_library.h"

#include <dlfcn.h>
#include <link.h>

#include <cstdlib>
#include <filesystem>

namespace plait::cuda {
namespace {

namespace files = std::filesystem;

void* open_path(const std::string& path, std::string& why) {
  void* handle = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle != nullptr) return handle;
  const char* said = ::dlerror();
  // The first reason that is more than "there is none" is the one to tell.
  const std::string reason = said != nullptr ? said : "unknown";
  const bool absent = reason.find("No such file") != std::string::npos;
  if (why.empty() || !absent) why = reason;
  return nullptr;
}

}  // namespace

std::vector<std::string> library_folders() {
  std::vector<std::string> out;
  for (const char* variable : {"CUDA_HOME", "CUDA_PATH"}) {
    const char* root = std::getenv(variable);
    if (root == nullptr || *root == '\0') continue;
    for (const char* below : {"lib64", "lib"}) out.push_back(files::path(root) / below);
  }
  Dl_info about{};
  if (::dladdr(reinterpret_cast<void*>(&open_library), &about) != 0 && about.dli_fname) {
    out.push_back(files::path(about.dli_fname).parent_path());
  }
  return out;
}

void* SharedLibrary::symbol(const char* symbol_name) const {
  return handle != nullptr ? ::dlsym(handle, symbol_name) : nullptr;
}

std::string SharedLibrary::file() const {
  link_map* map = nullptr;
  if (handle == nullptr || ::dlinfo(handle, RTLD_DI_LINKMAP, &map) != 0 || !map) return "";
  return map->l_name;
}

SharedLibrary open_library(const std::vector<std::string>& names) {
  SharedLibrary out;
  const std::vector<std::string> further = library_folders();
  for (const std::string& name : names) {
    out.name = name;
    if ((out.handle = open_path(name, out.why))) return out;
    for (const std::string& folder : further) {
      const files::path path = files::path(folder) / name;
      std::error_code error;
      if (!files::exists(path, error)) continue;
      if ((out.handle = open_path(path, out.why))) return out;
    }
  }
  out.name.clear();
  return out;
}

void open_beside(const SharedLibrary& library, const std::string& name) {
  if (!library) return;
  const files::path path = files::path(library.file()).parent_path() / name;
  ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
}

}  // namespace plait::cuda
