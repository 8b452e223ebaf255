// What the files and tables of a profile share: durations, medians, the run of median length, the
// bytes alive at each step. Inside this room only.
#pragma once

#include <vector>

#include "profile/profile.h"

namespace plait::profile {

/// Bug where runs, steps and buffers do not fit together.
void verify(const Profile& profile);

inline double seconds_of(Span span) {
  return static_cast<double>(span.end_ns - span.begin_ns) * 1e-9;
}

/// Of an even number of values, half between the two in the middle; 0 of none.
double median(std::vector<double> values);

/// Of an even number of runs, the shorter of the two in the middle; null without runs.
const Run* median_run(const Profile& profile);

/// By step: what is not state and alive while it runs.
std::vector<std::int64_t> live_bytes(const Profile& profile);

/// What a step takes at the measured peaks: the longer of its operations, at the rate of its
/// precision, and its bytes. 0 without peaks.
double peak_seconds(const Profile& profile, const StepInfo& step);

/// Rates, and which part of `seconds` it would take at the peaks; all 0 where that is no time.
struct Rates {
  double gflops = 0, gbs = 0, share_of_peak = 0;
};
Rates rates_of(std::int64_t operations, std::int64_t bytes, double peak_seconds, double seconds);
inline Rates rates_of(const Profile& profile, const StepInfo& step, double seconds) {
  return rates_of(step.operations, step.bytes_read + step.bytes_written,
                  peak_seconds(profile, step), seconds);
}

}  // namespace plait::profile
