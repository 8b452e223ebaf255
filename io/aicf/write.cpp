// Record to text.
#include <string>

#include "base/text.h"
#include "io/aicf/format.h"
#include "io/aicf/words.h"

namespace plait::io::aicf {
namespace {

std::string cells_text(const Record& record, const std::vector<Cell>& cells) {
  std::vector<std::string> ids;
  for (Cell c : cells) ids.push_back(id_text(record.value(c).id));
  return "(" + join(ids, ", ") + ")";
}

void append_value(const Value& v, std::string& out) {
  out += "  " + id_text(v.id) + "  " + v.name + padding(v.name, kNameWidth);
  out += " shape=" + tuple_text(v.shape) + " dtype=" + torch_name(v.dtype);
  out += " device=" + v.device + "\n";
}

void append_node(const Record& record, std::size_t index, std::string& out) {
  const Node& n = record.node(index);
  out += "\n  " + index_text(index) + " " + n.op + padding(n.op, kOpWidth) + " ";
  out += cells_text(record, n.inputs) + " -> " + cells_text(record, n.outputs);
  if (n.attrs.empty()) return;
  std::vector<std::string> parts;
  for (const Attr& a : n.attrs) parts.push_back(a.key + "=" + a.text);
  out += "  {" + join(parts, ", ") + "}";
}

}  // namespace

std::string write(const Record& record) {
  std::string out = std::string(kTitle) + record.name + " ===\n";
  out += "values: " + std::to_string(record.values.size());
  out += ", nodes: " + std::to_string(record.nodes.size()) + "\n\n[values]\n";
  for (const Value& v : record.values) append_value(v, out);
  out += "\n[nodes]";
  for (std::size_t i = 0; i < record.nodes.size(); ++i) append_node(record, i, out);
  if (record.final_newline) out += "\n";
  return out;
}

}  // namespace plait::io::aicf
