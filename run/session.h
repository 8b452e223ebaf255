// A session: graphs over one table of states, run on a backend. Feeds in, fetches out, states
// advanced. Feeds and states are checked against the graph before anything runs.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "backends/backend.h"
#include "ir/graph.h"

namespace plait {

using Arrays = std::map<std::string, Array>;

/// What to run and how.
struct RunRequest {
  std::string graph;                 // by name; empty: the package's first
  Arrays feeds;                      // every feed of the graph, by name
  std::vector<std::string> fetches;  // fetch or value names; empty: all of the graph's fetches
};

class Session {
 public:
  /// Verifies the package. States get their initial values from the seed.
  Session(ir::Package package, std::unique_ptr<Backend> backend, std::uint64_t seed = 0);

  /// Runs one graph once. UserError on a missing, unknown or ill-typed feed, on an opaque node or
  /// on an op the backend lacks; the states then are as they were before.
  Arrays run(const RunRequest& request);

  const Array& state(const std::string& name) const;
  /// UserError when the name is unknown or the array has another dtype or shape.
  void set_state(const std::string& name, Array value);
  std::vector<std::string> state_names() const;

  const ir::Package& package() const { return package_; }

 private:
  ir::Package package_;
  std::unique_ptr<Backend> backend_;
  Arrays states_;
};

/// By name, the first when it is empty; UserError with the nearest name when there is none.
const ir::Graph& find_graph(const ir::Package& package, const std::string& name);

/// Values for feeds that the user did not give: uniform for floats, small whole numbers for
/// integers (below the number of classes where an op of the table says so), from the seed.
Array random_feed(const ir::Graph& graph, ir::ValueId feed, std::uint64_t seed);

}  // namespace plait
