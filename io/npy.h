// NumPy's .npy: one array per file. Reads versions 1 to 3, both byte orders, both storage orders,
// u2 as i32 and u4 and u8 as i64; writes version 1, little-endian, row-major. bf16, which NumPy
// lacks, is written as f32.
#pragma once

#include <string>
#include <string_view>

#include "base/array.h"

namespace plait::io {

/// UserError naming the file and what is wrong with it.
Array read_npy(const std::string& path);
/// The same on bytes in memory; `name` is for messages.
Array parse_npy(std::string_view bytes, std::string_view name);

/// Whole or not at all; RunError names the path.
void write_npy(const std::string& path, const Array& array);

}  // namespace plait::io
