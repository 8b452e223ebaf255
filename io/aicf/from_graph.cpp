// Graph to record: nodes of ours as ops of the format, values as storage cells. Updates are written
// last, so that every reader of a parameter stands above the line that overwrites it.
#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "base/error.h"
#include "base/text.h"
#include "io/aicf/format.h"
#include "io/aicf/layer_gradients.h"
#include "io/aicf/op.h"
#include "io/aicf/pattern.h"
#include "io/aicf/record_cells.h"
#include "io/aicf/words.h"
#include "ops/activation.h"
#include "ops/loss.h"
#include "ops/shape.h"
#include "ops/update.h"
#include "passes/cse.h"
#include "passes/dead.h"
#include "passes/fold.h"
#include "passes/simplify.h"

namespace plait::io::aicf {
namespace {

class Writer {
 public:
  explicit Writer(const ir::Graph& graph)
      : g_(graph),
        patterns_(graph),
        cells_(graph, record_),
        spoken_(graph.nodes.size(), false),
        layers_(layer_gradients(graph, patterns_)) {}

  Record record() {
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

 private:
  [[noreturn]] void no_word(const ir::Node& node, const std::string& why) const {
    fail(
        "aicf: no word for ", node.op, " ", describe(g_, node), why.empty() ? "" : ": ", why,
        ". The format holds linear layers, relu, their gradients, the gradient of the mean squared "
        "error, and the updates of SGD and Adam");
  }

  void speak(const Match& match) {
    for (ir::NodeId id : match.nodes) spoken_[static_cast<std::size_t>(id)] = true;
  }

  void note_uses() {
    for (const ir::StateUse& use : g_.states) state_of_[use.value] = use.state.name;
    for (const ir::NextState& next : g_.nexts) next_of_[next.state] = next.value;
    for (std::size_t i = 0; i < layers_.size(); ++i) {
      speak(layers_[i].covered);
      if (layers_[i].first != ir::kNone) backward_at_[layers_[i].first].push_back(i);
    }
  }

  /// The cell that an operand is read from.
  Cell cell(ir::ValueId value) {
    const Cell found = cells_.find(value);
    if (found >= 0) return found;
    const ir::NodeId producer = g_.value(value).producer;
    if (producer != ir::kNone) no_word(g_.node(producer), "");
    return cells_.make(value);
  }

  const std::string& name_of(Cell c) const { return record_.value(c).name; }

  void emit(std::string_view op, std::vector<Cell> inputs, std::vector<Cell> outputs,
            std::vector<Attr> attrs = {}) {
    record_.nodes.push_back(
        {std::string(op), std::move(inputs), std::move(outputs), std::move(attrs)});
  }

  static std::vector<Attr> layer_attrs(bool bias) {
    return {{"bias", bias ? "True" : "False"}, {"layout", std::string(kLayout)}};
  }

  void add_backward(std::size_t index) {
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

  // Nodes in order; updates are kept for the end.

  void add_node(ir::NodeId id) {
    const ir::Node& node = g_.node(id);
    const auto backward = backward_at_.find(id);
    if (backward != backward_at_.end()) {
      for (std::size_t layer : backward->second) add_backward(layer);
    }
    if (spoken_[static_cast<std::size_t>(id)] || node.opaque) return;
    if (is_update(node) || is_counted(id)) {
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

  /// `d_` and the name of what relu was given, where `saved` is its result.
  std::string masked_name(ir::ValueId saved, Cell dy) {
    ir::NodeId maker = g_.value(saved).producer;
    if (maker != ir::kNone && g_.node(maker).op == ops::copy.name) {
      maker = g_.value(g_.node(maker).inputs[0]).producer;
    }
    if (maker == ir::kNone || g_.node(maker).op != ops::relu.name) return name_of(dy) + "_masked";
    return "d_" + name_of(cell(g_.node(maker).inputs[0]));
  }

  bool is_counted(ir::NodeId id) const {
    const auto found = patterns_.increment(id);
    if (!found) return false;
    const auto state = state_of_.find(found->step);
    if (state == state_of_.end()) return false;
    const auto next = next_of_.find(state->second);
    return next != next_of_.end() && next->second == g_.node(id).outputs[0];
  }

  void add_mse_grad(const Patterns::MseGrad& mse, ir::ValueId result) {
    const Cell pred = cell(mse.pred), target = cell(mse.target);
    std::vector<Attr> attrs;
    const bool single = g_.type(result).dtype != DType::f64;
    if (!mse.by_default) attrs.push_back({"scale", number_text(mse.scale, single)});
    emit("MseGrad", {pred, target}, {cells_.make(result, "d_" + name_of(pred))}, std::move(attrs));
    speak(mse);
    graded_.insert({mse.pred, mse.target});
  }

  /// A loss that is differentiated is left out: the format holds its gradient alone.
  void add_losses() {
    for (std::size_t i = 0; i < g_.nodes.size(); ++i) {
      const ir::Node& node = g_.nodes[i];
      if (node.opaque || node.op != ops::mse_loss.name) continue;
      if (!graded_.contains({node.inputs[0], node.inputs[1]})) continue;
      spoken_[i] = true;
      losses_.insert(node.outputs[0]);
    }
  }

  // Updates.

  /// The cell of a state whose next value is result `output` of the node: written in place.
  Cell updated_cell(const ir::Node& node, ir::ValueId before, int output) {
    const ir::ValueId after = node.outputs[static_cast<std::size_t>(output)];
    const auto state = state_of_.find(before);
    const auto next = state == state_of_.end() ? next_of_.end() : next_of_.find(state->second);
    if (next == next_of_.end() || next->second != after) {
      no_word(node, str("it makes ", g_.value(after).name, " from ", g_.value(before).name,
                        ", but not as the next value of that state"));
    }
    const Cell cell_before = cell(before);
    cells_.put(after, cell_before);
    return cell_before;
  }

  std::string rate_text(const ir::Node& node, Match& covered) const {
    const std::optional<double> lr = patterns_.number(node.inputs[2], covered);
    if (!lr) no_word(node, "its learning rate is no constant");
    return number_text(*lr, g_.type(node.inputs[2]).dtype != DType::f64);
  }

  void add_update(ir::NodeId id) {
    const ir::Node& node = g_.node(id);
    Match covered{{id}};
    if (const auto counted = patterns_.increment(id)) {
      const Cell step = cell(counted->step);
      emit("StepInc", {step}, {updated_cell(node, counted->step, 0)});
      speak(*counted);
      return;
    }
    const std::string lr = rate_text(node, covered);
    if (node.op == ops::sgd_update.name) {
      if (!(ir::decode<ops::SgdUpdate>(node.attrs, node.op) == ops::SgdUpdate{})) {
        no_word(node, "momentum or weight decay");
      }
      const std::vector<Cell> inputs{cell(node.inputs[0]), cell(node.inputs[1])};
      emit("SgdStep", inputs, {updated_cell(node, node.inputs[0], 0)}, {{"lr", lr}});
    } else {
      add_adam(node, lr, covered);
    }
    speak(covered);
  }

  void add_adam(const ir::Node& node, const std::string& lr, Match& covered) {
    const auto a = ir::decode<ops::AdamUpdate>(node.attrs, node.op);
    if (a.weight_decay != 0) no_word(node, "weight decay");
    const std::string beta1 = number_text(a.beta1, false), beta2 = number_text(a.beta2, false);
    const ir::ValueId count = patterns_.bare_count(node.inputs[5], covered);
    const auto state = state_of_.find(count);
    if (state != state_of_.end() && next_of_.contains(state->second)) {
      no_word(node, "it reads its step before the step is counted");
    }
    const auto key = std::tuple{count, beta1, beta2};
    if (!corrections_.contains(key)) {
      const Cell step = cell(count);
      const ir::Type scalar{DType::f32, {}};
      const Cell first = cells_.fresh("opt.bc1_inv", scalar),
                 second = cells_.fresh("opt.bc2_inv", scalar);
      emit("BiasCorr", {step}, {first, second}, {{"beta1", beta1}, {"beta2", beta2}});
      corrections_[key] = {first, second};
    }
    const auto [first, second] = corrections_[key];
    const auto in = [&](std::size_t i) { return cell(node.inputs[i]); };
    const std::vector<Cell> inputs{in(0), in(1), in(3), in(4), first, second};
    const std::vector<Cell> outputs{updated_cell(node, node.inputs[0], 0),
                                    updated_cell(node, node.inputs[3], 1),
                                    updated_cell(node, node.inputs[4], 2)};
    emit("AdamStep", inputs, outputs,
         {{"lr", lr}, {"beta1", beta1}, {"beta2", beta2}, {"eps", number_text(a.eps, false)}});
  }

  // What must be left: nothing.

  void check_spoken() const {
    for (std::size_t i = 0; i < g_.nodes.size(); ++i) {
      if (!spoken_[i]) no_word(g_.nodes[i], "");
    }
  }

  void check_ends() {
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

  /// Feeds and states that no node reads; a learning rate is an attribute.
  void add_unread() {
    const std::vector<int> uses = use_counts(g_);
    for (ir::ValueId id : g_.feeds) static_cast<void>(cell(id));
    for (const ir::StateUse& use : g_.states) {
      if (uses[static_cast<std::size_t>(use.value)] == 0) static_cast<void>(cell(use.value));
    }
  }

  const ir::Graph& g_;
  Patterns patterns_;
  Record record_;
  RecordCells cells_;
  std::vector<bool> spoken_;  // by node: part of something written
  std::map<ir::ValueId, std::string> state_of_;
  std::map<std::string, ir::ValueId> next_of_;
  std::vector<LayerGradients> layers_;
  std::map<ir::NodeId, std::vector<std::size_t>> backward_at_;
  std::vector<ir::NodeId> updates_;
  std::map<std::tuple<ir::ValueId, std::string, std::string>, std::pair<Cell, Cell>> corrections_;
  std::set<std::pair<ir::ValueId, ir::ValueId>> graded_;
  std::set<ir::ValueId> losses_;
};

}  // namespace

Record from_graph(const ir::Graph& graph) {
  for (const auto& [name, symbol] : symbols_of(graph)) {
    fail("aicf: graph ", graph.name, " has the size ", name,
         ", and the format holds numbers. Set it: --set ", name, "=N");
  }
  DecisionLog log;
  const ir::Graph folded = remove_dead(merge_common(fold_constants(graph, log), log), log);
  try {
    return Writer(folded).record();
  } catch (const UserError&) {
    // The same written in another way may have words.
    const ir::Graph plain = remove_dead(merge_common(simplify(folded, log), log), log);
    try {
      return Writer(plain).record();
    } catch (const UserError&) {
    }
    throw;
  }
}

}  // namespace plait::io::aicf
