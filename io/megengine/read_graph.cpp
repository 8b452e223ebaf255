// The half of a document that is the graph: operators, vars, chunks, the order of launches.
#include "base/text.h"
#include "io/import.h"
#include "io/megengine/read.h"

namespace plait::io::megengine {
namespace {

constexpr std::int64_t kMostAddress = std::int64_t{1} << 62;

std::vector<Id> read_ids(const At& list) {
  std::vector<Id> out;
  for (std::size_t i = 0; i < list.list().size(); ++i) out.push_back(list.item(i).id());
  return out;
}

/// Objects under `graph.key`, each with its own key as `id` and with `node_type`.
template <class T, class Read>
std::vector<T> read_nodes(const At& graph, std::string_view key, std::string_view node_type,
                          Read read) {
  const At all = graph.at(key);
  if (all.object().size() > static_cast<std::size_t>(kMaxItems)) {
    all.fail("has ", all.object().size(), " entries, more than ", kMaxItems);
  }
  std::vector<T> out;
  for (std::size_t i = 0; i < all.object().size(); ++i) {
    const At at = all.member(i);
    const At id = at.at("id"), type = at.at("node_type");
    if (id.text() != all.object()[i].key) {
      id.fail("is ", clipped(id.text()), " under the key ", clipped(all.object()[i].key),
              "; expected the same id");
    }
    if (type.text() != node_type) {
      type.fail("expected ", quoted(node_type), ", is ", clipped(type.text()));
    }
    out.push_back(read(at, id));
  }
  return out;
}

Operator read_operator(const At& at, const At& id) {
  Operator out;
  const At waiting = at.at("waiting_spec"), outputs = at.at("output"), inputs = at.at("input"),
           type = at.at("type"), name = at.at("name"), extra = at.at("extra");
  out.id = id.id();
  out.type = type.text();
  out.name = name.text();
  if (out.type.empty()) type.fail("is empty; expected the operator's type");
  out.inputs = read_ids(inputs);
  out.outputs = read_ids(outputs);
  out.extra = extra.object();
  if (!waiting.is_null()) {
    out.waiting.emplace();
    for (std::size_t i = 0; i < waiting.object().size(); ++i) {
      out.waiting->emplace_back(waiting.object()[i].key, read_ids(waiting.member(i)));
    }
  }
  out.others = others_of(
      at, {"waiting_spec", "output", "input", "type", "name", "id", "extra", "node_type"});
  return out;
}

std::optional<std::int64_t> read_address(const At& at) {
  if (at.is_null()) return std::nullopt;
  return at.count(kMostAddress);
}

std::optional<Id> read_optional_id(const At& at) {
  if (at.is_null()) return std::nullopt;
  return at.id();
}

std::optional<MemPlan> read_plan(const At& at) {
  if (at.is_null()) return std::nullopt;
  const At offset = at.at("offset_byte"), layout = at.at("layout"), chunk = at.at("mem_chunk_id");
  const At dtype = layout.at("dtype"), stride = layout.at("stride"), shape = layout.at("shape");
  MemPlan out{offset.count(kMostBytes), {dtype.text(), {}, shape.sizes()}, chunk.text()};
  for (std::size_t i = 0; i < stride.list().size(); ++i) {
    out.layout.stride.push_back(stride.item(i).integer());
  }
  if (out.layout.stride.size() != out.layout.shape.size()) {
    stride.fail("has ", out.layout.stride.size(), " strides for ", out.layout.shape.size(),
                " sizes");
  }
  return out;
}

void check_result(const At& result) {
  if (const auto* list = result.json().as<Json::Array>()) {
    for (std::size_t i = 0; i < list->size(); ++i) result.item(i).real();
  } else if (!result.is_null()) {
    result.text();
  }
}

InferTag read_tag(const At& at, bool shape) {
  const At deps = at.at("deps"), result = at.at("inferred_result"), type = at.at("infer_type"),
           node_type = at.at("node_type");
  if (node_type.text() != "static_infer_tag") {
    node_type.fail("expected \"static_infer_tag\", is ", clipped(node_type.text()));
  }
  InferTag out{{}, result.json(), type.text()};
  check_result(result);
  if (shape && result.json().as<Json::Array>()) result.sizes();
  for (std::size_t i = 0; i < deps.list().size(); ++i) {
    const At dep = deps.item(i);
    const At kind = dep.at("dep_type"), var = dep.at("var");
    if (kind.text() != "SHAPE" && kind.text() != "VALUE") {
      kind.fail("expected \"SHAPE\" or \"VALUE\", is ", clipped(kind.text()));
    }
    out.deps.push_back({kind.text(), var.id()});
  }
  return out;
}

void read_addresses(const At& at, Var& out) {
  const At now = at.at("dev_ptr"), before = at.at("prev_dev_ptr");
  out.dev_ptr = read_address(now);
  out.prev_dev_ptr = before.count(kMostAddress);
  const auto end = at.find("prev_dev_ptr_end");
  if (!end) return;
  out.prev_dev_ptr_end = end->count(kMostAddress);
  const std::int64_t bytes = *out.prev_dev_ptr_end - out.prev_dev_ptr;
  if (bytes < 0 || bytes > kMostBytes) {
    end->fail("is ", *out.prev_dev_ptr_end, " for the start ", out.prev_dev_ptr,
              "; expected an end at or after it, no more than ", kMostBytes, " bytes away");
  }
}

Var read_var(const At& at, const At& id) {
  Var out;
  const At flags = at.at("flag"), name = at.at("name"), comp_node = at.at("comp_node"),
           update = at.at("force_update_src"), plan = at.at("mem_plan"),
           view = at.at("mem_readonly_fwd_src"), tags = at.at("static_infer_tags");
  out.id = id.id();
  out.name = name.text();
  out.comp_node = comp_node.text();
  for (std::size_t i = 0; i < flags.list().size(); ++i) {
    out.flags.push_back(flags.item(i).text());
  }
  read_addresses(at, out);
  out.force_update_src = read_optional_id(update);
  out.readonly_src = read_optional_id(view);
  out.mem_plan = read_plan(plan);
  if (const auto value = tags.find("VALUE")) out.value = read_tag(*value, false);
  if (const auto shape = tags.find("SHAPE")) out.shape = read_tag(*shape, true);
  out.others = others_of(
      at, {"prev_dev_ptr_end", "flag", "comp_node", "prev_dev_ptr", "force_update_src", "dev_ptr",
           "mem_plan", "mem_readonly_fwd_src", "name", "static_infer_tags", "id", "node_type"});
  return out;
}

MemChunk read_chunk(const At& at, const At& id) {
  const At address = at.at("dev_ptr"), owner = at.at("owner_var"), bytes = at.at("size");
  return {id.text(), read_address(address), owner.id(), bytes.count(kMostBytes),
          others_of(at, {"dev_ptr", "owner_var", "size", "id", "node_type"})};
}

}  // namespace

void read_graph_exec(const At& graph, Record& record) {
  const At sequence = graph.at("comp_seq");
  record.comp_seq = read_ids(sequence);
  record.chunks = read_nodes<MemChunk>(graph, "mem_chunk", "mem_chunk", read_chunk);
  record.vars = read_nodes<Var>(graph, "var", "var", read_var);
  record.ops = read_nodes<Operator>(graph, "operator", "operator", read_operator);
  record.graph_others = others_of(graph, {"comp_seq", "mem_chunk", "var", "operator"});
}

}  // namespace plait::io::megengine
