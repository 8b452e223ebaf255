// Sums over time, and offsets by greedy best fit.
#include "report/memory.h"

#include <algorithm>
#include <map>

#include "base/checked.h"
#include "passes/lifetimes.h"

namespace plait::report {
namespace {

void find_peak(const std::vector<Buffer>& buffers, MemoryFigures& figures) {
  std::map<std::int64_t, std::int64_t> change;
  for (const Buffer& b : buffers) {
    change[b.first] += b.bytes;
    change[b.last + 1] -= b.bytes;
  }
  std::int64_t live = 0;
  for (const auto& [step, bytes] : change) {
    live += bytes;
    if (live <= figures.peak_bytes) continue;
    figures.peak_bytes = live;
    figures.peak_step = step;
  }
  std::vector<const Buffer*> there;
  for (const Buffer& b : buffers) {
    if (b.bytes > 0 && b.first <= figures.peak_step && figures.peak_step <= b.last) {
      there.push_back(&b);
    }
  }
  std::stable_sort(there.begin(), there.end(),
                   [](const Buffer* a, const Buffer* b) { return a->bytes > b->bytes; });
  for (const Buffer* b : there) figures.at_peak.push_back(b->name);
}

struct Placed {
  std::int64_t offset, bytes, first, last;
};

/// The lowest of the smallest gaps between what is alive at the same time.
std::int64_t best_offset(const Buffer& buffer, const std::vector<Placed>& by_offset) {
  std::int64_t end = 0, best = -1, best_gap = 0;
  for (const Placed& p : by_offset) {
    if (p.last < buffer.first || buffer.last < p.first) continue;
    const std::int64_t gap = p.offset - end;
    if (gap >= buffer.bytes && (best < 0 || gap < best_gap)) {
      best = end;
      best_gap = gap;
    }
    end = std::max(end, p.offset + p.bytes);
  }
  return best < 0 ? end : best;
}

std::int64_t packed_height(std::vector<Buffer> buffers) {
  std::stable_sort(buffers.begin(), buffers.end(),
                   [](const Buffer& a, const Buffer& b) { return a.bytes > b.bytes; });
  std::vector<Placed> by_offset;
  std::int64_t height = 0;
  for (const Buffer& b : buffers) {
    if (b.bytes == 0) continue;
    const std::int64_t offset = best_offset(b, by_offset);
    const Placed placed{offset, b.bytes, b.first, b.last};
    const auto behind =
        std::upper_bound(by_offset.begin(), by_offset.end(), placed,
                         [](const Placed& x, const Placed& y) { return x.offset < y.offset; });
    by_offset.insert(behind, placed);
    height = std::max(height, offset + b.bytes);
  }
  return height;
}

/// The same in the order of time, with a list of free gaps: quick for any number of buffers, a
/// little higher.
std::int64_t packed_in_time(std::vector<Buffer> buffers) {
  std::stable_sort(buffers.begin(), buffers.end(),
                   [](const Buffer& a, const Buffer& b) { return a.first < b.first; });
  std::map<std::int64_t, std::int64_t> free;  // offset -> bytes, below `height`
  std::multimap<std::int64_t, std::pair<std::int64_t, std::int64_t>> ends;  // last -> offset, bytes
  std::int64_t height = 0;
  const auto give_back = [&](std::int64_t offset, std::int64_t bytes) {
    auto next = free.lower_bound(offset);
    if (next != free.end() && offset + bytes == next->first) {
      bytes += next->second;
      next = free.erase(next);
    }
    if (next != free.begin() && std::prev(next)->first + std::prev(next)->second == offset) {
      std::prev(next)->second += bytes;
    } else {
      free[offset] = bytes;
    }
  };
  for (const Buffer& b : buffers) {
    if (b.bytes == 0) continue;
    while (!ends.empty() && ends.begin()->first < b.first) {
      give_back(ends.begin()->second.first, ends.begin()->second.second);
      ends.erase(ends.begin());
    }
    auto gap = free.begin();
    while (gap != free.end() && gap->second < b.bytes) ++gap;
    std::int64_t offset = height;
    if (gap != free.end()) {
      offset = gap->first;
      if (gap->second > b.bytes) free[offset + b.bytes] = gap->second - b.bytes;
      free.erase(gap);
    } else {
      height += b.bytes;
    }
    ends.emplace(b.last, std::pair(offset, b.bytes));
  }
  return height;
}

/// Above this, the time of a placement that looks at every other buffer shows.
constexpr std::size_t kManyBuffers = 5000;

}  // namespace

MemoryFigures memory_figures(const std::vector<Buffer>& buffers) {
  MemoryFigures figures;
  for (const Buffer& b : buffers) add_checked(figures.keep_all_bytes, b.bytes, "bytes");
  find_peak(buffers, figures);
  figures.shared_bytes =
      buffers.size() > kManyBuffers ? packed_in_time(buffers) : packed_height(buffers);
  return figures;
}

std::vector<Buffer> buffers_of(const ir::Graph& graph) {
  std::vector<Buffer> buffers;
  for (const Lifetime& life : lifetimes(graph)) {
    buffers.push_back({graph.value(life.value).name, life.bytes, life.first, life.last});
  }
  return buffers;
}

}  // namespace plait::report
