// Cells and their names.
#include "io/aicf/record_cells.h"

#include <algorithm>

#include "io/aicf/words.h"

namespace plait::io::aicf {

RecordCells::RecordCells(const ir::Graph& graph, Record& record)
    : g_(graph), record_(record), cells_(graph.values.size(), -1) {
  for (const ir::Fetch& f : graph.fetches) fetched_as_.emplace(f.value, f.name);
}

Cell RecordCells::make(ir::ValueId value, const std::string& otherwise) {
  std::string name = g_.value(value).name;
  if (has_default_name(value)) {
    const auto fetched = fetched_as_.find(value);
    if (fetched != fetched_as_.end()) {
      name = fetched->second;
    } else if (!otherwise.empty()) {
      name = otherwise;
    }
  }
  const Cell cell = fresh(name, g_.type(value));
  put(value, cell);
  return cell;
}

Cell RecordCells::fresh(const std::string& name, const ir::Type& type) {
  const auto cell = static_cast<Cell>(record_.values.size());
  record_.values.push_back({cell, unique(name), sizes_of(type.shape), type.dtype, "cuda:0"});
  return cell;
}

/// Whether the name says nothing: the op's own, numbered.
bool RecordCells::has_default_name(ir::ValueId value) const {
  const ir::Value& v = g_.value(value);
  if (v.producer == ir::kNone) return false;
  std::string_view name = v.name;
  const std::string& op = g_.node(v.producer).op;
  if (!name.starts_with(op)) return false;
  name.remove_prefix(op.size());
  return name.find_first_not_of("0123456789") == std::string_view::npos;
}

/// Without what a name of the format cannot hold, and numbered where it is taken.
std::string RecordCells::unique(std::string name) {
  constexpr std::size_t kRoom = 20;  // for a number behind it
  for (char& c : name) c = static_cast<unsigned char>(c) <= ' ' || c == 127 ? '_' : c;
  name.resize(std::min(name.size(), kMaxWord - kRoom));
  std::string candidate = name;
  for (int n = 1; !names_.insert(candidate).second; ++n) candidate = name + std::to_string(n);
  return candidate;
}

}  // namespace plait::io::aicf
