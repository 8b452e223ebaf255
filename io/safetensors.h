// safetensors: named tensors and text metadata in one file. A length, a JSON header with dtype,
// shape and place of every tensor, then the elements.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "base/array.h"

namespace plait::io {

struct TensorFile {
  std::map<std::string, Array> tensors;
  std::map<std::string, std::string> metadata;

  /// UserError with the nearest name when there is none.
  const Array& tensor(const std::string& name) const;
};

/// UserError naming the file, the tensor and what is wrong. Tensors must cover the data exactly,
/// without holes or overlaps, as the format demands.
TensorFile read_safetensors(const std::string& path);
/// The same on bytes in memory; `name` is for messages.
TensorFile parse_safetensors(std::string_view bytes, std::string_view name);

/// Whole or not at all; RunError names the path. Equal contents give equal bytes.
void write_safetensors(const std::string& path, const TensorFile& file);

}  // namespace plait::io
