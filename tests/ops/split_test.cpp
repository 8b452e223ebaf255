// Splitting nodes: every sample of every op, cut along each axis of each operand and of its result,
// gives the reference's result when what the parts make is put together.
#include "ops/split.h"

#include <gtest/gtest.h>

#include <set>

#include "base/at.h"
#include "ops/evaluate.h"
#include "ops/samples.h"
#include "tests/ops/harness.h"

namespace plait {
namespace {

/// Calls `visit` with the position of each element of a box in an array of these sizes.
template <class Visit>
void each_of(const Box& box, const Sizes& sizes, Visit visit) {
  Sizes index;
  for (const AxisRange& r : box) {
    if (r.size() == 0) return;
    index.push_back(r.from);
  }
  for (;;) {
    std::int64_t flat = 0;
    for (std::size_t d = 0; d < box.size(); ++d) flat = flat * sizes[d] + index[d];
    visit(flat);
    std::size_t d = box.size();
    while (d > 0 && ++index[d - 1] == box[d - 1].to) {
      index[d - 1] = box[d - 1].from;
      --d;
    }
    if (d == 0) return;
  }
}

Array taken(const Array& from, const Box& box) {
  Array part(from.dtype(), sizes_of(shape_of(box)));
  std::int64_t next = 0;
  each_of(box, from.sizes(), [&](std::int64_t i) {
    is_float(from.dtype()) ? part.set(next, from.real(i)) : part.set_integer(next, from.integer(i));
    ++next;
  });
  return part;
}

double combined(loop::Reduce how, double a, double b) {
  switch (how) {
    case loop::Reduce::kMax:
      return std::max(a, b);
    case loop::Reduce::kMin:
      return std::min(a, b);
    case loop::Reduce::kProd:
      return a * b;
    default:
      return a + b;
  }
}

/// Puts what a part makes into the whole.
void put(const Array& part, const NodePart& of, Array& whole, std::vector<char>& written) {
  std::int64_t next = 0;
  each_of(of.outputs[0], whole.sizes(), [&](std::int64_t i) {
    const double x = part.real(next++);
    const bool first = !written[at(i)];
    EXPECT_TRUE(first || of.combine != loop::Reduce::kNone) << "parts overlap";
    whole.set(i, first ? x : combined(of.combine, whole.real(i), x));
    written[at(i)] = 1;
  });
}

struct Case {
  const ir::Graph& graph;
  const ir::Node& node;
  const std::vector<Array>& feeds;
  const Array& want;
};

std::vector<const Array*> operands_of(const Case& c) {
  std::vector<const Array*> operands;
  std::size_t feed = 0;
  for (ir::ValueId id : c.node.inputs) {
    operands.push_back(id == ir::kNone ? nullptr : &c.feeds[feed++]);
  }
  return operands;
}

/// Two parts along an axis of an operand, or of the result (-1); false where the node has none.
bool splits(const Case& c, int operand, std::size_t axis) {
  const NodeView view = view_of(c.graph, c.node);
  const Shape& shape = operand < 0 ? view.out().shape : view.in(operand).shape;
  const std::int64_t size = shape[axis].value();
  Array whole(c.want.dtype(), c.want.sizes());
  std::vector<char> written(at(whole.count()), 0);
  for (int half = 0; half < 2; ++half) {
    Box box = whole_box(shape);
    box[axis] = half == 0 ? AxisRange{0, size / 2} : AxisRange{size / 2, size};
    GivenBoxes given;
    if (operand < 0) {
      given.outputs = {&box};
    } else {
      given.inputs.assign(c.node.inputs.size(), nullptr);
      given.inputs[at(operand)] = &box;
    }
    const NodePart part = part_of(view, given);
    if (!part.fits) return false;
    std::vector<Array> parts;
    std::vector<const Array*> operands = operands_of(c);
    std::vector<ir::Type> types;
    for (std::size_t i = 0; i < operands.size(); ++i) {
      parts.push_back(operands[i] ? taken(*operands[i], part.inputs[i]) : Array());
      types.push_back({parts.back().dtype(), shape_of(part.inputs[i])});
    }
    NodeView small{view.op, {}, {{view.out().dtype, shape_of(part.outputs[0])}}, part.attrs, ""};
    for (std::size_t i = 0; i < operands.size(); ++i) {
      small.inputs.push_back(operands[i] ? &types[i] : nullptr);
      operands[i] = operands[i] ? &parts[i] : nullptr;
    }
    put(evaluate(small, operands)[0], part, whole, written);
  }
  for (char w : written) EXPECT_TRUE(w) << "a part of the result is missing";
  EXPECT_LT(largest_error(whole, c.want), c.want.dtype() == DType::f64 ? 1e-13 : 1e-6);
  return true;
}

TEST(Split, PartsOfEverySampleMakeTheWhole) {
  std::set<std::string_view> split;
  for (const Op* op : all_ops()) {
    if (!has_nest(*op)) continue;
    for (const Sample& sample : samples_of(*op)) {
      SCOPED_TRACE(str(op->name, " ", sample.text));
      const DType real = op->dtypes.has(DType::f64) ? DType::f64 : DType::f32;
      const ir::Graph graph = sample_graph(*op, sample, real);
      const ir::Node& node = graph.nodes.front();
      const std::vector<Array> feeds = sample_feeds(sample, real, 7);
      std::vector<const Array*> operands;
      std::size_t feed = 0;
      for (ir::ValueId id : node.inputs) {
        operands.push_back(id == ir::kNone ? nullptr : &feeds[feed++]);
      }
      const Array want = evaluate(view_of(graph, node), operands)[0];
      const Case c{graph, node, feeds, want};
      for (int operand = -1; operand < static_cast<int>(node.inputs.size()); ++operand) {
        const NodeView view = view_of(graph, node);
        if (operand >= 0 && !view.has(operand)) continue;
        const Shape& shape = operand < 0 ? view.out().shape : view.in(operand).shape;
        for (std::size_t axis = 0; axis < shape.size(); ++axis) {
          if (shape[axis].value() > 1 && splits(c, operand, axis)) split.insert(op->name);
        }
      }
    }
  }
  for (std::string_view name :
       {"add", "matmul", "linear", "conv2d", "sum", "max", "reshape", "transpose", "broadcast_to",
        "concat", "one_hot", "take_along", "embedding", "equal", "where", "cast"}) {
    EXPECT_TRUE(split.count(name)) << name;
  }
}

std::string box_text(const std::optional<Box>& box) {
  if (!box) return "none";
  std::string text;
  for (const AxisRange& r : *box) text += str(text.empty() ? "" : " ", r.from, "..", r.to);
  return text;
}

TEST(Split, RowsAreFoundBehindAReshape) {
  EXPECT_EQ(box_text(reshaped({4, 6, 5}, {{1, 3}, {0, 6}, {0, 5}}, {24, 5})), "6..18 0..5");
  EXPECT_EQ(box_text(reshaped({4, 6, 5}, {{1, 2}, {2, 4}, {0, 5}}, {24, 5})), "8..10 0..5");
  EXPECT_EQ(box_text(reshaped({24, 5}, {{8, 10}, {0, 5}}, {4, 6, 5})), "1..2 2..4 0..5");
  EXPECT_EQ(box_text(reshaped({24, 5}, {{6, 18}, {1, 2}}, {4, 6, 1, 5})), "1..3 0..6 0..1 1..2");
  EXPECT_EQ(box_text(reshaped({4, 1}, {{1, 3}, {0, 1}}, {1, 4, 1, 1})), "0..1 1..3 0..1 0..1");
  EXPECT_EQ(box_text(reshaped({4, 6, 5}, {{0, 2}, {1, 2}, {0, 5}}, {24, 5})), "none");  // two runs
  EXPECT_EQ(box_text(reshaped({24, 5}, {{5, 8}, {0, 5}}, {4, 6, 5})), "none");  // no box there
}

/// Of the only node of a graph, where an operand's axis is cut to its first index.
std::string refused(const Op& op, std::string_view sample_text, int operand, std::size_t axis) {
  for (const Sample& sample : samples_of(op)) {
    if (sample.text != sample_text) continue;
    const ir::Graph graph = sample_graph(op, sample);
    const NodeView view = view_of(graph, graph.nodes.front());
    Box box = whole_box(view.in(operand).shape);
    box[axis] = {0, 1};
    GivenBoxes given;
    given.inputs.assign(view.inputs.size(), nullptr);
    given.inputs[at(operand)] = &box;
    return part_of(view, given).fits.why;
  }
  return "no such sample";
}

TEST(Split, SaysWhyNot) {
  EXPECT_EQ(refused(op_named("softmax"), "f32[3,5]", 0, 0), "it has no index map");
  EXPECT_EQ(refused(op_named("flip"), "f32[5] | axes=[0]", 0, 0),
            "it reads other rows than its own");
  EXPECT_EQ(refused(op_named("mean"), "f32[3,5] | axes=[0]", 0, 0),
            "what follows its sum is for the whole sum");
  EXPECT_EQ(refused(op_named("sum"), "f32[3,5] | axes=[0]", 0, 0), "");
}

}  // namespace
}  // namespace plait
