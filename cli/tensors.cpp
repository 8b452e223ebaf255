// Listing tensors.
#include "cli/tensors.h"

#include "base/text.h"
#include "cli/json.h"
#include "cli/output.h"
#include "io/safetensors.h"

namespace plait::cli {
namespace {

Json tensors_json(const io::TensorList& list, std::int64_t elements, std::int64_t bytes) {
  Json tensors = Json::array();
  for (const auto& t : list.tensors) {
    tensors.push_back(
        {{"name", t.name}, {"dtype", name_of(t.dtype)}, {"shape", t.sizes}, {"bytes", t.bytes}});
  }
  return {
      {"tensors", tensors}, {"elements", elements}, {"bytes", bytes}, {"metadata", list.metadata}};
}

}  // namespace

void show_tensors(const std::string& file, bool json) {
  const io::TensorList list = io::list_safetensors(file);
  Table table{{"tensor", "dtype", "shape", "bytes"}, {false, false, false, true}, {}};
  std::int64_t elements = 0, bytes = 0;
  for (const auto& t : list.tensors) {
    const auto size = static_cast<std::int64_t>(t.bytes);
    table.rows.push_back({t.name, str(t.dtype), shape_text(t.sizes), with_commas(size)});
    bytes += size;
    elements += size / static_cast<std::int64_t>(size_of(t.dtype));
  }
  if (json) return print_json(tensors_json(list, elements, bytes));
  std::string out =
      table.text() + str(counted(list.tensors.size(), "tensor", "tensors"), ", ",
                         with_commas(elements), " elements, ", bytes_text(bytes), "\n");
  for (const auto& [key, value] : list.metadata) out += str("metadata ", key, ": ", value, "\n");
  print(out);
}

}  // namespace plait::cli
