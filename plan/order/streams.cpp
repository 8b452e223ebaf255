// Memory is cut where any range begins or ends; a piece knows who wrote it last and who read it
// since. A stream knows how far the others are behind which it waits.
#include "plan/order/streams.h"

#include <algorithm>
#include <map>

#include "program/simulate.h"

namespace plait::plan {
namespace {

constexpr std::size_t kNone = static_cast<std::size_t>(-1);

struct Piece {
  std::size_t writer = kNone;
  std::vector<std::size_t> readers;  // since it was written
};

class Streams {
 public:
  Streams(const std::vector<Touched>& steps, int streams)
      : steps_(steps),
        streams_(static_cast<std::size_t>(streams)),
        last_(streams_, kNone),
        clock_(streams, 0) {
    for (const Touched& s : steps) {
      for (const auto* ranges : {&s.reads, &s.writes}) {
        for (const Touched::Range& r : *ranges) {
          pieces_[r.first];
          pieces_[r.second];
        }
      }
    }
  }

  std::vector<StreamStep> run() {
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

  /// By stream, the last step there that step i must come behind.
  std::vector<std::size_t> needs(std::size_t i) {
    std::vector<std::size_t> last(streams_, kNone);
    const auto behind = [&](std::size_t step) {
      if (step == kNone || step == i) return;
      std::size_t& at = last[static_cast<std::size_t>(out_[step].stream)];
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
    std::size_t nearest = 0;  // the stream of whom it waits for longest
    for (std::size_t l = 0; l < streams_; ++l) {
      if (needed[l] == kNone || end_[needed[l]] <= ready) continue;
      ready = end_[needed[l]];
      nearest = l;
    }
    std::size_t stream = steps_[i].first_only ? 0 : nearest;
    for (std::size_t l = 0; l < streams_ && !steps_[i].first_only; ++l) {
      if (begin(l, ready) < begin(stream, ready)) stream = l;
    }
    StreamStep step;
    step.stream = static_cast<int>(stream);
    // What the stream's last step is behind, this one is too.
    std::vector<std::size_t> seen =
        last_[stream] == kNone ? std::vector<std::size_t>(streams_, kNone) : seen_[last_[stream]];
    for (std::size_t l = 0; l < streams_; ++l) {
      if (l == stream || needed[l] == kNone) continue;
      if (seen[l] != kNone && seen[l] >= needed[l]) continue;
      step.waits.emplace_back(needed[l]);
      merge(seen, seen_[needed[l]]);
    }
    seen[stream] = i;
    seen_.push_back(seen);
    out_.push_back(step);
    last_[stream] = i;
    end_.push_back(clock_.run(static_cast<int>(stream), ready, steps_[i].seconds));
    each_piece(steps_[i].reads, [&](Piece& p) { p.readers.push_back(i); });
    each_piece(steps_[i].writes, [&](Piece& p) {
      p.writer = i;
      p.readers.clear();
    });
  }

  double begin(std::size_t stream, double ready) const {
    return std::max(clock_.free(static_cast<int>(stream)), ready);
  }

  static void merge(std::vector<std::size_t>& to, const std::vector<std::size_t>& from) {
    for (std::size_t l = 0; l < to.size(); ++l) {
      if (from[l] != kNone && (to[l] == kNone || from[l] > to[l])) to[l] = from[l];
    }
  }

  const std::vector<Touched>& steps_;
  const std::size_t streams_;
  std::map<std::int64_t, Piece> pieces_;  // by where they begin
  std::vector<std::size_t> last_;         // by stream: its last step
  program::StreamClock clock_;
  std::vector<double> end_;                     // by step
  std::vector<std::vector<std::size_t>> seen_;  // by step and stream: the last one it is behind
  std::vector<StreamStep> out_;
};

}  // namespace

std::vector<StreamStep> lay_on_streams(const std::vector<Touched>& steps, int streams) {
  return Streams(steps, streams).run();
}

void assign_streams(program::Program& program) {
  if (program.streams == 1) return;
  std::vector<Touched> all;
  for (const program::Step& step : program.steps) {
    Touched t;
    const auto ranges = [&](const std::vector<program::ViewId>& views,
                            std::vector<Touched::Range>& to) {
      for (const program::ViewId v : views) to.push_back(program::range_of(program, v));
    };
    const program::Uses uses = program::uses_of(step);
    ranges(uses.reads, t.reads);
    ranges(uses.writes, t.writes);
    t.first_only = step.shared_bytes > program.side_bytes;
    t.seconds = program.device.step_seconds + step.seconds;
    all.push_back(std::move(t));
  }
  std::vector<StreamStep> laid = lay_on_streams(all, program.streams);
  for (std::size_t i = 0; i < laid.size(); ++i) {
    program.steps[i].stream = laid[i].stream;
    program.steps[i].waits = std::move(laid[i].waits);
  }
}

}  // namespace plait::plan
