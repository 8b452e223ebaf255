// Rows by kind and by step, and the tables that people read.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>

#include "base/duration.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/text.h"
#include "profile/measures.h"

namespace plait::profile {
namespace {

constexpr int kMostSteps = 20;  // in the text
constexpr int kMostErrors = 10;
constexpr std::size_t kMostIdBegin = 28;  // of a kernel's id

std::string fixed(double x, int digits) {
  char text[64];
  std::snprintf(text, sizeof text, "%.*f", digits, x);
  return text;
}

std::string percent(double share) { return fixed(share * 100, 1) + "%"; }

/// Nothing is above its peak: what seems so was read from caches, which the measured memory is
/// slower than, or the peak was measured while the machine was busy.
bool is_above(double share_of_peak) { return share_of_peak > 1.0005; }
std::string peak_percent(double share) { return is_above(share) ? ">100%" : percent(share); }

/// `-` where nothing was counted or measured.
std::string or_dash(double x, const std::string& text) { return x > 0 ? text : "-"; }

/// In which numbers are printed: so many of the base unit, with so many digits.
struct Unit {
  const char* name;
  double scale;
  int digits;
  std::string text(double x) const { return fixed(x * scale, digits); }
};
Unit time_unit(double most_ms) { return most_ms < 1 ? Unit{"us", 1e3, 2} : Unit{"ms", 1, 3}; }
Unit operations_unit(double most_gflops) {
  return most_gflops < 1e4 ? Unit{"GFLOP/s", 1, 1} : Unit{"TFLOP/s", 1e-3, 2};
}
Unit bytes_unit(double most_gbs) {
  return most_gbs < 1e3 ? Unit{"GB/s", 1, 1} : Unit{"TB/s", 1e-3, 2};
}

/// Fills in what follows from time and counts. `seconds` are medians; shares are of their sum.
void finish(std::vector<Row>& rows) {
  double all = 0;
  for (const Row& row : rows) all += row.ms;
  for (Row& row : rows) {
    const Rates rates = rates_of(row.operations, row.bytes, row.peak_ms * 1e-3, row.ms * 1e-3);
    row.share = all > 0 ? row.ms / all : 0;
    row.gflops = rates.gflops;
    row.gbs = rates.gbs;
    row.share_of_peak = rates.share_of_peak;
  }
  std::stable_sort(rows.begin(), rows.end(),
                   [](const Row& a, const Row& b) { return a.ms > b.ms; });
}

void add_step(const Profile& profile, Row& row, const StepInfo& step) {
  ++row.launches;
  row.peak_ms += peak_seconds(profile, step) * 1e3;
  row.predicted_ms += step.predicted_seconds * 1e3;
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
  for (const StepInfo& step : profile.steps) add_step(profile, row, step);
  row.ms = median_ms(profile, steps_seconds);
  std::vector<Row> rows{row};
  finish(rows);
  return rows[0];
}

/// The rows' own units: those of the largest number in each column.
Table table_of(const std::vector<Row>& rows, bool by_step) {
  double ms = 0, gflops = 0, gbs = 0;
  for (const Row& row : rows) {
    ms = std::max(ms, row.ms);
    gflops = std::max(gflops, row.gflops);
    gbs = std::max(gbs, row.gbs);
  }
  const Unit time = time_unit(ms), operations = operations_unit(gflops), bytes = bytes_unit(gbs);
  Table table{{by_step ? "step" : "kind", by_step ? "kernel" : "launches", time.name, "share",
               operations.name, bytes.name, "of peak"},
              {false, !by_step, true, true, true, true, true},
              {}};
  for (const Row& row : rows) {
    table.rows.push_back({row.kind, by_step ? short_id(row.kernel) : with_commas(row.launches),
                          time.text(row.ms), percent(row.share),
                          or_dash(row.gflops, operations.text(row.gflops)),
                          or_dash(row.gbs, bytes.text(row.gbs)),
                          or_dash(row.share_of_peak, peak_percent(row.share_of_peak))});
  }
  return table;
}

std::string rate_line(const char* what, const std::string& count, double rate, Unit unit,
                      double peak, const std::string& of) {
  std::string out = str("  ", what, " ", count, ": ", unit.text(rate), " ", unit.name);
  if (peak > 0)
    out += str(", ", peak_percent(rate / peak), " of the measured ", unit.text(peak), of);
  return out + "\n";
}

/// The precision whose rate stands for the whole program: that of peak_gflops.
std::string main_precision(const Profile& p) {
  for (const auto& [name, gflops] : p.rates) {
    if (gflops == p.peak_gflops) return str(" (", name, ")");
  }
  return "";
}

/// Of a device: what was measured on it, and what its clock adds to the steps.
std::string device_text(const Profile& p, const Row& total) {
  std::string out;
  if (p.launch_ms > 0) {
    out += str("  steps timed one by one ", fixed(p.apart_ms, 4), " ms; in order in one launch ",
               fixed(p.launch_ms, 4), " ms");
    if (p.taken_us > 0) {
      out += str(": each step below is ", fixed(p.taken_us, 2), " us shorter than timed");
    }
    out += "\n";
    if (p.usual_ms > 0) {
      out +=
          str("  as it runs, on two streams where that is faster, ", fixed(p.usual_ms, 4), " ms\n");
    }
  }
  if (p.rates.empty()) return out;
  if (total.ms > 0) {
    out += str("  each step at its ceiling: ", fixed(total.peak_ms, 4), " ms, ",
               peak_percent(total.share_of_peak), " of the steps' time\n");
  }
  const Unit bytes = bytes_unit(p.peak_gbs);
  out += str("  ceilings measured: copy ", bytes.text(p.peak_gbs), " ", bytes.name, "; products");
  const char* before = " ";
  for (const auto& [name, gflops] : p.rates) {
    const Unit unit = operations_unit(gflops);
    out += str(before, name, " ", unit.text(gflops), " ", unit.name);
    before = ", ";
  }
  return out + "\n";
}

/// Of a run as it usually is: on a device, of its launch.
double measured_ms(const Profile& p) {
  if (p.usual_ms > 0) return p.usual_ms;
  return median_ms(p, [](const Run& run) { return seconds_of(run.whole); });
}

std::string head_text(const Profile& p, const Row& total) {
  const std::string threads = str(p.threads, p.threads == 1 ? " thread" : " threads");
  std::string out = str(p.graph, " on ", p.backend, ", ");
  if (p.device.empty()) {
    out += str(threads, p.machine.empty() ? "" : ", " + p.machine, "\n");
  } else {
    out += p.device + "\n";
  }
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
             milliseconds_text(whole, 3), " ms (", milliseconds_text(least, 3), " to ",
             milliseconds_text(most, 3), "); steps ", milliseconds_text(total.ms, 3),
             " ms, between them ", milliseconds_text(between, 3), " ms\n");
  const Rates rates = rates_of(total.operations, total.bytes, 0, whole * 1e-3);
  out += rate_line("operations", with_commas(total.operations), rates.gflops,
                   operations_unit(std::max(rates.gflops, p.peak_gflops)), p.peak_gflops,
                   main_precision(p));
  out += rate_line("bytes", bytes_text(total.bytes), rates.gbs,
                   bytes_unit(std::max(rates.gbs, p.peak_gbs)), p.peak_gbs, "");
  out += device_text(p, total);
  if (p.overhead_percent > 0) {
    out += str("  timing the steps makes a run ", fixed(p.overhead_percent, 2), "% longer\n");
  }
  return out;
}

/// How far the prediction of the run was off, and of which steps most.
std::string error_text(const Profile& p) {
  if (p.predicted_ms <= 0 || p.runs.empty()) return "";
  if (!p.predicted_at.empty()) {
    return str("\nPredicted ", milliseconds_text(p.predicted_ms, 3), " ms at ", p.predicted_at,
               ", the largest sizes: nothing is predicted for those that ran\n");
  }
  const double whole = measured_ms(p);
  std::string out =
      str("\nPredicted ", milliseconds_text(p.predicted_ms, 3), " ms, measured ",
          milliseconds_text(whole, 3), " ms: the prediction is ",
          fixed(std::abs(error_percent(p)), 1), "% too ", error_percent(p) < 0 ? "low" : "high");
  const std::vector<Row> rows = by_error(p, kMostErrors);
  double most = 0;
  for (const Row& row : rows) most = std::max({most, row.ms, row.predicted_ms});
  const Unit time = time_unit(most);
  Table table{
      {"step", "kernel", "measured " + std::string(time.name), "predicted", "ratio", "bound"},
      {false, false, true, true, true, false},
      {}};
  for (const Row& row : rows) {
    table.rows.push_back({row.kind, short_id(row.kernel), time.text(row.ms),
                          time.text(row.predicted_ms),
                          or_dash(row.ms, fixed(row.predicted_ms / row.ms, 2)), row.bound});
  }
  return out + str("\nThe ", rows.size(), " steps that it is farthest off for:\n", table.text());
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
    add_step(profile, rows[row_of.back()], step);
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
  finish(rows);
  return rows;
}

namespace {

/// In the program's order.
std::vector<Row> step_rows(const Profile& profile) {
  verify(profile);
  std::vector<Row> rows;
  for (std::size_t s = 0; s < profile.steps.size(); ++s) {
    Row row;
    row.kind = profile.steps[s].name;
    row.kernel = profile.steps[s].kernel;
    row.bound = profile.steps[s].bound;
    add_step(profile, row, profile.steps[s]);
    row.ms = median_ms(profile, [&](const Run& run) { return seconds_of(run.steps[s]); });
    rows.push_back(std::move(row));
  }
  return rows;
}

std::vector<Row> first_of(std::vector<Row> rows, int most) {
  rows.resize(std::min(rows.size(), static_cast<std::size_t>(std::max(most, 0))));
  return rows;
}

}  // namespace

std::vector<Row> by_step(const Profile& profile, int most) {
  std::vector<Row> rows = step_rows(profile);
  finish(rows);
  return first_of(std::move(rows), most);
}

std::vector<Row> by_error(const Profile& profile, int most) {
  if (!profile.predicted_at.empty()) return {};
  std::vector<Row> rows = step_rows(profile);
  finish(rows);
  const auto error = [](const Row& row) { return std::abs(row.ms - row.predicted_ms); };
  std::stable_sort(rows.begin(), rows.end(),
                   [&](const Row& a, const Row& b) { return error(a) > error(b); });
  return first_of(std::move(rows), most);
}

double error_percent(const Profile& p) {
  const double ms = p.runs.empty() || !p.predicted_at.empty() ? 0 : measured_ms(p);
  return p.predicted_ms > 0 && ms > 0 ? 100 * (p.predicted_ms / ms - 1) : 0;
}

std::string short_id(const std::string& id) {
  if (id.size() <= kMostIdBegin + 9) return id;
  char hash[16];
  std::snprintf(hash, sizeof hash, "~%08x", fnv1a32(id));
  return id.substr(0, kMostIdBegin) + hash;
}

std::string table_text(const Profile& profile) {
  std::vector<Row> kinds = by_kind(profile);
  const std::vector<Row> steps = by_step(profile, kMostSteps);
  const Row total = total_of(profile);
  kinds.push_back(total);
  std::string out =
      head_text(profile, total) + memory_text(profile) + "\n" + table_of(kinds, false).text();
  const auto above = [](const Row& row) { return is_above(row.share_of_peak); };
  const bool any_above = std::any_of(kinds.begin(), kinds.end(), above) ||
                         std::any_of(steps.begin(), steps.end(), above);
  if (any_above) {
    out +=
        ">100%: faster than the peak that was measured: from caches, or the machine was busy "
        "then\n";
  }
  if (steps.empty()) return out;
  const bool cut = steps.size() < profile.steps.size();
  out += str("\n", cut ? str("The slowest ", steps.size(), " of ", profile.steps.size()) : "All",
             " steps:\n", table_of(steps, true).text());
  return out + error_text(profile);
}

}  // namespace plait::profile
