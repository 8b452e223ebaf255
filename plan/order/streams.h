// Streams: which steps of a program run concurrently. Steps keep their order on a stream;
// across streams a step waits for those that it meets in memory, and for no others.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "program/program.h"

namespace plait::plan {

/// What a step touches: bytes of one address space, each range from its first to behind its last.
struct Touched {
  using Range = std::pair<std::int64_t, std::int64_t>;
  std::vector<Range> reads, writes;
  bool first_only = false;  // its workspace is on the first stream
  double seconds = 0;
};

struct StreamStep {
  int stream = 0;
  std::vector<program::StepId> waits;  // for steps of other streams
};

/// A step goes where it can begin first, by the steps' seconds; each stream is taken for a device
/// of its own.
std::vector<StreamStep> lay_on_streams(const std::vector<Touched>& steps, int streams);

/// The stream and the waits of every step of a program that is placed.
void assign_streams(program::Program& program);

}  // namespace plait::plan
