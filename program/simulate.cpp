// Lives, live bytes and times, each in one walk over the steps.
#include "program/simulate.h"

#include <algorithm>

#include "base/at.h"

namespace plait::program {

Schedule schedule_of(const Program& program) {
  Schedule out;
  for (const Buffer& b : program.buffers) {
    out.pieces.push_back({b.region == Region::kArena ? b.bytes : 0});
  }
  const auto piece_of = [&](ViewId v) { return program.view(v).buffer.index(); };
  for (const Binding& b : program.feeds) out.pieces[piece_of(b.view)].fed = true;
  for (const Binding& b : program.fetches) out.pieces[piece_of(b.view)].fetched = true;
  for (const Step& s : program.steps) {
    Schedule::Step& step = out.steps.emplace_back();
    const Uses uses = uses_of(s);
    for (ViewId v : uses.reads) step.reads.push_back(piece_of(v));
    for (ViewId v : uses.writes) step.writes.push_back(piece_of(v));
    step.seconds = s.seconds;
    step.stream = s.stream;
    step.waits = s.waits;
  }
  out.streams = program.streams;
  const DeviceModel& device = program.device;
  out.step_seconds = program.single_kernel ? device.meeting_seconds : device.step_seconds;
  if (program.single_kernel) out.launch_seconds = device.step_seconds;
  return out;
}

std::vector<Life> lives_of(const Schedule& schedule) {
  std::vector<Life> lives(schedule.pieces.size());
  const auto touch = [&](std::size_t piece, int step) {
    Life& life = lives[piece];
    if (!life.is_alive()) life.first = step;
    life.last = std::max(life.last, step);
  };
  for (std::size_t p = 0; p < lives.size(); ++p) {
    if (schedule.pieces[p].fed) touch(p, 0);
  }
  for (std::size_t s = 0; s < schedule.steps.size(); ++s) {
    for (std::size_t p : schedule.steps[s].writes) touch(p, static_cast<int>(s));
    for (std::size_t p : schedule.steps[s].reads) touch(p, static_cast<int>(s));
  }
  const int end = std::max(0, static_cast<int>(schedule.steps.size()) - 1);
  for (std::size_t p = 0; p < lives.size(); ++p) {
    if (schedule.pieces[p].fetched) touch(p, end);
  }
  return lives;
}

Occupancy occupancy_of(const Schedule& schedule) {
  Occupancy out;
  out.lives = lives_of(schedule);
  std::vector<std::int64_t> change(std::max<std::size_t>(schedule.steps.size(), 1) + 1, 0);
  for (std::size_t p = 0; p < out.lives.size(); ++p) {
    const Life& life = out.lives[p];
    if (!life.is_alive()) continue;
    change[at(life.first)] += schedule.pieces[p].bytes;
    change[at(life.last) + 1] -= schedule.pieces[p].bytes;
  }
  std::int64_t now = 0;
  for (std::size_t s = 0; s + 1 < change.size(); ++s) {
    out.live.push_back(now += change[s]);
    if (now <= out.peak_bytes) continue;
    out.peak_bytes = now;
    out.peak_step = static_cast<int>(s);
  }
  return out;
}

double StreamClock::run(int stream, double ready, double seconds) {
  double& free = free_[at(stream)];
  return free = std::max(free, ready) + step_seconds_ + seconds;
}

Times times_of(const Schedule& schedule) {
  Times out;
  StreamClock clock(schedule.streams, schedule.step_seconds);
  double work = 0;
  for (const Schedule::Step& s : schedule.steps) {
    double ready = 0;
    for (StepId w : s.waits) ready = std::max(ready, out.end[w.index()]);
    out.begin.push_back(std::max(clock.free(s.stream), ready));
    out.end.push_back(clock.run(s.stream, ready, s.seconds));
    out.seconds = std::max(out.seconds, out.end.back());
    work += s.seconds;
  }
  out.seconds = std::max(out.seconds, work) + schedule.launch_seconds;
  return out;
}

double predicted_seconds(const Program& program) { return times_of(schedule_of(program)).seconds; }

}  // namespace plait::program
