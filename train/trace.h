// Where a number that is not finite comes from: a graph is run with every node a kernel of its own,
// and every result is looked at.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "run/session.h"

namespace plait::train {

class Tracer {
 public:
  /// Of one graph, from the session's states as they are now; the session is not changed. Runs on
  /// the cpu backend, not fused.
  Tracer(const Session& session, const RunRequest& request, int threads);

  void set_state(const std::string& name, const Array& value);
  /// Runs it once and advances its states. Says which op first made a NaN (or an infinity where
  /// there is no NaN): `[log] made NaN: %log3 f32[8,128] @ blocks.0.att (models/rwkv4.cpp:93)`.
  std::optional<std::string> run(const Arrays& feeds);

 private:
  enum Kind { kFinite, kInfinite, kNan };
  static Kind kind_of(const Array& array);
  /// The values that a step of the program computes and that lie in memory.
  std::vector<program::ViewId> results_of(const program::Step& step) const;
  std::string describe(program::ViewId view) const;

  std::unique_ptr<Target> target_;
  std::unique_ptr<Executor> executor_;
  ir::Graph graph_;  // as planned
  std::map<std::string, program::ViewId> views_;
};

}  // namespace plait::train
