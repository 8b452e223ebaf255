// Sums of gradients, and joins of those that are parts.
#include "passes/cotangent.h"

#include <algorithm>
#include <cmath>

#include "base/at.h"
#include "ops/shape.h"

namespace plait {

bool Cotangent::take_part(const Tensor& g) {
  const ir::Graph& graph = g.builder().graph();
  const ir::NodeId by = graph.value(g.id()).producer;
  if (by == ir::kNone || graph.node(by).opaque || graph.node(by).op != ops::pad.name) return false;
  const auto pad = ir::decode<ops::Pad>(graph.node(by).attrs, ops::pad.name);
  if (!pad.interior.empty() || pad.value != 0 || std::signbit(pad.value)) return false;
  const ir::ValueId from = graph.node(by).inputs[0];
  Part p{g, g.builder().value(from), -1, 0, 0};
  for (int axis = 0; axis < g.rank(); ++axis) {
    const Dim &low = pad.low[at(axis)], &high = pad.high[at(axis)], &size = p.part.dim(axis);
    if (low.is(0) && high.is(0)) continue;
    if (p.axis >= 0 || !low.is_const() || !high.is_const() || !size.is_const()) return false;
    if (low.value() < 0 || high.value() < 0) return false;
    p.axis = axis;
    p.start = low.value();
    p.stop = low.value() + size.value();
  }
  if (p.axis < 0 || (!parts_.empty() && parts_[0].axis != p.axis)) return false;
  parts_.push_back(p);
  return true;
}

void Cotangent::add(const Tensor& g) {
  if (!take_part(g)) sum_ = sum_ ? sum_ + g : g;
}

/// Parts that do not overlap, in their order, with zeros in between.
Tensor Cotangent::joined(const std::vector<Part>& layer) const {
  if (layer.size() == 1) return layer[0].whole;
  const int axis = layer[0].axis;
  Shape gap = layer[0].whole.shape();
  std::vector<Operand> pieces;
  std::int64_t end = 0;
  const auto fill = [&](std::int64_t to) {
    gap[at(axis)] = to - end;
    if (to > end) pieces.push_back(layer[0].whole.builder().full(0, layer[0].whole.dtype(), gap));
  };
  for (const Part& p : layer) {
    fill(p.start);
    pieces.push_back(p.part);
    end = p.stop;
  }
  fill(layer[0].whole.dim(axis).value());
  return ops::concat.all(pieces, ops::Axis{axis})[0];
}

Tensor Cotangent::total() {
  std::stable_sort(parts_.begin(), parts_.end(),
                   [](const Part& a, const Part& b) { return a.start < b.start; });
  std::vector<std::vector<Part>> layers;
  for (const Part& p : parts_) {
    const auto fits = std::find_if(layers.begin(), layers.end(),
                                   [&](const auto& layer) { return layer.back().stop <= p.start; });
    if (fits == layers.end()) {
      layers.push_back({p});
    } else {
      fits->push_back(p);
    }
  }
  parts_.clear();
  for (const std::vector<Part>& layer : layers) {
    const Tensor g = joined(layer);
    sum_ = sum_ ? sum_ + g : g;
  }
  return sum_;
}

}  // namespace plait
