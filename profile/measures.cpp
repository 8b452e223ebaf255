// Medians, rates and live bytes of a profile.
#include "profile/measures.h"

#include <algorithm>

#include "base/error.h"

namespace plait::profile {
namespace {

void verify_run(const Profile& profile, std::size_t r) {
  const Run& run = profile.runs[r];
  check(run.steps.size() == profile.steps.size(), "run ", r, " has ", run.steps.size(),
        " spans for ", profile.steps.size(), " steps");
  for (std::size_t s = 0; s < run.steps.size(); ++s) {
    const Span span = run.steps[s];
    check(run.whole.begin_ns <= span.begin_ns && span.begin_ns <= span.end_ns &&
              span.end_ns <= run.whole.end_ns,
          "step ", s, " of run ", r, " is from ", span.begin_ns, " to ", span.end_ns,
          " ns, the run from ", run.whole.begin_ns, " to ", run.whole.end_ns);
  }
  for (const std::vector<Span>& thread : run.threads) {
    check(thread.size() <= run.steps.size(), "a thread of run ", r, " has ", thread.size(),
          " spans for ", run.steps.size(), " steps");
  }
}

}  // namespace

void verify(const Profile& profile) {
  const auto count = static_cast<int>(profile.buffers.size());
  for (const StepInfo& step : profile.steps) {
    for (const std::vector<int>* list : {&step.inputs, &step.outputs}) {
      for (int b : *list) {
        check(b >= 0 && b < count, "step ", step.name, " names buffer ", b, " of ", count);
      }
    }
  }
  for (std::size_t r = 0; r < profile.runs.size(); ++r) verify_run(profile, r);
}

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const std::size_t middle = values.size() / 2;
  if (values.size() % 2 == 1) return values[middle];
  return (values[middle - 1] + values[middle]) / 2;
}

const Run* median_run(const Profile& profile) {
  std::vector<const Run*> runs;
  for (const Run& run : profile.runs) runs.push_back(&run);
  if (runs.empty()) return nullptr;
  std::stable_sort(runs.begin(), runs.end(), [](const Run* a, const Run* b) {
    return seconds_of(a->whole) < seconds_of(b->whole);
  });
  return runs[(runs.size() - 1) / 2];
}

std::vector<std::int64_t> live_bytes(const Profile& profile) {
  const auto steps = static_cast<int>(profile.steps.size());
  std::vector<std::int64_t> change(profile.steps.size() + 1, 0);
  for (const BufferInfo& buffer : profile.buffers) {
    const int first = std::clamp(buffer.first, 0, steps);
    const int behind = std::clamp(buffer.last + 1, 0, steps);
    if (buffer.is_state || behind <= first) continue;
    change[static_cast<std::size_t>(first)] += buffer.bytes;
    change[static_cast<std::size_t>(behind)] -= buffer.bytes;
  }
  std::vector<std::int64_t> live;
  std::int64_t now = 0;
  for (int s = 0; s < steps; ++s) live.push_back(now += change[static_cast<std::size_t>(s)]);
  return live;
}

double peak_seconds(const Profile& profile, const StepInfo& step) {
  const auto named = profile.rates.find(step.precision);
  const double gflops = named == profile.rates.end() ? profile.peak_gflops : named->second;
  double seconds = 0;
  if (gflops > 0) seconds = static_cast<double>(step.operations) / gflops * 1e-9;
  if (profile.peak_gbs > 0) {
    const auto bytes = static_cast<double>(step.bytes_read + step.bytes_written);
    seconds = std::max(seconds, bytes / profile.peak_gbs * 1e-9);
  }
  return seconds;
}

Rates rates_of(std::int64_t operations, std::int64_t bytes, double peak_seconds, double seconds) {
  if (!(seconds > 0)) return {};
  return {static_cast<double>(operations) / seconds * 1e-9,
          static_cast<double>(bytes) / seconds * 1e-9, peak_seconds / seconds};
}

}  // namespace plait::profile
