// Record to graph: the operators of the sequence, one after the other.
#include <algorithm>
#include <map>
#include <unordered_set>

#include "base/error.h"
#include "base/text.h"
#include "io/megengine/format.h"
#include "io/megengine/translate.h"
#include "io/megengine/words.h"
#include "ops/table.h"
#include "ops/verify.h"

namespace plait::io::megengine {
namespace {

bool is_scratch(const Translation& t, int var) { return t.index.var(var).has_flag(kScratchFlag); }

/// Vars of an operator that hold results.
std::vector<int> results_of(const Translation& t, const Operator& op) {
  std::vector<int> out;
  for (Id id : op.outputs) {
    const int var = t.index.var_of(id);
    if (!is_scratch(t, var)) out.push_back(var);
  }
  return out;
}

/// A recorded shape with names: those of an input of the same shape.
Shape opaque_shape(const Translation& t, const std::vector<Tensor>& inputs, const Sizes& sizes) {
  for (const Tensor& x : inputs) {
    if (sizes_of(x.shape(), t.bindings) == sizes) return x.shape();
  }
  if (!t.import.sizes.empty()) fail("how its result follows from named sizes is not known");
  return plait::shape_of(sizes);
}

/// A node that cannot run, with the types that were recorded.
void add_opaque(Call& c) {
  Translation& t = c.t;
  ir::Node node{c.op.type, {}, {}, {}, t.b.path(), source_of(c.op, t.index.record.file), true};
  std::vector<Tensor> inputs;
  for (Id id : c.op.inputs) {
    const int var = t.index.var_of(id);
    const int maker = t.index.producer_of(var);
    const bool host = t.index.step[static_cast<std::size_t>(maker)] < 0;
    const Operator& op = t.index.op(maker);
    if (is_scratch(t, var) || (host && !is_constant(op) && !is_feed(op))) continue;
    inputs.push_back(t.value_of(var));
    node.inputs.push_back(inputs.back().id());
  }
  if (c.params.known()) {
    const auto* object = c.params.json().as<Json::Object>();
    if (is_opaque(c.op)) {
      node.attrs = own_attrs(c.params.json());
    } else if (object) {
      for (const Member& m : *object) {
        const auto* text = m.value.as<std::string>();
        node.attrs.set(m.key, text ? *text : json_text(m.value));
      }
    }
  }
  std::vector<ir::Type> types;
  std::vector<std::string> names;
  const std::vector<int> results = results_of(t, c.op);
  if (results.empty()) {
    t.import.notes.push_back(
        str("operator ", c.op.id, " (", c.op.type, ") makes nothing and is left out"));
    return;
  }
  for (int var : results) {
    const std::optional<Sizes> sizes = shape_of(t.index, var);
    if (!sizes) fail("the shape of its output, var ", t.index.var(var).id, ", is recorded nowhere");
    const DType first = inputs.empty() ? DType::f32 : inputs[0].dtype();
    types.push_back({dtype_of(t.index, var).value_or(first), opaque_shape(t, inputs, *sizes)});
    const auto name = t.names_for(var);
    names.push_back(name.empty() ? t.b.graph().fresh_name("opaque") : name[0]);
  }
  const ir::NodeId id = t.b.graph().add_node(std::move(node), types, std::move(names));
  for (std::size_t i = 0; i < results.size(); ++i) {
    t.values[static_cast<std::size_t>(results[i])] = t.b.value(t.b.graph().node(id).outputs[i]);
  }
}

/// UserError unless what a node computes is what was recorded.
void check_shape(const Translation& t, int var) {
  const std::optional<Sizes> recorded = shape_of(t.index, var);
  const Tensor value = t.values[static_cast<std::size_t>(var)];
  if (!recorded || !value) return;
  const Sizes computed = sizes_of(value.shape(), t.bindings);
  if (computed == *recorded) return;
  fail("its output, var ", t.index.var(var).id, ", is recorded as ", shape_text(*recorded),
       ", it computes ", shape_text(computed));
}

void add_operator(Call& c) {
  Translation& t = c.t;
  const std::vector<int> results = results_of(t, c.op);
  const Op* own = is_opaque(c.op) ? nullptr : find_op(c.op.type);
  const Rule rule = is_opaque(c.op) ? nullptr : rule_for(c.op.type);
  if (own) {
    const std::vector<Tensor> outputs = own_op(c, *own);
    for (std::size_t i = 0; i < std::min(outputs.size(), results.size()); ++i) {
      t.values[static_cast<std::size_t>(results[i])] = outputs[i];
    }
  } else if (const auto y = rule && !results.empty() ? rule(c) : std::nullopt) {
    t.values[static_cast<std::size_t>(results[0])] = *y;
  } else {
    add_opaque(c);
  }
  for (int var : results) check_shape(t, var);
}

/// `output_callback(...)[12]` is MegEngine's own name for a callback without one.
void add_fetch(Translation& t, const Operator& op, std::unordered_set<std::string>& taken) {
  const bool automatic = op.name.empty() || op.name.starts_with("output_callback(");
  for (Id in : op.inputs) {
    std::string name = automatic ? "output" : op.name;
    for (int i = 1; !taken.insert(name).second; ++i) {
      name = str(automatic ? "output" : op.name, i);
    }
    t.b.fetch(name, t.value_of(t.index.var_of(in)));
  }
}

/// Without callbacks: what nothing reads.
void fetch_unread(Translation& t) {
  for (Id id : t.index.record.comp_seq) {
    const Operator& op = t.index.op(t.index.op_of(id));
    if (is_constant(op) || is_feed(op)) continue;
    for (int var : results_of(t, op)) {
      const Tensor value = t.values[static_cast<std::size_t>(var)];
      if (!value || !t.index.readers[static_cast<std::size_t>(var)].empty()) continue;
      if (t.index.var(var).force_update_src) continue;
      t.b.fetch(t.b.graph().value(value.id()).name, value);
    }
  }
}

/// A var that overwrites a state is that state's next value.
void add_nexts(Translation& t) {
  for (std::size_t i = 0; i < t.index.record.vars.size(); ++i) {
    const Var& var = t.index.record.vars[i];
    if (!var.force_update_src || !t.values[i]) continue;
    const Tensor state = t.values[static_cast<std::size_t>(t.index.var_of(*var.force_update_src))];
    const ir::StateUse* use =
        state ? t.b.graph().find_state(t.b.graph().value(state.id()).name) : nullptr;
    if (!use || use->value != state.id()) {
      t.import.notes.push_back(str("var ", var.id, " overwrites var ", *var.force_update_src,
                                   ", which is no state; the update is left out"));
      continue;
    }
    t.b.next(use->state.name, t.values[i]);
  }
}

void add_sequence(Translation& t) {
  std::unordered_set<std::string> fetched;
  for (Id id : t.index.record.comp_seq) {
    const int at = t.index.op_of(id);
    const Operator& op = t.index.op(at);
    t.b.set_source(source_of(op, t.index.record.file));
    t.b.set_path(path_of(op));
    try {
      if (op.type == "OutputCallback") {
        add_fetch(t, op, fetched);
      } else if (is_constant(op) || is_feed(op)) {
        // An input callback has a second output, which only says that it was called.
        const std::vector<int> results = results_of(t, op);
        for (int var : results) {
          if (var == results[0] || shape_of(t.index, var)) t.value_of(var);
        }
      } else {
        Call call{t, op, at,
                  Params(t.index.record, op, t.index.footprint[static_cast<std::size_t>(at)])};
        add_operator(call);
      }
    } catch (const UserError& e) {
      const std::string_view what = e.what();
      if (what.starts_with(t.index.record.file + ": ")) throw;
      fail(t.index.record.file, ": operator ", op.id, " (", op.type, "): ", what);
    }
  }
  if (fetched.empty()) fetch_unread(t);
}

Import translated(const Index& index, Naming naming) {
  Translation t(index, naming);
  add_sequence(t);
  add_nexts(t);
  std::map<std::string, int> unknown;
  for (const ir::Node& node : t.b.graph().nodes) unknown[node.op] += node.opaque ? 1 : 0;
  for (const auto& [op, count] : unknown) {
    if (count == 0) continue;
    t.import.notes.push_back(str("what ", clipped(op), " computes is not known here: ", count,
                                 count == 1 ? " node" : " nodes", " cannot run"));
  }
  t.import.package.graphs.push_back(t.b.take());
  return std::move(t.import);
}

/// The largest side of an image among the feeds; 0 where none is one.
std::int64_t largest_image(const Index& index) {
  std::int64_t most = 0;
  for (std::size_t v = 0; v < index.record.vars.size(); ++v) {
    if (!is_feed(index.record.ops[static_cast<std::size_t>(index.producer[v])])) continue;
    const std::optional<Sizes> sizes = shape_of(index, static_cast<int>(v));
    if (sizes && sizes->size() == 4) most = std::max({most, (*sizes)[1], (*sizes)[2], (*sizes)[3]});
  }
  return most;
}

/// With names for batch and image. Windows without padding need an image of some size: the smallest
/// power of two that does. Where none does, with a name for the batch alone.
Import with_names(const Index& index) {
  const std::int64_t largest = std::min<std::int64_t>(largest_image(index), 1024);
  for (std::int64_t image = 1; image <= largest; image *= 2) {
    try {
      Import import = translated(index, {.batch = true, .image = image});
      verify_types(import.package.graphs[0]);
      verify_types(substitute(import.package.graphs[0], import.bindings()));
      return import;
    } catch (const UserError&) {
      continue;
    }
  }
  return translated(index, {.batch = true, .image = 0});
}

}  // namespace

Import to_graphs(const Record& record) {
  const Index index(record);
  return import_with_sizes(
      [&](bool named) { return named ? with_names(index) : translated(index, {}); });
}

}  // namespace plait::io::megengine
