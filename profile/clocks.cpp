// What a device's clock adds to the steps that it times, taken off again. A step between two reads
// of the clock takes a few microseconds more than within one launch of all: the read itself, and
// that nothing of the next step begins before it. That is about the same for every step.
#include <algorithm>

#include "profile/measures.h"

namespace plait::profile {
namespace {

constexpr double kMostTaken = 0.8;  // of a step

double rest_of(double seconds, double taken) {
  return seconds - std::min(taken, kMostTaken * seconds);
}

double sum_of_rests(const std::vector<double>& steps, double taken) {
  double sum = 0;
  for (double seconds : steps) sum += rest_of(seconds, taken);
  return sum;
}

/// What leaves `wanted` seconds, or as little as can be left.
double taken_for(const std::vector<double>& steps, double wanted) {
  double low = 0, high = *std::max_element(steps.begin(), steps.end());
  for (int i = 0; i < 60; ++i) {
    const double middle = (low + high) / 2;
    (sum_of_rests(steps, middle) > wanted ? low : high) = middle;
  }
  return high;
}

}  // namespace

void take_off_clocks(Profile& profile) {
  verify(profile);
  if (profile.runs.empty() || profile.steps.empty()) return;
  std::vector<double> steps;
  for (std::size_t s = 0; s < profile.steps.size(); ++s) {
    std::vector<double> seconds;
    for (const Run& run : profile.runs) seconds.push_back(seconds_of(run.steps[s]));
    steps.push_back(median(std::move(seconds)));
  }
  const double wanted = profile.launch_ms * 1e-3;
  if (!(wanted > 0) || sum_of_rests(steps, 0) <= wanted) return;
  const double taken = taken_for(steps, wanted);
  profile.taken_us = taken * 1e6;
  for (Run& run : profile.runs) {
    std::int64_t at_ns = run.whole.begin_ns;
    for (Span& span : run.steps) {
      const auto ns = static_cast<std::int64_t>(rest_of(seconds_of(span), taken) * 1e9);
      span = {at_ns, at_ns + ns};
      at_ns += ns;
    }
    run.whole.end_ns = at_ns;
  }
}

}  // namespace plait::profile
