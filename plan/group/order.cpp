// A topological order that is repaired where a new edge breaks it: what the group now reads moves
// before it, within the places that these groups have already.
#include "plan/group/order.h"

#include <algorithm>
#include <functional>
#include <queue>
#include <utility>

#include "base/at.h"

namespace plait::plan {

void GroupOrder::add(const std::vector<int>& needs) {
  const int g = static_cast<int>(rank_.size());
  rank_.push_back(g);
  needs_.emplace_back();
  feeds_.emplace_back();
  seen_.push_back(0);
  connect(g, needs);
}

void GroupOrder::connect(int g, const std::vector<int>& needs) {
  for (int h : needs) {
    auto& known = needs_[at(g)];
    if (h == g || std::find(known.begin(), known.end(), h) != known.end()) continue;
    known.push_back(h);
    feeds_[at(h)].push_back(g);
  }
}

bool GroupOrder::leads(int g, const std::vector<int>& ends) {
  std::vector<int> found;
  return !find_needed(g, ends, found);
}

bool GroupOrder::find_needed(int g, const std::vector<int>& ends, std::vector<int>& found) {
  // The lowest first: a gradient reads what was computed soon after the value it belongs to, so
  // that the way to g is short where there is one.
  std::priority_queue<std::pair<int, int>, std::vector<std::pair<int, int>>, std::greater<>> open;
  ++search_;
  const auto visit = [&](int h) {
    if (rank_[at(h)] < rank_[at(g)] || seen_[at(h)] == search_) return;
    seen_[at(h)] = search_;
    open.emplace(rank_[at(h)], h);
  };
  for (int h : ends) visit(h);
  while (!open.empty()) {
    const int h = open.top().second;
    open.pop();
    if (h == g) return false;
    found.push_back(h);
    for (int k : needs_[at(h)]) visit(k);
  }
  return true;
}

std::vector<int> GroupOrder::find_waiting(int g, int high) {
  std::vector<int> found{g};
  seen_[at(g)] = ++search_;
  for (std::size_t i = 0; i < found.size(); ++i) {
    for (int h : feeds_[at(found[i])]) {
      if (rank_[at(h)] > high || seen_[at(h)] == search_) continue;
      seen_[at(h)] = search_;
      found.push_back(h);
    }
  }
  return found;
}

void GroupOrder::extend(int g, const std::vector<int>& needs) {
  std::vector<int> before;
  find_needed(g, needs, before);
  connect(g, needs);
  if (before.empty()) return;
  const auto by_rank = [&](int a, int b) { return rank_[at(a)] < rank_[at(b)]; };
  std::sort(before.begin(), before.end(), by_rank);
  std::vector<int> behind = find_waiting(g, rank_[at(before.back())]);
  std::sort(behind.begin(), behind.end(), by_rank);
  std::vector<int> moved = before, places;
  moved.insert(moved.end(), behind.begin(), behind.end());
  for (int h : moved) places.push_back(rank_[at(h)]);
  std::sort(places.begin(), places.end());
  for (std::size_t i = 0; i < moved.size(); ++i) rank_[at(moved[i])] = places[i];
}

}  // namespace plait::plan
