// Finding Plait's own text.
#include "cli/own_text.h"

#include <filesystem>

namespace plait::cli {

std::string own_text() {
  std::error_code error;
  const auto program = std::filesystem::read_symlink("/proc/self/exe", error);
  return error ? "" : (program.parent_path() / "corpus.txt").string();
}

}  // namespace plait::cli
