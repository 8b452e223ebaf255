// Cutting a graph.
#include "train/cut.h"

#include <algorithm>

#include "ops/attention.h"
#include "ops/builder.h"

namespace plait::train {
namespace {

constexpr std::size_t kAttentionKey = 6;

bool attends(const ir::Node& node) { return node.op == ops::attention.name; }

/// Where dropout is left out: attention without it, and without the key of its draws.
void keep_weights(ir::Node& node) {
  auto a = ir::decode<ops::Attention>(node.attrs, node.op);
  a.dropout = 0;
  node.attrs = ir::encode(a);
  if (node.inputs.size() > kAttentionKey) node.inputs.resize(kAttentionKey);
  while (node.inputs.back() == ir::kNone) node.inputs.pop_back();
}

std::vector<bool> needed_values(const ir::Graph& from, const Cut& cut) {
  std::vector<bool> needed(from.values.size(), false);
  const auto need = [&](ir::ValueId id) {
    if (id != ir::kNone) needed[static_cast<std::size_t>(id)] = true;
  };
  for (const ir::Fetch& fetch : cut.fetches) need(fetch.value);
  if (cut.updates) {
    for (const ir::NextState& next : from.nexts) need(next.value);
    for (const ir::NextState& next : from.nexts) need(from.find_state(next.state)->value);
  }
  for (auto node = from.nodes.rbegin(); node != from.nodes.rend(); ++node) {
    const auto is_needed = [&](ir::ValueId id) { return needed[static_cast<std::size_t>(id)]; };
    if (std::none_of(node->outputs.begin(), node->outputs.end(), is_needed)) continue;
    const bool passes_on = node->op == "dropout" && !cut.dropout;
    ir::Node kept = *node;
    if (attends(kept) && !cut.dropout) keep_weights(kept);
    if (passes_on) kept.inputs.resize(1);  // the key is not read
    for (const ir::ValueId id : kept.inputs) need(id);
  }
  return needed;
}

ir::Type without_place(ir::Type type) {
  type.place = {};
  return type;
}

bool is_narrow_integer(DType dtype) {
  return !is_float(dtype) && dtype != DType::boolean && dtype != DType::i64;
}

/// Feeds that were made i64 become what they were; `now` says which values stand for them.
ir::Graph with_casts(ir::Graph graph, const ir::Graph& from, std::vector<ir::ValueId>& now) {
  Builder b(std::move(graph));
  b.set_source(ir::Source{});
  for (const ir::ValueId id : from.feeds) {
    if (!is_narrow_integer(from.type(id).dtype)) continue;
    ir::ValueId& value = now[static_cast<std::size_t>(id)];
    value = b.value(value).cast(from.type(id).dtype).id();
  }
  return b.take();
}

}  // namespace

ir::Graph cut_out(const ir::Graph& from, const Cut& cut) {
  const std::vector<bool> needed = needed_values(from, cut);
  std::vector<ir::ValueId> now(from.values.size(), ir::kNone);
  const auto at = [&](ir::ValueId id) -> ir::ValueId& { return now[static_cast<std::size_t>(id)]; };
  ir::Graph out;
  out.name = cut.name;
  for (const ir::ValueId id : from.feeds) {
    const auto renamed = cut.feeds.find(from.value(id).name);
    const bool same = renamed == cut.feeds.end();
    ir::Type type = without_place(from.type(id));
    if (is_narrow_integer(type.dtype)) type.dtype = DType::i64;
    at(id) = out.add_feed(same ? from.value(id).name : renamed->second, type);
  }
  for (const ir::StateUse& use : from.states) {
    if (!needed[static_cast<std::size_t>(use.value)]) continue;
    ir::State state = use.state;
    state.type = without_place(state.type);
    at(use.value) = out.add_state(std::move(state));
  }
  out = with_casts(std::move(out), from, now);
  for (const ir::Node& node : from.nodes) {
    const auto is_needed = [&](ir::ValueId id) { return needed[static_cast<std::size_t>(id)]; };
    if (std::none_of(node.outputs.begin(), node.outputs.end(), is_needed)) continue;
    if (node.op == "dropout" && !cut.dropout) {
      at(node.outputs[0]) = at(node.inputs[0]);
      continue;
    }
    ir::Node copy = node;
    if (attends(copy) && !cut.dropout) keep_weights(copy);
    copy.outputs.clear();
    for (ir::ValueId& id : copy.inputs) id = id == ir::kNone ? id : at(id);
    std::vector<ir::Type> types;
    std::vector<std::string> names;
    for (const ir::ValueId id : node.outputs) {
      types.push_back(without_place(from.type(id)));
      names.push_back(out.fresh_name(from.value(id).name));
    }
    const ir::NodeId made = out.add_node(std::move(copy), types, std::move(names));
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
      at(node.outputs[i]) = out.node(made).outputs[i];
    }
  }
  if (cut.updates) {
    for (const ir::NextState& next : from.nexts) out.nexts.push_back({next.state, at(next.value)});
  }
  for (const ir::Fetch& fetch : cut.fetches) out.fetches.push_back({fetch.name, at(fetch.value)});
  return out;
}

}  // namespace plait::train
