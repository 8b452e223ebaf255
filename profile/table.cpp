// Rows by kind and by step, and the tables that people read.
#include <algorithm>
#include <cstdio>
#include <map>

#include "base/error.h"
#include "base/text.h"
#include "profile/measures.h"

namespace plait::profile {
namespace {

constexpr int kMostSteps = 20;  // in the text

std::string fixed(double x, int digits) {
  char text[64];
  std::snprintf(text, sizeof text, "%.*f", digits, x);
  return text;
}

std::string percent(double share) { return fixed(share * 100, 1) + "%"; }

/// `-` where nothing was counted or measured.
std::string or_dash(double x, const std::string& text) { return x > 0 ? text : "-"; }

/// Fills in what follows from time and counts. `seconds` are medians; shares are of their sum.
void finish(const Profile& profile, std::vector<Row>& rows) {
  double all = 0;
  for (const Row& row : rows) all += row.ms;
  for (Row& row : rows) {
    const Rates rates = rates_of(profile, row.operations, row.bytes, row.ms * 1e-3);
    row.share = all > 0 ? row.ms / all : 0;
    row.gflops = rates.gflops;
    row.gbs = rates.gbs;
    row.share_of_peak = rates.share_of_peak;
  }
  std::stable_sort(rows.begin(), rows.end(),
                   [](const Row& a, const Row& b) { return a.ms > b.ms; });
}

void add_step(Row& row, const StepInfo& step) {
  ++row.launches;
  row.operations += step.operations;
  row.bytes += step.bytes_read + step.bytes_written;
}

/// The median over the runs of what `of` says of a run, in ms.
template <class Of>
double median_ms(const Profile& profile, Of of) {
  std::vector<double> values;
  for (const Run& run : profile.runs) values.push_back(of(run) * 1e3);
  return median(std::move(values));
}

double steps_seconds(const Run& run) {
  double seconds = 0;
  for (Span span : run.steps) seconds += seconds_of(span);
  return seconds;
}

Row total_of(const Profile& profile) {
  Row row;
  row.kind = "all steps";
  for (const StepInfo& step : profile.steps) add_step(row, step);
  row.ms = median_ms(profile, steps_seconds);
  std::vector<Row> rows{row};
  finish(profile, rows);
  return rows[0];
}

std::vector<std::string> cells(const Row& row, bool by_step) {
  std::vector<std::string> out{row.kind};
  if (by_step) {
    out.push_back(row.kernel);
  } else {
    out.push_back(with_commas(row.launches));
  }
  out.insert(out.end(),
             {fixed(row.ms, 3), percent(row.share), or_dash(row.gflops, fixed(row.gflops, 1)),
              or_dash(row.gbs, fixed(row.gbs, 1)),
              or_dash(row.share_of_peak, percent(row.share_of_peak))});
  return out;
}

std::string rate_line(const char* what, const std::string& count, double rate, const char* unit,
                      double peak) {
  std::string out = str("  ", what, " ", count, ": ", fixed(rate, 1), " ", unit);
  if (peak > 0) out += str(", ", percent(rate / peak), " of the measured ", fixed(peak, 1));
  return out + "\n";
}

std::string head_text(const Profile& p, const Row& total) {
  std::string out =
      str(p.graph, " on ", p.backend, ", ", p.threads, p.threads == 1 ? " thread" : " threads",
          p.machine.empty() ? "" : ", " + p.machine, "\n");
  if (p.runs.empty()) return out + "  not run\n";
  const double whole = median_ms(p, [](const Run& run) { return seconds_of(run.whole); });
  double least = whole, most = whole;
  for (const Run& run : p.runs) {
    least = std::min(least, seconds_of(run.whole) * 1e3);
    most = std::max(most, seconds_of(run.whole) * 1e3);
  }
  const double between =
      median_ms(p, [](const Run& run) { return seconds_of(run.whole) - steps_seconds(run); });
  out += str("  median of ", p.runs.size(), p.runs.size() == 1 ? " run " : " runs ",
             fixed(whole, 3), " ms (", fixed(least, 3), " to ", fixed(most, 3), "); steps ",
             fixed(total.ms, 3), " ms, between them ", fixed(between, 3), " ms\n");
  const Rates rates = rates_of(p, total.operations, total.bytes, whole * 1e-3);
  out += rate_line("operations", with_commas(total.operations), rates.gflops, "GFLOP/s",
                   p.peak_gflops);
  out += rate_line("bytes", bytes_text(total.bytes), rates.gbs, "GB/s", p.peak_gbs);
  if (p.overhead_percent > 0) {
    out += str("  timing the steps makes a run ", fixed(p.overhead_percent, 2), "% longer\n");
  }
  return out;
}

std::string memory_text(const Profile& p) {
  const std::vector<std::int64_t> live = live_bytes(p);
  const std::int64_t peak = live.empty() ? 0 : *std::max_element(live.begin(), live.end());
  return str("  arena ", bytes_text(p.arena_bytes), ", alive at once ", bytes_text(peak),
             "\n  states ", bytes_text(p.states_bytes), ", scratch ", bytes_text(p.scratch_bytes),
             "\n");
}

}  // namespace

std::vector<Row> by_kind(const Profile& profile) {
  verify(profile);
  std::map<std::string, std::size_t> place;
  std::vector<std::size_t> row_of;  // by step
  std::vector<Row> rows;
  for (const StepInfo& step : profile.steps) {
    const auto entry = place.emplace(step.type, rows.size());
    if (entry.second) {
      rows.emplace_back();
      rows.back().kind = step.type;
    }
    row_of.push_back(entry.first->second);
    add_step(rows[row_of.back()], step);
  }
  for (std::size_t r = 0; r < rows.size(); ++r) {
    rows[r].ms = median_ms(profile, [&](const Run& run) {
      double seconds = 0;
      for (std::size_t s = 0; s < row_of.size(); ++s) {
        if (row_of[s] == r) seconds += seconds_of(run.steps[s]);
      }
      return seconds;
    });
  }
  finish(profile, rows);
  return rows;
}

std::vector<Row> by_step(const Profile& profile, int most) {
  verify(profile);
  std::vector<Row> rows;
  for (std::size_t s = 0; s < profile.steps.size(); ++s) {
    Row row;
    row.kind = profile.steps[s].name;
    row.kernel = profile.steps[s].kernel;
    add_step(row, profile.steps[s]);
    row.ms = median_ms(profile, [&](const Run& run) { return seconds_of(run.steps[s]); });
    rows.push_back(std::move(row));
  }
  finish(profile, rows);
  rows.resize(std::min(rows.size(), static_cast<std::size_t>(std::max(most, 0))));
  return rows;
}

std::string table_text(const Profile& profile) {
  const std::vector<Row> kinds = by_kind(profile), steps = by_step(profile, kMostSteps);
  const Row total = total_of(profile);
  Table by_kinds{{"kind", "launches", "ms", "share", "GFLOP/s", "GB/s", "of peak"},
                 {false, true, true, true, true, true, true},
                 {}};
  for (const Row& row : kinds) by_kinds.rows.push_back(cells(row, false));
  by_kinds.rows.push_back(cells(total, false));
  Table by_steps{{"step", "kernel", "ms", "share", "GFLOP/s", "GB/s", "of peak"},
                 {false, false, true, true, true, true, true},
                 {}};
  for (const Row& row : steps) by_steps.rows.push_back(cells(row, true));
  std::string out = head_text(profile, total) + memory_text(profile) + "\n" + by_kinds.text();
  if (steps.empty()) return out;
  const bool cut = steps.size() < profile.steps.size();
  out += str("\n", cut ? str("The slowest ", steps.size(), " of ", profile.steps.size()) : "All",
             " steps:\n", by_steps.text());
  return out;
}

}  // namespace plait::profile
