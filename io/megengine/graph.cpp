// Record to graph: the operators of the sequence, one after the other.
#include <algorithm>
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

/// Which of the results a rule computes: the first; of a batch norm, which makes statistics too,
/// the last that is shaped like its operand.
int main_result(const Translation& t, const Operator& op, const std::vector<int>& results) {
  if (results.empty()) return -1;
  if (op.type != "BatchNormForward" || op.inputs.empty()) return results[0];
  const std::optional<Sizes> shape = shape_of(t.index, t.index.var_of(op.inputs[0]));
  const auto found = std::find_if(results.rbegin(), results.rend(), [&](int var) {
    return shape && shape_of(t.index, var) == shape;
  });
  return found == results.rend() ? results[0] : *found;
}

/// Whether anything needs a result that rules do not compute.
bool needs_more_than_the_result(const Call& c) {
  return std::any_of(c.results.begin(), c.results.end(), [&](int var) {
    const bool read = !c.t.index.readers[static_cast<std::size_t>(var)].empty();
    return var != c.result && (read || c.t.index.var(var).force_update_src);
  });
}

/// How what a node computes differs from what was recorded; empty where it does not.
std::string why_not_as_recorded(const Translation& t, int var) {
  const std::optional<Sizes> recorded = shape_of(t.index, var);
  const Tensor value = t.values[static_cast<std::size_t>(var)];
  if (!recorded || !value) return "";
  const Sizes computed = sizes_of(value.shape(), t.bindings);
  if (computed == *recorded) return "";
  return str("its output, var ", t.index.var(var).id, ", is recorded as ", shape_text(*recorded),
             ", it computes ", shape_text(computed));
}

void add_own(Call& c, const Op& op) {
  const std::vector<Tensor> outputs = own_op(c, op);
  for (std::size_t i = 0; i < std::min(outputs.size(), c.results.size()); ++i) {
    c.t.values[static_cast<std::size_t>(c.results[i])] = outputs[i];
  }
  for (int var : c.results) {
    if (const std::string why = why_not_as_recorded(c.t, var); !why.empty()) fail(why);
  }
}

bool has_integer_operand(const Call& c) {
  for (Id id : c.op.inputs) {
    const Tensor x = c.t.values[static_cast<std::size_t>(c.t.index.var_of(id))];
    if (x && !is_float(x.dtype())) return true;
  }
  return false;
}

/// Plait's ops take fewer integers than MegEngine's: what they refuse is a misfit, not a mistake.
std::optional<Tensor> by_rule(Call& c, Rule rule) {
  try {
    return rule(c);
  } catch (const UserError& e) {
    if (!c.t.found || !has_integer_operand(c)) throw;
    if (std::string_view(e.what()).starts_with(c.t.index.record.file + ": ")) throw;
    c.t.found->emplace(c.at, e.what());
    return std::nullopt;
  }
}

/// A shape other than recorded is a misfit: another version may mean more by the type than its rule
/// does. Elementwise it cannot be.
void check_result(Call& c) {
  const std::string why = why_not_as_recorded(c.t, c.result);
  if (why.empty()) return;
  if (!c.t.found || c.op.type == "Elemwise") fail(why);
  c.t.found->emplace(c.at, why);
  add_opaque(c);
}

void add_operator(Call& c) {
  Translation& t = c.t;
  const bool known =
      !is_opaque(c.op) && !t.misfits.contains(c.at) && !touches_foreign(t.index, c.op);
  if (const Op* own = known ? find_op(c.op.type) : nullptr) {
    add_own(c, *own);
    return;
  }
  const bool ruled = known && c.result >= 0 && !needs_more_than_the_result(c);
  const Rule rule = ruled ? rule_for(c.op.type) : nullptr;
  if (const auto y = rule ? by_rule(c, rule) : std::nullopt) {
    t.values[static_cast<std::size_t>(c.result)] = *y;
    check_result(c);
  } else {
    add_opaque(c);
  }
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
    t.b.set_source(source_of(op));
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
        Call call{t,
                  op,
                  at,
                  Params(t.index.record, op, t.index.footprint[static_cast<std::size_t>(at)]),
                  results_of(t, op),
                  -1};
        call.result = main_result(t, op, call.results);
        add_operator(call);
      }
    } catch (const UserError& e) {
      const std::string_view what = e.what();
      if (what.starts_with(t.index.record.file + ": ")) throw;
      fail(t.index.record.file, ": operator ", op.id, " (", op.type, "): ", what);
    }
    t.op_of_node.resize(t.b.graph().nodes.size(), at);
  }
  if (fetched.empty()) fetch_unread(t);
}

Import translated(const Index& index, Naming naming, const Misfits& misfits) {
  Translation t(index, naming, misfits);
  add_sequence(t);
  add_nexts(t);
  add_opaque_notes(t);
  t.import.package.graphs.push_back(t.b.take());
  return std::move(t.import);
}

/// Of the whole sequence at once: each of them goes on as opaque, so the rest is what it will be.
Misfits misfits_of(const Index& index) {
  const Misfits none;
  Misfits found;
  Translation t(index, {}, none);
  t.found = &found;
  add_sequence(t);
  return found;
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
Import with_names(const Index& index, const Misfits& misfits) {
  std::string why;
  const std::int64_t largest = std::min<std::int64_t>(largest_image(index), 1024);
  for (std::int64_t image = 1; image <= largest; image *= 2) {
    try {
      Import import = translated(index, {.batch = true, .image = image}, misfits);
      verify_types(import.package.graphs[0]);
      verify_types(substitute(import.package.graphs[0], import.bindings()));
      return import;
    } catch (const UserError& e) {
      why = e.what();
    }
  }
  Import import = translated(index, {.batch = true, .image = 0}, misfits);
  if (!why.empty()) import.notes.push_back("the image has no name for --set: " + why);
  return import;
}

}  // namespace

Import to_graphs(const Record& record) {
  const Index index(record);
  const Misfits misfits = misfits_of(index);
  return import_with_sizes([&](bool named) {
    return named ? with_names(index, misfits) : translated(index, {}, misfits);
  });
}

Trace traced(const Record& record) {
  const Index index(record);
  const Misfits misfits = misfits_of(index);
  Translation t(index, {}, misfits);
  add_sequence(t);
  return {t.b.take(), std::move(t.op_of_node)};
}

}  // namespace plait::io::megengine
