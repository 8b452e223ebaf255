// plait run FILE: a graph on a backend, step by step, states carried from each to the next.
#include <algorithm>
#include <limits>

#include "backends/backends.h"
#include "base/error.h"
#include "base/text.h"
#include "cli/against.h"
#include "cli/command.h"
#include "cli/compiled.h"
#include "cli/json.h"
#include "cli/kernel_trace.h"
#include "cli/progress.h"
#include "cli/results.h"
#include "cli/source.h"
#include "cli/summary.h"
#include "run/session.h"
#include "train/first_weights.h"

namespace plait::cli {
namespace {

constexpr Flag kRunFlags[] = {
    {"--steps", "N", "how often to run the graph; 1 unless said"},
    {"--feed", "NAME=X.npy", "the value of a feed; those not given are random", true},
    {"--weights", "F.safetensors", "parameters and buffers, by name, instead of initial ones"},
    {"--state", "NAME=X.npy", "the first value of a state, instead of its initial one", true},
    {"--fetch", "NAME,...", "what to fetch: fetches or values; all fetches unless said", true},
    {"--out", "DIR", "write what was fetched in the last step to DIR/NAME.npy"},
    {"--states", "", "with --out: write the final states to DIR/states/NAME.npy too"},
    {"--against", "FILE", "run FILE on the same inputs and show how far the results are apart"},
    {"--within", "X", "with --against: fail where a relative difference is larger than X"},
    {"--trace-kernels", "", "list the steps of a run by the ids of their kernels"},
    {"--backend", "NAME", "cpu (the default), cuda, ref or null"},
    {"--threads", "N", "of the cpu backend; as many as there are cpus unless said"},
    kFp32Flag,
    kFastFlag,
    kSeedFlag,
    {"--rebuild", "", "of a plan: plan it anew when it is for another machine"},
    kTrustFlag,
    kGraphFlag,
    kSetFlag,
    kJsonFlag,
};

void set_states(Session& session, const Args& args) {
  for (const std::string& text : args.all("--state")) {
    const auto [name, path] = name_and_value("--state", text);
    session.set_state(name, read_value(path, session.state(name).dtype()));
  }
}

std::vector<std::string> fetch_names(const ir::Graph& graph, const Args& args) {
  std::vector<std::string> names = asked_fetches(args);
  if (names.empty()) {
    for (const ir::Fetch& f : graph.fetches) names.push_back(f.name);
  }
  return names;
}

Arrays states_of(const Session& session) {
  Arrays out;
  for (const std::string& name : session.state_names()) out.emplace(name, session.state(name));
  return out;
}

std::string differences_text(const Comparison& comparison) {
  Table table{{"result", "against", "type", "difference", "largest", "relative"},
              {false, false, false, true, true, true},
              {}};
  for (const Difference& d : comparison.differences) {
    table.rows.push_back({d.name, d.partner, d.type, short_text(d.largest), short_text(d.magnitude),
                          short_text(d.relative())});
  }
  const auto worst = std::max_element(
      comparison.differences.begin(), comparison.differences.end(),
      [](const Difference& a, const Difference& b) { return a.relative() < b.relative(); });
  return table.text() + str("largest relative difference ", short_text(worst->relative()), " (",
                            worst->name, "), of ", comparison.differences.size(), " results\n");
}

Json differences_json(const Comparison& comparison) {
  Json list = Json::array();
  for (const Difference& d : comparison.differences) {
    list.push_back({{"name", d.name},
                    {"against", d.partner},
                    {"difference", d.largest},
                    {"largest", d.magnitude},
                    {"relative", d.relative()}});
  }
  return list;
}

/// What the user allows; any difference unless said.
double limit_of(const Args& args) {
  if (!args.has("--within")) return std::numeric_limits<double>::infinity();
  if (!args.has("--against")) throw UsageError("--within needs --against FILE");
  const double limit = parse_real(args.text("--within"), "--within");
  if (!(limit >= 0)) throw UsageError(str("--within must be 0 or above, is ", limit));
  return limit;
}

/// Fails where the results are further apart than the user allows.
void require_within(const Args& args, const Comparison& comparison) {
  const double limit = limit_of(args);
  for (const Difference& d : comparison.differences) {
    if (d.relative() <= limit) continue;
    fail(d.name, " differs from ", d.partner, " of ", args.text("--against"), " by ",
         short_text(d.relative()), " of its largest value, more than --within ",
         args.text("--within"));
  }
}

/// The graphs to compare with, with those of the sizes that --set says which they have.
ir::Package other_package(const Args& args) {
  const io::Document document = load_document(args.text("--against"));
  const std::map<std::string, Dim> symbols = symbols_of(document.import.package);
  std::vector<std::string> words;
  for (const std::string& list : args.all("--set")) {
    for (const std::string& pair : split(list, ',')) {
      if (!symbols.contains(name_and_value("--set", pair).first)) continue;
      words.insert(words.end(), {std::string(kSetFlag.name), pair});
    }
  }
  return set_symbols(document.import, Args({&kSetFlag, 1}, words));
}

void check_usage(const Args& args) {
  if (args.has("--states") && !args.has("--out")) throw UsageError("--states needs --out DIR");
  limit_of(args);
}

/// What to run, and in what.
struct Runnable {
  Session session;
  ir::Graph graph;  // all sizes are numbers
  RunRequest request;
  std::vector<std::string> names;  // of what is fetched
};

/// Those asked for, which the plan must have; all of them unless asked.
std::vector<std::string> plan_fetch_names(const program::Program& program, const Args& args) {
  std::vector<std::string> all;
  for (const program::Binding& f : program.fetches) all.push_back(f.name);
  const std::vector<std::string> asked = asked_fetches(args);
  for (const std::string& name : asked) {
    if (std::find(all.begin(), all.end(), name) != all.end()) continue;
    fail(args.words()[0], ": the plan does not fetch '", name, "'; it fetches ",
         all.empty() ? "nothing" : join(all, ", "), ". Other values need the graph");
  }
  return asked.empty() ? all : asked;
}

Runnable open_plan(const Args& args, std::uint64_t seed) {
  if (args.has("--against")) throw UsageError("--against needs a graph, not a plan");
  Planned planned = load_planned(args);
  program::Program& program = planned.compiled.program;
  std::vector<std::string> names = plan_fetch_names(program, args);
  RunRequest request{
      planned.graph.name, given_feeds(planned.graph, args), {}, false, planned.sizes};
  request.sizes.merge(sizes_from(program, request.feeds));
  ir::Graph graph = substitute(planned.graph, request.sizes);
  require_numbers(graph);
  add_random_feeds(graph, seed, request.feeds);
  Session session({{std::move(planned.graph)}}, std::move(planned.target), seed);
  load_code(planned.trusted, [&] { session.use_program(request, std::move(program)); });
  return {std::move(session), std::move(graph), std::move(request), std::move(names)};
}

Runnable open_graph(const Args& args, std::uint64_t seed) {
  const std::string backend = args.text("--backend", "cpu");
  std::unique_ptr<Target> target = make_target(backend, target_options(args, backend));
  if (args.has("--trust"))
    throw UsageError("--trust is for plans; " + args.words()[0] + " is none");
  ir::Graph graph = chosen_graph(load_checked(args), args);
  require_numbers(graph);
  if (graph.fetches.empty() && graph.nexts.empty() && !args.has("--fetch")) {
    fail("graph ", graph.name, " returns nothing and changes no state: name a value with --fetch");
  }
  std::vector<std::string> names = fetch_names(graph, args);
  RunRequest request{graph.name, given_feeds(graph, args), names};
  add_random_feeds(graph, seed, request.feeds);
  // The one graph: its states do not depend on what else the package holds.
  Session session({{graph}}, std::move(target), seed);
  return {std::move(session), std::move(graph), std::move(request), std::move(names)};
}

/// The results of that name alone: a plan's program fetches all it can.
Arrays named(Arrays results, const std::vector<std::string>& names) {
  std::erase_if(results, [&](const auto& result) {
    return std::find(names.begin(), names.end(), result.first) == names.end();
  });
  return results;
}

void run_run(const Args& args) {
  const std::int64_t steps = args.whole("--steps", 1, 1);
  const auto seed = static_cast<std::uint64_t>(args.whole("--seed", 0, 0));
  const bool json = args.has("--json");
  check_usage(args);
  Progress progress(steps, json);
  Runnable runnable = is_plan(args.words()[0]) ? open_plan(args, seed) : open_graph(args, seed);
  Session& session = runnable.session;
  const ir::Graph& graph = runnable.graph;
  const RunRequest& request = runnable.request;
  const std::vector<std::string>& names = runnable.names;
  if (args.has("--weights")) {
    const std::string said =
        train::set_weights(session, model_named(args.words()[0]), args.text("--weights"));
    if (!said.empty()) note(said);
  }
  set_states(session, args);
  const Arrays before = args.has("--against") ? states_of(session) : Arrays();
  session.prepare(request);
  session.on_step([&](const program::Program& program, const program::Step& step) {
    progress.part_done(program, step);
  });
  const StepResults results =
      run_steps(steps, names, json, progress, [&] { return named(session.run(request), names); });
  write_results(args, results.fetched, [&] { return states_of(session); });
  Json result = json ? result_json(graph.name, names, results) : Json();
  if (!json) print_fetches(names, results.fetched);
  if (args.has("--trace-kernels")) tell_kernels(session.program(request), json, result);
  if (!args.has("--against")) return json ? print_json(result) : void();

  const Comparison comparison =
      compare_runs({graph, request.feeds, before, session, results.fetched}, other_package(args),
                   steps, seed, args.text("--backend", "cpu"));
  for (const std::string& text : comparison.notes) note(text);
  result["against"] = differences_json(comparison);
  json ? print_json(result) : print("\n" + differences_text(comparison));
  require_within(args, comparison);
}

}  // namespace

constinit const Command kRun{
    .name = "run",
    .usage = "FILE [options]",
    .doc = "runs a graph of FILE, or a plan, and carries its states from step to step",
    .least_words = 1,
    .most_words = 1,
    .flags = kRunFlags,
    .details = kFileHelp,
    .example =
        "  $ plait run 'model:rwkv4?layers=2&width=32&vocab=64&context=16&copy=8&batch=2&train=1' "
        "--steps 3\n"
        "  plait: random feeds, the same in every step (seed 0): idx i64[2,16], targets i64[2,16]\n"
        "  step 1/3  loss 4.2816  65 ms\n"
        "  step 2/3  loss 2.4819  63 ms\n"
        "  step 3/3  loss 2.3518  63 ms\n"
        "  fetch  type      min     max    mean  hash                  value\n"
        "  loss   f32[]  2.3518  2.3518  2.3518  6e44d63aee223333  2.3517954\n",
    .run = run_run};

}  // namespace plait::cli
