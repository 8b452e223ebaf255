// The files behind a list of paths: files as they are named, folders as the files in them.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace plait::train {

struct Text {
  std::string path;
  std::string bytes;
};

/// Regular files below a folder, at any depth, without those whose name begins with a dot and
/// whose suffix (lower case, `.png`) is none of `suffixes`, where there are any. Sorted by the
/// bytes of their paths. UserError when the folder cannot be read.
std::vector<std::string> files_below(const std::string& folder,
                                     std::span<const std::string_view> suffixes = {});

/// The whole texts in order; UserError when there is no path, no file or no byte.
std::vector<Text> read_texts(std::span<const std::string> paths);

}  // namespace plait::train
