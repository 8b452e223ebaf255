// A profile in MegEngine's schema: when every step ran, what it moved and computed, where every
// buffer lay. A step may be several nodes fused, for which MegEngine has no word: each is marked
// `opaque`, so that readers take its types as they stand.
#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "base/dtype.h"
#include "base/error.h"
#include "profile/measures.h"
#include "profile/sequence.h"

namespace plait::profile {
namespace {

using Json = nlohmann::ordered_json;
using Sizes = std::vector<std::int64_t>;

constexpr const char* kThread = "walker";
constexpr std::int64_t kArenaBase = 4096;  // addresses count from here: 0 would mean none

// In the order of DType.
constexpr std::array<const char*, kDTypeCount> kDTypes{"Float64", "Float32", "Float16", "BFloat16",
                                                       "Int64",   "Int32",   "Int16",   "Int8",
                                                       "Uint8",   "Bool"};

// In the order of Kind; a step says its own.
constexpr std::array<const char*, 5> kTypes{"", "ImmutableTensor", "SharedDeviceTensor",
                                            "Host2DeviceCopy", "OutputCallback"};

std::string id_text(std::int64_t id) { return std::to_string(id); }

DType dtype_of(const BufferInfo& buffer) {
  const std::optional<DType> dtype = dtype_named(buffer.dtype);
  check(dtype.has_value(), "buffer ", buffer.name, " has the dtype ", buffer.dtype);
  return *dtype;
}

/// From the first element to the last, in rows.
std::int64_t dense_bytes(const BufferInfo& buffer) {
  auto bytes = static_cast<std::int64_t>(size_of(dtype_of(buffer)));
  for (std::int64_t size : buffer.shape) bytes *= size;
  return bytes;
}

Sizes strides_of(const Sizes& shape) {
  Sizes out(shape.size(), 1);
  for (std::size_t i = shape.size(); i-- > 1;) out[i - 1] = out[i] * shape[i];
  return out;
}

class Writer {
 public:
  explicit Writer(const Profile& profile)
      : p_(profile), run_(median_run(profile)), seq_(sequence_of(profile)) {
    for (std::size_t v = 0; v < seq_.vars.size() && arena_owner_ < 0; ++v) {
      if (seq_.vars[v].buffer >= 0 && in_arena(buffer_of(seq_.vars[v]))) {
        arena_owner_ = seq_.vars[v].id;
      }
    }
  }

  Json profiler() const {
    Json host = Json::object(), device = Json::object(), footprints = Json::object();
    std::int64_t until = run_ ? run_->whole.begin_ns : 0;
    for (const Operator& op : seq_.ops) {
      footprints[id_text(op.id)] = footprint(op);
      if (!run_) continue;
      const Span span = span_of(op, until);
      device[id_text(op.id)][comp_node()] = times(span.begin_ns, span.begin_ns, span.end_ns);
      // The host's share of a step is the way to it: from the end of the one before.
      host[id_text(op.id)][kThread] = times(until, span.begin_ns, span.begin_ns);
      until = span.end_ns;
    }
    Json out = {{"opr_internal_pf", Json::object()}};
    if (run_) out["host"] = std::move(host);
    out["opr_footprint"] = std::move(footprints);
    if (run_) out["device"] = std::move(device);
    return out;
  }

  Json graph_exec() const {
    Json sequence = Json::array(), chunks = Json::object(), vars = Json::object(),
         ops = Json::object();
    for (const Var& var : seq_.vars) {
      vars[id_text(var.id)] = var_json(var);
      add_chunk(chunks, var);
    }
    for (std::size_t i = 0; i < seq_.ops.size(); ++i) {
      sequence.push_back(id_text(seq_.ops[i].id));
      ops[id_text(seq_.ops[i].id)] = operator_json(i);
    }
    return {{"comp_seq", std::move(sequence)},
            {"mem_chunk", std::move(chunks)},
            {"var", std::move(vars)},
            {"operator", std::move(ops)}};
  }

 private:
  const Var& var_at(int v) const { return seq_.vars[static_cast<std::size_t>(v)]; }
  const BufferInfo& buffer_of(const Var& var) const {
    return p_.buffers[static_cast<std::size_t>(var.buffer)];
  }
  const StepInfo& step_of(const Operator& op) const {
    return p_.steps[static_cast<std::size_t>(op.step)];
  }
  const char* comp_node() const { return p_.device.empty() ? "cpu0:0" : "gpu0:0"; }
  static bool in_arena(const BufferInfo& buffer) { return !buffer.is_state && buffer.offset >= 0; }
  /// The first version of a buffer, which owns its memory.
  const Var& owner_of(const Var& var) const {
    const Var* at = &var;
    while (at->before >= 0) at = &var_at(at->before);
    return *at;
  }

  /// Nothing is launched for what is no step: a span of no length, fetches at the end of the run.
  Span span_of(const Operator& op, std::int64_t until) const {
    if (op.step >= 0) return run_->steps[static_cast<std::size_t>(op.step)];
    const std::int64_t at = op.kind == Kind::kFetch ? run_->whole.end_ns : until;
    return {at, at};
  }
  /// Seconds from the begin of the run.
  Json times(std::int64_t start_ns, std::int64_t kern_ns, std::int64_t end_ns) const {
    const auto seconds = [&](std::int64_t ns) {
      return static_cast<double>(ns - run_->whole.begin_ns) * 1e-9;
    };
    return {{"end", seconds(end_ns)}, {"kern", seconds(kern_ns)}, {"start", seconds(start_ns)}};
  }

  Json footprint(const Operator& op) const {
    Json outs = Json::array(), ins = Json::array();
    std::int64_t bytes = 0;
    for (int v : op.outputs) {
      if (var_at(v).buffer < 0) continue;
      outs.push_back(buffer_of(var_at(v)).shape);
      bytes += buffer_of(var_at(v)).bytes;
    }
    for (int v : op.inputs) {
      ins.push_back(buffer_of(var_at(v)).shape);
      bytes += buffer_of(var_at(v)).bytes;
    }
    Json out = {{"param", Json::object()},
                {"out_shapes", std::move(outs)},
                {"in_shapes", std::move(ins)},
                {"memory", bytes},
                {"computation", nullptr}};
    if (op.step < 0) return out;
    const StepInfo& step = step_of(op);
    out["memory"] = step.bytes_read + step.bytes_written;
    if (step.operations > 0) out["computation"] = step.operations;
    out["kernel"] = step.kernel;
    if (!run_) return out;
    const double seconds = seconds_of(run_->steps[static_cast<std::size_t>(op.step)]);
    const Rates rates = rates_of(p_, step, seconds);
    out["gflops"] = rates.gflops;
    out["gbs"] = rates.gbs;
    out["share_of_peak"] = rates.share_of_peak;
    return out;
  }

  Json ids(const std::vector<int>& vars) const {
    Json out = Json::array();
    for (int v : vars) out.push_back(id_text(var_at(v).id));
    return out;
  }

  Json operator_json(std::size_t place) const {
    const Operator& op = seq_.ops[place];
    int ready = 0;  // when the last operand is
    for (int v : op.inputs) ready = std::max(ready, var_at(v).maker);
    Json extra = {{"dfs_step_num", place}, {"input_update_time", ready}, {"priority", 0}};
    std::string type = kTypes[static_cast<std::size_t>(op.kind)];
    if (op.step >= 0) {
      const StepInfo& step = step_of(op);
      type = step.type;
      extra["opaque"] = "true";
      if (!step.path.empty()) extra["path"] = step.path;
      extra["kernel"] = step.kernel;
      extra["nodes"] = step.nodes;
    }
    return {{"waiting_spec", Json::object()},
            {"output", ids(op.outputs)},
            {"input", ids(op.inputs)},
            {"type", type},
            {"name", op.name},
            {"id", id_text(op.id)},
            {"extra", std::move(extra)},
            {"node_type", "operator"}};
  }

  Json tag(Json deps, Json result, const char* infer) const {
    return {{"deps", std::move(deps)},
            {"inferred_result", std::move(result)},
            {"infer_type", infer},
            {"node_type", "static_infer_tag"}};
  }

  Json tags(const Var& var) const {
    const Operator& maker = seq_.ops[static_cast<std::size_t>(var.maker)];
    const bool fixed = maker.kind == Kind::kWeight;
    Json deps = Json::array();
    for (int v : maker.inputs) {
      deps.push_back({{"dep_type", "SHAPE"}, {"var", id_text(var_at(v).id)}});
    }
    const Sizes shape = var.buffer < 0 ? Sizes{var.scratch_bytes} : buffer_of(var).shape;
    return {{"VALUE",
             tag(Json::array(), fixed ? Json("Large Array") : Json(), fixed ? "CONST" : "NO_DESC")},
            {"SHAPE", tag(std::move(deps), shape, fixed ? "CONST" : "RT_STATIC")}};
  }

  std::string chunk_of(const Var& var) const {
    return "chk" + id_text(in_arena(buffer_of(var)) ? arena_owner_ : owner_of(var).id);
  }

  Json plan_json(const Var& var) const {
    if (var.buffer < 0) return nullptr;
    const BufferInfo& buffer = buffer_of(var);
    return {{"offset_byte", in_arena(buffer) ? buffer.offset : 0},
            {"layout",
             {{"dtype", kDTypes[static_cast<std::size_t>(dtype_of(buffer))]},
              {"stride", strides_of(buffer.shape)},
              {"shape", buffer.shape}}},
            {"mem_chunk_id", chunk_of(var)}};
  }

  Json flags(const Var& var) const {
    if (var.buffer < 0) return {"VOLATILE_CONTENT", "ALLOW_EMPTY_SHAPE"};
    if (!buffer_of(var).is_state) return Json::array();
    return {"NO_MEM_RECLAIM", "ALLOW_EMPTY_SHAPE", "PERSISTENT_DEVICE_VALUE",
            "DISALLOW_RT_FORCE_DYNAMIC_MEM_ALLOC"};
  }

  Json var_json(const Var& var) const {
    Json out = Json::object();
    std::int64_t address = 0;
    if (var.buffer >= 0 && in_arena(buffer_of(var))) {
      address = kArenaBase + buffer_of(var).offset;
      out["prev_dev_ptr_end"] = address + buffer_of(var).bytes;
    }
    out["flag"] = flags(var);
    out["comp_node"] = comp_node();
    out["prev_dev_ptr"] = address;
    out["force_update_src"] = var.overwrites ? Json(id_text(owner_of(var).id)) : Json();
    out["dev_ptr"] = nullptr;
    out["mem_plan"] = plan_json(var);
    out["mem_readonly_fwd_src"] = var.before < 0 ? Json() : Json(id_text(var_at(var.before).id));
    out["name"] = var.name;
    out["static_infer_tags"] = tags(var);
    out["id"] = id_text(var.id);
    out["node_type"] = "var";
    return out;
  }

  std::int64_t arena_bytes() const {
    std::int64_t bytes = p_.arena_bytes;
    for (const BufferInfo& buffer : p_.buffers) {
      if (!in_arena(buffer)) continue;
      bytes = std::max(bytes, buffer.offset + std::max(buffer.bytes, dense_bytes(buffer)));
    }
    return bytes;
  }

  void add_chunk(Json& chunks, const Var& var) const {
    if (var.buffer < 0) return;
    const BufferInfo& buffer = buffer_of(var);
    const bool arena = in_arena(buffer);
    if (arena ? var.id != arena_owner_ : var.before >= 0) return;
    const std::string id = chunk_of(var);
    chunks[id] = {{"dev_ptr", arena ? Json(kArenaBase) : Json()},
                  {"owner_var", id_text(var.id)},
                  {"size", arena ? arena_bytes() : std::max(buffer.bytes, dense_bytes(buffer))},
                  {"id", id},
                  {"node_type", "mem_chunk"}};
  }

  const Profile& p_;
  const Run* run_;
  Sequence seq_;
  std::int64_t arena_owner_ = -1;  // id of a var; -1: nothing is in the arena
};

/// What the schema has no place for.
Json about(const Profile& p) {
  Json runs = Json::array();
  for (const Run& run : p.runs) runs.push_back(seconds_of(run.whole) * 1e3);
  return {{"graph", p.graph},
          {"backend", p.backend},
          {"machine", p.machine},
          {"threads", p.threads},
          {"runs_ms", std::move(runs)},
          {"peak_gflops", p.peak_gflops},
          {"peak_gbs", p.peak_gbs},
          {"rates_gflops", p.rates},
          {"launch_ms", p.launch_ms},
          {"apart_ms", p.apart_ms},
          {"usual_ms", p.usual_ms},
          {"taken_us", p.taken_us},
          {"arena_bytes", p.arena_bytes},
          {"states_bytes", p.states_bytes},
          {"scratch_bytes", p.scratch_bytes},
          {"overhead_percent", p.overhead_percent}};
}

}  // namespace

std::string to_megengine(const Profile& profile) {
  verify(profile);
  const Writer writer(profile);
  const Json out = {{"profiler", writer.profiler()},
                    {"graph_exec", writer.graph_exec()},
                    {"plait", about(profile)}};
  return out.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace plait::profile
