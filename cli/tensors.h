// What a safetensors file holds, as a table or JSON.
#pragma once

#include <string>

namespace plait::cli {

/// Prints names, dtypes, shapes and bytes, the totals and the file's metadata.
void show_tensors(const std::string& file, bool json);

}  // namespace plait::cli
