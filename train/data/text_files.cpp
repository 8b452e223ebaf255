// Lists of files in an order that no file system decides, and texts read whole.
#include "train/data/text_files.h"

#include <algorithm>
#include <filesystem>

#include "base/error.h"
#include "base/text.h"
#include "io/file.h"

namespace plait::train {
namespace fs = std::filesystem;
namespace {

bool has_suffix(const fs::path& path, std::span<const std::string_view> suffixes) {
  std::string suffix = path.extension().string();
  for (char& c : suffix) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return suffixes.empty() || std::find(suffixes.begin(), suffixes.end(), suffix) != suffixes.end();
}

}  // namespace

std::vector<std::string> files_below(const std::string& folder,
                                     std::span<const std::string_view> suffixes) {
  std::vector<std::string> files;
  try {
    for (auto it = fs::recursive_directory_iterator(folder); it != fs::end(it); ++it) {
      const fs::path& path = it->path();
      if (path.filename().string().starts_with(".")) {
        if (it->is_directory()) it.disable_recursion_pending();
      } else if (it->is_regular_file() && has_suffix(path, suffixes)) {
        files.push_back(path.string());
      }
    }
  } catch (const fs::filesystem_error& error) {
    fail("cannot read the folder ", folder, ": ", error.code().message());
  }
  std::sort(files.begin(), files.end());
  return files;
}

std::vector<Text> read_texts(std::span<const std::string> paths) {
  if (paths.empty()) fail("no path of a text is given");
  std::vector<Text> texts;
  std::size_t bytes = 0;
  for (const std::string& path : paths) {
    std::error_code ignored;
    const bool folder = fs::is_directory(path, ignored);
    for (const std::string& file : folder ? files_below(path) : std::vector{path}) {
      texts.push_back({file, io::read_file(file)});
      bytes += texts.back().bytes.size();
    }
  }
  const std::string names = join({paths.begin(), paths.end()}, ", ");
  if (texts.empty()) fail(names, ": no files in it");
  if (bytes == 0) fail(names, ": empty; there is nothing to train on");
  return texts;
}

}  // namespace plait::train
