// What must hold between the parts of a record before anything else looks at it.
#include <unordered_map>
#include <unordered_set>

#include "base/dtype.h"
#include "base/text.h"
#include "io/megengine/index.h"
#include "io/megengine/read.h"

namespace plait::io::megengine {
namespace {

template <class... Parts>
[[noreturn]] void fail_at(const Record& record, const std::string& path, const Parts&... parts) {
  fail(record.file, ": graph_exec.", path, ": ", parts...);
}

struct Known {
  std::unordered_map<Id, const Operator*> ops;
  std::unordered_set<Id> vars;
  std::unordered_map<Id, const Operator*> maker;  // by var
};

void want_var(const Record& record, const Known& known, Id var, const std::string& path) {
  if (known.vars.contains(var)) return;
  fail_at(record, path, "there is no var ", var,
          known.ops.contains(var) ? "; it is an operator" : "");
}

void check_operators(const Record& record, Known& known) {
  for (const Operator& op : record.ops) {
    if (known.vars.contains(op.id)) {
      fail_at(record, str("operator.", op.id), "the id ", op.id,
              " is a var's too; ids of operators and vars are one space");
    }
    known.ops.emplace(op.id, &op);
  }
  for (const Operator& op : record.ops) {
    for (std::size_t i = 0; i < op.inputs.size(); ++i) {
      want_var(record, known, op.inputs[i], str("operator.", op.id, ".input[", i, "]"));
    }
    for (std::size_t i = 0; i < op.outputs.size(); ++i) {
      const std::string path = str("operator.", op.id, ".output[", i, "]");
      want_var(record, known, op.outputs[i], path);
      const auto [there, fresh] = known.maker.emplace(op.outputs[i], &op);
      if (!fresh) {
        fail_at(record, path, "var ", op.outputs[i], " is an output of operator ",
                there->second->id, " already; one operator makes a var");
      }
    }
    if (!op.waiting) continue;
    for (const auto& [comp_node, vars] : *op.waiting) {
      for (Id var : vars) want_var(record, known, var, str("operator.", op.id, ".waiting_spec"));
    }
  }
}

/// From the lowest byte that the plan reaches to the highest, in the chunk: strides may be
/// negative.
void check_plan(const Record& record, const Var& var,
                const std::unordered_map<std::string, const MemChunk*>& chunks) {
  const MemPlan& plan = *var.mem_plan;
  const std::string path = str("var.", var.id, ".mem_plan");
  const auto chunk = chunks.find(plan.chunk);
  if (chunk == chunks.end()) fail_at(record, path, "there is no chunk ", clipped(plan.chunk));
  const std::optional<DType> dtype = dtype_of(plan.layout.dtype);
  std::int64_t low = 0, high = 0;  // in elements from the offset
  bool fits = true;
  for (std::size_t i = 0; i < plan.layout.shape.size(); ++i) {
    if (plan.layout.shape[i] == 0) return;
    std::int64_t reach;
    fits = fits &&
           !__builtin_mul_overflow(plan.layout.shape[i] - 1, plan.layout.stride[i], &reach) &&
           reach <= kMostBytes && reach >= -kMostBytes;
    if (fits) (reach < 0 ? low : high) += reach;
  }
  const std::int64_t item = dtype ? static_cast<std::int64_t>(size_of(*dtype)) : 1;
  if (fits && plan.offset + low * item >= 0 &&
      plan.offset + (high + 1) * item <= chunk->second->bytes) {
    return;
  }
  fail_at(record, path, plan.layout.dtype, shape_text(plan.layout.shape), " at byte ", plan.offset,
          " does not lie in the chunk ", plan.chunk, " of ", chunk->second->bytes, " bytes");
}

void check_tag(const Record& record, const Known& known, const Var& var, const char* name,
               const std::optional<InferTag>& tag) {
  if (!tag) return;
  for (std::size_t i = 0; i < tag->deps.size(); ++i) {
    want_var(record, known, tag->deps[i].var,
             str("var.", var.id, ".static_infer_tags.", name, ".deps[", i, "].var"));
  }
}

void check_vars(const Record& record, const Known& known) {
  std::unordered_map<std::string, const MemChunk*> chunks;
  for (const MemChunk& chunk : record.chunks) {
    want_var(record, known, chunk.owner, str("mem_chunk.", chunk.id.substr(0, 40), ".owner_var"));
    chunks.emplace(chunk.id, &chunk);
  }
  for (const Var& var : record.vars) {
    const std::string path = str("var.", var.id);
    if (!known.maker.contains(var.id)) {
      fail_at(record, path, "is an output of no operator; was the operator cut out?");
    }
    if (var.force_update_src) {
      want_var(record, known, *var.force_update_src, path + ".force_update_src");
    }
    if (var.readonly_src)
      want_var(record, known, *var.readonly_src, path + ".mem_readonly_fwd_src");
    if (var.mem_plan) check_plan(record, var, chunks);
    check_tag(record, known, var, "VALUE", var.value);
    check_tag(record, known, var, "SHAPE", var.shape);
  }
}

void check_sequence(const Record& record, const Known& known) {
  if (record.comp_seq.empty()) {
    fail_at(record, "comp_seq", "is empty; expected the operators that ran, in order");
  }
  std::unordered_map<Id, std::size_t> place;
  for (std::size_t i = 0; i < record.comp_seq.size(); ++i) {
    const Id id = record.comp_seq[i];
    if (!known.ops.contains(id)) {
      fail_at(record, str("comp_seq[", i, "]"), "there is no operator ", id,
              known.vars.contains(id) ? "; it is a var" : "");
    }
    const auto [there, fresh] = place.emplace(id, i);
    if (!fresh) {
      fail_at(record, str("comp_seq[", i, "]"), "operator ", id, " stands at comp_seq[",
              there->second, "] already; an operator is launched once");
    }
  }
  for (std::size_t i = 0; i < record.comp_seq.size(); ++i) {
    for (Id in : known.ops.at(record.comp_seq[i])->inputs) {
      const auto maker = place.find(known.maker.at(in)->id);
      if (maker == place.end() || maker->second < i) continue;
      fail_at(record, str("comp_seq[", i, "]"), "operator ", record.comp_seq[i], " reads var ", in,
              ", which operator ", maker->first, " makes at comp_seq[", maker->second,
              "]; expected it before its reader");
    }
  }
}

template <class List>
void check_ops_of(const Record& record, const Known& known, std::string_view section,
                  const List& list) {
  for (const auto& item : list) {
    if (known.ops.contains(item.op)) continue;
    fail(record.file, ": ", section, ".", item.op, ": there is no operator ", item.op);
  }
}

}  // namespace

void check_graph(const Record& record) {
  Known known;
  for (const Var& var : record.vars) known.vars.insert(var.id);
  check_operators(record, known);
  check_vars(record, known);
  check_sequence(record, known);
}

void check_profiler(const Record& record) {
  if (!record.profiler) return;
  Known known;
  for (const Operator& op : record.ops) known.ops.emplace(op.id, &op);
  const Profiler& p = *record.profiler;
  if (p.host) check_ops_of(record, known, "profiler.host", *p.host);
  if (p.device) check_ops_of(record, known, "profiler.device", *p.device);
  if (p.footprints) {
    const bool top = record.footprints_on_top;
    check_ops_of(record, known, top ? "opr_footprint" : "profiler.opr_footprint", *p.footprints);
  }
}

}  // namespace plait::io::megengine
