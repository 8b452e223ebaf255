// Printing the tree.
#include "base/text.h"
#include "io/oneflow/tree.h"
#include "io/oneflow/words.h"

namespace plait::io::oneflow {
namespace {

std::string operand_text(const Operand& o) {
  const std::string inside =
      str("sbp=", short_layouts_text(o.blob.layouts), ", size=", sizes_text(o.blob.shape, false),
          ", dtype=(oneflow.", python_name(o.blob.dtype), ")");
  return o.tensor + (o.bare ? ":" + inside : ":(" + inside + ")");
}

std::string operands_text(const std::vector<Operand>& operands) {
  std::string out;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    const int list = operands[i].list;
    if (i > 0) out += ", ";
    if (list != 0 && (i == 0 || operands[i - 1].list != list)) out += "[";
    out += operand_text(operands[i]);
    if (list != 0 && (i + 1 == operands.size() || operands[i + 1].list != list)) out += "]";
  }
  return "(" + out + ")";
}

std::string operator_text(const Operator& op) {
  return str("(OPERATOR: ", op.name, operands_text(op.inputs), " -> ", operands_text(op.outputs),
             op.attributes.empty() ? "" : ", attributes=(" + op.attributes + ")", ", placement=(",
             placement_text(op.placement), "))");
}

std::string_view note_word(TensorNote::Kind kind) {
  switch (kind) {
    case TensorNote::kInput:
      return "INPUT";
    case TensorNote::kOutput:
      return "OUTPUT";
    case TensorNote::kParameter:
      return "PARAMETER";
    case TensorNote::kBuffer:
      return "BUFFER";
  }
  throw Bug("unknown kind of note");
}

std::string indent(int depth) { return std::string(2 * static_cast<std::size_t>(depth), ' '); }

}  // namespace

std::string tensor_note_text(const TensorNote& note, int depth) {
  std::string remarks;
  for (const std::string& r : note.remarks) remarks += ", " + r;
  const bool state = note.kind == TensorNote::kParameter || note.kind == TensorNote::kBuffer;
  return str(indent(depth), "(", note_word(note.kind), ":", note.name,
             ":tensor(..., placement=", placement_text(note.placement),
             ", sbp=", long_layouts_text(note.blob.layouts),
             ", size=", sizes_text(note.blob.shape, true), ", dtype=oneflow.",
             python_name(note.blob.dtype), remarks, "))", state && depth > 0 ? ": ()" : "", "\n");
}

std::string tree_text(const Tree& tree) {
  std::string out = str("(GRAPH:", tree.name, ":", tree.type, "): (\n");
  int open = 0;  // modules
  const auto close_to = [&](int depth) {
    while (open > depth) out += indent(open--) + ")\n";
  };
  for (const TreeLine& line : tree.lines) {
    close_to(line.depth);
    const std::string margin = indent(line.depth + 1);
    if (const auto* note = std::get_if<TensorNote>(&line.what)) {
      out += tensor_note_text(*note, line.depth + 1);
    } else if (const auto* op = std::get_if<Operator>(&line.what)) {
      out += margin + operator_text(*op) + "\n";
    } else if (const auto* module = std::get_if<ModuleNote>(&line.what)) {
      out += str(margin, "(MODULE:", module->name, ":", module->type, "): (\n");
      ++open;
    } else {
      out += margin + "(CONFIG:" + std::get<ConfigNote>(line.what).text + ")\n";
    }
  }
  close_to(0);
  return out + ")\n";
}

}  // namespace plait::io::oneflow
