// plait explain FILE: which nodes became which kernel, and why.
#include "cli/explain.h"

#include <algorithm>

#include "base/text.h"
#include "cli/command.h"
#include "cli/compiled.h"
#include "cli/json.h"
#include "profile/profile.h"

namespace plait::cli {
namespace {

constexpr Flag kExplainFlags[] = {
    {"--node", "NAME", "only what became of this value (with or without %)"},
    kTargetFlag,
    kDeviceFlag,
    kFp32Flag,
    kFastFlag,
    kThreadsFlag,
    kMeasureFlag,
    kTrustFlag,
    kNoFuseFlag,
    kSliceFlag,
    kGraphFlag,
    kSetFlag,
    kJsonFlag,
};

constexpr std::size_t kMostNames = 12, kMostEntries = 12;  // of a step, in the list of all

std::string padded(std::string text, std::size_t width) {
  if (text.size() < width) text.resize(width, ' ');
  return text;
}

std::string line(const std::string& label, const std::string& text) {
  return str("  ", padded(label, 9), "  ", text, "\n");
}

std::string names_text(std::vector<std::string> names, std::size_t most) {
  const std::size_t all = names.size();
  if (all > most) names.resize(most);
  std::string out = join(names, ", ");
  if (all > most) out += str(", ... ", all - most, " more");
  return out.empty() ? "nothing" : out;
}

/// With kernels' ids as tables have them.
std::string with_short_ids(const std::string& text) {
  std::vector<std::string> words = split(text, ' ');
  for (std::string& word : words) word = profile::short_id(word);
  return join(words, " ");
}

/// What was decided, in the user's words: the label and the text behind it.
std::pair<std::string, std::string> words_of(const LogEntry& entry) {
  if (entry.pass == "choose") {
    return {"chosen", str(profile::short_id(entry.what), ": ", with_short_ids(entry.why))};
  }
  const std::string value = value_of(entry);
  const std::string about = value.empty() ? entry.node : "%" + value;
  const bool planned = entry.pass == "group" || entry.pass == "place" || entry.pass == "order";
  return {planned ? entry.what : entry.pass,
          planned ? str(about, ": ", entry.why) : str(about, " ", entry.what, ": ", entry.why)};
}

/// Entries that say the same of many stand once.
std::string entries_text(const DecisionLog& entries, std::size_t most) {
  std::vector<std::pair<std::string, std::string>> said;
  std::vector<int> times;
  for (const LogEntry& entry : entries) {
    std::pair<std::string, std::string> words = words_of(entry);
    const auto same = std::find(said.begin(), said.end(), words);
    if (same != said.end()) {
      ++times[static_cast<std::size_t>(same - said.begin())];
      continue;
    }
    said.push_back(std::move(words));
    times.push_back(1);
  }
  std::string out;
  for (std::size_t i = 0; i < said.size() && i < most; ++i) {
    out +=
        line(said[i].first, said[i].second + (times[i] > 1 ? str(" (", times[i], " times)") : ""));
  }
  if (said.size() > most) out += line("...", str(said.size() - most, " more; --node NAME has all"));
  return out;
}

std::string step_text(const program::Program& p, std::size_t s, std::size_t most) {
  const program::Step& step = p.steps[s];
  std::vector<std::string> nodes;
  for (const std::string& name : step.nodes) nodes.push_back("%" + name);
  std::string out = str("step ", s, "  ", step.kind, "  ", step.kernel, "\n");
  out += line("computes", names_text(nodes, most) + (step.path.empty() ? "" : " @ " + step.path));
  out += line("reads", names_text(buffer_names(p, program::uses_of(step).reads), most));
  out += line("writes", names_text(buffer_names(p, program::uses_of(step).writes), most));
  return out;
}

std::string counts_text(const Counts& c, const program::Program& p) {
  return Table{{},
               {},
               {{"kernels", str(c.kernels, " different, ", c.calls, " calls in ", c.steps, " steps",
                                p.single_kernel ? ", run as one kernel" : "")},
                {"nodes", str(c.nodes_given, " as given, ", c.nodes_planned,
                              " as planned: ", c.made_where_read, " inlined where they are read, ",
                              c.constants, " constants")},
                {"contractions",
                 str(c.contractions, ", ", c.with_epilogue, " with what follows them inside")},
                {"by hand", str(c.hand)},
                {"fused", str(c.fused, " times, ", c.not_fused, " times not")},
                {"in place", str(c.results_in_place, " results, ", c.states_in_place, " states; ",
                                 c.states_copied, " states copied")}}}
      .text();
}

/// What the passes and the plan did that is in no step: how often each, and the order's reason.
std::string graph_text(const DecisionLog& entries) {
  Table table;
  std::vector<std::pair<std::string, int>> counts;
  for (const LogEntry& e : entries) {
    if (e.pass == "order") {
      table.rows.push_back({"order " + e.what, e.why});
      continue;
    }
    const std::string key = e.pass + " " + e.what;
    const auto known = std::find_if(counts.begin(), counts.end(),
                                    [&](const auto& entry) { return entry.first == key; });
    if (known == counts.end())
      counts.emplace_back(key, 1);
    else
      ++known->second;
  }
  for (const auto& [key, count] : counts) {
    table.rows.push_back({key, str(count, count == 1 ? " node" : " nodes")});
  }
  return table.text();
}

Json entries_json(const DecisionLog& entries) {
  Json list = Json::array();
  for (const LogEntry& e : entries) {
    list.push_back({{"stage", e.pass}, {"node", e.node}, {"what", e.what}, {"why", e.why}});
  }
  return list;
}

Json step_json(const program::Program& p, std::size_t s) {
  const program::Step& step = p.steps[s];
  return {{"step", s},
          {"kernel", step.kernel},
          {"kind", step.kind},
          {"name", step.name},
          {"path", step.path},
          {"nodes", step.nodes},
          {"calls", step.calls.size()},
          {"reads", buffer_names(p, program::uses_of(step).reads)},
          {"writes", buffer_names(p, program::uses_of(step).writes)}};
}

Json counts_json(const Counts& c) {
  return {{"nodes_given", c.nodes_given},
          {"nodes_planned", c.nodes_planned},
          {"steps", c.steps},
          {"calls", c.calls},
          {"kernels", c.kernels},
          {"contractions", c.contractions},
          {"with_epilogue", c.with_epilogue},
          {"hand", c.hand},
          {"made_where_read", c.made_where_read},
          {"constants", c.constants},
          {"fused", c.fused},
          {"not_fused", c.not_fused},
          {"results_in_place", c.results_in_place},
          {"states_in_place", c.states_in_place},
          {"states_copied", c.states_copied}};
}

void explain_node(const Explanation& explanation, const program::Program& p, const Args& args) {
  const Fate fate = explanation.fate_of(args.text("--node"));
  if (args.has("--json")) {
    Json steps = Json::array();
    for (int s : fate.steps) steps.push_back(step_json(p, static_cast<std::size_t>(s)));
    return print_json({{"name", fate.name},
                       {"steps", steps},
                       {"without", fate.without},
                       {"decisions", entries_json(fate.entries)}});
  }
  std::string out = "%" + fate.name + "\n";
  if (!fate.without.empty()) out += line("no kernel", fate.without);
  out += entries_text(fate.entries, fate.entries.size());
  const std::size_t all = p.buffers.size() + p.views.size();
  for (int s : fate.steps) out += "\n" + step_text(p, static_cast<std::size_t>(s), all);
  print(out);
}

void run_explain(const Args& args) {
  const Planned planned = load_planned(args);
  const program::Program& p = planned.compiled.program;
  const Explanation explanation(planned.graph, p);
  if (args.has("--node")) return explain_node(explanation, p, args);
  if (args.has("--json")) {
    Json steps = Json::array();
    for (std::size_t s = 0; s < p.steps.size(); ++s) {
      steps.push_back(step_json(p, s));
      steps.back()["decisions"] = entries_json(explanation.of_step(s));
    }
    return print_json({{"graph", p.graph_name},
                       {"target", p.target},
                       {"steps", steps},
                       {"decisions", entries_json(explanation.of_graph())},
                       {"summary", counts_json(explanation.counts())}});
  }
  std::string out;
  for (std::size_t s = 0; s < p.steps.size(); ++s) {
    out += step_text(p, s, kMostNames) + entries_text(explanation.of_step(s), kMostEntries) + "\n";
  }
  const std::string rest = graph_text(explanation.of_graph());
  print(out + rest + (rest.empty() ? "" : "\n") + counts_text(explanation.counts(), p));
}

}  // namespace

constinit const Command kExplain{
    .name = "explain",
    .usage = "FILE [options]",
    .doc = "says which nodes became which kernel, what was fused or not, and why",
    .least_words = 1,
    .most_words = 1,
    .flags = kExplainFlags,
    .details =
        "Steps are in the order they run, with the kernel's id. A composite op is expanded first:\n"
        "the parts of %softmax are %softmax.max and so on, and --node softmax shows them all.\n"
        "FILE may also be a plan that `plait compile` wrote.\n",
    .example =
        "  $ plait explain model:mlp\n"
        "  step 0  linear  loop.product.fa6499e0\n"
        "    computes   %linear, %relu @ 0\n"
        "    reads      x, 0.W, 0.b\n"
        "    writes     relu\n"
        "    fused      %relu: into %linear: same iteration space [64,8]\n"
        "    chosen     loop.product.fa6499e0: single-kernel program\n"
        "  ...\n"
        "  kernels       2 different, 2 calls in 2 steps, run as one kernel\n"
        "  nodes         3 as given, 3 as planned: 0 inlined where they are read, 0 constants\n"
        "  contractions  2, 1 with what follows them inside\n"
        "  ...\n",
    .run = run_explain};

}  // namespace plait::cli
