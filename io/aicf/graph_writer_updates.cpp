// Updates: SGD, Adam, and the counter of steps, each over the cell it reads.
#include "base/error.h"
#include "io/aicf/graph_writer.h"
#include "io/aicf/words.h"
#include "ops/compare.h"
#include "ops/update.h"

namespace plait::io::aicf {

ir::ValueId GraphWriter::next_value(ir::ValueId before) const {
  const auto state = state_of_.find(before);
  const auto next = state == state_of_.end() ? next_of_.end() : next_of_.find(state->second);
  return next == next_of_.end() ? ir::kNone : next->second;
}

bool GraphWriter::is_counted(ir::NodeId id) const {
  const auto found = patterns_.increment(id);
  return found && next_value(found->step) == g_.node(id).outputs[0];
}

bool GraphWriter::is_adam(ir::NodeId id) const {
  const auto found = patterns_.adam(id);
  return found && next_value(found->p) == g_.node(id).outputs[0];
}

Cell GraphWriter::updated_cell(const ir::Node& node, ir::ValueId before, int output) {
  const ir::ValueId after = node.outputs[static_cast<std::size_t>(output)];
  if (next_value(before) != after) {
    no_word(node, str("it makes ", g_.value(after).name, " from ", g_.value(before).name,
                      ", but not as the next value of that state"));
  }
  const Cell same = cell(before);
  cells_.put(after, same);
  return same;
}

std::string GraphWriter::rate_text(const ir::Node& node, Match& covered) const {
  const std::optional<double> lr = patterns_.number(node.inputs[2], covered);
  if (!lr) no_word(node, "its learning rate is no constant");
  const bool single = g_.type(node.inputs[2]).dtype != DType::f64;
  const double used = single ? static_cast<double>(static_cast<float>(*lr)) : *lr;
  return number_text(used, g_.type(node.inputs[0]).dtype != DType::f64);
}

void GraphWriter::add_update(ir::NodeId id) {
  const ir::Node& node = g_.node(id);
  Match covered{{id}};
  if (const auto counted = patterns_.increment(id)) {
    const Cell step = cell(counted->step);
    emit("StepInc", {step}, {updated_cell(node, counted->step, 0)});
    speak(*counted);
    return;
  }
  if (const auto adam = patterns_.adam(id)) {
    add_adam_formula(node, *adam);
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

void GraphWriter::add_adam(const ir::Node& node, const std::string& lr, Match& covered) {
  const auto a = ir::decode<ops::AdamUpdate>(node.attrs, node.op);
  if (a.weight_decay != 0) no_word(node, "weight decay");
  const std::string beta1 = number_text(a.beta1, false), beta2 = number_text(a.beta2, false);
  const ir::ValueId count = patterns_.bare_count(node.inputs[5], covered);
  if (next_value(count) != ir::kNone) {
    no_word(node, "it reads its step before the step is counted");
  }
  const auto [first, second] = corrections(count, beta1, beta2);
  const auto in = [&](std::size_t i) { return cell(node.inputs[i]); };
  const std::vector<Cell> inputs{in(0), in(1), in(3), in(4), first, second};
  const std::vector<Cell> outputs{updated_cell(node, node.inputs[0], 0),
                                  updated_cell(node, node.inputs[3], 1),
                                  updated_cell(node, node.inputs[4], 2)};
  emit("AdamStep", inputs, outputs,
       {{"lr", lr}, {"beta1", beta1}, {"beta2", beta2}, {"eps", number_text(a.eps, false)}});
}

std::pair<Cell, Cell> GraphWriter::corrections(ir::ValueId count, const std::string& beta1,
                                               const std::string& beta2) {
  const auto key = std::tuple{count, beta1, beta2};
  const auto found = corrections_.find(key);
  if (found != corrections_.end()) return found->second;
  const Cell step = cell(count);
  const ir::Type scalar{DType::f32, {}};
  const Cell first = cells_.fresh("opt.bc1_inv", scalar);
  const Cell second = cells_.fresh("opt.bc2_inv", scalar);
  emit("BiasCorr", {step}, {first, second}, {{"beta1", beta1}, {"beta2", beta2}});
  return corrections_[key] = {first, second};
}

void GraphWriter::add_adam_formula(const ir::Node& node, const Patterns::Adam& adam) {
  const bool single = g_.type(adam.p).dtype != DType::f64;
  const auto text = [&](double x) { return number_text(x, single); };
  std::vector<Cell> inputs{cell(adam.p), cell(adam.g), cell(adam.m), cell(adam.v)};
  const auto bc1 = patterns_.correction(adam.bc1), bc2 = patterns_.correction(adam.bc2);
  if (bc1 && bc2 && bc1->step == bc2->step) {
    const auto [first, second] = corrections(bc1->step, text(bc1->beta), text(bc2->beta));
    inputs.insert(inputs.end(), {first, second});
    speak(*bc1);
    speak(*bc2);
  } else {
    inputs.push_back(cell(adam.bc1));
    inputs.push_back(cell(adam.bc2));
  }
  const std::vector<Cell> outputs{updated_cell(node, adam.p, 0), moment_cell(adam.m, adam.next_m),
                                  moment_cell(adam.v, adam.next_v)};
  emit("AdamStep", inputs, outputs,
       {{"lr", text(adam.lr)},
        {"beta1", text(adam.beta1)},
        {"beta2", text(adam.beta2)},
        {"eps", text(adam.eps)}});
  speak(adam);
}

Cell GraphWriter::moment_cell(ir::ValueId before, ir::ValueId wide) {
  const ir::ValueId after = next_value(before);
  const ir::Node& maker = g_.node(g_.value(wide).producer);
  if (after == ir::kNone) no_word(maker, "it is no next value of a moment");
  if (after != wide) {
    const ir::NodeId cast = g_.value(after).producer;
    const bool rounded =
        cast != ir::kNone && g_.node(cast).op == ops::cast.name && g_.node(cast).inputs[0] == wide;
    if (!rounded) no_word(maker, "it is no next value of a moment");
    speak({{cast}});
  }
  const Cell same = cell(before);
  cells_.put(after, same);
  return same;
}

}  // namespace plait::io::aicf
