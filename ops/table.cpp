// The op table, and the facts that follow from an op's entry: types, nests, counts.
#include "ops/table.h"

#include <algorithm>
#include <unordered_map>

#include "ops/builder.h"
#include "ops/ops.h"

namespace plait {
namespace {

// With the lists at the end of each family, this is the op table; nothing else lists ops.
constexpr std::span<const Op* const> kFamilies[] = {
    ops::kActivation, ops::kArithmetic, ops::kAttention, ops::kCompare, ops::kConstants,
    ops::kContract,   ops::kConv,       ops::kIndex,     ops::kLoss,    ops::kNorm,
    ops::kPool,       ops::kRandom,     ops::kReduce,    ops::kResize,  ops::kScan,
    ops::kShapes,     ops::kSoftmax,    ops::kUnary,     ops::kUpdate,  ops::kWkv,
};

struct Index {
  std::vector<const Op*> sorted;
  std::unordered_map<std::string_view, const Op*> by_name;
};

const Index& index() {
  static const Index kIndex = [] {
    Index made;
    for (std::span<const Op* const> family : kFamilies) {
      for (const Op* op : family) {
        check(made.by_name.emplace(op->name, op).second, "two ops are named ", op->name);
        made.sorted.push_back(op);
      }
    }
    std::sort(made.sorted.begin(), made.sorted.end(),
              [](const Op* a, const Op* b) { return a->name < b->name; });
    return made;
  }();
  return kIndex;
}

void check_operands(const NodeView& view) {
  int needed = 0;
  for (std::string_view name : view.op.inputs) {
    needed += !name.ends_with("?") && !name.ends_with("...");
  }
  const bool repeats =
      !view.op.inputs.empty() && view.op.inputs[view.op.inputs.size() - 1].ends_with("...");
  const int most = repeats ? view.count() : view.op.inputs.size();
  if (view.count() < needed || view.count() > most) {
    const std::string takes = repeats          ? str("at least ", needed)
                              : needed == most ? str(needed)
                                               : str(needed, " to ", most);
    view.fail("takes ", takes, " operands, given ", view.count());
  }
  for (int i = 0; i < std::min(view.count(), view.op.inputs.size()); ++i) {
    if (!view.has(i) && !view.op.inputs[i].ends_with("?")) {
      view.fail("operand ", view.op.inputs[i], " may not be left out");
    }
  }
  if (view.has(0) && !view.op.dtypes.has(view.in(0).dtype)) {
    std::vector<std::string> accepted;
    for (std::size_t t = 0; t < kDTypeCount; ++t) {
      if (view.op.dtypes.has(static_cast<DType>(t))) accepted.emplace_back(kDTypeNames[t]);
    }
    view.fail_hint(str("It takes ", join(accepted, ", "), "; cast first"), view.op.inputs[0],
                   " cannot be ", view.in(0).dtype);
  }
}

Dim nest_operations(const NodeView& view) {
  const loop::Nest nest = nest_of(view);
  const Dim points = point_count(nest);
  if (view.op.scalar) return points * Dim(operation_count(nest.body));
  if (nest.reduce == loop::Reduce::kNone) return 0;  // moves data
  const bool product = nest.body.node().op == loop::ScalarOp::kMul && nest.loads.size() >= 2;
  return product ? points * Dim(2) : points;
}

}  // namespace

std::span<const Op* const> all_ops() { return index().sorted; }

const Op* find_op(std::string_view name) {
  const auto it = index().by_name.find(name);
  return it == index().by_name.end() ? nullptr : it->second;
}

std::vector<std::string> op_names() {
  std::vector<std::string> names;
  for (const Op* op : all_ops()) names.emplace_back(op->name);
  return names;
}

const Op& op_named(std::string_view name) {
  if (const Op* op = find_op(name)) return *op;
  fail("there is no op '", name, "'.", suggestion(name, op_names()), " `plait ops` lists them");
}

NodeView view_of(const ir::Graph& graph, const ir::Node& node) {
  NodeView view{op_named(node.op), {}, {}, node.attrs, describe(graph, node)};
  for (ir::ValueId id : node.inputs) {
    view.inputs.push_back(id == ir::kNone ? nullptr : &graph.type(id));
  }
  for (ir::ValueId id : node.outputs) view.outputs.push_back(graph.type(id));
  return view;
}

std::vector<ir::Type> infer(const NodeView& view) {
  check_operands(view);
  try {
    view.op.attrs->validate(view.attrs, view.op.name);
  } catch (const UserError& e) {
    if (view.where.empty()) throw;
    throw UserError(str(e.what(), " (", view.where, ")"));
  }
  return view.op.infer(view);
}

loop::Nest nest_of(const NodeView& view) {
  if (view.op.nest) return view.op.nest(view);
  check(view.op.scalar, view.op.name, " has no nest");
  loop::Nest nest;
  const Shape& shape = view.out().shape;
  std::vector<Dim> index;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    index.push_back(add_index(nest, std::string(1, static_cast<char>('a' + i)), shape[i]));
  }
  for (int i = 0; i < view.count(); ++i) {
    const Shape& from = view.in(i).shape;
    const std::size_t lead = shape.size() - from.size();
    loop::Access access{i, {}};
    for (std::size_t d = 0; d < from.size(); ++d) {
      access.index.push_back(from[d] == shape[lead + d] ? index[lead + d] : Dim(0));
    }
    add_load(nest, std::move(access));
  }
  nest.body = view.op.scalar(In{view});
  return nest;
}

ir::Graph decomposition_of(const NodeView& view) {
  check(view.op.decompose, view.op.name, " is not a composite");
  Builder b{std::string(view.op.name)};
  DecomposeCtx ctx{b, view, {}};
  for (int i = 0; i < view.count(); ++i) {
    if (!view.has(i)) {
      ctx.inputs.emplace_back();
      continue;
    }
    const ir::Type& type = view.in(i);
    const Tensor operand = b.feed(str("operand", i), type.dtype, type.shape);
    ctx.inputs.push_back(moves_only(view.op) ? operand : widen(operand));
  }
  const std::vector<Tensor> results = view.op.decompose(ctx);
  check(results.size() == view.outputs.size(), view.op.name, " decomposes into ", results.size(),
        " results, has ", view.outputs.size());
  for (std::size_t i = 0; i < results.size(); ++i) {
    const Tensor result = narrow(results[i], view.outputs[i].dtype);
    check(result.shape() == view.outputs[i].shape, view.op.name, " result ", i, " decomposes to ",
          result.type(), ", inferred ", view.outputs[i]);
    b.fetch(str("result", i), result);
  }
  return b.take();
}

Dim operations_of(const ir::Graph& graph, const ir::Node& node) {
  if (node.opaque) return 0;
  const NodeView view = view_of(graph, node);
  if (view.op.operations) return view.op.operations(view);
  if (has_nest(view.op)) return nest_operations(view);
  if (!view.op.decompose) return 0;
  const ir::Graph parts = decomposition_of(view);
  Dim total = 0;
  for (const ir::Node& part : parts.nodes) total = total + operations_of(parts, part);
  return total;
}

Dim bytes_of(const ir::Graph& graph, const ir::Node& node) {
  Dim total = 0;
  for (ir::ValueId id : std::set(node.inputs.begin(), node.inputs.end())) {
    if (id != ir::kNone) total = total + graph.type(id).bytes();
  }
  for (ir::ValueId id : node.outputs) total = total + graph.type(id).bytes();
  return total;
}

bool moves_only(const Op& op) { return op.traits & kView; }

bool is_view(const ir::Node& node) {
  const Op* op = node.opaque ? nullptr : find_op(node.op);
  return op && (op->traits & kView);
}

}  // namespace plait
