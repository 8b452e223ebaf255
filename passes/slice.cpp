// Choosing the rows of each slice, and writing the slices down.
#include "passes/slice.h"

#include <algorithm>
#include <map>
#include <set>

#include "base/at.h"
#include "ops/arithmetic.h"
#include "ops/compare.h"
#include "ops/contract.h"
#include "ops/contraction.h"
#include "ops/shape.h"
#include "ir/rewrite.h"
#include "passes/slice_region.h"

namespace plait {
namespace {

using ir::NodeId;
using ir::ValueId;

/// An axis in at least `count` pieces: equal ones where a divisor is near, else of two sizes.
std::vector<AxisRange> pieces_of(std::int64_t size, std::int64_t count) {
  count = std::min(count, size);
  for (std::int64_t n = count; n <= std::min(2 * count, size); ++n) {
    if (size % n != 0) continue;
    count = n;
    break;
  }
  std::vector<AxisRange> pieces;
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t from = pieces.empty() ? 0 : pieces.back().to;
    pieces.push_back({from, from + size / count + (i < size % count ? 1 : 0)});
  }
  return pieces;
}

/// Parts of a value of at most `bytes`, over as few of its first axes as that takes; the last axis
/// stays whole. Nothing where a part is larger all the same.
std::vector<Box> boxes_of(const ir::Type& type, std::int64_t bytes) {
  std::vector<Box> boxes{whole_box(type.shape)};
  const auto bytes_of = [&](const Box& box) {
    return ir::Type{type.dtype, shape_of(box)}.bytes().value();
  };
  for (std::size_t axis = 0; axis + 1 < type.shape.size(); ++axis) {
    const std::int64_t most = bytes_of(boxes[0]);  // the first is the largest
    if (most <= bytes) break;
    std::vector<Box> smaller;
    for (const Box& box : boxes) {
      for (const AxisRange& piece : pieces_of(box[axis].size(), (most + bytes - 1) / bytes)) {
        smaller.push_back(box);
        smaller.back()[axis] = {box[axis].from + piece.from, box[axis].from + piece.to};
      }
    }
    boxes = std::move(smaller);
  }
  return bytes_of(boxes[0]) <= bytes ? boxes : std::vector<Box>();
}

/// The graph with one region in slices, which stand where the region's last node does.
class Slicing {
 public:
  Slicing(const ir::Graph& graph, const Region& region, std::vector<RegionParts> slices)
      : graph_(graph), region_(region), slices_(std::move(slices)), to_(graph) {}

  ir::Graph run() {
    const std::set<NodeId> inside(region_.nodes.begin(), region_.nodes.end());
    std::vector<char> behind(graph_.values.size(), 0);
    std::vector<NodeId> late;
    for (NodeId n = 0; at(n) < graph_.nodes.size(); ++n) {
      const ir::Node& node = graph_.node(n);
      const bool waits = std::any_of(node.inputs.begin(), node.inputs.end(),
                                     [&](ValueId v) { return v != ir::kNone && behind[at(v)]; });
      if (inside.count(n) || waits) {
        for (ValueId v : node.outputs) behind[at(v)] = 1;
      }
      if (!inside.count(n)) {
        if (waits) {
          late.push_back(n);
        } else {
          to_.keep(node);
        }
      }
      if (n != region_.nodes.back()) continue;
      for (std::size_t s = 0; s < slices_.size(); ++s) put_slice(s);
      for (ValueId v : region_.leaving) put_leaving(v);
      for (NodeId l : late) to_.keep(graph_.node(l));
      late.clear();
      std::fill(behind.begin(), behind.end(), 0);
    }
    return to_.finish();
  }

 private:
  void put_slice(std::size_t s) {
    made_.clear();
    for (std::size_t i = 0; i < region_.nodes.size(); ++i) {
      const ir::Node& old = graph_.node(region_.nodes[i]);
      const NodePart& part = slices_[s].nodes[i];
      ir::Node node = old;
      node.outputs.clear();
      node.attrs = part.attrs;
      for (std::size_t k = 0; k < node.inputs.size(); ++k) {
        node.inputs[k] = operand(old, old.inputs[k], part.inputs[k]);
      }
      ir::Type type{graph_.type(old.outputs[0]).dtype, shape_of(part.outputs[0])};
      const bool sums = part.combine == loop::Reduce::kSum;
      if (sums && is_half(type.dtype)) widen(node, type);
      const ValueId v = old.outputs[0];
      ValueId made = to_.add(std::move(node), type, str(graph_.value(v).name, ".", s));
      if (sums && s > 0) {
        made = to_.add(of(old, ops::add.name, {sums_[v], made}), type,
                       str(graph_.value(v).name, ".sum", s));
      }
      (sums ? sums_ : made_)[v] = made;
    }
    for (ValueId v : region_.leaving) {
      if (made_.count(v)) rows_[v].push_back(made_[v]);
    }
  }

  /// A node beside one of the region: of its path and source.
  static ir::Node of(const ir::Node& old, std::string_view op, std::vector<ValueId> inputs,
                     ir::Attrs attrs = {}) {
    return {std::string(op), std::move(inputs), {}, std::move(attrs), old.path, old.source};
  }

  ValueId operand(const ir::Node& reader, ValueId v, const Box& box) {
    if (v == ir::kNone) return v;
    const auto made = made_.find(v);
    if (made != made_.end()) return made->second;
    const ValueId all = to_.value(v);
    const Box whole = whole_box(graph_.type(v).shape);
    if (box == whole) return all;
    ops::Slice attrs;
    std::string key = std::to_string(v);
    for (std::size_t d = 0; d < box.size(); ++d) {
      if (box[d] == whole[d]) continue;
      attrs.axes.push_back(static_cast<std::int64_t>(d));
      attrs.starts.emplace_back(box[d].from);
      attrs.stops.emplace_back(box[d].to);
      key += str(' ', d, ' ', box[d].from, ' ', box[d].to);
    }
    const auto [known, added] = slices_of_.emplace(key, ir::kNone);
    if (added) {
      known->second =
          to_.add(of(reader, ops::slice.name, {all}, ir::encode(attrs)),
                  {graph_.type(v).dtype, shape_of(box)}, str(graph_.value(v).name, ".rows"));
    }
    return known->second;
  }

  /// A partial sum of halves is not rounded before it is added to the others.
  void widen(ir::Node& node, ir::Type& type) {
    type.dtype = DType::f32;
    if (node.op == ops::matmul.name) {
      auto attrs = ir::decode<ops::Matmul>(node.attrs, node.op);
      attrs.wide = true;
      node.attrs = ir::encode(attrs);
      return;
    }
    for (ValueId& v : node.inputs) {
      if (v == ir::kNone) continue;
      const ir::Value& half = to_.graph().value(v);
      v = to_.add(of(node, ops::cast.name, {v}, ir::encode(ops::Cast{DType::f32})),
                  {DType::f32, half.type.shape}, str(half.name, ".f32"));
    }
  }

  /// What stands for a value of the region that others read.
  void put_leaving(ValueId v) {
    const ir::Node& old = graph_.node(graph_.value(v).producer);
    const auto sum = sums_.find(v);
    if (sum != sums_.end()) {
      const bool half = to_.graph().type(sum->second).dtype != graph_.type(v).dtype;
      if (!half) return to_.replace(v, sum->second);
      return to_.put(
          {v}, of(old, ops::cast.name, {sum->second}, ir::encode(ops::Cast{graph_.type(v).dtype})));
    }
    std::vector<Row> rows;
    for (std::size_t s = 0; s < slices_.size(); ++s) {
      rows.push_back({rows_[v][s], &slices_[s].made.at(v)});
    }
    to_.replace(v, joined(old, rows, 0, graph_.value(v)));
  }

  struct Row {
    ValueId value;
    const Box* box;
  };

  /// Slices that are equal in the axes before `axis`, as one value.
  ValueId joined(const ir::Node& old, const std::vector<Row>& rows, std::size_t axis,
                 const ir::Value& whole) {
    if (rows.size() == 1) return rows[0].value;
    std::vector<std::vector<Row>> groups;
    for (const Row& row : rows) {
      const bool same = !groups.empty() && (*groups.back()[0].box)[axis] == (*row.box)[axis];
      if (!same) groups.emplace_back();
      groups.back().push_back(row);
    }
    if (groups.size() == 1) return joined(old, rows, axis + 1, whole);
    std::vector<ValueId> parts;
    Shape shape;
    Dim size = 0;
    for (const std::vector<Row>& group : groups) {
      parts.push_back(joined(old, group, axis + 1, whole));
      shape = to_.graph().type(parts.back()).shape;
      size = size + shape[axis];
    }
    shape[axis] = size;
    return to_.add(of(old, ops::concat.name, std::move(parts),
                      ir::encode(ops::Axis{static_cast<std::int64_t>(axis)})),
                   {whole.type.dtype, shape}, str(whole.name, ".joined"));
  }

  const ir::Graph& graph_;
  const Region& region_;
  const std::vector<RegionParts> slices_;
  ir::Rewriter to_;
  std::map<ValueId, ValueId> made_;               // of the slice in hand
  std::map<ValueId, ValueId> sums_;               // so far
  std::map<ValueId, std::vector<ValueId>> rows_;  // of what leaves, per slice
  std::map<std::string, ValueId> slices_of_;      // of operands, by value and part
};

/// The graph with the region of a node in slices; nothing, and why, where it stays whole.
std::optional<ir::Graph> slice_one(const ir::Graph& graph, NodeId first, std::int64_t bytes,
                                   LogEntry& said) {
  const ir::Type& type = graph.type(graph.node(first).outputs[0]);
  const std::vector<Box> boxes = boxes_of(type, bytes);
  if (boxes.empty()) {
    said.why = "one of its rows is larger than a slice may be";
    return std::nullopt;
  }
  const Region region = region_of(graph, first, boxes[0]);
  said.why = region.fits.why;
  if (!region.fits) return std::nullopt;
  std::vector<RegionParts> slices;
  for (const Box& box : boxes) {
    std::optional<RegionParts> parts = parts_of(graph, region, box, said.why);
    if (!parts) return std::nullopt;
    slices.push_back(std::move(*parts));
  }
  std::vector<std::string> sums, rows;
  for (ValueId v : region.leaving) {
    (slices[0].partial.count(v) ? sums : rows).push_back(value_text(graph, v));
  }
  said.what = "sliced";
  said.why = str(boxes.size(), " slices of ", ir::Type{type.dtype, shape_of(boxes[0])}.bytes(),
                 " bytes instead of ", type.bytes(), ", ", region.nodes.size(),
                 " nodes each; added up: ", sums.empty() ? "nothing" : join(sums, ", "),
                 "; joined: ", rows.empty() ? "nothing" : join(rows, ", "));
  return Slicing(graph, region, std::move(slices)).run();
}

}  // namespace

ir::Graph slice(const ir::Graph& graph, std::int64_t bytes, DecisionLog& log) {
  std::vector<std::string> huge;  // results of contractions
  for (const ir::Node& node : graph.nodes) {
    if (!is_contraction(node) || !has_nest(op_named(node.op))) continue;
    const ir::Value& result = graph.value(node.outputs[0]);
    const Dim size = result.type.bytes();
    if (size.is_const() && size.value() > bytes) huge.push_back(result.name);
  }
  ir::Graph sliced = graph;
  for (const std::string& name : huge) {
    const ValueId result = sliced.find_value(name);
    if (result == ir::kNone) continue;  // it went with another one's region
    const NodeId first = sliced.value(result).producer;
    LogEntry said{"slice", describe(sliced, sliced.node(first)), "whole", ""};
    std::optional<ir::Graph> next = slice_one(sliced, first, bytes, said);
    if (next) {
      sliced = std::move(*next);
      const ValueId part = sliced.find_value(name + ".0");  // whose step says it
      if (part != ir::kNone) said.node = describe(sliced, sliced.node(sliced.value(part).producer));
    }
    log.push_back(std::move(said));
  }
  return sliced;
}

}  // namespace plait
