// A session: graphs over one table of states, run on a backend. Feeds in, fetches out, states
// advanced. Feeds and states are checked against the graph before anything runs. Programs share one
// memory, so that going from one to another copies nothing.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "ir/graph.h"
#include "run/compile.h"
#include "run/executor.h"

namespace plait {

using Arrays = std::map<std::string, Array>;

/// What to run and how.
struct RunRequest {
  std::string graph;                 // by name; empty: the package's first
  Arrays feeds;                      // every feed of the graph, by name
  std::vector<std::string> fetches;  // fetch or value names; empty: all of the graph's fetches
  bool ahead = false;                // the feeds are those that the run before was given ahead
  DimBindings sizes{};               // of a program's symbols, where no feed's shape says them
};

/// Used by one thread at a time, whichever it is: who calls it while another thread does gets a
/// UserError, and the states stay as they are.
class Session {
 public:
  /// Verifies the package. States get their initial values from the seed. Each graph becomes a
  /// program for the target when it first runs, over the states as the programs before it laid them
  /// out.
  Session(ir::Package package, std::unique_ptr<Target> target, std::uint64_t seed = 0,
          CompileRequest request = {});

  /// Runs one graph once. UserError on a missing, unknown or ill-typed feed, on an opaque node or
  /// on an op the backend lacks; the states then are as they were before. On `ref` they are so
  /// after a RunError, too.
  /// Where the run goes on behind the caller's back, `ahead` is asked meanwhile for the feeds of
  /// the next run of this graph with these fetches (null: none), which travel beside it. That run
  /// is then given the same arrays, unchanged, and says `ahead`.
  using Ahead = std::function<const Arrays*()>;
  Arrays run(const RunRequest& request, const Ahead& ahead = {});

  /// Compiles what the request needs: run() then starts at once. Of the request's feeds nothing is
  /// read.
  void prepare(const RunRequest& request);
  /// Takes this program for the request, instead of compiling one. It must be of the same graph
  /// and fetches, for this target, over table() (plan::program_hash).
  void use_program(const RunRequest& request, program::Program program);
  /// The program that runs the request, compiled if it was not.
  const program::Program& program(const RunRequest& request);
  /// Is told of every step that is done, where a program runs step by step.
  void on_step(StepDone done) { on_step_ = std::move(done); }

  /// Of the programs so far.
  const program::StateTable& table() const;
  /// Memory that they take: the states once, the largest arena and workspace, all constants.
  std::int64_t planned_bytes() const;

  /// Its value now.
  Array state(const std::string& name) const;
  /// UserError when the name is unknown or the array has another dtype or shape. One state is
  /// written in place: the others are not touched.
  void set_state(const std::string& name, Array value);
  std::vector<std::string> state_names() const;

  const ir::Package& package() const { return package_; }

 private:
  /// A program in memory.
  struct Loaded {
    std::unique_ptr<Executor> executor;
    std::set<std::string> fed{};  // feeds that the next run finds already
  };

  class Use;
  std::unique_ptr<Executor> load(program::Program program);
  Loaded& loaded(const RunRequest& request);
  /// Writes the states that wait to where the programs have them.
  void place_states();

  ir::Package package_;
  std::unique_ptr<Target> target_;
  std::shared_ptr<PackageMemory> memory_;  // of the programs; made by the first
  CompileRequest compile_{};
  std::map<std::string, Loaded> programs_;  // by graph and fetches
  std::map<std::string, ir::Type> types_;   // of all states
  Arrays states_;                           // those that are not in memory yet
  StepDone on_step_;
  std::unique_ptr<std::atomic_flag> in_use_ = std::make_unique<std::atomic_flag>();
};

/// On a backend by name. UserError when there is none.
Session make_session(ir::Package package, std::string_view backend, std::uint64_t seed = 0,
                     int threads = 0);

/// By name, the first when it is empty; UserError with the nearest name when there is none.
const ir::Graph& find_graph(const ir::Package& package, const std::string& name);

/// The graph of a request with the fetches that it asks for: what is compiled.
ir::Graph wanted_graph(const ir::Package& package, const RunRequest& request);

/// Values for feeds that the user did not give: uniform for floats, small whole numbers for
/// integers (below the number of classes where an op of the table says so), from the seed.
Array random_feed(const ir::Graph& graph, ir::ValueId feed, std::uint64_t seed);

}  // namespace plait
