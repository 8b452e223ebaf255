// Sums that a pass fused into the op before them. The tree leaves their other operand out; the
// traced ops tell it.
#include <unordered_map>
#include <unordered_set>

#include "io/oneflow/final.h"

namespace plait::io::oneflow {
namespace {

struct Search {
  std::unordered_map<std::string, const Operator*> maker;         // in the tree, by tensor
  std::unordered_map<std::string_view, const Operator*> by_name;  // in the tree
  std::unordered_map<std::string_view, const TracedOp*> traced_maker;
  std::unordered_map<std::string_view, std::vector<const TracedOp*>> readers;  // traced
  std::unordered_map<std::string, std::string> carrier;  // tensor that is gone -> what holds it now

  explicit Search(const Record& record) {
    for (const Operator* op : record.operators()) {
      by_name.emplace(op->name, op);
      for (const Operand& out : op->outputs) maker.emplace(op->tensor_of(out), op);
    }
    for (const TracedOp& op : record.ops) {
      for (const Port& p : op.outputs) {
        for (const std::string& t : p.tensors) traced_maker.emplace(t, &op);
      }
      for (const Port& p : op.inputs) {
        for (const std::string& t : p.tensors) readers[t].push_back(&op);
      }
    }
  }

  /// The traced tensor that an operand of the tree is, behind casts and the like.
  std::string origin(std::string tensor) const {
    for (int steps = 0; steps < 8; ++steps) {
      if (traced_maker.count(tensor)) return tensor;
      const auto at = maker.find(tensor);
      if (at == maker.end() || at->second->inputs.size() != 1) break;
      tensor = at->second->inputs[0].tensor;
    }
    return tensor;
  }

  /// What holds a traced tensor in the tree: itself, or what the passes put in its place.
  std::string holder(std::string tensor) const {
    for (int steps = 0; steps < 8 && !maker.count(tensor); ++steps) {
      const auto sum = carrier.find(tensor);
      if (sum != carrier.end()) {
        tensor = sum->second;
        continue;
      }
      const auto made = traced_maker.find(tensor);  // an identity that is gone
      if (made == traced_maker.end() || made->second->inputs.size() != 1) break;
      tensor = made->second->inputs[0].tensors[0];
    }
    return tensor;
  }

  /// Traced ops of the tree that read `tensor`, also through ops that are gone.
  void tree_readers(const std::string& tensor, int depth, int& budget,
                    std::vector<const Operator*>& out) const {
    const auto at = readers.find(tensor);
    if (at == readers.end() || depth == 0) return;
    for (const TracedOp* op : at->second) {
      if (--budget < 0) return;
      const auto there = by_name.find(op->name);
      if (there != by_name.end()) {
        out.push_back(there->second);
      } else if (op->inputs.size() == 1 && op->inputs[0].tensors.size() == 1 &&
                 !op->outputs.empty()) {
        tree_readers(op->outputs[0].tensors[0], depth - 1, budget, out);
      }
    }
  }
};

}  // namespace

std::vector<HiddenInput> hidden_inputs(const Record& record) {
  std::vector<HiddenInput> hidden;
  if (!record.tree || record.ops.empty()) return hidden;
  Search search(record);
  for (const TracedOp& op : record.ops) {
    if (op.type != "add_n" || search.by_name.count(op.name)) continue;
    if (op.inputs.size() != 1 || op.inputs[0].tensors.size() != 2 || op.outputs.size() != 1) {
      continue;
    }
    const std::string& sum = op.outputs[0].tensors[0];
    std::vector<const Operator*> readers;
    int budget = 1000;
    search.tree_readers(sum, 4, budget, readers);
    std::unordered_set<std::string> read;  // by those, in place of the sum
    for (const Operator* reader : readers) {
      for (const Operand& in : reader->inputs) read.insert(search.origin(in.tensor));
    }
    for (int i = 0; i < 2; ++i) {
      const std::string carrier = search.holder(op.inputs[0].tensors[static_cast<std::size_t>(i)]);
      const std::string other =
          search.holder(op.inputs[0].tensors[static_cast<std::size_t>(1 - i)]);
      if (!read.count(carrier) || read.count(other)) continue;
      const auto maker = search.maker.find(carrier);
      if (maker == search.maker.end()) continue;
      search.carrier.emplace(sum, carrier);
      hidden.push_back({maker->second, other, op.name});
      break;
    }
  }
  return hidden;
}

}  // namespace plait::io::oneflow
