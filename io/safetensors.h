// safetensors: named tensors and text metadata in one file. A length, a JSON header with dtype,
// shape and place of every tensor, then the elements.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/array.h"

namespace plait::io {

struct TensorFile {
  std::map<std::string, Array> tensors;
  std::map<std::string, std::string> metadata;

  /// UserError with the nearest name when there is none.
  const Array& tensor(const std::string& name) const;
};

/// UserError naming the file, the tensor and what is wrong. Tensors must cover the data exactly,
/// without holes or overlaps, as the format demands. A file's elements are read straight into their
/// arrays: no second copy is held.
TensorFile read_safetensors(const std::string& path);
/// The same on bytes in memory; `name` is for messages.
TensorFile parse_safetensors(std::string_view bytes, std::string_view name);

/// What a file says of its tensors.
struct TensorList {
  struct Item {
    std::string name;
    DType dtype;
    Sizes sizes;
    std::uint64_t bytes;
  };
  std::vector<Item> tensors;  // in the order of their elements
  std::map<std::string, std::string> metadata;
};
/// Reads the header of a regular file, not the elements; checks it as read_safetensors does.
TensorList list_safetensors(const std::string& path);
/// Whether a regular file begins as one of safetensors does: a length and '{'.
bool is_safetensors(const std::string& path);

/// What a file of these tensors consists of, without a copy of their elements.
struct SafetensorsBytes {
  std::string header;                      // with its length before it
  std::vector<std::string_view> elements;  // of the tensors, which must outlive this

  /// All of it in order; views of this and of the tensors.
  std::vector<std::string_view> parts() const;
};
/// UserError, naming `path`, for names that the format cannot hold. Equal contents give equal
/// bytes.
SafetensorsBytes safetensors_bytes(const std::map<std::string, Array>& tensors,
                                   const std::map<std::string, std::string>& metadata,
                                   std::string_view path);

/// Whole or not at all; RunError names the path. Equal contents give equal bytes.
void write_safetensors(const std::string& path, const TensorFile& file);

}  // namespace plait::io
