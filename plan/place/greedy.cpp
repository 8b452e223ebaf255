// The greedy portfolio. A strategy is a row of a table: what to sort by, and which gap to take.
#include "plan/place/greedy.h"

#include <algorithm>
#include <array>
#include <limits>

#include "plan/place/order.h"

namespace plait::plan {
namespace {

constexpr std::int64_t kFar = std::numeric_limits<std::int64_t>::max();

/// What is placed already, by offset.
class Shelf {
 public:
  explicit Shelf(int n) { placed_.reserve(n); }
  int size() const { return static_cast<int>(placed_.size()); }

  /// The lowest or the tightest gap that takes `bytes` in the sections begin..end-1.
  std::int64_t find(std::int64_t bytes, int begin, int end, Fit fit) const {
    std::int64_t top = 0, best = -1, best_gap = kFar;
    for (const Placed& placed : placed_) {
      // Not `&&`: which of them conflict cannot be predicted, that a gap is found can.
      const bool conflict = (placed.begin < end) & (begin < placed.end);
      const std::int64_t gap = placed.offset - top;
      if (conflict & (gap >= bytes) & (gap < best_gap)) {
        if (fit == Fit::lowest) return top;
        best = top;
        best_gap = gap;
      }
      top = std::max(top, conflict ? placed.top : 0);
    }
    return best < 0 ? top : best;
  }

  void insert(std::int64_t offset, std::int64_t bytes, int begin, int end) {
    const auto at =
        std::upper_bound(placed_.begin(), placed_.end(), offset,
                         [](std::int64_t o, const Placed& placed) { return o < placed.offset; });
    placed_.insert(at, {begin, end, offset, offset + bytes});
  }

  /// Takes out what is dead before section `begin`.
  void forget(int begin) {
    std::erase_if(placed_, [&](const Placed& placed) { return placed.end <= begin; });
  }

 private:
  struct Placed {
    int begin, end;
    std::int64_t offset, top;
  };
  std::vector<Placed> placed_;
};

struct Strategy {
  const char* name;
  std::array<Key, 3> keys;
  Fit fit;
};

constexpr Strategy kStrategies[] = {
    {"start", {Key::start, Key::life, Key::bytes}, Fit::tightest},
    {"start, lowest", {Key::start, Key::bytes, Key::life}, Fit::lowest},
    {"bytes", {Key::bytes, Key::life, Key::start}, Fit::tightest},
    {"bytes, lowest", {Key::bytes, Key::start, Key::life}, Fit::lowest},
    {"life", {Key::life, Key::bytes, Key::start}, Fit::lowest},
    {"load", {Key::load, Key::life, Key::bytes}, Fit::lowest},
    {"load, bytes", {Key::load, Key::bytes, Key::life}, Fit::tightest},
    {"area", {Key::area, Key::bytes, Key::start}, Fit::lowest},
    {"life, tightest", {Key::life, Key::load, Key::area}, Fit::tightest},
    {"area, tightest", {Key::area, Key::load, Key::start}, Fit::tightest},
    {"load, area", {Key::load, Key::area, Key::start}, Fit::lowest},
    {"finish", {Key::finish, Key::life, Key::bytes}, Fit::tightest},
};

}  // namespace

std::vector<std::int64_t> pack_in_order(const Problem& p, std::span<const int> order, Fit fit,
                                        Work& work) {
  std::vector<std::int64_t> offsets(p.size());
  Shelf shelf(p.size());
  const bool in_time = std::is_sorted(order.begin(), order.end(),
                                      [&](int a, int b) { return p.begin[a] < p.begin[b]; });
  int now = 0;
  for (const int i : order) {
    if (in_time && p.begin[i] > now) {
      now = p.begin[i];
      shelf.forget(now);
    }
    work.take(40 + 2 * shelf.size());
    offsets[i] = shelf.find(p.bytes[i], p.begin[i], p.end[i], fit);
    shelf.insert(offsets[i], p.bytes[i], p.begin[i], p.end[i]);
  }
  return offsets;
}

Packed pack_greedy(const Problem& problem, std::int64_t target, Work& work) {
  Packed best;
  best.height = -1;
  for (const Strategy& strategy : kStrategies) {
    if (best.height >= 0 && (best.height <= target || work.left <= 0)) break;
    std::vector<int> order = order_by(problem, strategy.keys);
    std::vector<std::int64_t> offsets = pack_in_order(problem, order, strategy.fit, work);
    const std::int64_t height = height_of(problem, offsets);
    if (best.height >= 0 && height >= best.height) continue;
    best = {std::move(offsets), height, std::string("greedy ") + strategy.name, std::move(order)};
  }
  return best;
}

void improve_order(const Problem& problem, std::int64_t target, Work& work, Packed& best) {
  const auto above = [&](const std::vector<std::int64_t>& offsets) {
    std::int64_t sum = 0;  // bytes above the target, what improving an order makes smaller
    for (int i = 0; i < problem.size(); ++i) {
      sum += std::max<std::int64_t>(0, offsets[i] + problem.bytes[i] - target);
    }
    return sum;
  };
  std::vector<int> order = best.order;
  std::vector<std::int64_t> offsets = best.offsets;
  std::int64_t sum = above(offsets);
  std::uint64_t random = 1;
  const auto below = [&](std::uint64_t n) {  // a linear congruential generator: the same every time
    random = random * 6364136223846793005u + 1442695040888963407u;
    return static_cast<int>((random >> 33) % n);
  };
  const std::int64_t round = std::int64_t{problem.size()} * problem.size();  // what one may cost
  while (best.height > target && work.left >= round) {
    std::vector<int> next = order;
    for (int k = 1; k < problem.size(); ++k) {
      const int i = next[k];
      if (offsets[i] + problem.bytes[i] <= target || below(2) == 0) continue;
      const int to = below(k);
      std::rotate(next.begin() + to, next.begin() + k, next.begin() + k + 1);
    }
    std::vector<std::int64_t> tried =
        pack_in_order(problem, next, below(2) ? Fit::lowest : Fit::tightest, work);
    const std::int64_t height = height_of(problem, tried);
    if (height < best.height) best = {tried, height, "improved order", next};
    const std::int64_t tried_sum = above(tried);
    if (tried_sum > sum) continue;
    sum = tried_sum;
    order = std::move(next);
    offsets = std::move(tried);
  }
}

}  // namespace plait::plan
