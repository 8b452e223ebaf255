// Operators that Plait cannot run: nodes with the types that were recorded, and why.
#include <algorithm>

#include "base/error.h"
#include "base/text.h"
#include "io/megengine/translate.h"
#include "io/megengine/words.h"

namespace plait::io::megengine {
namespace {

/// What the operator reads and has a value here.
std::vector<Tensor> operands_of(const Call& c) {
  Translation& t = c.t;
  std::vector<Tensor> inputs;
  for (Id id : c.op.inputs) {
    const int var = t.index.var_of(id);
    const int maker = t.index.producer_of(var);
    const bool host = t.index.step[static_cast<std::size_t>(maker)] < 0;
    const Operator& op = t.index.op(maker);
    if (t.index.var(var).has_flag(kScratchFlag)) continue;
    if (host && !is_constant(op) && !is_feed(op)) continue;
    inputs.push_back(t.value_of(var));
  }
  return inputs;
}

/// The size of an input that `size` is: on the same axis rather than on another; else the number.
Dim named_size(const Translation& t, const std::vector<Tensor>& inputs, std::size_t axis,
               std::int64_t size) {
  const auto is_it = [&](const Dim& dim) {
    return !dim.is_const() && sizes_of({dim}, t.bindings)[0] == size;
  };
  for (const Tensor& x : inputs) {
    if (axis < x.shape().size() && is_it(x.shape()[axis])) return x.shape()[axis];
  }
  for (const Tensor& x : inputs) {
    for (const Dim& dim : x.shape()) {
      if (is_it(dim)) return dim;
    }
  }
  return Dim(size);
}

/// A recorded shape with names: those of an input of the same shape, or size by size.
Shape opaque_shape(const Translation& t, const std::vector<Tensor>& inputs, const Sizes& sizes) {
  for (const Tensor& x : inputs) {
    if (sizes_of(x.shape(), t.bindings) == sizes) return x.shape();
  }
  Shape shape = plait::shape_of(sizes);
  if (t.import.sizes.empty()) return shape;
  for (std::size_t i = 0; i < sizes.size(); ++i) shape[i] = named_size(t, inputs, i, sizes[i]);
  return shape;
}

ir::Attrs attrs_of(const Call& c) {
  ir::Attrs attrs;
  if (!c.params.known()) return attrs;
  if (is_opaque(c.op)) return own_attrs(c.params.json());
  const auto* object = c.params.json().as<Json::Object>();
  if (!object) return attrs;
  for (const Member& m : *object) {
    const auto* text = m.value.as<std::string>();
    attrs.set(m.key, text ? *text : json_text(m.value));
  }
  return attrs;
}

constexpr int kMostReasons = 8;

void add_misfit_notes(Translation& t) {
  int said = 0;
  for (const auto& [at, why] : t.misfits) {
    if (++said > kMostReasons) break;
    const Operator& op = t.index.op(at);
    t.import.notes.push_back(
        str("operator ", op.id, " (", clipped(op.type), ") cannot run: ", why));
  }
  const int more = static_cast<int>(t.misfits.size()) - kMostReasons;
  if (more > 0) t.import.notes.push_back(str("so it is with ", more, " more operators"));
}

}  // namespace

void add_opaque(Call& c) {
  Translation& t = c.t;
  const std::vector<Tensor> inputs = operands_of(c);
  ir::Node node{c.op.type, {}, {}, attrs_of(c), t.b.path(), source_of(c.op), true};
  for (const Tensor& x : inputs) node.inputs.push_back(x.id());
  if (c.results.empty()) {
    t.import.notes.push_back(
        str("operator ", c.op.id, " (", c.op.type, ") makes nothing and is left out"));
    return;
  }
  std::vector<ir::Type> types;
  std::vector<std::string> names;
  for (int var : c.results) {
    const std::optional<Sizes> sizes = shape_of(t.index, var);
    if (!sizes) fail("the shape of its output, var ", t.index.var(var).id, ", is recorded nowhere");
    const DType first = inputs.empty() ? DType::f32 : inputs[0].dtype();
    types.push_back({dtype_of(t.index, var).value_or(first), opaque_shape(t, inputs, *sizes)});
    const auto name = t.names_for(var);
    names.push_back(name.empty() ? t.b.graph().fresh_name("opaque") : name[0]);
  }
  const ir::NodeId id = t.b.graph().add_node(std::move(node), types, std::move(names));
  for (std::size_t i = 0; i < c.results.size(); ++i) {
    t.values[static_cast<std::size_t>(c.results[i])] = t.b.value(t.b.graph().node(id).outputs[i]);
  }
}

bool touches_foreign(const Index& index, const Operator& op) {
  const auto foreign = [&](Id id) {
    const Var& var = index.var(index.var_of(id));
    return !var.has_flag(kScratchFlag) && is_foreign(var);
  };
  return std::any_of(op.inputs.begin(), op.inputs.end(), foreign) ||
         std::any_of(op.outputs.begin(), op.outputs.end(), foreign);
}

void add_opaque_notes(Translation& t) {
  std::map<std::string, int> unknown, foreign;
  for (std::size_t i = 0; i < t.op_of_node.size(); ++i) {
    const ir::Node& node = t.b.graph().nodes[i];
    const int op = t.op_of_node[i];
    if (!node.opaque || t.misfits.contains(op)) continue;
    if (!touches_foreign(t.index, t.index.op(op))) ++unknown[node.op];
  }
  for (const auto& [op, count] : unknown) {
    t.import.notes.push_back(str("what ", clipped(op), " computes is not known here: ", count,
                                 count == 1 ? " node" : " nodes", " cannot run"));
  }
  add_misfit_notes(t);
  for (std::size_t v = 0; v < t.index.record.vars.size(); ++v) {
    const Var& var = t.index.record.vars[v];
    if (!t.values[v] || !is_foreign(var)) continue;
    const std::string& name = var.mem_plan->layout.dtype;
    ++foreign[name.substr(0, name.find('('))];
  }
  for (const auto& [name, count] : foreign) {
    t.import.notes.push_back(str("Plait has no dtype ", clipped(name), ": ",
                                 plait::name_of(stand_in(name)), " stands for it in ", count,
                                 count == 1 ? " var" : " vars",
                                 ", and what reads or makes one cannot run"));
  }
}

}  // namespace plait::io::megengine
