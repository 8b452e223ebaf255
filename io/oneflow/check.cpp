// References, names and counts of a record.
#include "io/oneflow/check.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "base/text.h"
#include "io/oneflow/words.h"

namespace plait::io::oneflow {
namespace {

template <class... Parts>
[[noreturn]] void wrong(const Lines& lines, LineNumber line, const Parts&... parts) {
  plait::fail(lines.name(), ":", line.number, ": ", parts...);
}

void check_ops(const Record& record, const Lines& lines) {
  std::unordered_map<std::string_view, LineNumber> names;
  std::unordered_set<std::string_view> tensors;
  for (const TracedOp& op : record.ops) {
    const auto [first, added] = names.emplace(op.name, op.line);
    if (!added) {
      wrong(lines, op.line, "op ", op.name, " is traced twice, first at line ",
            first->second.number);
    }
    for (const Port& port : op.inputs) {
      for (const std::string& tensor : port.tensors) {
        if (tensors.count(tensor)) continue;
        wrong(lines, op.line, "op ", op.name, " reads ", tensor,
              ", which no op before it makes. Is a part of the log missing?");
      }
    }
    for (const Port& port : op.outputs) {
      for (const std::string& tensor : port.tensors) {
        if (!tensor.starts_with(op.name + "/")) {
          wrong(lines, op.line, "op ", op.name, " makes ", tensor, ", expected ", op.name, "/...");
        }
        if (!tensors.insert(tensor).second) {
          wrong(lines, op.line, "op ", op.name, " makes ", tensor, " for a second time");
        }
      }
    }
    if (op.kind == OpKind::kUser && op.outputs.empty()) {
      wrong(lines, op.line, "op ", op.name, " makes nothing");
    }
  }
}

struct Made {
  const Operator* op;
  const Operand* output;
};

void check_operand(const Operator& op, const Operand& in, const Made& made, const Lines& lines) {
  const Blob& said = made.output->blob;
  if (in.blob.shape == said.shape && in.blob.dtype == said.dtype) return;
  wrong(lines, op.line, "operator ", op.name, " reads ", in.tensor, " as ", in.blob.dtype,
        shape_text(in.blob.shape), ", but line ", made.op->line.number, " makes it ", said.dtype,
        shape_text(said.shape));
}

void check_tree(const Record& record, const Lines& lines) {
  const std::vector<const Operator*> operators = record.operators();
  std::unordered_map<std::string, Made> made;
  std::unordered_map<std::string_view, const Operator*> names;
  for (const Operator* op : operators) {
    const auto [first, added] = names.emplace(op->name, op);
    if (!added) {
      wrong(lines, op->line, "operator ", op->name, " stands twice, first at line ",
            first->second->line.number);
    }
    for (const Operand& out : op->outputs) {
      if (!made.emplace(op->tensor_of(out), Made{op, &out}).second) {
        wrong(lines, op->line, "operator ", op->name, " makes ", op->tensor_of(out),
              " for a second time");
      }
    }
  }
  for (const Operator* op : operators) {
    for (const Operand& in : op->inputs) {
      const auto at = made.find(in.tensor);
      if (at != made.end()) {
        check_operand(*op, in, at->second, lines);
      } else if (!is_system(in.tensor)) {
        wrong(lines, op->line, "operator ", op->name, " reads ", in.tensor,
              ", which no operator of the tree makes. Is a part of the log missing?");
      }
    }
  }
}

void check_notes(const Record& record, const Lines& lines) {
  std::unordered_set<std::string_view> parameters;
  if (!record.tree) return;
  for (const TreeLine& line : record.tree->lines) {
    const auto* note = std::get_if<TensorNote>(&line.what);
    if (!note || (note->kind != TensorNote::kParameter && note->kind != TensorNote::kBuffer)) {
      continue;
    }
    if (parameters.insert(note->name).second) continue;
    wrong(lines, note->line, "the tree lists ", note->name, " twice");
  }
}

}  // namespace

bool is_system(std::string_view tensor) { return tensor.starts_with("System-"); }

std::string Operator::tensor_of(const Operand& output) const {
  if (output.tensor.find('/') != std::string::npos) return output.tensor;
  return name + "/" + output.tensor;
}

std::vector<const Operator*> Record::operators() const {
  std::vector<const Operator*> out;
  if (!tree) return out;
  for (const TreeLine& line : tree->lines) {
    if (const auto* op = std::get_if<Operator>(&line.what)) out.push_back(op);
  }
  return out;
}

void check(Record& record, const Lines& lines, bool traced) {
  check_ops(record, lines);
  check_tree(record, lines);
  check_notes(record, lines);
  const bool has_tree = !record.operators().empty();
  if (record.ops.empty() && !has_tree) {
    lines.fail("the log ends without an op: neither op confs nor a tree of operators. ",
               "Was the graph's debug level (graph.debug) below 2?");
  }
  const bool has_output = std::any_of(record.ops.begin(), record.ops.end(),
                                      [](const TracedOp& o) { return o.kind == OpKind::kOutput; });
  if (!record.ops.empty() && !has_output) {
    lines.fail("the log ends while ops are traced: after ", record.ops.back().name,
               " no output follows. Is it cut off?");
  }
  if (record.ops.empty()) record.missing.push_back("the traced ops");
  if (!record.ops.empty() && !traced) record.missing.push_back("the end of tracing");
  if (record.passes.empty()) record.missing.push_back("the compile passes");
  if (!record.passes.empty() && !record.passes.back().finish) {
    record.missing.push_back(str("the end of pass ", record.passes.back().name));
  }
  if (record.memory.empty()) record.missing.push_back("the plan's memory");
  if (!has_tree) record.missing.push_back("the tree with operators");
  if (record.training.empty()) record.missing.push_back("the training lines");
}

}  // namespace plait::io::oneflow
