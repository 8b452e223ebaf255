// The handler does what a handler may: it notes the signal and steps aside for the next one.
#include "train/stop_signal.h"

namespace plait::train {
namespace {

volatile sig_atomic_t signal_seen = 0;

void note_signal(int number) {
  signal_seen = number;
  signal(SIGINT, SIG_DFL);
  signal(SIGTERM, SIG_DFL);
}

}  // namespace

StopSignal::StopSignal() {
  signal_seen = 0;
  struct sigaction action {};
  action.sa_handler = note_signal;
  action.sa_flags = SA_RESTART;  // a write to disk goes on
  sigaction(SIGINT, &action, &interrupt_);
  sigaction(SIGTERM, &action, &terminate_);
  // A terminal that closes may say so more than once: only the first asks. Who started this with
  // nohup wants none of it.
  sigaction(SIGHUP, &action, &hangup_);
  if (hangup_.sa_handler == SIG_IGN) sigaction(SIGHUP, &hangup_, nullptr);
}

StopSignal::~StopSignal() {
  sigaction(SIGINT, &interrupt_, nullptr);
  sigaction(SIGTERM, &terminate_, nullptr);
  sigaction(SIGHUP, &hangup_, nullptr);
}

bool StopSignal::asked() { return signal_seen != 0; }

const char* StopSignal::name() {
  return signal_seen == SIGINT    ? "SIGINT"
         : signal_seen == SIGTERM ? "SIGTERM"
         : signal_seen == SIGHUP  ? "SIGHUP"
                                  : "";
}

}  // namespace plait::train
