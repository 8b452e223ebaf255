// How work is cut into tasks: by sizes alone, so that results do not depend on the threads.
#pragma once

#include <algorithm>
#include <cstdint>

namespace plait::cpu {

// A task of less work than this costs more to hand out than to do.
inline constexpr std::int64_t kLeastWork = 32 * 1024;
inline constexpr std::int64_t kMostTasks = 64;

/// Tasks of a loop kernel: `work` scalar operations over `rows`.
inline std::int64_t loop_tasks(std::int64_t rows, std::int64_t work) {
  return std::clamp<std::int64_t>(std::min(rows, work / kLeastWork), 1, kMostTasks);
}
/// The first row of a task.
inline std::int64_t first_row(std::int64_t task, std::int64_t tasks, std::int64_t rows) {
  return static_cast<std::int64_t>(static_cast<__int128>(rows) * task / tasks);
}
inline std::int64_t rounded_up(std::int64_t bytes) { return (bytes + 63) / 64 * 64; }
/// Partial results of a column reduction; fewer rows never need more. Those of several lie an odd
/// number of lines apart: a task touches the same place of each, which would be one set of a cache.
inline std::int64_t column_bytes(std::int64_t size, std::int64_t tasks) {
  constexpr std::int64_t kApart = 9 * 64;
  return rounded_up(size * tasks * 8) + kApart;
}
inline std::int64_t scratch_bytes_of(int rows, std::int64_t size) {
  return rows * rounded_up(size * 8);
}

}  // namespace plait::cpu
