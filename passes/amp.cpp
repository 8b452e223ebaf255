// Rewriting a coloured graph.
#include "passes/amp.h"

#include <array>

#include "base/at.h"
#include "ops/compare.h"
#include "ops/constant.h"
#include "ops/table.h"
#include "passes/amp_colour.h"

namespace plait {
namespace {

using ir::ValueId;

class Mixing {
 public:
  Mixing(const ir::Graph& from, DType half)
      : from_(from),
        half_(half),
        native_(from.values.size(), ir::kNone),
        plain_(from.values.size(), ir::kNone),
        cast_(from.values.size(), ir::kNone) {
    to_.name = from.name;
    for (ValueId id : from.feeds) {
      native_[at(id)] = to_.add_feed(from.value(id).name, from.type(id));
    }
    for (const ir::StateUse& use : from.states) native_[at(use.value)] = to_.add_state(use.state);
  }

  void put(const ir::Node& old, const Precision& precision) {
    if (is_f32_constant(old)) return;  // made in the dtypes it is read in
    ir::Node node = old;
    node.outputs.clear();
    const bool is_cast = !old.opaque && old.op == ops::cast.name;  // reads halves as they are
    for (std::size_t i = 0; i < old.inputs.size(); ++i) {
      const ValueId id = old.inputs[i];
      if (id == ir::kNone) continue;
      const bool narrow = precision.half && precision.narrowed[i];
      node.inputs[i] =
          is_cast ? native_[at(id)] : version(id, narrow ? half_ : from_.type(id).dtype, old);
    }
    std::vector<ir::Type> types;
    std::vector<std::string> names;
    for (std::size_t i = 0; i < old.outputs.size(); ++i) {
      types.push_back(from_.type(old.outputs[i]));
      if (precision.half) types[i].dtype = precision.outputs[i].dtype;
      names.push_back(from_.value(old.outputs[i]).name);
    }
    const ir::NodeId made = to_.add_node(std::move(node), types, std::move(names));
    for (std::size_t i = 0; i < old.outputs.size(); ++i) {
      native_[at(old.outputs[i])] = to_.node(made).outputs[i];
    }
  }

  ir::Graph finish() {
    const ir::Node nowhere;
    for (const ir::NextState& n : from_.nexts) {
      to_.nexts.push_back({n.state, version(n.value, from_.type(n.value).dtype, nowhere)});
    }
    for (const ir::Fetch& f : from_.fetches) {
      to_.fetches.push_back({f.name, version(f.value, from_.type(f.value).dtype, nowhere)});
    }
    return std::move(to_);
  }

  int narrowed() const { return narrowed_; }
  int widened() const { return widened_; }

 private:
  bool is_f32_constant(const ir::Node& node) const {
    return !node.opaque && node.op == ops::constant.name &&
           from_.type(node.outputs[0]).dtype == DType::f32;
  }

  /// The value in a dtype: as it is, or cast for the first of its readers.
  ValueId version(ValueId old, DType dtype, const ir::Node& reader) {
    ValueId& slot = (dtype == from_.type(old).dtype ? plain_ : cast_)[at(old)];
    const ValueId native = native_[at(old)];
    if (native == ir::kNone) {
      if (slot == ir::kNone) slot = make_constant(old, dtype);
      return slot;
    }
    if (to_.type(native).dtype == dtype) return native;
    if (slot == ir::kNone) slot = make_cast(native, dtype, reader);
    return slot;
  }

  ValueId make_constant(ValueId old, DType dtype) {
    const ir::Node& from = from_.node(from_.value(old).producer);
    const auto value = ir::decode<ops::Constant>(from.attrs, from.op).value;
    const auto array = std::make_shared<const Array>(value.array->cast(dtype));
    const std::string& name = from_.value(old).name;
    const bool taken = to_.find_value(name) != ir::kNone;  // by its other dtype
    ir::Node node{from.op, {}, {}, ir::encode(ops::Constant{{array}}), from.path, from.source};
    return add(std::move(node), from_.type(old), dtype, taken ? fresh(name, dtype) : name);
  }

  ValueId make_cast(ValueId native, DType dtype, const ir::Node& reader) {
    const ir::NodeId producer = to_.value(native).producer;
    if (producer != ir::kNone && !to_.node(producer).opaque) {
      const ir::Node& made = to_.node(producer);
      const bool widened = made.op == ops::cast.name && is_half(to_.type(made.inputs[0]).dtype);
      if (widened && to_.type(made.inputs[0]).dtype == dtype) return made.inputs[0];
    }
    ++(dtype == half_ ? narrowed_ : widened_);
    ir::Node node{std::string(ops::cast.name),  {native},    {},
                  ir::encode(ops::Cast{dtype}), reader.path, reader.source};
    return add(std::move(node), to_.type(native), dtype, fresh(to_.value(native).name, dtype));
  }

  ValueId add(ir::Node node, ir::Type type, DType dtype, const std::string& name) {
    type.dtype = dtype;
    return to_.node(to_.add_node(std::move(node), {type}, {name})).outputs[0];
  }

  /// `name.bf16`, with a number behind it where either graph has that.
  std::string fresh(const std::string& name, DType dtype) const {
    const std::string stem = str(name, ".", name_of(dtype));
    std::string found = stem;
    for (int i = 1; from_.find_value(found) != ir::kNone || to_.find_value(found) != ir::kNone;
         ++i) {
      found = str(stem, ".", i);
    }
    return found;
  }

  const ir::Graph& from_;
  DType half_;
  ir::Graph to_;
  // By value of from_: as its node makes it, and the versions of it in f32 and in half.
  std::vector<ValueId> native_, plain_, cast_;
  int narrowed_ = 0, widened_ = 0;
};

/// Of each colour, nodes with f32 operands, and those that run half.
struct Tally {
  struct Count {
    int half = 0, all = 0;
  };
  std::array<Count, 4> by_colour;

  void add(const ir::Node& node, bool half) {
    Count& count = by_colour[static_cast<std::size_t>(op_named(node.op).colour)];
    count.half += half;
    ++count.all;
  }
  std::string text() const {
    std::vector<std::string> parts;
    for (std::size_t i = 0; i < by_colour.size(); ++i) {
      parts.push_back(str(by_colour[i].half, " of ", by_colour[i].all, " ",
                          colour_name(static_cast<Colour>(i))));
    }
    return join(parts, ", ");
  }
};

}  // namespace

ir::Graph amp(const ir::Graph& graph, DType half, DecisionLog& log) {
  check(is_half(half), "mixed precision with ", half);
  const std::vector<Precision> precisions = colour(graph, half);
  Mixing mixing(graph, half);
  Tally tally;
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    const ir::Node& node = graph.nodes[n];
    mixing.put(node, precisions[n]);
    if (precisions[n].why.empty()) continue;
    if (!node.opaque) tally.add(node, precisions[n].half);
    log.push_back({"amp", describe(graph, node),
                   std::string(name_of(precisions[n].half ? half : DType::f32)),
                   std::string(precisions[n].why)});
  }
  ir::Graph mixed = mixing.finish();
  log.push_back({"amp", "graph " + graph.name, std::string(name_of(half)),
                 str(tally.text(), " ops; ", mixing.narrowed(), " casts to ", half, ", ",
                     mixing.widened(), " to f32")});
  return mixed;
}

}  // namespace plait
