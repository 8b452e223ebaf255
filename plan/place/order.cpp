// Sorting buffers by up to three keys.
#include "plan/place/order.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace plait::plan {
namespace {

/// The largest of values[begin..end-1] for many ranges: [k][i] is that of 2^k values from i on.
class RangeMax {
 public:
  explicit RangeMax(std::vector<std::int64_t> values) {
    levels_.push_back(std::move(values));
    const std::size_t n = levels_[0].size();
    for (std::size_t half = 1; 2 * half <= n; half *= 2) {
      std::vector<std::int64_t> next(n - 2 * half + 1);
      for (std::size_t i = 0; i < next.size(); ++i) {
        next[i] = std::max(levels_.back()[i], levels_.back()[i + half]);
      }
      levels_.push_back(std::move(next));
    }
  }
  std::int64_t of(int begin, int end) const {
    int level = 0;
    while (2 << level <= end - begin) ++level;
    return std::max(levels_[level][begin], levels_[level][end - (1 << level)]);
  }

 private:
  std::vector<std::vector<std::int64_t>> levels_;
};

constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();

/// Per buffer; the larger goes first.
std::vector<std::int64_t> key_values(const Problem& p, Key key) {
  std::vector<std::int64_t> values(p.size());
  const RangeMax load(key == Key::load ? loads(p) : std::vector<std::int64_t>());
  for (int i = 0; i < p.size(); ++i) {
    const std::int64_t life = p.end[i] - p.begin[i];
    switch (key) {
      case Key::bytes:
        values[i] = p.bytes[i];
        break;
      case Key::life:
        values[i] = life;
        break;
      case Key::area:
        if (__builtin_mul_overflow(p.bytes[i], life, &values[i])) values[i] = kMost;
        break;
      case Key::load:
        values[i] = load.of(p.begin[i], p.end[i]);
        break;
      case Key::start:
        values[i] = -p.begin[i];
        break;
      case Key::finish:
        values[i] = p.end[i];
        break;
    }
  }
  return values;
}

}  // namespace

std::vector<int> order_by(const Problem& problem, const std::array<Key, 3>& keys) {
  std::vector<std::array<std::int64_t, 3>> values(problem.size());
  for (std::size_t k = 0; k < keys.size(); ++k) {
    const std::vector<std::int64_t> column = key_values(problem, keys[k]);
    for (int i = 0; i < problem.size(); ++i) values[i][k] = column[i];
  }
  std::vector<int> order(problem.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return values[a] > values[b]; });
  return order;
}

}  // namespace plait::plan
