// The text before every unit: the prelude of codegen/ between two parts of its own.
#include <string>

#include "codegen/cuda/prelude_text.h"
#include "codegen/cuda/print.h"
#include "codegen/prelude_text.h"

namespace plait::codegen::cuda {
namespace {

void replace_all(std::string& text, const std::string& from, const std::string& to) {
  for (std::size_t i = text.find(from); i != std::string::npos; i = text.find(from, i)) {
    text.replace(i, from.size(), to);
    i += to.size();
  }
}

}  // namespace

std::string unit_header() {
  std::string plain(prelude_text());
  replace_all(plain, "#include <stdint.h>\n", "");
  replace_all(plain, "static inline ", "__device__ __forceinline__ ");
  return std::string(cuda_types_text()) + plain + std::string(cuda_device_text());
}

}  // namespace plait::codegen::cuda
