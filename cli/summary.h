// An array in one line: its type, its range, a fingerprint of its bytes.
#pragma once

#include <optional>
#include <string>

#include "base/array.h"

namespace plait::cli {

struct Summary {
  std::string name;
  std::string type;                      // `f32[64,8]`
  std::optional<double> min, max, mean;  // none of an empty array; NaN when an element is
  std::string hash;                      // FNV-1a of the bytes, 16 hexadecimal digits
  std::string value;                     // of a scalar, exact; empty otherwise
};

Summary summarise(const std::string& name, const Array& array);

/// An element as short as it reads back exactly in its dtype.
std::string element_text(const Array& array, std::int64_t i);
/// Five significant digits; `aligned` keeps trailing zeros.
std::string short_text(double value, bool aligned = false);
/// `0.0420 ms`, `12 ms`, `2.3 s`, `3 min 20 s`, `2 h 5 min`
std::string duration_text(double seconds);

}  // namespace plait::cli
