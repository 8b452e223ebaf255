// A library of NVIDIA's, found and opened when the program runs. It stays open to the end: its
// threads and its code for exceptions outlive any owner of ours.
#pragma once

#include <string>
#include <vector>

namespace plait::cuda {

struct SharedLibrary {
  void* handle = nullptr;  // null: not there
  std::string name;        // the one of the names that was found
  std::string why;         // why it is not there, in the loader's words

  explicit operator bool() const { return handle != nullptr; }
  /// Null when it has no such symbol.
  void* symbol(const char* symbol_name) const;
  /// Where it came from; empty when it is not there.
  std::string file() const;
};

/// Where libraries are looked for besides the loader's own places.
std::vector<std::string> library_folders();

/// The first of the names that opens: where the loader looks (its path, our own run path), then in
/// $CUDA_HOME and $CUDA_PATH (lib64, lib), then beside this library.
SharedLibrary open_library(const std::vector<std::string>& names);

/// Opens `name` in the folder that `library` came from: for libraries that are opened by one that
/// does not look beside itself. Nothing happens when it is not there.
void open_beside(const SharedLibrary& library, const std::string& name);

}  // namespace plait::cuda
