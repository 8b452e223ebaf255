// Copying nodes between graphs.
#include "io/chainer/splice.h"

#include "passes/differentiate.h"

namespace plait::io::chainer {

void splice(const ir::Graph& from, std::size_t first, ir::Graph& to,
            std::vector<ir::ValueId>& values, const Origin& origin,
            const std::map<ir::ValueId, std::string>& names) {
  values.resize(from.values.size(), ir::kNone);
  for (std::size_t n = first; n < from.nodes.size(); ++n) {
    ir::Node node = from.nodes[n];
    for (ir::ValueId& in : node.inputs) {
      if (in != ir::kNone) in = values[static_cast<std::size_t>(in)];
    }
    std::vector<ir::Type> types;
    std::vector<std::string> wanted;
    for (ir::ValueId out : node.outputs) {
      types.push_back(from.type(out));
      const auto name = names.find(out);
      wanted.push_back(name == names.end() ? "" : to.fresh_name(name->second));
    }
    const std::vector<ir::ValueId> outputs = node.outputs;
    node.path = origin.path;
    node.source = origin.source;
    const ir::NodeId id = to.add_node(std::move(node), types, wanted);
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      values[static_cast<std::size_t>(outputs[i])] = to.node(id).outputs[i];
    }
  }
}

std::vector<ir::ValueId> gradients_through(ir::Graph& graph, NodeRange nodes,
                                           const std::vector<Cotangent>& cotangents,
                                           const std::vector<ir::ValueId>& wrt,
                                           const std::vector<std::string>& names,
                                           const Origin& origin) {
  Builder part("part");
  std::map<ir::ValueId, ir::ValueId> inside;  // values of the graph as those of the part
  std::vector<ir::ValueId> outside;           // the other way round
  const auto import = [&](ir::ValueId id) {
    const auto it = inside.find(id);
    if (it != inside.end()) return it->second;
    const ir::Type type = graph.type(id);
    const ir::ValueId value = part.feed(str("value", id), type.dtype, type.shape).id();
    outside.resize(static_cast<std::size_t>(value) + 1, ir::kNone);
    outside[static_cast<std::size_t>(value)] = id;
    return inside[id] = value;
  };
  for (std::size_t n = nodes.first; n < nodes.end; ++n) {
    ir::Node node = graph.nodes[n];
    for (ir::ValueId& in : node.inputs) {
      if (in != ir::kNone) in = import(in);
    }
    std::vector<ir::Type> types;
    for (ir::ValueId out : node.outputs) types.push_back(graph.type(out));
    const std::vector<ir::ValueId> outputs = node.outputs;
    const ir::NodeId id = part.graph().add_node(std::move(node), types);
    outside.resize(part.graph().values.size(), ir::kNone);
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      const ir::ValueId made = part.graph().node(id).outputs[i];
      inside[outputs[i]] = made;
      outside[static_cast<std::size_t>(made)] = outputs[i];
    }
  }
  std::vector<Tensor> ys, dys, xs;
  for (const Cotangent& c : cotangents) {
    ys.push_back(part.value(import(c.of)));
    dys.push_back(part.value(import(c.value)));
  }
  for (ir::ValueId x : wrt) xs.push_back(part.value(import(x)));
  const std::size_t first = part.graph().nodes.size();
  const std::vector<Tensor> found = gradients(ys, dys, xs);
  std::map<ir::ValueId, std::string> labels;
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (!names[i].empty()) labels.emplace(found[i].id(), names[i]);
  }
  splice(part.graph(), first, graph, outside, origin, labels);
  std::vector<ir::ValueId> results;
  for (const Tensor& t : found) results.push_back(outside[static_cast<std::size_t>(t.id())]);
  return results;
}

}  // namespace plait::io::chainer
