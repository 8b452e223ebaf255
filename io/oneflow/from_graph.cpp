// A graph of ours as an annotated tree: modules from the nodes' paths, every operator with all its
// operands. Feeds, states, fetches and next values are operators of their own, as in the log.
#include <algorithm>
#include <map>
#include <unordered_set>

#include "base/error.h"
#include "base/text.h"
#include "io/oneflow/format.h"

namespace plait::io::oneflow {
namespace {

/// A literal of more elements is printed as its type.
constexpr std::int64_t kShownElements = 64;

std::string attribute_text(const ir::AttrValue& value) {
  const auto* literal = std::get_if<ir::Literal>(&value);
  if (literal && literal->array && element_count(literal->array->sizes()) > kShownElements) {
    return str(literal->array->dtype(), shape_text(literal->array->sizes()), "{...}");
  }
  return ir::attr_text(value);
}

/// Modules nested by their names, each with its lines.
struct ModuleTree {
  std::string name{};
  std::vector<TreeLine> lines{};  // depth is set when they are put in order
  std::vector<ModuleTree> below;
};

struct Describer {
  const ir::Graph& graph;
  ModuleTree root{};
  std::vector<std::string> tensors{};  // by value
  std::unordered_set<std::string> taken{};

  /// Names of the tree hold no blanks, commas or parentheses.
  static std::string clean(std::string_view text) {
    std::string out;
    for (char c : text) {
      const bool bad =
          c <= ' ' || c == 127 || std::string_view("(),[]").find(c) != std::string_view::npos;
      out += bad ? '_' : c;
    }
    return out.empty() ? "_" : out;
  }

  std::string fresh(const std::string& name) {
    std::string out = name;
    for (int i = 1; !taken.insert(out).second; ++i) out = str(name, "_", i);
    return out;
  }

  /// Nested by dots; the modules appear in the order of first use.
  ModuleTree& module(std::string_view path) {
    ModuleTree* at = &root;
    for (const std::string& part : split(path, '.')) {
      if (part.empty()) continue;
      const std::string name = clean(part);
      auto found = std::find_if(at->below.begin(), at->below.end(),
                                [&](const ModuleTree& m) { return m.name == name; });
      if (found == at->below.end()) {
        at->below.emplace_back().name = name;
        found = at->below.end() - 1;
      }
      at = &*found;
    }
    return *at;
  }

  Placement placement_of(const ir::Place& place) const {
    if (place.empty()) return {"cpu", {0}, {1}};
    if (place.mesh.size() > 2) {
      fail("oneflow: a mesh of ", place.mesh.size(), " axes cannot be written, only of one or two");
    }
    return {place.device, place.ranks, place.mesh};
  }

  Blob blob_of(const ir::Type& type, const std::string& where) const {
    Blob blob;
    blob.dtype = type.dtype;
    for (const Dim& d : type.shape) {
      if (!d.is_const()) {
        fail("oneflow: the size ", d, " of ", where, " is not a number. Give it one with --set");
      }
      blob.shape.push_back(d.value());
    }
    blob.layouts = type.place.empty() ? Layouts{{}} : type.place.axes;
    return blob;
  }

  Operand operand(ir::ValueId id, std::size_t layouts) const {
    Operand out;
    out.tensor = tensors[static_cast<std::size_t>(id)];
    out.blob = blob_of(graph.type(id), graph.value(id).name);
    if (graph.type(id).place.empty()) out.blob.layouts.assign(layouts, {});
    return out;
  }

  void add_note(ModuleTree& to, TensorNote::Kind kind, const std::string& name,
                const ir::Type& type) {
    TensorNote note;
    note.kind = kind;
    note.name = name;
    note.placement = placement_of(type.place);
    note.blob = blob_of(type, name);
    to.lines.push_back({0, std::move(note)});
  }

  /// `name() -> (out:...)`: a feed or a state.
  void add_source(ModuleTree& to, const std::string& name, ir::ValueId value) {
    Operator op;
    op.name = name;
    op.placement = placement_of(graph.type(value).place);
    tensors[static_cast<std::size_t>(value)] = name + "/out";
    Operand out = operand(value, 1);
    out.bare = true;
    op.outputs = {std::move(out)};
    to.lines.push_back({0, std::move(op)});
  }

  void add_feeds() {
    for (std::size_t i = 0; i < graph.feeds.size(); ++i) {
      const ir::Value& v = graph.value(graph.feeds[i]);
      const std::string name =
          fresh(str("_", clean(graph.name), "_input.0.", i, "_", clean(v.name)));
      add_note(root, TensorNote::kInput, name, v.type);
      add_source(root, name, graph.feeds[i]);
    }
  }

  void add_states() {
    for (const ir::StateUse& use : graph.states) {
      const std::string name = fresh(clean(use.state.name));
      const std::size_t dot = use.state.name.rfind('.');
      const bool shown = use.state.role == ir::Role::kParam || use.state.role == ir::Role::kBuffer;
      ModuleTree& to = module(dot == std::string::npos || !shown
                                  ? std::string_view()
                                  : std::string_view(use.state.name).substr(0, dot));
      if (shown) {
        add_note(to,
                 use.state.role == ir::Role::kParam ? TensorNote::kParameter : TensorNote::kBuffer,
                 name, use.state.type);
      }
      add_source(to, name, use.value);
    }
  }

  void add_node(std::size_t number) {
    const ir::Node& node = graph.nodes[number];
    Operator op;
    const std::string type = str(clean(node.op), "-", number);
    op.name = fresh(node.path.empty() ? type : clean(node.path) + "-" + type);
    op.placement = placement_of(graph.type(node.outputs[0]).place);
    const std::size_t axes = op.placement.mesh.size();
    for (ir::ValueId in : node.inputs) {
      if (in != ir::kNone) op.inputs.push_back(operand(in, axes));
    }
    for (ir::ValueId out : node.outputs) {
      const std::string name = clean(graph.value(out).name);
      const bool whole = name.find('/') != std::string::npos;
      tensors[static_cast<std::size_t>(out)] = fresh(whole ? name : op.name + "/" + name);
      op.outputs.push_back(operand(out, axes));
      if (!(placement_of(graph.type(out).place) == op.placement)) {
        fail("oneflow: the results of ", ir::describe(graph, node),
             " have different placements; an operator of the tree has one");
      }
    }
    std::vector<std::string> attributes;
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      if (node.inputs[i] == ir::kNone) attributes.push_back(str("absent=", i));
    }
    for (const auto& [key, value] : node.attrs)
      attributes.push_back(key + "=" + attribute_text(value));
    op.attributes = join(attributes, ", ");
    module(node.path).lines.push_back({0, std::move(op)});
  }

  void add_results() {
    for (const ir::NextState& next : graph.nexts) {
      Operator op;
      op.name = fresh(clean(next.state) + "-Assign");
      const ir::ValueId state = graph.find_state(next.state)->value;
      op.placement = placement_of(graph.type(state).place);
      op.inputs = {operand(state, op.placement.mesh.size()),
                   operand(next.value, op.placement.mesh.size())};
      root.lines.push_back({0, std::move(op)});
    }
    for (std::size_t i = 0; i < graph.fetches.size(); ++i) {
      const ir::Fetch& fetch = graph.fetches[i];
      Operator op;
      op.name = fresh(str("_", clean(graph.name), "_output.0.", i, "_", clean(fetch.name)));
      op.placement = placement_of(graph.type(fetch.value).place);
      op.inputs = {operand(fetch.value, op.placement.mesh.size())};
      op.inputs[0].bare = true;
      op.outputs = op.inputs;
      op.outputs[0].tensor = op.name + "/out";
      const std::string name = op.name;
      root.lines.push_back({0, std::move(op)});
      add_note(root, TensorNote::kOutput, name, graph.type(fetch.value));
    }
  }
};

/// Notes first, then the modules, then the operators, as the log has them.
void flatten(ModuleTree& module, const std::string& path, int depth, std::vector<TreeLine>& out) {
  const auto put = [&](bool notes) {
    for (TreeLine& line : module.lines) {
      const auto* note = std::get_if<TensorNote>(&line.what);
      const bool before = note && note->kind != TensorNote::kOutput;
      if (before != notes) continue;
      line.depth = depth;
      out.push_back(std::move(line));
    }
  };
  put(true);
  for (ModuleTree& below : module.below) {
    const std::string whole = path.empty() ? below.name : path + "." + below.name;
    out.push_back({depth, ModuleNote{whole, "Module()"}});
    flatten(below, whole, depth + 1, out);
  }
  put(false);
}

}  // namespace

Record from_graph(const ir::Graph& graph) {
  Describer d{graph};
  d.tensors.resize(graph.values.size());
  d.add_feeds();
  d.add_states();
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) d.add_node(i);
  d.add_results();
  Record record;
  record.tree.emplace();
  record.tree->name = Describer::clean(graph.name);
  std::replace(record.tree->name.begin(), record.tree->name.end(), ':', '_');
  record.tree->type = "Graph";
  flatten(d.root, "", 0, record.tree->lines);
  record.missing = {"the traced ops", "the compile passes", "the plan's memory",
                    "the training lines"};
  return record;
}

}  // namespace plait::io::oneflow
