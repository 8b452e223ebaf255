// What comes out of a run: a line per step, a table of the fetches, arrays on disk.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "cli/args.h"
#include "cli/json.h"
#include "cli/progress.h"
#include "run/session.h"

namespace plait::cli {

/// Reads the .npy; bf16, which the format lacks, is read from f32.
Array read_value(const std::string& path, DType wanted);

/// The values that --feed gives; UsageError when it gives one twice.
Arrays given_feeds(const ir::Graph& graph, const Args& args);
/// Random values for the feeds that are not there, and a note that says which.
void add_random_feeds(const ir::Graph& graph, std::uint64_t seed, Arrays& feeds);

/// The names that --fetch lists, in the order asked for.
std::vector<std::string> asked_fetches(const Args& args);

struct StepResults {
  Arrays fetched;              // by the last step
  Json steps = Json::array();  // with --json: duration and scalars of each
};

/// Runs `step` so often and says how it goes.
StepResults run_steps(std::int64_t steps, const std::vector<std::string>& names, bool json,
                      Progress& progress, const std::function<Arrays()>& step);

/// With --json the whole result, otherwise the table of what was fetched, printed.
Json result_json(const std::string& graph, const std::vector<std::string>& names,
                 const StepResults& results);
void print_fetches(const std::vector<std::string>& names, const Arrays& fetched);

/// Writes what was fetched to --out and, with --states, the states.
void write_results(const Args& args, const Arrays& fetched, const std::function<Arrays()>& states);

}  // namespace plait::cli
