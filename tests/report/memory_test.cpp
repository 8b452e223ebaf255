// Memory figures against sums and searches written out.
#include "report/memory.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <random>

#include "ir/text.h"
#include "models/registry.h"
#include "passes/measure.h"

namespace plait::report {
namespace {

using Random = std::mt19937_64;

std::vector<Buffer> random_buffers(Random& random, int count, std::int64_t steps) {
  std::vector<Buffer> buffers;
  for (int i = 0; i < count; ++i) {
    const auto a = static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(steps));
    const auto b = static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(steps));
    const auto bytes = static_cast<std::int64_t>(random() % 9);  // 0 too
    buffers.push_back({"b" + std::to_string(i), bytes, std::min(a, b), std::max(a, b)});
  }
  return buffers;
}

std::int64_t alive_at(const std::vector<Buffer>& buffers, std::int64_t step) {
  std::int64_t sum = 0;
  for (const Buffer& b : buffers) {
    if (b.first <= step && step <= b.last) sum += b.bytes;
  }
  return sum;
}

bool meet(const Buffer& a, const Buffer& b) { return a.first <= b.last && b.first <= a.last; }

/// The height when buffers are placed as low as they fit, in this order.
std::int64_t height_in_order(const std::vector<Buffer>& buffers, const std::vector<int>& order) {
  std::vector<std::int64_t> offset(buffers.size(), 0);
  std::int64_t height = 0;
  for (std::size_t n = 0; n < order.size(); ++n) {
    const auto i = static_cast<std::size_t>(order[n]);
    for (bool moved = true; moved;) {
      moved = false;
      for (std::size_t m = 0; m < n; ++m) {
        const auto j = static_cast<std::size_t>(order[m]);
        const bool apart =
            offset[i] + buffers[i].bytes <= offset[j] || offset[j] + buffers[j].bytes <= offset[i];
        if (apart || !meet(buffers[i], buffers[j])) continue;
        offset[i] = offset[j] + buffers[j].bytes;
        moved = true;
      }
    }
    height = std::max(height, offset[i] + buffers[i].bytes);
  }
  return height;
}

/// Some order of placing as low as possible gives the best packing there is.
std::int64_t best_height(const std::vector<Buffer>& buffers) {
  std::vector<int> order(buffers.size());
  std::iota(order.begin(), order.end(), 0);
  std::int64_t best = INT64_MAX;
  do {
    best = std::min(best, height_in_order(buffers, order));
  } while (std::next_permutation(order.begin(), order.end()));
  return best;
}

TEST(Memory, ManyBuffersArePackedInTimeOrder) {
  Random random(2);
  std::vector<Buffer> buffers = random_buffers(random, 6000, 100000);
  for (Buffer& b : buffers) b.last = std::min(b.last, b.first + 300);
  const MemoryFigures figures = memory_figures(buffers);
  EXPECT_GE(figures.shared_bytes, figures.peak_bytes);
  EXPECT_LE(figures.shared_bytes, 2 * figures.peak_bytes);
  // One after the other, all the same size: one place for all.
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    buffers[i] = {"b", 8, static_cast<std::int64_t>(i), static_cast<std::int64_t>(i)};
  }
  EXPECT_EQ(memory_figures(buffers).shared_bytes, 8);
}

TEST(Memory, SumsAndPeakOfRandomLifetimes) {
  Random random(1);
  for (int round = 0; round < 300; ++round) {
    constexpr std::int64_t kSteps = 12;
    const std::vector<Buffer> buffers = random_buffers(random, 1 + round % 30, kSteps);
    const MemoryFigures figures = memory_figures(buffers);
    std::int64_t all = 0, peak = 0;
    std::map<std::string, std::int64_t> bytes;
    for (const Buffer& b : buffers) {
      all += b.bytes;
      bytes[b.name] = b.bytes;
    }
    for (std::int64_t step = 0; step < kSteps; ++step) {
      peak = std::max(peak, alive_at(buffers, step));
    }
    EXPECT_EQ(figures.keep_all_bytes, all);
    EXPECT_EQ(figures.peak_bytes, peak);
    if (peak > 0) {
      EXPECT_EQ(alive_at(buffers, figures.peak_step), peak);
    }
    std::int64_t there = 0, last = INT64_MAX;
    for (const std::string& name : figures.at_peak) {
      there += bytes[name];
      EXPECT_LE(bytes[name], last) << "the largest first";
      last = bytes[name];
    }
    EXPECT_EQ(there, peak);
    EXPECT_GE(figures.shared_bytes, peak);
    EXPECT_LE(figures.shared_bytes, all);
  }
}

/// Nothing can be packed below the best; greedy is that or above it, and reaches it mostly.
TEST(Memory, SharedIsAPackingThatExists) {
  Random random(2);
  int reached = 0;
  constexpr int kRounds = 200;
  for (int round = 0; round < kRounds; ++round) {
    const std::vector<Buffer> buffers = random_buffers(random, 6, 6);
    const MemoryFigures figures = memory_figures(buffers);
    const std::int64_t best = best_height(buffers);
    ASSERT_GE(figures.shared_bytes, best);
    reached += figures.shared_bytes == best ? 1 : 0;
  }
  EXPECT_GT(reached, kRounds * 3 / 4);
}

TEST(Memory, LifetimesThatDoNotMeetShareOneAddress) {
  const MemoryFigures figures =
      memory_figures({{"a", 100, 0, 1}, {"b", 100, 2, 3}, {"c", 40, 1, 2}});
  EXPECT_EQ(figures.keep_all_bytes, 240);
  EXPECT_EQ(figures.peak_bytes, 140);
  EXPECT_EQ(figures.peak_step, 1);
  EXPECT_EQ(figures.at_peak, (std::vector<std::string>{"a", "c"}));
  EXPECT_EQ(figures.shared_bytes, 140);
}

TEST(Memory, NothingTakesNothing) {
  const MemoryFigures figures = memory_figures({});
  EXPECT_EQ(figures.keep_all_bytes, 0);
  EXPECT_EQ(figures.peak_bytes, 0);
  EXPECT_EQ(figures.shared_bytes, 0);
  EXPECT_TRUE(figures.at_peak.empty());
}

TEST(Memory, BuffersOfAGraph) {
  const ir::Graph graph = ir::parse_graph(
      "graph g(x: f32[4]) state(w: f32[4]) {\n"
      "  %a = exp(x) : f32[4]\n"
      "  %v = reshape(%a, shape=[2,2]) : f32[2,2]\n"
      "  %b = exp(%v) : f32[2,2]\n"
      "  %c = neg(%b) : f32[2,2]\n"
      "  %d = mul(x, w) : f32[4]\n"
      "  next w = %d\n"
      "  return y = %c\n"
      "}");
  std::map<std::string, Buffer> by_name;
  for (const Buffer& b : buffers_of(graph)) by_name[b.name] = b;
  EXPECT_EQ(by_name.size(), 4u);  // feeds, states and the view own nothing
  const auto span = [&](const char* name) {
    return std::pair(by_name[name].first, by_name[name].last);
  };
  EXPECT_EQ(by_name["a"].bytes, 16);
  EXPECT_EQ(span("a"), std::pair(std::int64_t{0}, std::int64_t{2}));  // through the view
  EXPECT_EQ(span("b"), std::pair(std::int64_t{2}, std::int64_t{3}));
  EXPECT_EQ(span("c"), std::pair(std::int64_t{3}, std::int64_t{5}));  // fetched: to the end
  EXPECT_EQ(span("d"), std::pair(std::int64_t{4}, std::int64_t{5}));
}

TEST(Memory, PeakIsTheMeasuredOne) {
  for (const char* spec : {"mlp?train=1", "mlp", "conv_add"}) {
    const ir::Graph graph = models::build(spec).graphs[0];
    EXPECT_EQ(memory_figures(buffers_of(graph)).peak_bytes, measure(graph).live_peak_bytes) << spec;
  }
}

}  // namespace
}  // namespace plait::report
