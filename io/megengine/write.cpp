// Record to text, with the keys in MegEngine's order.
#include "io/megengine/format.h"

namespace plait::io::megengine {
namespace {

using Object = Json::Object;
using Array = Json::Array;

Json id_json(Id id) { return std::to_string(id); }

Json ids_json(const std::vector<Id>& ids) {
  Array out;
  for (Id id : ids) out.push_back(id_json(id));
  return out;
}

Json sizes_json(const Sizes& sizes) { return Array(sizes.begin(), sizes.end()); }

Json shapes_json(const std::vector<Sizes>& shapes) {
  Array out;
  for (const Sizes& sizes : shapes) out.push_back(sizes_json(sizes));
  return out;
}

template <class T>
Json or_null(const std::optional<T>& x) {
  return x ? Json(*x) : Json();
}

Json id_or_null(const std::optional<Id>& id) { return id ? id_json(*id) : Json(); }

/// What was read and not known, behind what is.
Json with(Object object, const Others& others) {
  object.insert(object.end(), others.begin(), others.end());
  return object;
}

Json timings_json(const std::vector<Timing>& timings) {
  Object out;
  for (const Timing& t : timings) {
    Object places;
    for (const auto& [place, span] : t.by_place) {
      places.push_back(
          {place, Object{{"end", span.end}, {"kern", span.kern}, {"start", span.start}}});
    }
    out.push_back({std::to_string(t.op), std::move(places)});
  }
  return out;
}

Json footprints_json(const std::vector<Footprint>& footprints) {
  Object out;
  for (const Footprint& f : footprints) {
    out.push_back({std::to_string(f.op), with({{"param", f.param},
                                               {"out_shapes", shapes_json(f.out_shapes)},
                                               {"in_shapes", shapes_json(f.in_shapes)},
                                               {"memory", f.memory},
                                               {"computation", or_null(f.computation)}},
                                              f.others)});
  }
  return out;
}

Json profiler_json(const Profiler& p, bool with_footprints) {
  Object out;
  if (p.internal) out.push_back({"opr_internal_pf", *p.internal});
  if (p.host) out.push_back({"host", timings_json(*p.host)});
  if (p.footprints && with_footprints) {
    out.push_back({"opr_footprint", footprints_json(*p.footprints)});
  }
  if (p.device) out.push_back({"device", timings_json(*p.device)});
  return with(std::move(out), p.others);
}

Json operator_json(const Operator& op) {
  Json waiting;
  if (op.waiting) {
    Object by_node;
    for (const auto& [comp_node, vars] : *op.waiting)
      by_node.push_back({comp_node, ids_json(vars)});
    waiting = std::move(by_node);
  }
  return with({{"waiting_spec", std::move(waiting)},
               {"output", ids_json(op.outputs)},
               {"input", ids_json(op.inputs)},
               {"type", op.type},
               {"name", op.name},
               {"id", id_json(op.id)},
               {"extra", op.extra},
               {"node_type", "operator"}},
              op.others);
}

Json plan_json(const MemPlan& plan) {
  return Object{{"offset_byte", plan.offset},
                {"layout", Object{{"dtype", plan.layout.dtype},
                                  {"stride", sizes_json(plan.layout.stride)},
                                  {"shape", sizes_json(plan.layout.shape)}}},
                {"mem_chunk_id", plan.chunk}};
}

Json tag_json(const InferTag& tag) {
  Array deps;
  for (const InferTag::Dep& dep : tag.deps) {
    deps.push_back(Object{{"dep_type", dep.kind}, {"var", id_json(dep.var)}});
  }
  return Object{{"deps", std::move(deps)},
                {"inferred_result", tag.result},
                {"infer_type", tag.infer_type},
                {"node_type", "static_infer_tag"}};
}

Json var_json(const Var& var) {
  Object tags;
  if (var.value) tags.push_back({"VALUE", tag_json(*var.value)});
  if (var.shape) tags.push_back({"SHAPE", tag_json(*var.shape)});
  Object out;
  if (var.prev_dev_ptr_end) out.push_back({"prev_dev_ptr_end", *var.prev_dev_ptr_end});
  const Object rest{{"flag", Array(var.flags.begin(), var.flags.end())},
                    {"comp_node", var.comp_node},
                    {"prev_dev_ptr", var.prev_dev_ptr},
                    {"force_update_src", id_or_null(var.force_update_src)},
                    {"dev_ptr", or_null(var.dev_ptr)},
                    {"mem_plan", var.mem_plan ? plan_json(*var.mem_plan) : Json()},
                    {"mem_readonly_fwd_src", id_or_null(var.readonly_src)},
                    {"name", var.name},
                    {"static_infer_tags", std::move(tags)},
                    {"id", id_json(var.id)},
                    {"node_type", "var"}};
  out.insert(out.end(), rest.begin(), rest.end());
  return with(std::move(out), var.others);
}

Json chunk_json(const MemChunk& chunk) {
  return with({{"dev_ptr", or_null(chunk.dev_ptr)},
               {"owner_var", id_json(chunk.owner)},
               {"size", chunk.bytes},
               {"id", chunk.id},
               {"node_type", "mem_chunk"}},
              chunk.others);
}

Json graph_json(const Record& record) {
  Object chunks, vars, ops;
  for (const MemChunk& chunk : record.chunks) chunks.push_back({chunk.id, chunk_json(chunk)});
  for (const Var& var : record.vars) vars.push_back({std::to_string(var.id), var_json(var)});
  for (const Operator& op : record.ops) ops.push_back({std::to_string(op.id), operator_json(op)});
  return with({{"comp_seq", ids_json(record.comp_seq)},
               {"mem_chunk", std::move(chunks)},
               {"var", std::move(vars)},
               {"operator", std::move(ops)}},
              record.graph_others);
}

}  // namespace

std::string write(const Record& record) {
  Object out;
  if (record.profiler) {
    const Profiler& p = *record.profiler;
    const bool top = record.footprints_on_top && p.footprints;
    if (top) out.push_back({"opr_footprint", footprints_json(*p.footprints)});
    const bool more = p.internal || p.host || p.device || !p.others.empty();
    if (!top || more) out.push_back({"profiler", profiler_json(p, !top)});
  }
  out.push_back({"graph_exec", graph_json(record)});
  return json_text(with(std::move(out), record.others));
}

}  // namespace plait::io::megengine
