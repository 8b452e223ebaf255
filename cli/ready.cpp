// Starting: the program, its values, the first run.
#include "cli/ready.h"

#include "base/text.h"
#include "cli/summary.h"
#include "cli/timing.h"

namespace plait::cli {
namespace {

constexpr std::size_t kOwnParts = 4;  // of Ready::parts, before the target's

}  // namespace

std::vector<std::pair<std::string, double>> Ready::parts() const {
  std::vector<std::pair<std::string, double>> out{{"program", program_seconds},
                                                  {"load", loaded.executor.load_seconds()},
                                                  {"states and feeds", loaded.states_seconds},
                                                  {"first run", first_run_seconds}};
  for (auto& part : loaded.executor.runtime().start_seconds()) out.push_back(std::move(part));
  return out;
}

Ready make_ready(const Args& args, std::uint64_t seed) {
  const Clock::time_point start = Clock::now();
  Planned planned = load_planned(args);
  const double program_seconds = seconds_since(start);
  const double compile_seconds = planned.compiled.seconds;
  const bool from_cache = planned.compiled.from_cache;
  Ready out{load(std::move(planned), seed, FirstStates::kStandIns)};
  const Clock::time_point set_at = Clock::now();
  out.loaded.executor.run();
  out.loaded.executor.wait();
  out.compile_seconds = compile_seconds;
  out.from_cache = from_cache;
  out.program_seconds = program_seconds;
  out.first_run_seconds = seconds_since(set_at);
  out.seconds = seconds_since(start);
  out.free_bytes = out.loaded.executor.runtime().free_bytes().value_or(0);
  return out;
}

std::string ready_text(const Ready& ready) {
  std::vector<std::string> own, inside;
  for (const auto& [part, seconds] : ready.parts()) {
    (own.size() < kOwnParts ? own : inside).push_back(str(part, " ", duration_text(seconds)));
  }
  return str(duration_text(ready.seconds), " with the first run: ", join(own, ", "),
             inside.empty() ? "" : " (" + join(inside, ", ") + ")");
}

}  // namespace plait::cli
