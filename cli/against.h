// Two graphs that should compute the same, run on the same inputs and compared: a document against
// the model it describes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "run/session.h"

namespace plait::cli {

struct Difference {
  std::string name, partner;  // a fetch or `next STATE` of each graph
  std::string type;
  double largest = 0;    // difference of two elements, absolute
  double magnitude = 0;  // the largest element of the partner, absolute
  double relative() const { return magnitude > 0 ? largest / magnitude : largest; }
};

struct Comparison {
  std::vector<Difference> differences;
  std::vector<std::string> notes;  // inputs without a partner and what became of them
};

/// What ran already: the graph, what it was fed, the states it began with, what came out.
struct RunDone {
  const ir::Graph& graph;
  const Arrays& feeds;
  const Arrays& states_before;
  const Session& session;
  const Arrays& fetched;
};

/// Runs `other` (its first graph, with gradients of its first fetch where `done` fetches any as
/// `d_NAME`) as often, with the inputs of `done` and zeros for trained states without a partner.
/// UserError when nothing that came out of the one came out of the other.
Comparison compare_runs(const RunDone& done, const ir::Package& other, std::int64_t steps,
                        std::uint64_t seed, const std::string& backend);

}  // namespace plait::cli
