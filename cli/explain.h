// A program's decisions, sorted by what they are about: the steps it runs, the nodes that never
// became one, and the graph as a whole. Data for `plait explain`.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "program/program.h"

namespace plait::cli {

/// How a node ended.
struct Fate {
  std::string name;        // of its value, without %
  std::vector<int> steps;  // that compute it, or the parts it was expanded to
  std::string without;     // why it has none; empty when it has
  DecisionLog entries;     // about it and its parts, in the order of the compiler
};

struct Counts {
  int nodes_given = 0;    // of the user's graph
  int nodes_planned = 0;  // after the passes, composites expanded
  int steps = 0, calls = 0, kernels = 0;
  int contractions = 0, with_epilogue = 0, hand = 0;
  int made_where_read = 0, constants = 0;
  int fused = 0, not_fused = 0;
  int results_in_place = 0, states_in_place = 0, states_copied = 0;
};

class Explanation {
 public:
  /// `given` is the graph as the user has it. Both must outlive the explanation.
  Explanation(const ir::Graph& given, const program::Program& program);

  /// Entries about what a step computes or writes.
  const DecisionLog& of_step(std::size_t step) const { return by_step_[step]; }
  /// Entries of passes and of the plan that belong to no step.
  const DecisionLog& of_graph() const { return of_graph_; }
  /// What became of a value, named with or without %. UserError with the nearest name when neither
  /// graph has it.
  Fate fate_of(const std::string& name) const;
  Counts counts() const;

 private:
  std::vector<int> steps_of(const std::string& name) const;
  std::string why_without(const std::string& name, const DecisionLog& entries) const;

  const ir::Graph& given_;
  const program::Program& program_;
  ir::Graph planned_;
  std::map<std::string, std::vector<int>> computed_in_;  // by name of value
  std::vector<DecisionLog> by_step_;
  DecisionLog of_graph_;
};

/// The value that an entry is about, without %; empty when it is about something else.
std::string value_of(const LogEntry& entry);

/// Names of buffers, each once.
std::vector<std::string> buffer_names(const program::Program& program, const std::vector<program::ViewId>& views);

}  // namespace plait::cli
