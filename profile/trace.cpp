// A profile as Chrome's trace events: one track for the runs and their steps, one for each thread,
// a counter of live bytes. Times are microseconds from the first run's begin.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "profile/measures.h"

namespace plait::profile {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kProcess = 1;
constexpr std::size_t kMostEvents = 50'000;

double us(std::int64_t ns) { return static_cast<double>(ns) * 1e-3; }

Json named_track(const char* what, int track, const std::string& name) {
  return {
      {"ph", "M"}, {"name", what}, {"pid", kProcess}, {"tid", track}, {"args", {{"name", name}}}};
}

Json complete(const std::string& name, const std::string& category, int track, Span span,
              std::int64_t zero_ns) {
  return {{"ph", "X"},
          {"name", name},
          {"cat", category},
          {"pid", kProcess},
          {"tid", track},
          {"ts", us(span.begin_ns - zero_ns)},
          {"dur", us(span.end_ns - span.begin_ns)}};
}

Json live_counter(std::int64_t at_ns, std::int64_t bytes) {
  return {{"ph", "C"}, {"name", "live bytes"}, {"pid", kProcess},
          {"tid", 0},  {"ts", us(at_ns)},      {"args", {{"bytes", bytes}}}};
}

Json step_args(const Profile& profile, const StepInfo& step, Span span) {
  const Rates rates = rates_of(profile, step, seconds_of(span));
  return {{"kernel", step.kernel},
          {"path", step.path},
          {"operations", step.operations},
          {"bytes", step.bytes_read + step.bytes_written},
          {"gflops", rates.gflops},
          {"gbs", rates.gbs},
          {"share_of_peak", rates.share_of_peak},
          {"nodes", step.nodes}};
}

void add_run(Json& events, const Profile& profile, std::size_t r,
             const std::vector<std::int64_t>& live, std::int64_t zero_ns) {
  const Run& run = profile.runs[r];
  events.push_back(complete(str("run ", r), "run", 0, run.whole, zero_ns));
  for (std::size_t s = 0; s < run.steps.size(); ++s) {
    const StepInfo& step = profile.steps[s];
    Json event = complete(step.name, step.type, 0, run.steps[s], zero_ns);
    event["args"] = step_args(profile, step, run.steps[s]);
    events.push_back(std::move(event));
    events.push_back(live_counter(run.steps[s].begin_ns - zero_ns, live[s]));
  }
  events.push_back(live_counter(run.whole.end_ns - zero_ns, 0));
  for (std::size_t t = 0; t < run.threads.size(); ++t) {
    for (std::size_t s = 0; s < run.threads[t].size(); ++s) {
      const Span span = run.threads[t][s];
      if (span.end_ns <= span.begin_ns) continue;
      events.push_back(complete(profile.steps[s].name, profile.steps[s].type,
                                static_cast<int>(t) + 1, span, zero_ns));
    }
  }
}

}  // namespace

std::string to_trace(const Profile& profile) {
  verify(profile);
  Json events = Json::array();
  events.push_back(named_track("process_name", 0, profile.graph));
  events.push_back(named_track("thread_name", 0,
                               profile.device.empty() ? "steps" : "steps on " + profile.device));
  std::size_t threads = 0;
  for (const Run& run : profile.runs) threads = std::max(threads, run.threads.size());
  for (std::size_t t = 1; t <= threads; ++t) {
    events.push_back(named_track("thread_name", static_cast<int>(t), str("thread ", t - 1)));
  }
  const std::vector<std::int64_t> live = live_bytes(profile);
  std::size_t written = 0;
  for (std::size_t r = 0; r < profile.runs.size(); ++r) {
    if (r > 0 && events.size() + events.size() / r > kMostEvents) break;
    add_run(events, profile, r, live, profile.runs[0].whole.begin_ns);
    ++written;
  }
  const Json out = {{"traceEvents", std::move(events)},
                    {"displayTimeUnit", "ms"},
                    {"otherData",
                     {{"graph", profile.graph},
                      {"backend", profile.backend},
                      {"machine", profile.machine},
                      {"launch_ms", profile.launch_ms},
                      {"apart_ms", profile.apart_ms},
                      {"runs", profile.runs.size()},
                      {"runs_written", written}}}};
  return out.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace plait::profile
