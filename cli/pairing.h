// Which inputs of one graph are which inputs of another that computes the same: by name where the
// names agree, otherwise by type and by how many contractions deep they are first read.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "ir/graph.h"

namespace plait::cli {

/// A feed or a state of a graph.
struct Input {
  std::string name;
  ir::Type type;
  bool is_state = false;
};

struct Pairing {
  std::vector<std::pair<Input, Input>> pairs;  // of the first graph, of the second
  std::vector<Input> only_first, only_second;
};

/// Feeds and trained states may stand for each other (a document may feed its weights); other
/// states pair by name alone. Partners agree in the sizes that are not 1 and in being floats or
/// not.
Pairing pair_inputs(const ir::Graph& first, const ir::Graph& second);

}  // namespace plait::cli
