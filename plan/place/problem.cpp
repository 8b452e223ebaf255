// Compressing lifetimes to sections, and cutting a problem into parts.
#include "plan/place/problem.h"

#include <algorithm>
#include <numeric>

namespace plait::plan {
namespace {

/// Positions 0..n-1 sorted by a key of theirs, stable.
template <class Key>
std::vector<int> sorted_by(std::size_t n, Key key) {
  std::vector<int> order(n);
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return key(a) < key(b); });
  return order;
}

/// Units of work per buffer in one round of cutting.
constexpr std::int64_t kCutWork = 100;

}  // namespace

Problem compress(const std::vector<Interval>& intervals, std::span<const int> ids) {
  const auto n = ids.size();
  Problem problem;
  problem.bytes.resize(n);
  problem.begin.resize(n);
  problem.end.resize(n);
  const auto at = [&](int i) -> const Interval& { return intervals[ids[i]]; };
  const std::vector<int> starts = sorted_by(n, [&](int i) { return at(i).first; });
  const std::vector<int> ends = sorted_by(n, [&](int i) { return at(i).last; });
  // A set of live buffers is largest when the next event after some births is a death.
  std::int64_t live = 0;
  bool born = false;
  std::size_t s = 0;
  for (const int dying : ends) {
    for (; s < n && at(starts[s]).first <= at(dying).last; ++s) {
      const int i = starts[s];
      problem.begin[i] = problem.sections;
      problem.bytes[i] = at(i).bytes;
      live += at(i).bytes;
      born = true;
    }
    if (born) {
      ++problem.sections;
      problem.lower_bound = std::max(problem.lower_bound, live);
      born = false;
    }
    problem.end[dying] = problem.sections;
    live -= at(dying).bytes;
  }
  return problem;
}

std::vector<std::int64_t> loads(const Problem& problem) {
  std::vector<std::int64_t> load(problem.sections + 1, 0);
  for (int i = 0; i < problem.size(); ++i) {
    load[problem.begin[i]] += problem.bytes[i];
    load[problem.end[i]] -= problem.bytes[i];
  }
  std::partial_sum(load.begin(), load.end(), load.begin());
  load.pop_back();
  return load;
}

std::int64_t height_of(const Problem& problem, const std::vector<std::int64_t>& offsets) {
  std::int64_t height = 0;
  for (int i = 0; i < problem.size(); ++i) height = std::max(height, offsets[i] + problem.bytes[i]);
  return height;
}

std::vector<Part> decompose(const std::vector<Interval>& intervals, std::span<const int> ids,
                            std::vector<std::int64_t>& offsets, Work& work) {
  std::vector<Part> parts;
  std::vector<Part> todo(1);
  todo[0].ids.assign(ids.begin(), ids.end());
  while (!todo.empty()) {
    Part part = std::move(todo.back());
    todo.pop_back();
    part.problem = compress(intervals, part.ids);
    const Problem& p = part.problem;
    std::vector<int> crossing(p.sections + 1, 0);  // [s]: how many live in sections s-1 and s
    std::int64_t through = 0;
    for (int i = 0; i < p.size(); ++i) {
      if (p.end[i] - p.begin[i] == p.sections) {
        offsets[part.ids[i]] = part.base + through;
        through += p.bytes[i];
      } else {
        ++crossing[p.begin[i] + 1];
        --crossing[p.end[i]];
      }
    }
    std::partial_sum(crossing.begin(), crossing.end(), crossing.begin());
    std::vector<int> piece_of(p.sections);
    int pieces = 0;
    for (int s = 0; s < p.sections; ++s) piece_of[s] = crossing[s] > 0 ? pieces - 1 : pieces++;
    const bool whole = through == 0 && pieces == 1;
    if (whole || !work.take(kCutWork * p.size())) {
      parts.push_back(std::move(part));
      continue;
    }
    std::vector<Part> cut(pieces);
    for (int i = 0; i < p.size(); ++i) {
      if (p.end[i] - p.begin[i] < p.sections) {
        cut[piece_of[p.begin[i]]].ids.push_back(part.ids[i]);
      }
    }
    for (Part& piece : cut) {
      if (piece.ids.empty()) continue;
      piece.base = part.base + through;
      todo.push_back(std::move(piece));
    }
  }
  return parts;
}

}  // namespace plait::plan
