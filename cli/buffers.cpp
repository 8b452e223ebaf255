// Lifetimes read off the steps.
#include "cli/buffers.h"

#include <algorithm>
#include <set>

#include "base/at.h"
#include "program/simulate.h"

namespace plait::cli {

std::vector<BufferLife> buffer_lives(const program::Program& program) {
  const program::Schedule schedule = program::schedule_of(program);
  const std::vector<program::Life> found = program::lives_of(schedule);
  const int end = std::max(0, static_cast<int>(program.steps.size()) - 1);
  std::vector<BufferLife> lives(found.size());
  for (std::size_t b = 0; b < lives.size(); ++b) {
    const bool arena = program.buffers[b].region == program::Region::kArena;
    lives[b].first = arena && found[b].is_alive() ? found[b].first : 0;
    lives[b].last = !arena ? end : std::max(0, found[b].last);
    lives[b].fed = schedule.pieces[b].fed;
    lives[b].fetched = schedule.pieces[b].fetched;
  }
  for (const program::View& view : program.views) {
    BufferLife& life = lives[view.buffer.index()];
    if (!life.view) life.view = &view;
  }
  return lives;
}

Peak arena_peak(const program::Program& program) {
  const program::Occupancy found = program::occupancy_of(program::schedule_of(program));
  Peak peak;
  peak.step = found.peak_step;
  peak.bytes = found.peak_bytes;
  for (std::size_t b = 0; b < found.lives.size(); ++b) {
    const program::Life& life = found.lives[b];
    if (program.buffers[b].region == program::Region::kArena && life.first <= peak.step &&
        peak.step <= life.last) {
      peak.buffers.push_back(static_cast<int>(b));
    }
  }
  std::stable_sort(peak.buffers.begin(), peak.buffers.end(), [&](int a, int b) {
    return program.buffers[at(a)].bytes > program.buffers[at(b)].bytes;
  });
  return peak;
}

std::vector<int> buffers_of(const program::Program& program,
                            const std::vector<program::ViewId>& views) {
  std::vector<int> out;
  for (program::ViewId v : views) {
    const int b = program.view(v).buffer.number();
    if (std::find(out.begin(), out.end(), b) == out.end()) out.push_back(b);
  }
  return out;
}

int kernel_count(const program::Program& program) {
  std::set<std::string> ids;
  for (const program::Step& step : program.steps) ids.insert(step.kernel);
  return static_cast<int>(ids.size());
}

}  // namespace plait::cli
