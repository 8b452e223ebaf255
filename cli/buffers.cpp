// Lifetimes read off the steps.
#include "cli/buffers.h"

#include <algorithm>
#include <set>

#include "base/at.h"

namespace plait::cli {

std::vector<BufferLife> buffer_lives(const program::Program& program) {
  const int end = std::max(0, static_cast<int>(program.steps.size()) - 1);
  std::vector<BufferLife> lives(program.buffers.size());
  std::vector<bool> touched(lives.size(), false);
  const auto touch = [&](int buffer, int step) {
    BufferLife& life = lives[at(buffer)];
    if (!touched[at(buffer)]) life.first = step;
    touched[at(buffer)] = true;
    life.last = std::max(life.last, step);
  };
  const auto buffer_of = [&](const program::Binding& b) { return program.view(b.view).buffer.number(); };
  for (const program::Binding& feed : program.feeds) {
    touch(buffer_of(feed), 0);
    lives[at(buffer_of(feed))].fed = true;
  }
  for (int s = 0; s < static_cast<int>(program.steps.size()); ++s) {
    const program::Uses uses = program::uses_of(program.steps[at(s)]);
    for (program::ViewId v : uses.writes) touch(program.view(v).buffer.number(), s);
    for (program::ViewId v : uses.reads) touch(program.view(v).buffer.number(), s);
  }
  for (const program::Binding& fetch : program.fetches) {
    touch(buffer_of(fetch), end);
    lives[at(buffer_of(fetch))].fetched = true;
  }
  for (std::size_t b = 0; b < lives.size(); ++b) {
    if (program.buffers[b].region == program::Region::kArena) continue;
    lives[b].first = 0;
    lives[b].last = end;
  }
  for (const program::View& view : program.views) {
    BufferLife& life = lives[view.buffer.index()];
    if (!life.view) life.view = &view;
  }
  return lives;
}

Peak arena_peak(const program::Program& program, const std::vector<BufferLife>& lives) {
  std::vector<std::int64_t> change(program.steps.size() + 2, 0);
  const auto in_arena = [&](std::size_t b) {
    return program.buffers[b].region == program::Region::kArena;
  };
  for (std::size_t b = 0; b < lives.size(); ++b) {
    if (!in_arena(b)) continue;
    change[at(lives[b].first)] += program.buffers[b].bytes;
    change[at(lives[b].last) + 1] -= program.buffers[b].bytes;
  }
  Peak peak;
  std::int64_t now = 0;
  for (std::size_t s = 0; s < change.size(); ++s) {
    now += change[s];
    if (now <= peak.bytes) continue;
    peak.bytes = now;
    peak.step = static_cast<int>(s);
  }
  for (std::size_t b = 0; b < lives.size(); ++b) {
    if (in_arena(b) && lives[b].first <= peak.step && peak.step <= lives[b].last) {
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
