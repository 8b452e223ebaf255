// Memory is cut where any range begins or ends; a piece knows who wrote it last and who read it
// since. A lane knows how far the others are behind which it waits.
#include "backends/cuda/lanes.h"

#include <algorithm>
#include <cstdlib>
#include <map>

#include "base/error.h"
#include "base/text.h"

namespace plait::cuda {
namespace {

constexpr std::size_t kNone = static_cast<std::size_t>(-1);
// What a step takes, about.
constexpr double kStepSeconds = 2e-6, kOperationsPerSecond = 6e14, kBytesPerSecond = 3.5e12;

struct Piece {
  std::size_t writer = kNone;
  std::vector<std::size_t> readers;  // since it was written
};

class Lanes {
 public:
  Lanes(const std::vector<Touched>& steps, int lanes)
      : steps_(steps),
        lanes_(static_cast<std::size_t>(lanes)),
        last_(lanes_, kNone),
        free_(lanes_, 0) {
    for (const Touched& s : steps) {
      for (const auto* ranges : {&s.reads, &s.writes}) {
        for (const Touched::Range& r : *ranges) {
          pieces_[r.first];
          pieces_[r.second];
        }
      }
    }
  }

  std::vector<LaneStep> run() {
    for (std::size_t i = 0; i < steps_.size(); ++i) add(i);
    return std::move(out_);
  }

 private:
  template <class F>
  void each_piece(const std::vector<Touched::Range>& ranges, F see) {
    for (const Touched::Range& r : ranges) {
      for (auto p = pieces_.find(r.first); p->first < r.second; ++p) see(p->second);
    }
  }

  /// By lane, the last step there that step i must come behind.
  std::vector<std::size_t> needs(std::size_t i) {
    std::vector<std::size_t> last(lanes_, kNone);
    const auto behind = [&](std::size_t step) {
      if (step == kNone || step == i) return;
      std::size_t& at = last[static_cast<std::size_t>(out_[step].lane)];
      if (at == kNone || step > at) at = step;
    };
    each_piece(steps_[i].reads, [&](const Piece& p) { behind(p.writer); });
    each_piece(steps_[i].writes, [&](const Piece& p) {
      behind(p.writer);
      for (const std::size_t r : p.readers) behind(r);
    });
    return last;
  }

  void add(std::size_t i) {
    const std::vector<std::size_t> needed = needs(i);
    double ready = 0;
    std::size_t nearest = 0;  // the lane of whom it waits for longest
    for (std::size_t l = 0; l < lanes_; ++l) {
      if (needed[l] == kNone || end_[needed[l]] <= ready) continue;
      ready = end_[needed[l]];
      nearest = l;
    }
    std::size_t lane = steps_[i].first_only ? 0 : nearest;
    for (std::size_t l = 0; l < lanes_ && !steps_[i].first_only; ++l) {
      if (std::max(free_[l], ready) < std::max(free_[lane], ready)) lane = l;
    }
    LaneStep step;
    step.lane = static_cast<int>(lane);
    // What the lane's last step is behind, this one is too.
    std::vector<std::size_t> seen =
        last_[lane] == kNone ? std::vector<std::size_t>(lanes_, kNone) : seen_[last_[lane]];
    for (std::size_t l = 0; l < lanes_; ++l) {
      if (l == lane || needed[l] == kNone) continue;
      if (seen[l] != kNone && seen[l] >= needed[l]) continue;
      step.awaits.push_back(needed[l]);
      out_[needed[l]].awaited = true;
      merge(seen, seen_[needed[l]]);
    }
    seen[lane] = i;
    seen_.push_back(seen);
    out_.push_back(step);
    last_[lane] = i;
    free_[lane] = std::max(free_[lane], ready) + steps_[i].seconds;
    end_.push_back(free_[lane]);
    each_piece(steps_[i].reads, [&](Piece& p) { p.readers.push_back(i); });
    each_piece(steps_[i].writes, [&](Piece& p) {
      p.writer = i;
      p.readers.clear();
    });
  }

  static void merge(std::vector<std::size_t>& to, const std::vector<std::size_t>& from) {
    for (std::size_t l = 0; l < to.size(); ++l) {
      if (from[l] != kNone && (to[l] == kNone || from[l] > to[l])) to[l] = from[l];
    }
  }

  const std::vector<Touched>& steps_;
  const std::size_t lanes_;
  std::map<std::uintptr_t, Piece> pieces_;      // by where they begin
  std::vector<std::size_t> last_;               // by lane: its last step
  std::vector<double> free_;                    // by lane: when that ends
  std::vector<double> end_;                     // by step
  std::vector<std::vector<std::size_t>> seen_;  // by step and lane: the last one it is behind
  std::vector<LaneStep> out_;
};

}  // namespace

std::optional<int> lanes_asked() {
  const char* given = std::getenv("PLAIT_CUDA_LANES");
  if (!given || *given == '\0') return std::nullopt;
  const std::int64_t lanes = parse_integer(given, "PLAIT_CUDA_LANES");
  if (lanes < 1 || lanes > kLanes) fail("PLAIT_CUDA_LANES is ", given, "; it is 1 to ", kLanes);
  return static_cast<int>(lanes);
}

std::vector<Touched> touched_by(const program::Program& program, const DimBindings& sizes,
                                const Memory& memory) {
  std::vector<Touched> out;
  for (const program::Step& step : program.steps) {
    Touched t;
    const auto ranges = [&](const std::vector<program::ViewId>& views,
                            std::vector<Touched::Range>& to) {
      for (const program::ViewId v : views) {
        const program::BufferId b = program.view(v).buffer;
        const auto begin = reinterpret_cast<std::uintptr_t>(memory.buffers[b.index()]);
        to.emplace_back(begin, begin + static_cast<std::uintptr_t>(program.buffer(b).bytes));
      }
    };
    const program::Uses uses = program::uses_of(step);
    ranges(uses.reads, t.reads);
    ranges(uses.writes, t.writes);
    const auto number = [&](const Dim& d) { return static_cast<double>(evaluate(d, sizes)); };
    const double bytes = number(step.bytes_read) + number(step.bytes_written);
    t.first_only = step.shared_bytes > memory.side_bytes;
    t.seconds =
        kStepSeconds + std::max(number(step.operations) / kOperationsPerSecond, bytes / kBytesPerSecond);
    out.push_back(std::move(t));
  }
  return out;
}

std::vector<LaneStep> lay_on_lanes(const std::vector<Touched>& steps, int lanes) {
  return Lanes(steps, lanes).run();
}

}  // namespace plait::cuda
