// Graphs under construction: op calls become nodes with inferred types.
#include "ops/builder.h"

#include "base/fits.h"
#include "base/text.h"
#include "ops/constant.h"
#include "ops/table.h"

namespace plait {

Builder::Builder(std::string graph_name) { graph_.name = std::move(graph_name); }

Builder::Builder(ir::Graph graph) : graph_(std::move(graph)) {
  for (const ir::Node& n : graph_.nodes) {
    const ir::AttrValue* stream = n.attrs.find("stream");
    std::int64_t number = 0;
    if (stream && ir::read_attr(*stream, number)) streams_ = std::max(streams_, number + 1);
  }
}

Tensor Builder::feed(std::string name, DType dtype, Shape shape) {
  return {this, graph_.add_feed(std::move(name), {dtype, std::move(shape)})};
}

Tensor Builder::state(const ir::State& state) {
  if (const ir::StateUse* use = graph_.find_state(state.name)) {
    if (!(use->state == state)) {
      fail("state ", state.name, " is declared twice: ", use->state.type, " and ", state.type);
    }
    return {this, use->value};
  }
  return {this, graph_.add_state(state)};
}

Tensor Builder::constant(const Array& value) {
  return ops::constant.make(*this, ops::Constant{.value = {std::make_shared<Array>(value)}});
}

Tensor Builder::constant(double value, DType dtype) {
  if (const std::string why = misfit(value, dtype); !why.empty()) {
    fail("[constant] ", real_text(value), " cannot be ", dtype, ": ", why);
  }
  return constant(Array::scalar(dtype, value));
}

Tensor Builder::full(double value, DType dtype, const Shape& shape) {
  const Tensor scalar = constant(value, dtype);
  return shape.empty() ? scalar : scalar.broadcast_to(shape);
}

void Builder::next(const std::string& state, const Tensor& value) {
  const ir::StateUse* use = graph_.find_state(state);
  if (!use) fail("next of state ", state, ", which graph ", graph_.name, " does not read");
  if (!(use->state.type == value.type())) {
    fail("next of state ", state, " is ", value.type(), ", the state is ", use->state.type);
  }
  graph_.nexts.push_back({state, value.id()});
}

void Builder::fetch(std::string name, const Tensor& value) {
  graph_.fetches.push_back({std::move(name), value.id()});
}

std::vector<Tensor> Builder::add(const Op& op, const std::vector<Tensor>& operands, ir::Attrs attrs,
                                 ir::Source source, std::vector<std::string> names) {
  if (source_) source = *source_;
  ir::Node node{std::string(op.name), {}, {}, std::move(attrs), path_, std::move(source), false};
  NodeView view{op, {}, {}, node.attrs, ""};
  for (const Tensor& t : operands) {
    check(!t || &t.builder() == this, "an operand of ", op.name, " belongs to another graph");
    node.inputs.push_back(t ? t.id() : ir::kNone);
    view.inputs.push_back(t ? &t.type() : nullptr);
  }
  while (!node.inputs.empty() && node.inputs.back() == ir::kNone) {
    node.inputs.pop_back();
    view.inputs.pop_back();
  }
  if (!node.path.empty() || !node.source.file.empty()) {
    view.where = node.path;
    if (!node.source.file.empty()) {
      view.where += str(node.path.empty() ? "" : " ", node.source.file, ":", node.source.line);
    }
  }
  const std::vector<ir::Type> types = infer(view);
  const ir::NodeId id = graph_.add_node(std::move(node), types, std::move(names));
  std::vector<Tensor> results;
  for (ir::ValueId v : graph_.node(id).outputs) results.emplace_back(this, v);
  return results;
}

std::vector<Tensor> Builder::add(std::string_view op, const std::vector<Tensor>& operands,
                                 ir::Attrs attrs) {
  return add(op_named(op), operands, std::move(attrs));
}

std::vector<Tensor> Builder::add_opaque(std::string name, const std::vector<Tensor>& operands,
                                        ir::Attrs attrs, const std::vector<ir::Type>& types) {
  ir::Node node{
      std::move(name), {}, {}, std::move(attrs), path_, source_.value_or(ir::Source{}), true};
  for (const Tensor& t : operands) node.inputs.push_back(t ? t.id() : ir::kNone);
  const ir::NodeId id = graph_.add_node(std::move(node), types);
  std::vector<Tensor> results;
  for (ir::ValueId v : graph_.node(id).outputs) results.emplace_back(this, v);
  return results;
}

Tensor Builder::random_key() {
  const std::string name(kRandomState);
  if (const ir::StateUse* use = graph_.find_state(name)) return {this, use->value};
  const Tensor key = state({name, {DType::i64, {2}}, ir::Role::kCounter, {"seed", {}}});
  const std::string path = path_;
  set_path("");
  next(name, key + constant(Array::of(DType::i64, {2}, {0, 1})));
  set_path(path);
  return key;
}

std::int64_t Builder::next_stream() { return streams_++; }

}  // namespace plait
