// Which product is whose gradient: by what it reads, and by the parameter that it updates.
#include "io/aicf/layer_gradients.h"

#include <algorithm>
#include <map>

#include "ops/update.h"

namespace plait::io::aicf {
namespace {

using ByValue = std::map<ir::ValueId, std::vector<std::size_t>>;  // layers

class Finder {
 public:
  Finder(const ir::Graph& graph, const Patterns& patterns) : g_(graph), patterns_(patterns) {}

  std::vector<LayerGradients> layers() {
    for (std::size_t i = 0; i < g_.nodes.size(); ++i) {
      const auto id = static_cast<ir::NodeId>(i);
      if (is_update(g_.node(id))) updates_[g_.node(id).inputs[1]] = g_.node(id).inputs[0];
      if (const auto layer = patterns_.layer(id)) {
        by_x_[layer->x].push_back(layers_.size());
        by_w_[layer->w].push_back(layers_.size());
        layers_.push_back({*layer});
      }
    }
    // Gradients of weights first: they tell which dy belongs to which layer.
    each_node([&](ir::NodeId id) { find_dw(id); });
    each_node([&](ir::NodeId id) { find_dx(id); });
    each_node([&](ir::NodeId id) { find_db(id); });
    return std::move(layers_);
  }

 private:
  template <class F>
  void each_node(F f) {
    for (std::size_t i = 0; i < g_.nodes.size(); ++i) f(static_cast<ir::NodeId>(i));
  }

  static const std::vector<std::size_t>& at(const ByValue& table, ir::ValueId value) {
    static const std::vector<std::size_t> kNoLayers;
    const auto found = table.find(value);
    return found == table.end() ? kNoLayers : found->second;
  }

  void find_dw(ir::NodeId id) {
    const auto product = patterns_.product(id);
    if (!product || !product->transposed) return;
    const auto updated = updates_.find(product->result);
    for (std::size_t i : at(by_x_, product->other)) {
      LayerGradients& l = layers_[i];
      const bool others = updated != updates_.end() && updated->second != l.layer.w;
      if (others || l.dw != ir::kNone || !flows_into(l, product->dy)) continue;
      l.dw = product->result;
      return join(i, *product, product->dy, id);
    }
  }

  void find_dx(ir::NodeId id) {
    const auto product = patterns_.product(id);
    if (!product || product->transposed) return;
    for (std::size_t i : at(by_w_, product->other)) {
      LayerGradients& l = layers_[i];
      if (l.dx != ir::kNone || !flows_into(l, product->dy)) continue;
      l.dx = product->result;
      return join(i, *product, product->dy, id);
    }
  }

  void find_db(ir::NodeId id) {
    const auto sum = patterns_.row_sum(id);
    if (!sum) return;
    for (std::size_t i : at(by_dy_, sum->dy)) {
      LayerGradients& l = layers_[i];
      if (l.db != ir::kNone || l.layer.bias == ir::kNone) continue;
      l.db = sum->result;
      return join(i, *sum, sum->dy, id);
    }
  }

  /// Whether `dy` may be the gradient of what the layer makes.
  bool flows_into(const LayerGradients& l, ir::ValueId dy) const {
    if (l.dy != ir::kNone) return l.dy == dy;
    return g_.type(dy) == g_.type(l.layer.y);
  }

  void join(std::size_t index, const Match& match, ir::ValueId dy, ir::NodeId id) {
    LayerGradients& l = layers_[index];
    if (l.dy == ir::kNone) by_dy_[dy].push_back(index);
    l.dy = dy;
    l.first = l.first == ir::kNone ? id : std::min(l.first, id);
    l.covered.nodes.insert(l.covered.nodes.end(), match.nodes.begin(), match.nodes.end());
  }

  const ir::Graph& g_;
  const Patterns& patterns_;
  std::vector<LayerGradients> layers_;
  std::map<ir::ValueId, ir::ValueId> updates_;  // from a gradient to the parameter it updates
  ByValue by_x_, by_w_, by_dy_;
};

}  // namespace

bool is_update(const ir::Node& node) {
  return std::any_of(std::begin(ops::kUpdate), std::end(ops::kUpdate),
                     [&](const Op* op) { return !node.opaque && node.op == op->name; });
}

std::vector<LayerGradients> layer_gradients(const ir::Graph& graph, const Patterns& patterns) {
  return Finder(graph, patterns).layers();
}

}  // namespace plait::io::aicf
