// The graph `final`.
#include "io/oneflow/final.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "base/text.h"
#include "io/oneflow/places.h"
#include "io/oneflow/states.h"

namespace plait::io::oneflow {
namespace {

struct Finisher {
  const Record& record;
  const Names& names;
  const States states;
  Import& import;
  ir::Graph graph{};
  std::unordered_map<std::string, ir::ValueId> values{};           // by tensor
  std::unordered_map<std::string, std::string> state_of{};         // state name by tensor
  std::unordered_map<std::string_view, Shape> named_shapes{};      // of the traced graph
  std::unordered_map<std::string_view, TensorNote::Kind> notes{};  // outermost, and states
  std::unordered_map<std::string_view, std::string> paths{};       // by operator
  std::unordered_map<std::string_view, const TracedOp*> traced{};
  DimBindings bindings{};

  void index(const ir::Graph* traced_graph) {
    if (traced_graph) {
      for (const ir::Value& v : traced_graph->values) named_shapes.emplace(v.name, v.type.shape);
    }
    for (const TracedOp& op : record.ops) traced.emplace(op.name, &op);
    std::vector<std::string> modules;
    for (const TreeLine& line : record.tree->lines) {
      modules.resize(std::min(modules.size(), static_cast<std::size_t>(line.depth)));
      if (const auto* module = std::get_if<ModuleNote>(&line.what)) {
        const bool root = module->name + "." == names.root;
        modules.push_back(root ? "" : names.state(module->name));
      } else if (const auto* op = std::get_if<Operator>(&line.what)) {
        paths.emplace(op->name, modules.empty() ? "" : modules.back());
      } else if (const auto* note = std::get_if<TensorNote>(&line.what)) {
        const bool state =
            note->kind == TensorNote::kParameter || note->kind == TensorNote::kBuffer;
        if (state || line.depth == 0) notes.emplace(note->name, note->kind);
      }
    }
  }

  bool is_note(const std::string& name, TensorNote::Kind kind) const {
    const auto at = notes.find(name);
    return at != notes.end() && at->second == kind;
  }

  /// By its note, or by the traced op of the same name, or by how the graph names its outputs.
  bool is_output(const Operator& op) const {
    if (is_note(op.name, TensorNote::kOutput)) return true;
    const auto at = traced.find(op.name);
    if (at != traced.end()) return at->second->kind == OpKind::kOutput;
    return op.name.starts_with("_" + record.tree->name + "_output.") && op.inputs.size() == 1;
  }

  /// The sizes as named ones: of the traced value, or of an operand of the same sizes.
  Shape shape_of_output(const std::string& tensor, const Sizes& sizes,
                        const std::vector<ir::ValueId>& inputs) const {
    const auto fits = [&](const Shape& shape) {
      return shape.size() == sizes.size() && sizes_of(shape, bindings) == sizes;
    };
    const auto at = named_shapes.find(tensor);
    if (at != named_shapes.end() && fits(at->second)) return at->second;
    for (ir::ValueId in : inputs) {
      if (fits(graph.type(in).shape)) return graph.type(in).shape;
    }
    return shape_of(sizes);
  }

  ir::Type type_of(const std::string& tensor, const Blob& blob, const Placement& placement,
                   const std::vector<ir::ValueId>& inputs) const {
    return {blob.dtype, shape_of_output(tensor, blob.shape, inputs),
            place_of(placement, blob.layouts)};
  }

  void add_state(const std::string& tensor, ir::State state, const ir::Place& place) {
    state.type.place = place;
    const std::string name = state.name;
    values[tensor] = graph.add_state(std::move(state));
    state_of.emplace(tensor, name);
  }

  /// Inputs and variables: operators without operands, written as the system's ops are.
  bool add_source(const Operator& op) {
    if (!op.inputs.empty() || op.outputs.size() != 1 || !op.outputs[0].bare) return false;
    const Blob& blob = op.outputs[0].blob;
    const std::string tensor = op.tensor_of(op.outputs[0]);
    const ir::Place place = place_of(op.placement, blob.layouts);
    const auto at = traced.find(op.name);
    const bool variable = at != traced.end() && at->second->kind == OpKind::kVariable;
    if (is_note(op.name, TensorNote::kInput)) {
      const std::string name = names.port(op.name);
      ir::Type type{blob.dtype, shape_of_output(name, blob.shape, {}), place};
      values[tensor] = graph.add_feed(name, std::move(type));
    } else if (variable || is_note(op.name, TensorNote::kParameter)) {
      add_state(tensor, states.parameter(op.name, blob), place);
    } else if (is_note(op.name, TensorNote::kBuffer)) {
      add_state(tensor, states.buffer(op.name, blob), place);
    } else {
      add_state(tensor, states.slot(op.name, blob), place);
    }
    return true;
  }

  /// Buffers that no operator reads have no operator either.
  void add_idle_buffers() {
    for (const TreeLine& line : record.tree->lines) {
      const auto* note = std::get_if<TensorNote>(&line.what);
      if (!note || note->kind != TensorNote::kBuffer || values.count(note->name + "/out")) continue;
      add_state(note->name + "/out", states.buffer(note->name, note->blob),
                place_of(note->placement, note->blob.layouts));
    }
  }

  /// What the run time makes and the tree does not show is fed.
  ir::ValueId operand(const Operator& op, const Operand& in) {
    const auto at = values.find(in.tensor);
    if (at != values.end()) return at->second;
    Blob blob = in.blob;
    if (blob.layouts.size() != op.placement.mesh.size()) {
      blob.layouts.assign(op.placement.mesh.size(), {});
    }
    import.notes.push_back(str(in.tensor,
                               " is made by the run time, outside the tree: it is a feed "
                               "of the graph final"));
    return values[in.tensor] =
               graph.add_feed(in.tensor, type_of(in.tensor, blob, op.placement, {}));
  }

  void add_node(const Operator& op, const std::string& extra) {
    ir::Node node{operator_type_of(op), {}, {}, {}, paths[op.name], {}, true};
    for (const Operand& in : op.inputs) node.inputs.push_back(operand(op, in));
    const auto added = values.find(extra);
    if (added != values.end()) node.inputs.push_back(added->second);
    const auto at = traced.find(op.name);
    node.source = names.source(at == traced.end() ? "" : at->second->loc, op.line);
    if (!op.attributes.empty()) node.attrs.set("attributes", op.attributes);
    std::vector<ir::Type> output_types;
    std::vector<std::string> output_names;
    for (const Operand& out : op.outputs) {
      output_names.push_back(op.tensor_of(out));
      output_types.push_back(type_of(output_names.back(), out.blob, op.placement, node.inputs));
    }
    std::vector<std::string> updated;
    if (op.outputs.empty()) updated = updated_states(op, node.op, output_types, output_names);
    if (output_types.empty()) {
      import.notes.push_back(str("operator ", op.name, " makes nothing and is left out"));
      return;
    }
    const ir::NodeId id = graph.add_node(std::move(node), output_types, output_names);
    const std::vector<ir::ValueId>& made = graph.node(id).outputs;
    for (std::size_t i = 0; i < made.size(); ++i) {
      if (op.outputs.empty()) {
        graph.nexts.push_back({updated[i], made[i]});
      } else {
        values[output_names[i]] = made[i];
      }
    }
    if (is_output(op)) graph.fetches.push_back({names.port(op.name), made[0]});
  }

  /// An operator without results changes the states it reads; an assignment the first alone.
  std::vector<std::string> updated_states(const Operator& op, const std::string& type,
                                          std::vector<ir::Type>& output_types,
                                          std::vector<std::string>& output_names) const {
    std::vector<std::string> updated;
    for (const Operand& in : op.inputs) {
      const auto at = state_of.find(in.tensor);
      if (at == state_of.end() || (type == "assign" && !updated.empty())) continue;
      if (std::find(updated.begin(), updated.end(), at->second) != updated.end()) continue;
      updated.push_back(at->second);
      output_types.push_back(graph.type(values.at(in.tensor)));
      output_names.push_back(op.name + "/" + at->second);
    }
    return updated;
  }

  std::string operator_type_of(const Operator& op) const {
    const auto at = traced.find(op.name);
    if (at != traced.end() && at->second->kind == OpKind::kUser) return at->second->type;
    return is_output(op) ? "output" : type_by_name(op);
  }
};

}  // namespace

std::string type_by_name(const Operator& op) {
  const std::string_view name = op.name;
  struct Ending {
    std::string_view text, type;
  };
  constexpr Ending kEndings[] = {
      {"-cast_f2h", "cast"},
      {"-cast_h2f", "cast"},
      {"-Identity", "identity"},
      {"-ScalarAdd", "scalar_add"},
      {"-Assign", "assign"},
      {"_pinned_identity", "identity"},
      {"adam_bias_correction_factor1", "adam_bias_correction_factor"},
      {"adam_bias_correction_factor2", "adam_bias_correction_factor"},
  };
  for (const Ending& e : kEndings) {
    if (name.ends_with(e.text)) return std::string(e.type);
  }
  if (name.starts_with("System-Boxing-Identity")) return "identity";
  if (name.ends_with("_optimizer")) {
    const auto moments = std::count_if(op.inputs.begin(), op.inputs.end(), [](const Operand& in) {
      return in.tensor.ends_with("-m/out") || in.tensor.ends_with("-v/out");
    });
    return moments == 2 ? "adam_update" : "update";
  }
  const std::string_view type = type_in_name(name);
  return type.empty() ? "operator" : std::string(type);
}

ir::Graph final_graph(const Record& record, const Names& names, const NamedSizes& sizes,
                      const ir::Graph* traced, Import& import) {
  Finisher f{record, names, States(record, names, sizes), import};
  f.graph.name = "final";
  f.bindings = sizes.bindings();
  f.index(traced);
  std::vector<HiddenInput> hidden = hidden_inputs(record);
  std::vector<const Operator*> order;
  try {
    order = execution_order(record, hidden);
  } catch (const UserError&) {
    hidden.clear();
    order = execution_order(record, hidden);
  }
  std::unordered_map<const Operator*, std::string> extra;
  for (const HiddenInput& h : hidden) extra.emplace(h.op, h.tensor);
  if (!hidden.empty()) {
    import.notes.push_back(str("the tree does not show the third operand of ", hidden.size(),
                               " operators that a pass fused a sum into (first ",
                               hidden[0].op->name, "): taken from the traced ops"));
  }
  std::vector<const Operator*> nodes;
  for (const Operator* op : order) {
    if (!f.add_source(*op)) nodes.push_back(op);
  }
  f.add_idle_buffers();
  for (const Operator* op : nodes) f.add_node(*op, extra[op]);
  return std::move(f.graph);
}

}  // namespace plait::io::oneflow
