// Sorting a decision log by steps and nodes.
#include "cli/explain.h"

#include <algorithm>
#include <set>

#include "base/at.h"
#include "base/error.h"
#include "base/text.h"
#include "ir/text.h"

namespace plait::cli {
namespace {

constexpr std::string_view kStatePrefix = "state ";

/// Whether a value is one of those that a composite was expanded to.
bool is_part_of(const std::string& name, const std::string& whole) {
  return name.size() > whole.size() && name.starts_with(whole) && name[whole.size()] == '.';
}

const ir::Node* maker_of(const ir::Graph& graph, const std::string& name) {
  const ir::ValueId id = graph.find_value(name);
  if (id == ir::kNone || graph.value(id).producer == ir::kNone) return nullptr;
  return &graph.node(graph.value(id).producer);
}

void add_once(std::vector<int>& list, int i) {
  if (std::find(list.begin(), list.end(), i) == list.end()) list.push_back(i);
}

}  // namespace

std::string value_of(const LogEntry& entry) {
  if (!entry.node.starts_with("%")) return "";
  return entry.node.substr(1, entry.node.find(' ') - 1);
}

std::vector<std::string> buffer_names(const program::Program& program,
                                      const std::vector<program::ViewId>& views) {
  std::vector<std::string> names;
  for (program::ViewId v : views) {
    const std::string& name = program.buffer_of(v).name;
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  }
  return names;
}

Explanation::Explanation(const ir::Graph& given, const program::Program& program)
    : given_(given),
      program_(program),
      planned_(ir::parse_graph(program.graph_text, program.graph_name)),
      by_step_(program.steps.size()) {
  std::map<program::BufferId, int> writer;  // of each buffer, the last
  for (std::size_t s = 0; s < program.steps.size(); ++s) {
    const program::Step& step = program.steps[s];
    for (const std::string& name : step.nodes) computed_in_[name].push_back(static_cast<int>(s));
    computed_in_[step.name].push_back(static_cast<int>(s));
    for (program::ViewId v : program::uses_of(step).writes) {
      writer[program.view(v).buffer] = static_cast<int>(s);
    }
  }
  // Further results of a node, and copies, are known by where they lie.
  for (const program::View& view : program.views) {
    const auto by = writer.find(view.buffer);
    if (by != writer.end() && !computed_in_.count(view.name)) {
      computed_in_[view.name].push_back(by->second);
    }
  }
  for (auto& [name, steps] : computed_in_) {
    std::sort(steps.begin(), steps.end());
    steps.erase(std::unique(steps.begin(), steps.end()), steps.end());
  }
  std::map<std::string, int> advanced;  // state -> step
  for (const program::StateBinding& s : program.states) {
    const auto by = writer.find(program.view(s.view).buffer);
    if (by != writer.end()) advanced.emplace(s.state.name, by->second);
  }
  for (const LogEntry& entry : program.log) {
    const auto computed = computed_in_.find(value_of(entry));
    if (computed != computed_in_.end()) {
      by_step_[at(computed->second.front())].push_back(entry);
      continue;
    }
    const bool about_state = entry.node.starts_with(kStatePrefix);
    const auto by =
        about_state ? advanced.find(entry.node.substr(kStatePrefix.size())) : advanced.end();
    (by != advanced.end() ? by_step_[at(by->second)] : of_graph_).push_back(entry);
  }
}

std::vector<int> Explanation::steps_of(const std::string& name) const {
  std::vector<int> out;
  for (const auto& [value, steps] : computed_in_) {
    if (value != name && !is_part_of(value, name)) continue;
    for (int s : steps) add_once(out, s);
  }
  std::sort(out.begin(), out.end());
  return out;
}

std::string Explanation::why_without(const std::string& name, const DecisionLog& entries) const {
  if (const ir::Node* node = maker_of(planned_, name)) {
    if (node->op == "constant") return "it is a constant: its content is part of the program";
    std::vector<std::string> readers;
    for (const ir::Node& reader : planned_.nodes) {
      for (ir::ValueId id : reader.inputs) {
        if (id != ir::kNone && planned_.value(id).name == name && !reader.outputs.empty()) {
          readers.push_back("%" + planned_.value(reader.outputs[0]).name);
          break;
        }
      }
    }
    return str("it is inlined where it is read, in ", join(readers, ", "));
  }
  for (auto entry = entries.rbegin(); entry != entries.rend(); ++entry) {
    if (entry->what == "kept") continue;
    return str("it is gone before planning (", entry->pass, ": ", entry->what, ")");
  }
  return "nothing that is fetched or kept depends on it";
}

Fate Explanation::fate_of(const std::string& given_name) const {
  Fate out;
  out.name = given_name.starts_with("%") ? given_name.substr(1) : given_name;
  const bool in_given = given_.find_value(out.name) != ir::kNone;
  const bool in_planned = planned_.find_value(out.name) != ir::kNone;
  for (const LogEntry& entry : program_.log) {
    const std::string value = value_of(entry);
    if (value == out.name || (!value.empty() && is_part_of(value, out.name)) ||
        entry.node == std::string(kStatePrefix) + out.name) {
      out.entries.push_back(entry);
    }
  }
  out.steps = steps_of(out.name);
  if (!in_given && !in_planned && out.steps.empty() && out.entries.empty()) {
    std::vector<std::string> names;
    for (const ir::Graph* graph : {&given_, &planned_}) {
      for (const ir::Value& v : graph->values) names.push_back(v.name);
    }
    fail("graph ", given_.name, " has no value '", out.name, "'.", suggestion(out.name, names));
  }
  const ir::Graph& graph = in_given ? given_ : planned_;
  if ((in_given || in_planned) && !maker_of(graph, out.name)) {
    out.without = "it is a feed or a state: no node makes it";
    out.steps.clear();
  } else if (out.steps.empty()) {
    out.without = why_without(out.name, out.entries);
  }
  return out;
}

Counts Explanation::counts() const {
  Counts c;
  c.nodes_given = static_cast<int>(given_.nodes.size());
  c.nodes_planned = static_cast<int>(planned_.nodes.size());
  c.steps = static_cast<int>(program_.steps.size());
  std::set<std::string> kernels, inside;
  for (const program::Step& step : program_.steps) {
    kernels.insert(step.kernel);
    inside.insert(step.nodes.begin(), step.nodes.end());
    c.calls += static_cast<int>(step.calls.size());
    for (const program::Call& call : step.calls) {
      const bool product = std::holds_alternative<ProductCall>(call);
      c.contractions += product;
      c.with_epilogue += product && step.nodes.size() > 1;
      c.hand += std::holds_alternative<HandCall>(call);
    }
  }
  c.kernels = static_cast<int>(kernels.size());
  for (const ir::Node& node : planned_.nodes) {
    if (node.op == "constant") {
      ++c.constants;
    } else if (!node.outputs.empty()) {
      c.made_where_read += !inside.count(planned_.value(node.outputs[0]).name);
    }
  }
  for (const LogEntry& entry : program_.log) {
    const bool state = entry.node.starts_with(kStatePrefix);
    c.fused += entry.what == "fused";
    c.not_fused += entry.what == "not fused";
    c.states_in_place += state && entry.what == "in place";
    c.states_copied += state && entry.what == "copied";
    c.results_in_place += !state && entry.what == "in place";
  }
  return c;
}

}  // namespace plait::cli
