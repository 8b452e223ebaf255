// Layers, what flows back through them, and what must be left when all is written: nothing.
#include "io/aicf/graph_writer.h"

#include <algorithm>

#include "base/error.h"
#include "io/aicf/op.h"
#include "io/aicf/words.h"
#include "ops/activation.h"
#include "ops/loss.h"
#include "ops/shape.h"

namespace plait::io::aicf {

GraphWriter::GraphWriter(const ir::Graph& graph)
    : g_(graph),
      patterns_(graph),
      cells_(graph, record_),
      spoken_(graph.nodes.size(), false),
      layers_(layer_gradients(graph, patterns_)) {}

Record GraphWriter::record() {
  record_.name = g_.name;
  for (char& c : record_.name) c = static_cast<unsigned char>(c) < ' ' ? '_' : c;
  record_.name.resize(std::min(record_.name.size(), kMaxWord));
  note_uses();
  for (std::size_t i = 0; i < g_.nodes.size(); ++i) add_node(static_cast<ir::NodeId>(i));
  add_losses();
  for (ir::NodeId id : updates_) add_update(id);
  check_spoken();
  check_ends();
  add_unread();
  return std::move(record_);
}

void GraphWriter::no_word(const ir::Node& node, const std::string& why) const {
  fail("aicf: no word for ", node.op, " ", describe(g_, node), why.empty() ? "" : ": ", why,
       ". The format holds linear layers, relu, their gradients, the gradient of the mean squared "
       "error, and the updates of SGD and Adam");
}

void GraphWriter::speak(const Match& match) {
  for (ir::NodeId id : match.nodes) spoken_[static_cast<std::size_t>(id)] = true;
}

void GraphWriter::note_uses() {
  for (const ir::StateUse& use : g_.states) state_of_[use.value] = use.state.name;
  for (const ir::NextState& next : g_.nexts) next_of_[next.state] = next.value;
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    speak(layers_[i].covered);
    if (layers_[i].first != ir::kNone) backward_at_[layers_[i].first].push_back(i);
  }
}

Cell GraphWriter::cell(ir::ValueId value) {
  const Cell found = cells_.find(value);
  if (found >= 0) return found;
  const ir::NodeId producer = g_.value(value).producer;
  if (producer != ir::kNone) no_word(g_.node(producer), "");
  return cells_.make(value);
}

void GraphWriter::emit(std::string_view op, std::vector<Cell> inputs, std::vector<Cell> outputs,
                       std::vector<Attr> attrs) {
  record_.nodes.push_back(
      {std::string(op), std::move(inputs), std::move(outputs), std::move(attrs)});
}

std::vector<Attr> GraphWriter::layer_attrs(bool bias) {
  return {{"bias", bias ? "True" : "False"}, {"layout", std::string(kLayout)}};
}

void GraphWriter::add_backward(std::size_t index) {
  const Patterns::Layer& layer = layers_[index].layer;
  const LayerGradients& b = layers_[index];
  const std::vector<Cell> inputs{cell(layer.x), cell(layer.w), cell(b.dy)};
  const auto result = [&](ir::ValueId value, ir::ValueId of) {
    const std::string name = "d_" + name_of(cell(of));
    return value == ir::kNone ? cells_.fresh(name, g_.type(of)) : cells_.make(value, name);
  };
  std::vector<Cell> outputs{result(b.dx, layer.x), result(b.dw, layer.w)};
  const bool bias = layer.bias != ir::kNone;
  if (bias) outputs.push_back(result(b.db, layer.bias));
  emit("LinearBwd", inputs, std::move(outputs), layer_attrs(bias));
}

void GraphWriter::add_node(ir::NodeId id) {
  const ir::Node& node = g_.node(id);
  const auto backward = backward_at_.find(id);
  if (backward != backward_at_.end()) {
    for (std::size_t layer : backward->second) add_backward(layer);
  }
  if (spoken_[static_cast<std::size_t>(id)] || node.opaque) return;
  if (is_update(node) || is_counted(id) || is_adam(id)) {
    updates_.push_back(id);
  } else if (const auto layer = patterns_.layer(id)) {
    std::vector<Cell> inputs{cell(layer->x), cell(layer->w)};
    if (layer->bias != ir::kNone) inputs.push_back(cell(layer->bias));
    emit("Linear", std::move(inputs), {cells_.make(layer->y)},
         layer_attrs(layer->bias != ir::kNone));
    speak(*layer);
  } else if (node.op == ops::relu.name || node.op == ops::copy.name) {
    const Cell x = cell(node.inputs[0]);
    emit(node.op == ops::relu.name ? "ReLU" : "Save", {x}, {cells_.make(node.outputs[0])});
    speak({{id}});
  } else if (const auto bwd = patterns_.relu_bwd(id)) {
    const Cell dy = cell(bwd->dy), saved = cell(bwd->saved);
    emit("ReluBwd", {dy, saved}, {cells_.make(node.outputs[0], masked_name(bwd->saved, dy))});
    speak(*bwd);
  } else if (const auto mse = patterns_.mse_grad(id)) {
    add_mse_grad(*mse, node.outputs[0]);
  }
}

std::string GraphWriter::masked_name(ir::ValueId saved, Cell dy) {
  ir::NodeId maker = g_.value(saved).producer;
  if (maker != ir::kNone && g_.node(maker).op == ops::copy.name) {
    maker = g_.value(g_.node(maker).inputs[0]).producer;
  }
  if (maker == ir::kNone || g_.node(maker).op != ops::relu.name) return name_of(dy) + "_masked";
  return "d_" + name_of(cell(g_.node(maker).inputs[0]));
}

void GraphWriter::add_mse_grad(const Patterns::MseGrad& mse, ir::ValueId result) {
  const Cell pred = cell(mse.pred), target = cell(mse.target);
  std::vector<Attr> attrs;
  const bool single = g_.type(result).dtype != DType::f64;
  if (!mse.by_default) attrs.push_back({"scale", number_text(mse.scale, single)});
  emit("MseGrad", {pred, target}, {cells_.make(result, "d_" + name_of(pred))}, std::move(attrs));
  speak(mse);
  graded_.insert({mse.pred, mse.target});
}

void GraphWriter::add_losses() {
  for (std::size_t i = 0; i < g_.nodes.size(); ++i) {
    const ir::Node& node = g_.nodes[i];
    if (node.opaque || node.op != ops::mse_loss.name) continue;
    if (!graded_.contains({node.inputs[0], node.inputs[1]})) continue;
    spoken_[i] = true;
    losses_.insert(node.outputs[0]);
  }
}

void GraphWriter::check_spoken() const {
  for (std::size_t i = 0; i < g_.nodes.size(); ++i) {
    if (!spoken_[i]) no_word(g_.nodes[i], "");
  }
}

void GraphWriter::check_ends() {
  for (const ir::NextState& next : g_.nexts) {
    const ir::ValueId before = g_.find_state(next.state)->value;
    if (cells_.find(next.value) < 0 || cells_.find(next.value) != cell(before)) {
      fail("aicf: no word for the next value of state ", next.state, ", ",
           g_.value(next.value).name, ", which no update makes");
    }
  }
  for (const ir::Fetch& f : g_.fetches) {
    if (!losses_.contains(f.value)) static_cast<void>(cell(f.value));
  }
}

void GraphWriter::add_unread() {
  const std::vector<int> uses = use_counts(g_);
  for (ir::ValueId id : g_.feeds) static_cast<void>(cell(id));
  for (const ir::StateUse& use : g_.states) {
    if (uses[static_cast<std::size_t>(use.value)] == 0) static_cast<void>(cell(use.value));
  }
}

}  // namespace plait::io::aicf
