// The order of growing groups against a search through all of them.
#include "plan/group/order.h"

#include <gtest/gtest.h>

#include <random>
#include <set>

#include "base/at.h"

namespace plait::plan {
namespace {

/// The same questions, answered by walking every edge.
struct Naive {
  std::vector<std::set<int>> needs;

  bool leads(int g, const std::vector<int>& ends) const {
    std::vector<int> work = ends;
    std::set<int> seen;
    while (!work.empty()) {
      const int h = work.back();
      work.pop_back();
      if (h == g) return true;
      if (!seen.insert(h).second) continue;
      work.insert(work.end(), needs[at(h)].begin(), needs[at(h)].end());
    }
    return false;
  }
};

TEST(GroupOrder, AnswersAsASearchOfAllGroupsDoes) {
  int joined = 0, refused = 0;
  for (unsigned seed = 0; seed < 60; ++seed) {
    std::mt19937 random(seed);
    const auto below = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
    GroupOrder order;
    Naive naive;
    for (int step = 0; step < 120; ++step) {
      const int count = static_cast<int>(naive.needs.size());
      std::set<int> reads;
      for (int i = count == 0 ? 0 : below(4); i > 0; --i) {
        reads.insert(count - 1 - below(std::min(count, seed % 2 ? 12 : count)));
      }
      bool placed = false;
      for (int g : std::set<int>(reads)) {
        std::vector<int> others(reads.begin(), reads.end());
        std::erase(others, g);
        const bool detour = naive.leads(g, others);
        ASSERT_EQ(order.leads(g, others), detour) << "seed " << seed << " step " << step;
        (detour ? refused : joined)++;
        if (detour || below(3) == 0) continue;
        order.extend(g, others);
        naive.needs[at(g)].insert(others.begin(), others.end());
        placed = true;
        break;
      }
      if (placed) continue;
      const std::vector<int> needs(reads.begin(), reads.end());
      order.add(needs);
      naive.needs.push_back(reads);
    }
  }
  EXPECT_GT(joined, 500);
  EXPECT_GT(refused, 500);
}

}  // namespace
}  // namespace plait::plan
