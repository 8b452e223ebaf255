// Graph to record: the operations that results depend on, each in Chainer's words, and a backward
// for every one that a gradient flows through, with the arrays that Plait's gradient rules keep.
#include <algorithm>
#include <map>
#include <set>

#include "base/at.h"
#include "base/error.h"
#include "base/text.h"
#include "io/chainer/format.h"
#include "io/chainer/results.h"
#include "io/chainer/words.h"
#include "ops/constant.h"
#include "ops/table.h"

namespace plait::io::chainer {
namespace {

/// `features.0.weight` -> `/predictor/features/0/weight`; a name of Chainer's stays.
std::string parameter_name(const std::string& state) {
  std::string name = state.starts_with('/') ? state : "/predictor/" + state;
  for (char& c : name) {
    if (c == '.' && !state.starts_with('/')) c = '/';
    if (c <= ' ' || c == 127) c = '_';
  }
  return name;
}

std::string word_of(std::string name) {
  for (char& c : name) {
    if (c <= ' ' || c == 127) c = '_';
  }
  return name;
}

constexpr std::string_view kInputs = "_input_indexes_to_retain",
                           kOutputs = "_output_indexes_to_retain";

/// What an opaque node says that it keeps; nothing when it does not say.
std::optional<std::vector<std::int64_t>> kept_by(const ir::Node& node, std::string_view name,
                                                 std::size_t limit) {
  const ir::AttrValue* value = node.attrs.find(name);
  std::vector<std::int64_t> out;
  if (!value || !ir::read_attr(*value, out)) return {};
  for (std::int64_t i : out) {
    if (i < 0 || i >= static_cast<std::int64_t>(limit)) return {};
  }
  return out;
}

/// A node as it is told, before and after its operands have ids.
struct Told {
  const ir::Node* node;
  Words words;
  int operation = -1;
};

class Writer {
 public:
  explicit Writer(const ir::Graph& graph)
      : graph_(graph),
        results_(results_of(graph)),
        variable_(graph.values.size(), -1),
        rank_(graph.values.size(), -1) {}

  Record write() {
    find_nodes();
    add_roots();
    for (Told& t : told_) add_forward(t);
    if (results_.loss != ir::kNone) add_backwards();
    number_lines();
    return std::move(record_);
  }

 private:
  /// Nodes that fetches depend on, through the operands that their words have.
  void find_nodes() {
    std::vector<bool> needed(graph_.values.size(), false);
    for (ir::ValueId value : results_.told) needed[at(value)] = true;
    for (std::size_t n = graph_.nodes.size(); n-- > 0;) {
      const ir::Node& node = graph_.nodes[n];
      if (std::none_of(node.outputs.begin(), node.outputs.end(),
                       [&](ir::ValueId out) { return needed[at(out)]; })) {
        continue;
      }
      Told told{&node, node.opaque ? opaque_words(node) : words_of(graph_, node)};
      for (int i : told.words.operands) {
        needed[at(node.inputs[static_cast<std::size_t>(i)])] = true;
      }
      told_.push_back(std::move(told));
    }
    std::reverse(told_.begin(), told_.end());
    needed_ = std::move(needed);
  }

  Words opaque_words(const ir::Node& node) const {
    constexpr std::string_view kEvery[] = {kInputs, kOutputs, "_output_count", "rank",
                                           "lazy_grad_sum"};  // told of every operation
    Words w{word_of(node.op), {}, {}};
    for (const auto& [name, value] : node.attrs) {
      if (std::find(std::begin(kEvery), std::end(kEvery), name) != std::end(kEvery)) continue;
      w.attributes.push_back({name, attr_value(value)});
    }
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      if (node.inputs[i] != ir::kNone) w.operands.push_back(static_cast<int>(i));
    }
    w.outputs = static_cast<int>(node.outputs.size());
    return w;
  }

  int add_variable(ir::ValueId value, std::string name) {
    const auto index = static_cast<int>(record_.variables.size());
    const std::int64_t bytes = graph_.type(value).bytes().value();
    while (name != "_" && !names_.insert(name).second) name += "'";
    record_.variables.push_back({index, bytes, std::move(name), 0});
    values_.push_back(value);
    return variable_[at(value)] = index;
  }

  void add_roots() {
    int fed = 0;
    for (ir::ValueId feed : graph_.feeds) {
      if (needed_[at(feed)]) add_variable(feed, std::to_string(fed));
      ++fed;
    }
    for (const ir::StateUse& use : graph_.states) {
      if (!needed_[at(use.value)]) continue;
      const bool trained = use.state.role == ir::Role::kParam;
      add_variable(use.value, trained ? parameter_name(use.state.name) : word_of(use.state.name));
    }
  }

  void add_forward(Told& t) {
    Operation op;
    std::int64_t rank = 0;
    for (int i : t.words.operands) {
      const ir::ValueId in = t.node->inputs[static_cast<std::size_t>(i)];
      op.inputs.push_back({variable_[at(in)], Tag::kArray});
      rank = std::max(rank, rank_[at(in)] + 1);
    }
    for (int i = 0; i < t.words.outputs; ++i) {
      const ir::ValueId out = t.node->outputs[static_cast<std::size_t>(i)];
      op.outputs.push_back(add_variable(out, "_"));
      rank_[at(out)] = rank;
    }
    op.function = t.words.function;
    op.rank = rank;
    find_retained(t, op);
    op.attributes = t.words.attributes;
    const auto list = [](const std::optional<std::vector<std::int64_t>>& indices) -> Value {
      if (!indices) return {};
      std::vector<Value> items;
      for (std::int64_t i : *indices) items.emplace_back().data = i;
      return {std::move(items)};
    };
    op.attributes.push_back({std::string(kInputs), list(op.retained_inputs)});
    op.attributes.push_back({std::string(kOutputs), list(op.retained_outputs)});
    op.attributes.push_back({"_output_count", {static_cast<std::int64_t>(op.outputs.size())}});
    op.attributes.push_back({"rank", {rank}});
    op.attributes.push_back({"lazy_grad_sum", {false}});
    op.text = json_text(op.attributes);
    t.operation = static_cast<int>(record_.operations.size());
    record_.operations.push_back(std::move(op));
  }

  /// By the op's first gradient rule; everything, for an op that is differentiated by its parts.
  void find_retained(const Told& t, Operation& op) const {
    if (t.words.keeps_nothing) return;
    if (t.node->opaque && t.node->attrs.find("_output_count")) {  // from a step
      op.retained_inputs = kept_by(*t.node, kInputs, op.inputs.size());
      op.retained_outputs = kept_by(*t.node, kOutputs, op.outputs.size());
      return;
    }
    const Op* entry = t.node->opaque ? nullptr : find_op(t.node->op);
    std::vector<std::string> saved;
    if (entry && !entry->grads.empty() && !entry->grads[0].saves.empty()) {
      saved = split(entry->grads[0].saves, ',');
    }
    const bool all = !entry || (entry->grads.empty() && entry->decompose);
    const auto is_saved = [&](std::string_view name) {
      const std::string plain(name.substr(0, name.find_first_of("?.")));
      return all || std::find(saved.begin(), saved.end(), plain) != saved.end();
    };
    std::vector<std::int64_t> inputs, outputs;
    for (std::size_t i = 0; i < t.words.operands.size(); ++i) {
      const int operand = t.words.operands[i];
      if (!entry || is_saved(entry->inputs[std::min(operand, entry->inputs.size() - 1)])) {
        inputs.push_back(static_cast<std::int64_t>(i));
      }
    }
    for (int i = 0; entry && !all && i < t.words.outputs; ++i) {
      if (is_saved(entry->outputs[std::min(i, entry->outputs.size() - 1)])) outputs.push_back(i);
    }
    if (!inputs.empty()) op.retained_inputs = std::move(inputs);
    if (!outputs.empty()) op.retained_outputs = std::move(outputs);
  }

  /// Values whose gradient a trained state asks for, through floats.
  std::vector<bool> wanting() const {
    std::vector<bool> wants(graph_.values.size(), false);
    for (const ir::StateUse& use : graph_.states) {
      wants[at(use.value)] = use.state.role == ir::Role::kParam && is_float(use.state.type.dtype);
    }
    for (const Told& t : told_) {
      const Op* entry = t.node->opaque ? nullptr : find_op(t.node->op);
      if (entry && ((entry->traits & kNoFlow) || (entry->grads.empty() && !entry->decompose))) {
        continue;
      }
      bool reached = false;
      for (int i : t.words.operands)
        reached |= wants[at(t.node->inputs[static_cast<std::size_t>(i)])];
      for (ir::ValueId out : t.node->outputs) {
        wants[at(out)] = reached && is_float(graph_.type(out).dtype);
      }
    }
    return wants;
  }

  void add_backwards() {
    const std::vector<bool> wants = wanting();
    std::vector<bool> flows(graph_.values.size(), false);
    flows[at(results_.loss)] = wants[at(results_.loss)];
    for (auto t = told_.rbegin(); t != told_.rend(); ++t) {
      Operation op = record_.operations[static_cast<std::size_t>(t->operation)];
      std::vector<Input> inputs;
      for (int v : op.outputs) {
        if (flows[at(values_[static_cast<std::size_t>(v)])]) inputs.push_back({v, Tag::kGradient});
      }
      if (inputs.empty()) continue;
      std::vector<int> outputs;
      for (const Input& in : op.inputs) {
        const ir::ValueId value = values_[static_cast<std::size_t>(in.variable)];
        if (!wants[at(value)] ||
            std::find(outputs.begin(), outputs.end(), in.variable) != outputs.end()) {
          continue;
        }
        outputs.push_back(in.variable);
        flows[at(value)] = true;
      }
      for (std::int64_t i : op.retained_inputs.value_or(std::vector<std::int64_t>())) {
        inputs.push_back({op.inputs[static_cast<std::size_t>(i)].variable, Tag::kInput});
      }
      for (std::int64_t i : op.retained_outputs.value_or(std::vector<std::int64_t>())) {
        inputs.push_back({op.outputs[static_cast<std::size_t>(i)], Tag::kOutput});
      }
      op.backward = true;
      op.inputs = std::move(inputs);
      op.outputs = std::move(outputs);
      record_.operations.push_back(std::move(op));
    }
  }

  /// As the text will have them.
  void number_lines() {
    std::size_t line = 2;
    for (Variable& v : record_.variables) v.line = static_cast<int>(line++);
    for (Operation& op : record_.operations) {
      op.line = static_cast<int>(line);
      line += 4 + op.inputs.size() + op.outputs.size();
    }
  }

  const ir::Graph& graph_;
  Results results_;
  Record record_;
  std::vector<Told> told_;
  std::vector<bool> needed_;
  std::vector<int> variable_;        // per value
  std::vector<ir::ValueId> values_;  // per variable
  std::vector<std::int64_t> rank_;   // per value
  std::set<std::string> names_;
};

}  // namespace

Record from_graph(const ir::Graph& graph) { return Writer(graph).write(); }

}  // namespace plait::io::chainer
