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

/// Links to folders are not followed; one to itself is an error, one to nothing is passed over.
void add_files_below(const std::string& folder, std::span<const std::string_view> suffixes,
                     std::vector<std::string>& files) {
  for (const std::string& name : io::names_in(folder)) {
    if (name.starts_with(".")) continue;
    const std::string path = folder.ends_with("/") ? folder + name : str(folder, "/", name);
    std::error_code error;
    const fs::file_type type = fs::symlink_status(path, error).type();
    if (type == fs::file_type::directory) {
      add_files_below(path, suffixes, files);
    } else if (has_suffix(path, suffixes) && io::is_there(path) &&
               fs::is_regular_file(path, error)) {
      files.push_back(path);
    }
  }
}

}  // namespace

std::vector<std::string> files_below(const std::string& folder,
                                     std::span<const std::string_view> suffixes) {
  std::vector<std::string> files;
  add_files_below(folder, suffixes, files);
  std::sort(files.begin(), files.end());
  return files;
}

std::vector<Text> read_texts(std::span<const std::string> paths) {
  if (paths.empty()) fail("no path of a text is given");
  std::vector<Text> texts;
  std::size_t bytes = 0;
  for (const std::string& path : paths) {
    for (const std::string& file : io::is_folder(path) ? files_below(path) : std::vector{path}) {
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
