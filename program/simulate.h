// Time and memory of a schedule, before it runs. The one account of who lives when: a piece of
// memory from the step that first writes it to the last that touches it, what is fed from step 0,
// what is fetched to the end. Values that share memory (aliases, in place, views) are one piece.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "program/program.h"

namespace plait::program {

/// What is simulated: a program, or a draft of one (plan/draft.h).
struct Schedule {
  struct Piece {
    std::int64_t bytes = 0;  // 0: it takes no memory of the arena
    bool fed = false, fetched = false;
  };
  struct Step {
    std::vector<std::size_t> reads, writes;  // pieces
    double seconds = 0;
    int stream = 0;
    std::vector<StepId> waits;
  };
  std::vector<Piece> pieces;
  std::vector<Step> steps;
  int streams = 1;
  double step_seconds = 0;    // of each step besides its own
  double launch_seconds = 0;  // of all steps, where they are one kernel
};

/// Pieces are the program's buffers; states and constants take nothing of the arena.
Schedule schedule_of(const Program& program);

/// First and last step; last is -1 where no step touches a piece and nobody feeds or fetches it.
struct Life {
  int first = 0, last = -1;
  bool is_alive() const { return last >= first; }
  friend bool operator==(const Life&, const Life&) = default;
};
std::vector<Life> lives_of(const Schedule& schedule);

/// Steps on streams: each begins when its stream is free and what it waits for is done.
class StreamClock {
 public:
  StreamClock(int streams, double step_seconds)
      : free_(static_cast<std::size_t>(streams), 0), step_seconds_(step_seconds) {}
  double free(int stream) const { return free_[static_cast<std::size_t>(stream)]; }
  /// When it ends.
  double run(int stream, double ready, double seconds);

 private:
  std::vector<double> free_;
  double step_seconds_;
};

/// What is alive at each step.
struct Occupancy {
  std::vector<Life> lives;         // per piece
  std::vector<std::int64_t> live;  // bytes per step
  std::int64_t peak_bytes = 0;
  int peak_step = 0;  // the first of the fullest
};
Occupancy occupancy_of(const Schedule& schedule);

struct Times {
  std::vector<double> begin, end;  // per step
  double seconds = 0;              // of all: streams share one device
};
Times times_of(const Schedule& schedule);

/// Seconds that a program is predicted to take, where its symbols have their largest values.
double predicted_seconds(const Program& program);

}  // namespace plait::program
