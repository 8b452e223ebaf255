// Record to graph: storage cells become feeds, states and values that are written once.
#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "base/error.h"
#include "io/aicf/cells.h"
#include "io/aicf/format.h"
#include "io/aicf/op.h"
#include "io/aicf/sizes.h"
#include "io/aicf/step.h"
#include "ops/initializers.h"

namespace plait::io::aicf {
namespace {

/// `0.W` -> `0`, `net.fc.W` -> `net.fc`; empty without a dot.
std::string module_of(const std::string& name) {
  const std::size_t dot = name.rfind('.');
  return dot == std::string::npos ? "" : name.substr(0, dot);
}

/// What the nodes of BiasCorr share with AdamStep.
struct Correction {
  Tensor step;
  bool in_update = false;  // an adam_update computes it itself
};

class Build {
 public:
  Build(const Record& record, std::vector<Shape> shapes)
      : record_(record),
        shapes_(std::move(shapes)),
        uses_(cell_uses(record)),
        now_(record.values.size()),
        waiting_(record.values.size(), -1),
        b_(record.name.empty() ? "graph" : record.name) {}

  ir::Graph graph() {
    for (std::size_t c = 0; c < uses_.size(); ++c) declare(c);
    for (std::size_t i = 0; i < record_.nodes.size(); ++i) add_node(i);
    for (std::size_t c = 0; c < uses_.size(); ++c) {
      const std::int32_t maker = waiting_[c];
      if (maker >= 0 && !corrections_[maker].in_update) read(static_cast<Cell>(c));
    }
    for (std::size_t c = 0; c < uses_.size(); ++c) advance(c);
    add_fetches();
    return b_.take();
  }

 private:
  ir::Type type_of(Cell cell) const {
    return {record_.value(cell).dtype, shapes_[static_cast<std::size_t>(cell)]};
  }

  /// Feeds and states exist before the first line.
  void declare(std::size_t c) {
    const CellUse& use = uses_[c];
    if (!use.external()) return;
    const auto cell = static_cast<Cell>(c);
    const std::string name = b_.graph().fresh_name(record_.value(cell).name);
    ir::State state{name, type_of(cell), ir::Role::kParam, init::zeros()};
    if (!use.is_state()) {
      now_[c] = b_.feed(name, state.type.dtype, state.type.shape);
      return;
    }
    if (use.role == CellRole::kParam) {
      const double fan = static_cast<double>(std::max<std::int64_t>(use.fan_in, 1));
      state.init = init::make(init::Uniform{-1 / std::sqrt(fan), 1 / std::sqrt(fan)});
    } else {
      state.role = use.role == CellRole::kMoment ? ir::Role::kSlot : ir::Role::kCounter;
    }
    now_[c] = b_.value(b_.graph().add_state(std::move(state)));
    states_[static_cast<Cell>(c)] = {name, {}};
  }

  ir::Source source_of(std::size_t index) const {
    return {record_.file, record_.line_of_node(index)};
  }

  void enter(std::size_t index) {
    b_.set_source(source_of(index));
    b_.set_path("");
    const Node& node = record_.node(index);
    const OpRule& rule = *find_rule(node.op);
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      if (rule.inputs[static_cast<int>(i)].use != Use::kWeight) continue;
      b_.set_path(module_of(record_.value(node.inputs[i]).name));
      return;
    }
  }

  Step step_of(std::size_t index) {
    const Node& node = record_.node(index);
    Step step{b_, node, {}, std::vector<std::string>(node.outputs.size()), {}, source_of(index)};
    for (Cell c : node.outputs) step.types.push_back(type_of(c));
    return step;
  }

  void add_node(std::size_t index) {
    const Node& node = record_.node(index);
    const bool known = !has_unknown_attr(node);
    if (node.op == "BiasCorr" && known) return wait(index);
    Step step = step_of(index);
    if (node.op == "AdamStep" && known) step.count = count_of(index);
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      const bool in_update = step.count && i >= 4;  // the corrections
      step.in.push_back(in_update ? Tensor() : read(node.inputs[i]));
    }
    enter(index);
    for (std::size_t i = 0; i < step.names.size(); ++i) {
      step.names[i] = b_.graph().fresh_name(record_.value(node.outputs[i]).name);
    }
    const std::vector<Tensor> results = step_results(step);
    for (std::size_t i = 0; i < results.size(); ++i) write(node.outputs[i], results[i]);
    if (node.op == "MseGrad") predictions_.push_back(step.in[0]);
    const auto counter = states_.find(node.inputs[0]);
    if (node.op == "StepInc" && counter != states_.end()) counter->second.counted = results[0];
  }

  void write(Cell cell, const Tensor& value) {
    now_[static_cast<std::size_t>(cell)] = value;
    waiting_[static_cast<std::size_t>(cell)] = -1;
  }

  /// BiasCorr's results are made when something other than an adam_update reads them.
  void wait(std::size_t index) {
    const Node& node = record_.node(index);
    const auto maker = static_cast<std::int32_t>(index);
    corrections_[maker] = {read(node.inputs[0])};
    for (Cell c : node.outputs) {
      write(c, {});
      waiting_[static_cast<std::size_t>(c)] = maker;
    }
  }

  Tensor read(Cell cell) {
    Tensor& value = now_[static_cast<std::size_t>(cell)];
    const std::int32_t maker = waiting_[static_cast<std::size_t>(cell)];
    if (maker < 0) return value;
    const auto index = static_cast<std::size_t>(maker);
    enter(index);
    Step step = step_of(index);
    step.in = {corrections_[maker].step};
    const int output = record_.node(index).outputs[0] == cell ? 0 : 1;
    step.names[static_cast<std::size_t>(output)] = b_.graph().fresh_name(record_.value(cell).name);
    write(cell, bias_correction(step, output));
    return value;
  }

  /// The step of an AdamStep whose corrections are one BiasCorr's with its own betas; else empty.
  Tensor count_of(std::size_t index) {
    const Node& node = record_.node(index);
    const Cell first = node.inputs[4], second = node.inputs[5];
    const std::int32_t maker = waiting_[static_cast<std::size_t>(first)];
    if (maker < 0 || waiting_[static_cast<std::size_t>(second)] != maker) return {};
    const Node& corr = record_.node(static_cast<std::size_t>(maker));
    if (corr.outputs != std::vector<Cell>{first, second}) return {};
    for (std::string_view beta : {"beta1", "beta2"}) {
      if (node.number(beta) != corr.number(beta)) return {};
    }
    enter(index);
    corrections_[maker].in_update = true;
    return as_count(corrections_[maker].step);
  }

  /// The next value of a state is what its cell holds at the end.
  void advance(std::size_t c) {
    const auto found = states_.find(static_cast<Cell>(c));
    if (found == states_.end()) return;
    const Tensor counted = found->second.counted;
    if (!uses_[c].written && !counted) return;
    Tensor next = uses_[c].written ? now_[c] : counted;
    const Shape& shape = shapes_[c];
    if (!(next.shape() == shape)) next = next.reshape(shape);
    b_.graph().nexts.push_back({found->second.name, next.id()});
  }

  /// What the network predicts where it is trained; else what nothing reads.
  void add_fetches() {
    if (predictions_.empty()) {
      for (const Version& v : versions(uses_)) {
        const auto c = static_cast<std::size_t>(v.cell);
        const bool last = v.writer >= 0 && v.readers.empty() && v.overwriter < 0;
        if (last && !uses_[c].is_state() && now_[c]) predictions_.push_back(now_[c]);
      }
    }
    std::set<ir::ValueId> seen;
    for (const Tensor& t : predictions_) {
      if (seen.insert(t.id()).second) b_.fetch(b_.graph().value(t.id()).name, t);
    }
  }

  struct StateCell {
    std::string name;
    Tensor counted;  // by a StepInc that writes another cell
  };

  const Record& record_;
  std::vector<Shape> shapes_;
  std::vector<CellUse> uses_;
  std::vector<Tensor> now_;            // by cell: its content at this line
  std::vector<std::int32_t> waiting_;  // by cell: the BiasCorr whose result is not made yet, or -1
  std::map<std::int32_t, Correction> corrections_;  // by node
  std::map<Cell, StateCell> states_;
  std::vector<Tensor> predictions_;
  Builder b_;
};

void add_notes(const Record& record, Import& import) {
  const std::vector<CellUse> uses = cell_uses(record);
  for (std::size_t c = 0; c < uses.size(); ++c) {
    const Cell to = uses[c].counted_in;
    if (to < 0) continue;
    import.notes.push_back(str("StepInc counts ", id_text(record.values[c].id), " ",
                               record.values[c].name, " in another cell, ",
                               id_text(record.value(to).id),
                               "; its next value is taken from there"));
  }
  for (std::size_t i = 0; i < record.nodes.size(); ++i) {
    if (!has_unknown_attr(record.nodes[i])) continue;
    import.notes.push_back(str(index_text(i), " ", record.nodes[i].op,
                               " has an attribute of unknown meaning and cannot be run"));
  }
}

}  // namespace

ir::Graph plain_graph(const Record& record) { return Build(record, plain_shapes(record)).graph(); }

Import to_graphs(const Record& record) {
  return import_with_sizes([&](bool named) {
    Import import;
    std::vector<Shape> shapes = named ? named_shapes(record, import) : plain_shapes(record);
    import.package.graphs.push_back(Build(record, std::move(shapes)).graph());
    add_notes(record, import);
    return import;
  });
}

}  // namespace plait::io::aicf
