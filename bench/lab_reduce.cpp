// A kernel lab for one reduction: layer norm over rows, from naive to fast, each version checked
// against f64 and held against the measured bandwidth of a copy. `lab_reduce [ROWS] [COLUMNS]`.
#include "bench/lab_reduce.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <thread>
#include <vector>

#include "base/error.h"
#include "base/text.h"
#include "profile/profile.h"

namespace plait::lab {
namespace {

constexpr std::int64_t kTaskRows = 64;  // of a task: by size, never by the number of threads
constexpr int kRounds = 21;
constexpr double kMostError = 1e-5;  // f32, sums of a thousand, results near 1

struct Problem {
  std::int64_t rows, columns;
  std::vector<float> x, gain, shift;
  std::vector<double> wanted;  // [rows, columns]
};

Problem problem_of(std::int64_t rows, std::int64_t columns) {
  Problem p{rows, columns, {}, {}, {}, {}};
  std::uint64_t seed = 1;
  const auto draw = [&] {  // in [-1, 1)
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return static_cast<float>(static_cast<std::int32_t>(seed >> 32)) * 0x1p-31f;
  };
  for (std::int64_t i = 0; i < rows * columns; ++i) p.x.push_back(draw() + 0.5f);
  for (std::int64_t i = 0; i < columns; ++i) p.gain.push_back(draw());
  for (std::int64_t i = 0; i < columns; ++i) p.shift.push_back(draw());
  for (std::int64_t r = 0; r < rows; ++r) {
    const float* x = p.x.data() + r * columns;
    double mean = 0, variance = 0;
    for (std::int64_t i = 0; i < columns; ++i) mean += x[i];
    mean /= static_cast<double>(columns);
    for (std::int64_t i = 0; i < columns; ++i) variance += (x[i] - mean) * (x[i] - mean);
    const double scale = 1 / std::sqrt(variance / static_cast<double>(columns) + kEpsilon);
    for (std::int64_t i = 0; i < columns; ++i) {
      const auto at = static_cast<std::size_t>(i);
      p.wanted.push_back((x[i] - mean) * scale * p.gain[at] + p.shift[at]);
    }
  }
  return p;
}

/// Each of the three passes reads all of x from memory.
void three_passes(const LayerNorm& n, std::int64_t first, std::int64_t last) {
  const auto count = static_cast<std::size_t>(last - first);
  std::vector<float> means(count, 0), scales(count, 0);
  const auto each = [&](auto visit) {
    for (std::size_t r = 0; r < count; ++r) {
      const std::int64_t row = (first + static_cast<std::int64_t>(r)) * n.columns;
      for (std::int64_t i = 0; i < n.columns; ++i) visit(r, row + i, i);
    }
  };
  each([&](std::size_t r, std::int64_t at, std::int64_t) { means[r] += n.x[at]; });
  for (float& mean : means) mean /= static_cast<float>(n.columns);
  each([&](std::size_t r, std::int64_t at, std::int64_t) {
    scales[r] += (n.x[at] - means[r]) * (n.x[at] - means[r]);
  });
  for (float& s : scales) s = 1 / std::sqrt(s / static_cast<float>(n.columns) + kEpsilon);
  each([&](std::size_t r, std::int64_t at, std::int64_t i) {
    n.y[at] = (n.x[at] - means[r]) * scales[r] * n.gain[i] + n.shift[i];
  });
}

/// One row at a time: its second and third reading hit the first level of cache.
void row_in_cache(const LayerNorm& n, std::int64_t first, std::int64_t last) {
  for (std::int64_t r = first; r < last; ++r) three_passes(n, r, r + 1);
}

struct Version {
  const char* name;
  RowsKernel kernel;
  int threads;
};

/// Threads take every second task of kTaskRows rows.
void run(const Version& v, const LayerNorm& n, std::int64_t rows) {
  if (v.threads == 1) return v.kernel(n, 0, rows);
  const auto work = [&](int t) {
    for (std::int64_t r = t * kTaskRows; r < rows; r += v.threads * kTaskRows) {
      v.kernel(n, r, std::min(r + kTaskRows, rows));
    }
  };
  std::vector<std::thread> others;
  for (int t = 1; t < v.threads; ++t) others.emplace_back(work, t);
  work(0);
  for (std::thread& other : others) other.join();
}

double seconds(const Version& v, const LayerNorm& n, std::int64_t rows) {
  const auto begin = std::chrono::steady_clock::now();
  run(v, n, rows);
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

double error_of(const Problem& p, const float* y) {
  double most = 0;
  for (std::size_t i = 0; i < p.wanted.size(); ++i) {
    const double error = std::fabs(y[i] - p.wanted[i]);
    if (!(error <= most)) most = error;
  }
  return most;
}

std::string text_of(const char* format, double x) {
  char text[64];
  std::snprintf(text, sizeof text, format, x);
  return text;
}

std::vector<Version> versions() {
  std::vector<Version> out{{"three passes over memory", three_passes, 1},
                           {"a row in cache", row_in_cache, 1}};
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
    out.push_back({"vectors", rows_by_vectors, 1});
    out.push_back({"vectors, streamed", rows_streamed, 1});
    out.push_back({"vectors", rows_by_vectors, 2});
    out.push_back({"vectors, streamed", rows_streamed, 2});
  }
#endif
  if (out.size() == 2) out.push_back({"a row in cache", row_in_cache, 2});
  return out;
}

struct Seconds {
  double median, best;
};

/// The versions in turn, round by round, so that all meet the same noise.
std::vector<Seconds> timed(const std::vector<Version>& all, const LayerNorm& n, std::int64_t rows) {
  std::vector<std::vector<double>> times(all.size());
  for (int round = 0; round < kRounds; ++round) {
    for (std::size_t i = 0; i < all.size(); ++i) times[i].push_back(seconds(all[i], n, rows));
  }
  std::vector<Seconds> out;
  for (std::vector<double>& t : times) {
    std::sort(t.begin(), t.end());
    out.push_back({t[kRounds / 2], t[0]});
  }
  return out;
}

/// GB/s and shares are of the best round, as the measured copy is the best of its tries.
Table table_of(const std::vector<Version>& all, const std::vector<Seconds>& times,
               const std::vector<double>& errors, double bytes, const profile::Peaks* peaks) {
  Table table{{"layer norm", "threads", "median ms", "best ms", "GB/s", "of a copy", "error"},
              {false, true, true, true, true, true, true},
              {}};
  for (std::size_t i = 0; i < all.size(); ++i) {
    const double gbs = bytes / times[i].best * 1e-9;
    table.rows.push_back(
        {all[i].name, std::to_string(all[i].threads), text_of("%.3f", times[i].median * 1e3),
         text_of("%.3f", times[i].best * 1e3), text_of("%.1f", gbs),
         text_of("%.0f%%", gbs / peaks[all[i].threads - 1].gbs * 100), text_of("%.1e", errors[i])});
  }
  return table;
}

int lab(std::int64_t rows, std::int64_t columns) {
  if (rows < 1 || columns < 32 || columns % 32) {
    fail("the columns must be a multiple of 32, not ", columns, "; the rows ", rows, " at least 1");
  }
  const Problem p = problem_of(rows, columns);
  const std::unique_ptr<float, decltype(&std::free)> y(
      static_cast<float*>(std::aligned_alloc(64, p.x.size() * sizeof(float))), &std::free);
  const LayerNorm n{p.x.data(), p.gain.data(), p.shift.data(), y.get(), columns};
  const std::vector<Version> all = versions();
  const profile::Peaks peaks[] = {profile::measure_peaks(1), profile::measure_peaks(2)};
  std::vector<double> errors;
  for (const Version& v : all) {
    std::fill_n(y.get(), p.x.size(), NAN);
    run(v, n, rows);
    errors.push_back(error_of(p, y.get()));
  }
  const double bytes = 2 * static_cast<double>(p.x.size() * sizeof(float));
  const Table table = table_of(all, timed(all, n, rows), errors, bytes, peaks);
  std::cout << str("f32[", rows, ",", columns, "], read once and written once; a copy moves ",
                   text_of("%.1f", peaks[0].gbs), " GB/s on one thread, ",
                   text_of("%.1f", peaks[1].gbs), " on two; ", kRounds, " rounds\n")
            << table.text();
  return *std::max_element(errors.begin(), errors.end()) <= kMostError ? 0 : 1;
}

}  // namespace
}  // namespace plait::lab

int main(int count, char** words) {
  try {
    const std::int64_t rows = count > 1 ? plait::parse_integer(words[1], "ROWS") : 4096;
    const std::int64_t columns = count > 2 ? plait::parse_integer(words[2], "COLUMNS") : 1024;
    return plait::lab::lab(rows, columns);
  } catch (const std::exception& e) {
    std::cerr << "lab_reduce: " << e.what() << "\n";
    return 2;
  }
}
