// Programs by graph and fetches, made when they are first asked for; states wait until a program
// has room for them.
#include "run/session.h"

#include <sys/sysinfo.h>

#include <algorithm>
#include <utility>

#include "backends/backends.h"
#include "base/at.h"
#include "base/text.h"
#include "ir/verify.h"
#include "ops/initializers.h"
#include "ops/table.h"
#include "ops/verify.h"
#include "run/in_parallel.h"

namespace plait {
namespace {

/// Zero where the system does not say.
double machine_bytes() {
  struct sysinfo info {};
  if (::sysinfo(&info) != 0) return 0;
  return (static_cast<double>(info.totalram) + static_cast<double>(info.totalswap)) * info.mem_unit;
}

/// What is too much for the machine would not fail here: the process would be ended as it is
/// filled.
void check_memory(const std::vector<ir::State>& states) {
  double bytes = 0;
  for (const ir::State& state : states) {
    double each = static_cast<double>(size_of(state.type.dtype));
    for (const std::int64_t size : sizes_of(state.type.shape)) each *= static_cast<double>(size);
    bytes += each;
  }
  if (const double all = machine_bytes(); all > 0 && bytes > all) {
    const auto text = [](double b) {
      return bytes_text(static_cast<std::int64_t>(std::min(b, 0x1p62)));
    };
    throw RunError(str("the states (weights and what the optimizer keeps) take ", text(bytes),
                       "; this machine has ", text(all)));
  }
}

/// Each depends on the seed and its own state alone.
Arrays initial_values(const std::vector<ir::State>& states, std::uint64_t seed) {
  check_memory(states);
  std::vector<Array> values(states.size());
  in_parallel(states.size(), [&](std::size_t i) { values[i] = initial_value(states[i], seed); });
  Arrays out;
  for (std::size_t i = 0; i < states.size(); ++i) {
    out.emplace(states[i].name, std::move(values[i]));
  }
  return out;
}

void check_array(std::string_view what, const std::string& name, const Array& array,
                 const ir::Type& type, const DimBindings& sizes = {}) {
  Shape shape = type.shape;
  for (Dim& d : shape) d = d.substitute(sizes);
  if (array.dtype() == type.dtype && shape_of(array.sizes()) == shape) return;
  fail(what, " '", name, "' is ", type_text(array), ", the graph wants ", type);
}

void check_feeds(const ir::Graph& graph, const Arrays& feeds, const DimBindings& sizes = {}) {
  std::vector<std::string> names;
  for (ir::ValueId id : graph.feeds) names.push_back(graph.value(id).name);
  for (const auto& [name, array] : feeds) {
    if (std::find(names.begin(), names.end(), name) == names.end()) {
      fail("graph ", graph.name, " has no feed '", name, "'.", suggestion(name, names),
           names.empty() ? " It has none" : " Its feeds are " + join(names, ", "));
    }
  }
  for (ir::ValueId id : graph.feeds) {
    const ir::Value& feed = graph.value(id);
    const auto given = feeds.find(feed.name);
    if (given == feeds.end()) {
      fail("feed '", feed.name, "' (", feed.type, ") of graph ", graph.name, " is not given");
    }
    check_array("feed", feed.name, given->second, feed.type, sizes);
  }
}

std::vector<ir::Fetch> fetches_of(const ir::Graph& graph, const std::vector<std::string>& names) {
  if (names.empty()) return graph.fetches;
  std::vector<ir::Fetch> fetches;
  for (const std::string& name : names) {
    const auto known = std::find_if(graph.fetches.begin(), graph.fetches.end(),
                                    [&](const ir::Fetch& f) { return f.name == name; });
    const ir::ValueId id = known != graph.fetches.end() ? known->value : graph.find_value(name);
    if (id == ir::kNone) {
      std::vector<std::string> all;
      for (const ir::Fetch& f : graph.fetches) all.push_back(f.name);
      for (const ir::Value& v : graph.values) all.push_back(v.name);
      fail("graph ", graph.name, " has no fetch or value '", name, "'.", suggestion(name, all));
    }
    fetches.push_back({name, id});
  }
  return fetches;
}

std::string key_of(const ir::Graph& graph, const std::vector<ir::Fetch>& fetches) {
  std::string key = graph.name;
  for (const ir::Fetch& f : fetches) key += '\n' + f.name;
  return key;
}

}  // namespace

ir::Graph wanted_graph(const ir::Package& package, const RunRequest& request) {
  ir::Graph graph = find_graph(package, request.graph);
  graph.fetches = fetches_of(graph, request.fetches);
  return graph;
}

const ir::Graph& find_graph(const ir::Package& package, const std::string& name) {
  if (package.graphs.empty()) fail("the package has no graphs");
  if (name.empty()) return package.graphs.front();
  std::vector<std::string> names;
  for (const ir::Graph& graph : package.graphs) {
    if (graph.name == name) return graph;
    names.push_back(graph.name);
  }
  fail("there is no graph '", name, "'.", suggestion(name, names), " There are ",
       join(names, ", "));
}

/// Has the session to itself, or raises.
class Session::Use {
 public:
  explicit Use(const Session& session) : taken_(*session.in_use_) {
    if (!taken_.test_and_set(std::memory_order_acquire)) return;
    fail(
        "this session is in use by another call: it runs one graph at a time. Give each thread a "
        "session of its own, or let one wait for the other (a mutex round every call)");
  }
  ~Use() { taken_.clear(std::memory_order_release); }
  Use(const Use&) = delete;
  Use& operator=(const Use&) = delete;

 private:
  std::atomic_flag& taken_;
};

Session::Session(ir::Package package, std::unique_ptr<Target> target, std::uint64_t seed,
                 CompileRequest request)
    : package_(std::move(package)), target_(std::move(target)), compile_(std::move(request)) {
  ir::verify(package_);
  for (const ir::Graph& graph : package_.graphs) verify_types(graph);
  verify_step_counters(package_);
  const std::vector<ir::State> states = state_table(package_);
  for (const ir::State& state : states) types_.emplace(state.name, state.type);
  states_ = initial_values(states, seed);
}

Session make_session(ir::Package package, std::string_view backend, std::uint64_t seed,
                     int threads) {
  return Session(std::move(package), make_target(backend, threads), seed);
}

std::unique_ptr<Executor> Session::load(program::Program program) {
  if (!memory_) memory_ = std::make_shared<PackageMemory>(target_->open());
  return std::make_unique<Executor>(std::move(program), memory_);
}

Session::Loaded& Session::loaded(const RunRequest& request) {
  const ir::Graph& graph = find_graph(package_, request.graph);
  Loaded& found = programs_[key_of(graph, fetches_of(graph, request.fetches))];
  if (!found.executor) {
    CompileRequest how = compile_;
    how.table = table();
    found.executor = load(compile(wanted_graph(package_, request), *target_, how).program);
  }
  return found;
}

void Session::place_states() {
  if (states_.empty()) return;
  for (const program::TableEntry& e : table().entries) {
    const auto waiting = states_.find(e.state.name);
    if (waiting == states_.end()) continue;
    memory_->set_state(waiting->first, waiting->second);
    states_.erase(waiting);
  }
}

const program::StateTable& Session::table() const {
  static const program::StateTable kNone;
  return memory_ ? memory_->table() : kNone;
}

std::int64_t Session::planned_bytes() const {
  std::int64_t constants = 0, work = 0;
  for (const auto& [key, loaded] : programs_) {
    if (!loaded.executor) continue;
    const program::Program& p = loaded.executor->program();
    constants += p.constants_bytes;
    work = std::max(work, p.work_bytes());
  }
  return table().bytes() + constants + work;
}

void Session::prepare(const RunRequest& request) {
  const Use use(*this);
  loaded(request);
}

void Session::use_program(const RunRequest& request, program::Program program) {
  const Use use(*this);
  const ir::Graph& graph = find_graph(package_, request.graph);
  Loaded& place = programs_[key_of(graph, fetches_of(graph, request.fetches))];
  place = {load(std::move(program)), {}};
}

const program::Program& Session::program(const RunRequest& request) {
  const Use use(*this);
  return loaded(request).executor->program();
}

Arrays Session::run(const RunRequest& request, const Ahead& ahead) {
  const Use use(*this);
  const ir::Graph& graph = find_graph(package_, request.graph);
  Loaded& current = loaded(request);
  Executor& executor = *current.executor;
  place_states();
  std::set<std::string> fed = std::exchange(current.fed, {});
  if (!request.ahead || executor.follow_memory()) fed.clear();
  if (!executor.program().symbols.empty()) {
    DimBindings sizes = sizes_from(executor.program(), request.feeds);
    sizes.insert(request.sizes.begin(), request.sizes.end());
    if (executor.sizes().empty() || !(sizes == executor.sizes())) {
      executor.set_sizes(sizes);
      fed.clear();
    }
  }
  check_feeds(graph, request.feeds, executor.sizes());
  for (const auto& [name, array] : request.feeds) {
    if (!fed.count(name)) executor.set_feed(name, array);
  }
  executor.run(on_step_);
  const Arrays* next = ahead && executor.runs_beside() ? ahead() : nullptr;
  if (next) {
    for (const auto& [name, array] : *next) {
      if (executor.feed_ahead(name, array)) current.fed.insert(name);
    }
  }
  return executor.fetches();
}

Array Session::state(const std::string& name) const {
  const Use use(*this);
  const auto waiting = states_.find(name);
  if (waiting != states_.end()) return waiting->second;
  if (table().find(name)) return memory_->state(name);
  fail("there is no state '", name, "'.", suggestion(name, state_names()));
}

void Session::set_state(const std::string& name, Array value) {
  const Use use(*this);
  const auto type = types_.find(name);
  if (type == types_.end()) {
    fail("there is no state '", name, "'.", suggestion(name, state_names()));
  }
  check_array("state", name, value, type->second);
  const auto waiting = states_.find(name);
  if (waiting != states_.end()) {
    waiting->second = std::move(value);
  } else {
    memory_->set_state(name, value);
  }
}

std::vector<std::string> Session::state_names() const {
  std::vector<std::string> names;
  for (const ir::State& state : state_table(package_)) names.push_back(state.name);
  return names;
}

}  // namespace plait
