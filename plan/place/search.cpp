// The search. A node of the tree lays one buffer at the lowest spot the laid ones leave it. It is
// cut off when a section cannot hold what is still to come, when another buffer would fit below, or
// when the buffers left fall apart into groups of which one cannot be placed.
#include "plan/place/search.h"

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <numeric>
#include <utility>

#include "plan/place/order.h"

namespace plait::plan {
namespace {

constexpr std::int64_t kFar = std::numeric_limits<std::int64_t>::max();

/// The buffers still to be laid in the sections begin..end-1: pool[first..first+count-1], by rank.
/// The next goes no lower than `from`, and at `from` only when it ranks behind `behind`.
struct Group {
  std::size_t first, count;
  int begin, end;
  std::int64_t from = 0;
  int behind = -1;
};

class Search {
 public:
  /// `problem` is sorted by rank: buffer 0 is tried first.
  Search(const Problem& problem, std::int64_t capacity, Work& work);

  Outcome run() {
    pool_.resize(p_.size());
    std::iota(pool_.begin(), pool_.end(), 0);
    return solve({0, pool_.size(), 0, p_.sections});
  }
  const std::vector<std::int64_t>& offsets() const { return low_; }

 private:
  Outcome solve(const Group& group);
  Outcome lay(const Group& group, int buffer);
  Outcome solve_rest(const Group& rest, int buffer);
  Outcome solve_pieces(const Group& rest);
  bool raise(const Group& group, int buffer);
  void mark(int buffer, bool laid);
  bool sections_hold(const Group& group);
  int next_candidate(const Group& group, std::int64_t below, int tried) const;

  const Problem& p_;
  const std::int64_t capacity_;
  Work& work_;
  std::vector<std::int64_t> low_;        // per buffer: where it lies, or the lowest it can
  std::vector<char> laid_;               // per buffer
  std::vector<int> twin_;                // per buffer: an equal one that ranks before it, or -1
  std::vector<std::int64_t> left_;       // per section: bytes still to be laid
  std::vector<std::vector<int>> alive_;  // per section: its buffers
  std::vector<int> witness_;             // per section: a buffer low enough for it to hold
  std::vector<int> crossing_;            // [s]: buffers to be laid that live in sections s-1 and s
  std::vector<int> pool_;                // a stack: the members of the groups
  std::vector<std::pair<int, std::int64_t>> trail_;  // buffers raised, and where they were
};

Search::Search(const Problem& problem, std::int64_t capacity, Work& work)
    : p_(problem),
      capacity_(capacity),
      work_(work),
      low_(problem.size(), 0),
      laid_(problem.size(), 0),
      twin_(problem.size(), -1),
      left_(loads(problem)),
      alive_(problem.sections),
      crossing_(problem.sections, 0) {
  for (int i = 0; i < p_.size(); ++i) {
    for (int s = p_.begin[i]; s < p_.end[i]; ++s) {
      alive_[s].push_back(i);
      if (s > p_.begin[i]) ++crossing_[s];
    }
  }
  for (const std::vector<int>& there : alive_) witness_.push_back(there[0]);
  std::map<std::array<std::int64_t, 3>, int> last;
  for (int i = 0; i < p_.size(); ++i) {
    const auto [equal, fresh] = last.try_emplace({p_.begin[i], p_.end[i], p_.bytes[i]}, i);
    if (!fresh) twin_[i] = std::exchange(equal->second, i);
  }
}

/// Whether every section has room for what is left in it above the lowest of what is left.
bool Search::sections_hold(const Group& group) {
  for (int s = group.begin; s < group.end; ++s) {
    const std::int64_t highest = capacity_ - left_[s];
    if (left_[s] == 0) continue;
    if (group.from > highest) return false;
    const auto low_enough = [&](int i) { return !laid_[i] && low_[i] <= highest; };
    if (low_enough(witness_[s])) continue;
    const auto found = std::find_if(alive_[s].begin(), alive_[s].end(), low_enough);
    if (found == alive_[s].end()) return false;
    witness_[s] = *found;
  }
  return true;
}

/// What to lay next when `tried` has failed (-1: at first): the lowest, then by rank. Where another
/// buffer fits below a candidate (`below` is the lowest top), that one has to come first; of equal
/// buffers the first by rank does. -1: nothing.
int Search::next_candidate(const Group& group, std::int64_t below, int tried) const {
  const std::int64_t after = tried < 0 ? group.from : low_[tried];
  const int behind = tried < 0 ? group.behind : tried;
  int best = -1;
  for (std::size_t k = group.first; k < group.first + group.count; ++k) {
    const int i = pool_[k];
    if (low_[i] < after || low_[i] >= below || (low_[i] == after && i <= behind)) continue;
    if (twin_[i] >= 0 && !laid_[twin_[i]]) continue;
    below = low_[i];  // the next one has to be lower to win
    best = i;
  }
  return best;
}

Outcome Search::solve(const Group& group) {
  if (group.count <= 1) return Outcome::found;  // raise() has seen that it fits
  std::int64_t below = kFar;
  for (std::size_t k = group.first; k < group.first + group.count; ++k) {
    below = std::min(below, low_[pool_[k]] + p_.bytes[pool_[k]]);
  }
  Outcome outcome = Outcome::none;
  int buffer = next_candidate(group, below, -1);
  while (buffer >= 0 && outcome == Outcome::none) {
    outcome = lay(group, buffer);
    buffer = next_candidate(group, below, buffer);
  }
  return outcome;
}

/// Lifts what conflicts with `buffer` above it; false when one then leaves the arena.
bool Search::raise(const Group& group, int buffer) {
  const int begin = p_.begin[buffer], end = p_.end[buffer];
  const std::int64_t top = low_[buffer] + p_.bytes[buffer];
  for (std::size_t k = group.first; k < group.first + group.count; ++k) {
    const int j = pool_[k];
    if (low_[j] >= top || p_.end[j] <= begin || end <= p_.begin[j] || j == buffer) continue;
    if (top + p_.bytes[j] > capacity_) return false;
    trail_.emplace_back(j, low_[j]);
    low_[j] = top;
  }
  return true;
}

void Search::mark(int buffer, bool laid) {
  const std::int64_t bytes = laid ? p_.bytes[buffer] : -p_.bytes[buffer];
  const int crossings = laid ? 1 : -1;
  laid_[buffer] = laid;
  left_[p_.begin[buffer]] -= bytes;
  for (int s = p_.begin[buffer] + 1; s < p_.end[buffer]; ++s) {
    left_[s] -= bytes;
    crossing_[s] -= crossings;
  }
}

/// Lays `buffer`, tries the rest, and takes it back if that fails. The marks go in any case: what
/// is solved beside this group does not depend on them.
Outcome Search::lay(const Group& group, int buffer) {
  const auto count = static_cast<std::int64_t>(group.count);
  if (!work_.take(4 * count + group.end - group.begin)) return Outcome::out_of_work;
  const std::size_t undo = trail_.size();
  Outcome outcome = Outcome::none;
  if (raise(group, buffer)) {
    mark(buffer, true);
    Group rest = group;
    rest.from = low_[buffer];
    rest.behind = buffer;
    if (sections_hold(rest)) outcome = solve_rest(rest, buffer);
    mark(buffer, false);
  }
  while (outcome != Outcome::found && trail_.size() > undo) {
    low_[trail_.back().first] = trail_.back().second;
    trail_.pop_back();
  }
  return outcome;
}

/// Solves what is left of a group in which `buffer` has just been laid.
Outcome Search::solve_rest(const Group& group, int buffer) {
  Group rest = group;
  rest.first = pool_.size();
  rest.count = group.count - 1;
  for (std::size_t k = group.first; k < group.first + group.count; ++k) {
    const int j = pool_[k];
    if (j != buffer) pool_.push_back(j);
  }
  bool whole = crossing_[p_.begin[buffer]] > 0 || p_.begin[buffer] == group.begin;
  whole = whole && (p_.end[buffer] == group.end || crossing_[p_.end[buffer]] > 0);
  for (int s = p_.begin[buffer] + 1; s < p_.end[buffer]; ++s) whole = whole && crossing_[s] > 0;
  const Outcome outcome = whole ? solve(rest) : solve_pieces(rest);
  pool_.resize(rest.first);
  return outcome;
}

/// Cuts a group where nothing crosses, and solves the pieces one by one, the smallest first.
Outcome Search::solve_pieces(const Group& group) {
  std::vector<Group> pieces;
  for (int s = group.begin; s < group.end; ++s) {
    if (s == group.begin || crossing_[s] == 0) {
      pieces.push_back({pool_.size(), 0, s, s, group.from, group.behind});
    }
    pieces.back().end = s + 1;
    if (s + 1 < group.end && crossing_[s + 1] > 0) continue;
    for (std::size_t k = group.first; k < group.first + group.count; ++k) {
      const int j = pool_[k];
      if (p_.begin[j] >= pieces.back().begin && p_.end[j] <= s + 1) pool_.push_back(j);
    }
    pieces.back().count = pool_.size() - pieces.back().first;
  }
  std::stable_sort(pieces.begin(), pieces.end(),
                   [](const Group& a, const Group& b) { return a.count < b.count; });
  for (const Group& piece : pieces) {
    const Outcome outcome = solve(piece);
    if (outcome != Outcome::found) return outcome;
  }
  return Outcome::found;
}

struct Branching {
  const char* name;
  std::array<Key, 3> keys;
};

constexpr Branching kBranchings[] = {
    {"load", {Key::load, Key::area, Key::life}},
    {"life", {Key::life, Key::area, Key::load}},
    {"load, life", {Key::load, Key::life, Key::area}},
    {"load, life, start", {Key::load, Key::life, Key::start}},
    {"start", {Key::start, Key::load, Key::life}},
    {"area", {Key::area, Key::load, Key::bytes}},
};

/// One tree. Buffers are numbered by their rank in it.
Found search_by(const Problem& problem, const Branching& branching, std::int64_t capacity,
                Work& work) {
  const std::vector<int> order = order_by(problem, branching.keys);
  Problem sorted = problem;
  for (int k = 0; k < problem.size(); ++k) {
    sorted.bytes[k] = problem.bytes[order[k]];
    sorted.begin[k] = problem.begin[order[k]];
    sorted.end[k] = problem.end[order[k]];
  }
  Search tree(sorted, capacity, work);
  Found found{tree.run(), {}};
  if (found.outcome != Outcome::found) return found;
  found.packed.offsets.resize(problem.size());
  for (int k = 0; k < problem.size(); ++k) found.packed.offsets[order[k]] = tree.offsets()[k];
  found.packed.height = height_of(problem, found.packed.offsets);
  found.packed.method = std::string("search ") + branching.name;
  return found;
}

}  // namespace

Found search(const Problem& problem, std::int64_t capacity, Work& work) {
  if (problem.lower_bound > capacity) return {Outcome::none, {}};
  constexpr std::int64_t kFirstRound = 1'500'000;
  std::int64_t setup = 0;  // the sections of all buffers, which a tree lists
  for (int i = 0; i < problem.size(); ++i) setup += 8 * (problem.end[i] - problem.begin[i]) + 300;
  for (std::int64_t share = std::max(kFirstRound, 4 * setup);; share *= 4) {
    for (const Branching& branching : kBranchings) {
      if (!work.take(setup)) return {};
      Work mine{std::min(share, work.left)};
      work.left -= mine.left;
      Found found = search_by(problem, branching, capacity, mine);
      work.left += std::max<std::int64_t>(mine.left, 0);
      if (found.outcome != Outcome::out_of_work) return found;
    }
  }
}

}  // namespace plait::plan
