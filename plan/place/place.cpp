// The contest of the strategies, from the quickest to the most thorough, and the proof of its
// result.
#include "plan/place/place.h"

#include <algorithm>
#include <map>
#include <numeric>

#include "base/checked.h"
#include "base/error.h"
#include "plan/place/greedy.h"
#include "plan/place/search.h"

namespace plait::plan {
namespace {

/// Units of work in a nominal second.
constexpr double kWorkPerSecond = 1e9;
/// Where cutting into parts and the greedy contest stop: some 20 ms.
constexpr std::int64_t kGreedyWork = 24'000'000;

/// The depth of the search is the number of buffers, and so is that of its recursion.
constexpr int kMostSearched = 2000;

void check_interval(const Interval& interval, std::size_t i) {
  check(interval.bytes >= 0, "[place] interval ", i, " has ", interval.bytes, " bytes");
  check(interval.first <= interval.last, "[place] interval ", i, " lives from step ",
        interval.first, " to step ", interval.last);
}

/// Runs `search` on a share of the work and gives back what it leaves of it.
Found search_within(const Problem& problem, std::int64_t capacity, std::int64_t share, Work& work) {
  Work mine{std::min(share, work.left)};
  work.left -= mine.left;
  Found found = search(problem, capacity, mine);
  work.left += std::max<std::int64_t>(mine.left, 0);
  return found;
}

/// Brings one part towards `target`: the search for it on a quarter of the work, improved orders on
/// an eighth, and the search between the target and the best known on the rest.
void improve(const Problem& problem, std::int64_t target, Work& work, Packed& best) {
  if (problem.size() > kMostSearched) return improve_order(problem, target, work, best);
  const std::int64_t all = work.left;
  Found found = search_within(problem, target, all / 4, work);
  if (found.outcome == Outcome::found) best = std::move(found.packed);
  Work orders{std::min(all / 8, work.left)};
  work.left -= orders.left;
  improve_order(problem, target, orders, best);
  std::int64_t unit = 0;  // what rests on one another is as high as a multiple of this
  for (const std::int64_t bytes : problem.bytes) unit = std::gcd(unit, bytes);
  std::int64_t low = target / unit * unit;  // not found so far
  while (best.height - low > unit && work.left > 0) {
    const std::int64_t middle = low + (best.height - low) / unit / 2 * unit;
    found = search_within(problem, middle, all / 8 + 1, work);
    if (found.outcome == Outcome::found) {
      best = std::move(found.packed);
    } else {
      low = middle;
    }
  }
}

}  // namespace

std::int64_t lower_bound(const std::vector<Interval>& intervals) {
  std::vector<std::pair<std::int64_t, std::int64_t>> changes;  // step, bytes
  for (const Interval& interval : intervals) {
    changes.emplace_back(interval.first, interval.bytes);
    changes.emplace_back(interval.last + 1, -interval.bytes);
  }
  std::sort(changes.begin(), changes.end());
  std::int64_t live = 0, most = 0;
  for (const auto& [step, bytes] : changes) {
    live += bytes;
    most = std::max(most, live);
  }
  return most;
}

Placement place(const std::vector<Interval>& intervals, const PlaceOptions& options) {
  std::int64_t total = 0;
  std::vector<int> ids;
  for (std::size_t i = 0; i < intervals.size(); ++i) {
    check_interval(intervals[i], i);
    add_checked(total, intervals[i].bytes, "bytes");
    if (intervals[i].bytes > 0) ids.push_back(static_cast<int>(i));
  }
  Placement placement;
  placement.offsets.assign(intervals.size(), 0);
  placement.method = "stacked";  // when no part is left to be placed
  placement.lower_bound = lower_bound(intervals);
  std::int64_t target = std::max(options.capacity, placement.lower_bound);
  Work quick{kGreedyWork};
  std::vector<Part> parts = decompose(intervals, ids, placement.offsets, quick);
  std::stable_sort(parts.begin(), parts.end(), [](const Part& a, const Part& b) {
    return a.base + a.problem.lower_bound > b.base + b.problem.lower_bound;
  });
  std::vector<Packed> packed;
  for (const Part& part : parts) {
    packed.push_back(pack_greedy(part.problem, target - part.base, quick));
  }
  Work slow{static_cast<std::int64_t>(std::clamp(options.seconds, 0., 1e6) * kWorkPerSecond)};
  const auto missing = [&](std::size_t k) {  // how many parts from k on are above the target
    std::int64_t count = 0;
    for (; k < parts.size(); ++k) count += parts[k].base + packed[k].height > target;
    return count;
  };
  for (std::size_t k = 0; k < parts.size(); ++k) {
    const auto& [ids_here, problem, base] = parts[k];
    if (base + packed[k].height > target) {
      Work share{slow.left / missing(k)};
      slow.left -= share.left;
      improve(problem, target - base, share, packed[k]);
      slow.left += std::max<std::int64_t>(share.left, 0);
    }
    for (std::size_t i = 0; i < ids_here.size(); ++i) {
      placement.offsets[ids_here[i]] = base + packed[k].offsets[i];
    }
    const std::int64_t top = base + packed[k].height;
    target = std::max(target, top);  // what one part needs, the others may use too
    if (top <= placement.height) continue;
    placement.height = top;
    placement.method = packed[k].method;
  }
  for (const int i : ids) {  // what lives through everything may be alone at the top
    placement.height = std::max(placement.height, placement.offsets[i] + intervals[i].bytes);
  }
  return placement;
}

void verify(const std::vector<Interval>& intervals, const Placement& placement) {
  check(placement.offsets.size() == intervals.size(), "[place] ", intervals.size(),
        " intervals, but ", placement.offsets.size(), " offsets");
  struct Event {
    std::int64_t step;
    bool birth;  // deaths come first in a step: `step` of a death is the one after its last
    std::size_t interval;
  };
  std::vector<Event> events;
  std::int64_t height = 0;
  for (std::size_t i = 0; i < intervals.size(); ++i) {
    check_interval(intervals[i], i);
    if (intervals[i].bytes == 0) continue;
    check(placement.offsets[i] >= 0, "[place] interval ", i, " at offset ", placement.offsets[i]);
    height = std::max(height, placement.offsets[i] + intervals[i].bytes);
    events.push_back({intervals[i].first, true, i});
    events.push_back({intervals[i].last + 1, false, i});
  }
  check(height == placement.height, "[place] the highest interval ends at ", height,
        ", the height is said to be ", placement.height);
  std::sort(events.begin(), events.end(), [](const Event& a, const Event& b) {
    return a.step != b.step ? a.step < b.step : a.birth < b.birth;
  });
  std::map<std::int64_t, std::size_t> live;  // offset -> interval; disjoint
  const auto apart = [&](std::size_t low, std::size_t high) {
    check(placement.offsets[low] + intervals[low].bytes <= placement.offsets[high],
          "[place] intervals ", low, " and ", high, " overlap: offsets ", placement.offsets[low],
          " and ", placement.offsets[high], ", bytes ", intervals[low].bytes, " and ",
          intervals[high].bytes);
  };
  for (const Event& event : events) {
    if (!event.birth) {
      live.erase(placement.offsets[event.interval]);
      continue;
    }
    const auto next = live.lower_bound(placement.offsets[event.interval]);
    if (next != live.end()) apart(event.interval, next->second);
    if (next != live.begin()) apart(std::prev(next)->second, event.interval);
    live.emplace(placement.offsets[event.interval], event.interval);
  }
}

}  // namespace plait::plan
