// Whole files: read at once, written whole or not at all. And what is there: every question to the
// file system whose answer may be an error is asked through here, so that the error is a message.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace plait::io {

/// A file that is read piece by piece; `-` is standard input. UserError when it cannot be opened
/// (the user named it) or is nothing that ends by itself: besides regular files these are pipes of
/// a shell, a terminal and /dev/null. A FIFO may have no writer, a device no end. RunError when
/// reading fails.
class InputFile {
 public:
  explicit InputFile(std::string path);
  ~InputFile();
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;

  /// Some of the next bytes; 0 at the end.
  std::size_t read(char* buffer, std::size_t room);
  /// As many as there is room for, fewer only at the end.
  std::size_t read_fully(char* buffer, std::size_t room);
  /// What a regular file says it holds; 0 where that is not known.
  std::size_t expected_bytes() const { return expected_bytes_; }

 private:
  std::string path_;
  int descriptor_;
  std::size_t expected_bytes_ = 0;
};

/// The bytes of a file; `-` is standard input. UserError when it cannot be opened (the user named
/// it), RunError when reading it fails.
std::string read_file(const std::string& path);

/// Writes the parts, one after the other, under a temporary name beside `path`, syncs and renames:
/// readers see the old file or the new one, never a piece. RunError names the path.
void write_file(const std::string& path, const std::vector<std::string_view>& parts);

/// A name of the graph as a file name: letters, digits and `_-.$` stand for themselves, any other
/// byte and a leading dot as %XX. Different names give different file names.
std::string file_name_for(std::string_view name);

/// Whether there is something of this name. UserError where that cannot be told: a folder on the
/// way that may not be searched, a link to itself, a name that is too long.
bool is_there(const std::string& path);
/// Whether that is a folder, or a link to one; UserError as above.
bool is_folder(const std::string& path);
/// The names in a folder, sorted; UserError where it cannot be read.
std::vector<std::string> names_in(const std::string& folder);

/// Makes the folder and those above it; RunError names it.
void make_folder(const std::string& path);

}  // namespace plait::io
