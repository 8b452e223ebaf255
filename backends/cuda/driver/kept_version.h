// A library's version without opening the library, which takes long: as it was told when it was
// last opened, for as long as the folders that it is looked for in and its file are what they were.
#pragma once

#include <functional>
#include <string>

namespace plait::cuda {

struct LibraryVersion {
  std::string version;  // empty: it is not there, or of no use
  std::string file;     // where it came from
};

/// `open` is asked when nothing is kept.
std::string kept_version(const std::string& library, const std::function<LibraryVersion()>& open);

}  // namespace plait::cuda
