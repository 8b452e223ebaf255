// Text as it is written: lines with indentation, and the names that printed kernels get from it.
#pragma once

#include <string>

#include "base/error.h"
#include "base/hash.h"

namespace plait::codegen {

class Lines {
 public:
  void add(const std::string& line) { text_ += std::string(depth_ * 2, ' ') + line + "\n"; }
  void open(const std::string& line) {
    add(line + " {");
    ++depth_;
  }
  void close() {
    --depth_;
    add("}");
  }
  /// All threads of a block meet here.
  void barrier() {
    add("__syncthreads();");
    has_barrier_ = true;
  }
  bool has_barrier() const { return has_barrier_; }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
  std::size_t depth_ = 1;
  bool has_barrier_ = false;
};

/// Names a printed function, and its kernel id, by what it does: k_row_0c66..., loop.row.0c66....
template <class Printed>
void set_name(Printed& printed, const std::string& stem, const std::string& text) {
  const std::string digits = hex_digits(fnv1a64(text));
  printed.name = str("k_", stem, "_", digits);
  printed.kernel = str("loop.", stem, ".", digits.substr(0, 8));
}

}  // namespace plait::codegen
