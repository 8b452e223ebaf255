// The first of the candidates that fit best, feed by feed.
#include "io/chainer/guess.h"

#include <algorithm>
#include <limits>

#include "io/chainer/candidates.h"

namespace plait::io::chainer {
namespace {

constexpr std::size_t kMaxTrials = 4000;     // for one feed
constexpr std::int64_t kMaxWork = 40'000;    // operations that are built in all trials
constexpr std::int64_t kSetUpPerBuild = 50;  // operations of the document that cost as one built

struct Trial {
  int misfits;
  std::vector<int> asked;
  std::int64_t work;
};

/// Given up as soon as there are `enough` misfits.
Trial attempt(const Record& record, const Links& links, const Assumptions& assumptions,
              int enough) {
  Step step(record, links, assumptions, {});
  const std::int64_t built = step.forward(enough);
  const auto all = static_cast<std::int64_t>(record.operations.size());
  return {step.misfits(), step.asked(), built + 1 + all / kSetUpPerBuild};
}

/// Shapes of feeds one after the other, each the first of those with the fewest misfits.
int settle(const Record& record, const Links& links, Assumptions& assumptions) {
  constexpr int kAll = std::numeric_limits<int>::max();
  const Rows rows = rows_of(record, links, assumptions.real);
  Trial best = attempt(record, links, assumptions, kAll);
  std::int64_t work = std::max(kMaxWork, 2 * best.work);
  for (;;) {
    const auto open = std::find_if(best.asked.begin(), best.asked.end(),
                                   [&](int v) { return assumptions.feeds.count(v) == 0; });
    if (open == best.asked.end() || work <= 0) return best.misfits;
    const int variable = *open;
    Assumptions with = assumptions;
    std::optional<Sizes> chosen;
    for (const Sizes& shape : candidates(record, variable, rows, assumptions.real, kMaxTrials)) {
      if (work <= 0) break;
      with.feeds[variable] = shape;
      Trial trial = attempt(record, links, with, chosen ? best.misfits : kAll);
      work -= trial.work;
      if (chosen && trial.misfits >= best.misfits) continue;
      chosen = shape;
      best = std::move(trial);
      if (best.misfits == 0) break;
    }
    if (!chosen) return best.misfits;
    assumptions.feeds[variable] = *chosen;
  }
}

}  // namespace

Assumptions guess(const Record& record, const Links& links) {
  Assumptions best;
  const int misfits = settle(record, links, best);
  if (misfits == 0) return best;
  Assumptions half{DType::f16, {}};
  return settle(record, links, half) < misfits ? half : best;
}

}  // namespace plait::io::chainer
