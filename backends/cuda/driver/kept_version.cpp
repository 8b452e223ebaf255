// Versions in the cache on disk.
#include "backends/cuda/driver/kept_version.h"

#include <sys/stat.h>

#include <cstdlib>
#include <vector>

#include "backends/cuda/driver/shared_library.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/text.h"
#include "codegen/cache.h"

namespace plait::cuda {
namespace {

constexpr const char* kKind = "version";  // of the cache's entries

/// A file or folder, and when it was last changed.
std::string stamp(const std::string& path) {
  struct stat about {};
  if (::stat(path.c_str(), &about) != 0) return path + " is not there\n";
  return str(path, ' ', about.st_size, ' ', about.st_mtim.tv_sec, ' ', about.st_mtim.tv_nsec, '\n');
}

/// All that decides which file a name opens.
std::string surroundings() {
  std::vector<std::string> places = library_folders();
  if (const char* path = std::getenv("LD_LIBRARY_PATH")) {
    for (const std::string& folder : split(path, ':')) places.push_back(folder);
  }
  places.emplace_back("/etc/ld.so.cache");
  std::string out;
  for (const std::string& place : places) out += stamp(place);
  return out;
}

}  // namespace

std::string kept_version(const std::string& library, const std::function<LibraryVersion()>& open) {
  const std::uint64_t key = fnv1a64(str(library, '\n', surroundings()));
  if (const auto kept = codegen::cache::load(kKind, key)) {
    const std::vector<std::string> lines = split(*kept, '\n');  // version, file, its stamp
    if (lines.size() == 4 && lines[2] + "\n" == stamp(lines[1])) return lines[0];
  }
  const LibraryVersion found = open();
  if (!found.version.empty()) {  // what is missing may be put anywhere
    codegen::cache::store(kKind, key,
                          str(found.version, '\n', found.file, '\n', stamp(found.file)));
  }
  return found.version;
}

}  // namespace plait::cuda
