// SIGINT, SIGTERM and SIGHUP as a question that a loop asks: the first one is a request to end, a
// second SIGINT or SIGTERM ends the process at once, as it would without this.
#pragma once

#include <signal.h>

namespace plait::train {

class StopSignal {
 public:
  /// One at a time in a process.
  StopSignal();
  ~StopSignal();
  StopSignal(const StopSignal&) = delete;
  StopSignal& operator=(const StopSignal&) = delete;

  static bool asked();
  /// `SIGINT`, `SIGTERM`, `SIGHUP`, or nothing.
  static const char* name();

 private:
  struct sigaction interrupt_ {
  }, terminate_{}, hangup_{};  // as they were
};

}  // namespace plait::train
