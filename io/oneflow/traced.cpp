// The graph `traced`: inputs are feeds, variables states, user ops nodes.
#include "io/oneflow/traced.h"

#include <algorithm>
#include <unordered_set>

#include "base/text.h"
#include "io/oneflow/gradients.h"
#include "io/oneflow/places.h"
#include "io/oneflow/states.h"

namespace plait::io::oneflow {
namespace {

struct Tracer {
  const Record& record;
  const Names& names;
  const NamedSizes& sizes;
  Import& import;
  Builder b{"traced"};
  std::unordered_map<std::string, Tensor> tensors{};
  std::unordered_map<ir::ValueId, Dim> summed{};
  std::unordered_map<double, Dim> factors{};
  std::unordered_map<std::string, const Operand*> in_tree{};  // what the tree says of a tensor
  std::unordered_set<std::string> assumed{};                  // tensors whose shape is a guess

  Tracer(const Record& r, const Names& n, const NamedSizes& s, Import& i)
      : record(r), names(n), sizes(s), import(i) {
    for (const Operator* op : record.operators()) {
      for (const Operand& out : op->outputs) in_tree.emplace(op->tensor_of(out), &out);
    }
  }

  std::string where(const TracedOp& op) const {
    return str(names.file, ":", op.line.number, ": op ", op.name,
               op.type.empty() ? "" : " (" + op.type + ")", " ");
  }

  void declare() {
    const States states(record, names, sizes);
    for (const TracedOp& op : record.ops) {
      if (op.kind == OpKind::kInput) {
        const Tensor feed = b.feed(names.port(op.name), op.blob->dtype, sizes.feed(op.blob->shape));
        tensors.emplace(op.outputs[0].tensors[0], feed);
      } else if (op.kind == OpKind::kVariable) {
        const ir::ValueId id = b.graph().add_state(states.parameter(op.name, *op.blob));
        tensors.emplace(op.outputs[0].tensors[0], b.value(id));
      }
    }
    for (const TensorNote& note : record.tensors) {
      if (note.kind != TensorNote::kBuffer || tensors.count(note.name + "/out")) continue;
      const ir::ValueId id = b.graph().add_state(states.buffer(note.name, note.blob));
      tensors.emplace(note.name + "/out", b.value(id));
    }
  }

  /// The log's shape of a tensor, where it says one, must be what the op computes.
  void compare(const TracedOp& op, const std::string& tensor) const {
    const auto said = in_tree.find(tensor);
    if (said == in_tree.end()) return;
    const Sizes made = sizes_of(tensors.at(tensor).shape(), sizes.bindings());
    if (made == said->second->blob.shape) return;
    plait::fail(where(op), "makes ", tensor, " as ", shape_text(made), ", but the tree has ",
                shape_text(said->second->blob.shape));
  }

  /// Without a tree nothing says what an op that Plait lacks makes: the type of its first operand.
  ir::Type assumed_type(const TracedOp& op, const std::string& tensor) {
    for (const Port& port : op.inputs) {
      if (port.tensors.empty()) continue;
      if (assumed.empty()) {
        import.notes.push_back(str("no tree gives the shapes of what Plait lacks (first op ",
                                   op.name, "): they are taken from the first operand"));
      }
      assumed.insert(tensor);
      return tensors.at(port.tensors[0]).type();
    }
    plait::fail(where(op),
                "is of a type that Plait lacks, and neither a tree nor an operand gives "
                "its shapes");
  }

  bool reads_assumed(const TracedOp& op) const {
    for (const Port& port : op.inputs) {
      for (const std::string& tensor : port.tensors) {
        if (assumed.count(tensor)) return true;
      }
    }
    return false;
  }

  /// The rule's nodes; where an assumed shape does not fit the rule, one opaque node.
  void build(const OpRule& rule, const TracedOp& op) {
    const OpContext c{op, b, sizes, tensors, summed, factors, import, where(op)};
    if (!reads_assumed(op)) return rule.build(c);
    try {
      rule.build(c);
    } catch (const UserError&) {
      for (const Port& port : op.outputs) {
        for (const std::string& tensor : port.tensors) {
          if (tensors.count(tensor)) throw;  // made in part already
        }
      }
      add_unknown(op);
    }
    for (const Port& port : op.outputs) assumed.insert(port.tensors.begin(), port.tensors.end());
  }

  void add_unknown(const TracedOp& op) {
    std::vector<ir::Type> types;
    std::vector<std::string> outs;
    for (const Port& port : op.outputs) {
      for (const std::string& tensor : port.tensors) {
        const auto said = in_tree.find(tensor);
        types.push_back(said != in_tree.end()
                            ? ir::Type{said->second->blob.dtype, shape_of(said->second->blob.shape)}
                            : assumed_type(op, tensor));
        outs.push_back(tensor);
      }
    }
    ir::Node node{op.type, {}, {}, {}, b.path(), names.source(op.loc, op.line), true};
    for (const Port& port : op.inputs) {
      for (const std::string& tensor : port.tensors) {
        node.inputs.push_back(tensors.at(tensor).id());
      }
    }
    const ir::NodeId id = b.graph().add_node(std::move(node), types, outs);
    const std::vector<ir::ValueId> made = b.graph().node(id).outputs;
    for (std::size_t i = 0; i < made.size(); ++i) tensors.emplace(outs[i], b.value(made[i]));
  }

  void add(const TracedOp& op) {
    b.set_source(names.source(op.loc, op.line));
    b.set_path(names.path(op.name));
    const OpRule* rule = find_rule(op.type);
    if (!rule) {
      add_unknown(op);
    } else {
      build(*rule, op);
    }
    for (const Port& port : op.outputs) {
      for (const std::string& tensor : port.tensors) {
        if (!tensors.count(tensor)) {
          plait::fail(where(op), "has a result ", port.key, " that its type does not have");
        }
        compare(op, tensor);
      }
    }
  }

  void fetch() {
    for (const TracedOp& op : record.ops) {
      if (op.kind != OpKind::kOutput) continue;
      b.fetch(names.port(op.name), tensors.at(op.inputs[0].tensors[0]));
    }
    std::map<std::string, std::string> gradients = gradients_in_tree(record);
    gradients.merge(gradients_in_trace(record));
    std::size_t unknown = 0;
    for (const TracedOp& op : record.ops) {
      if (op.kind != OpKind::kVariable) continue;
      const auto at = gradients.find(op.name);
      const Tensor parameter = tensors.at(op.outputs[0].tensors[0]);
      if (at == gradients.end() || !(tensors.at(at->second).shape() == parameter.shape())) {
        ++unknown;
      } else {
        b.fetch("d_" + names.state(op.name), tensors.at(at->second));
      }
    }
    if (unknown > 0 && !gradients.empty()) {
      import.notes.push_back(str("the gradients of ", unknown,
                                 unknown == 1 ? " parameter was" : " parameters were",
                                 " not found"));
    }
  }

  void place() {
    const auto places = places_of(record);
    ir::Graph& graph = b.graph();
    for (const auto& [name, tensor] : tensors) {
      const auto at = places.find(name);
      if (at == places.end()) continue;
      ir::Type& type = graph.values[static_cast<std::size_t>(tensor.id())].type;
      const bool fits =
          std::all_of(at->second.axes.begin(), at->second.axes.end(),
                      [&](const ir::Layout& l) { return l.axis < std::max(type.rank(), 1); });
      if (fits) type.place = at->second;
    }
    for (ir::StateUse& use : graph.states) use.state.type = graph.type(use.value);
  }
};

}  // namespace

bool OpContext::has(std::string_view key) const {
  return std::any_of(op.inputs.begin(), op.inputs.end(),
                     [&](const Port& p) { return p.key == key; });
}

std::vector<Tensor> OpContext::list(std::string_view key) const {
  for (const Port& p : op.inputs) {
    if (p.key != key) continue;
    std::vector<Tensor> out;
    for (const std::string& t : p.tensors) out.push_back(tensors.at(t));
    return out;
  }
  wrong("has no operand ", key);
}

Tensor OpContext::in(std::string_view key) const {
  const std::vector<Tensor> out = list(key);
  if (out.size() != 1) wrong("has ", out.size(), " tensors as ", key, ", expected one");
  return out[0];
}

int OpContext::axis(std::int64_t value, int rank) const {
  if (value < -rank || value >= rank) wrong("names axis ", value, " of a tensor of rank ", rank);
  return static_cast<int>(value < 0 ? value + rank : value);
}

Tensor OpContext::add(std::string_view key, const Op& made, const std::vector<Tensor>& operands,
                      ir::Attrs attrs) const {
  std::string name;
  for (const Port& p : op.outputs) {
    if (p.key == key && !p.tensors.empty()) name = p.tensors[0];
  }
  const std::vector<Tensor> results = b.add(made, operands, std::move(attrs), {}, {name});
  if (!name.empty()) tensors.emplace(name, results[0]);
  return results[0];
}

ir::Graph traced_graph(const Record& record, const Names& names, const NamedSizes& sizes,
                       Import& import) {
  Tracer tracer(record, names, sizes, import);
  tracer.declare();
  for (const TracedOp& op : record.ops) {
    if (op.kind == OpKind::kUser) tracer.add(op);
  }
  tracer.fetch();
  tracer.place();
  return tracer.b.take();
}

}  // namespace plait::io::oneflow
