// The end of a run.
#include "train/ending.h"

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "train/curve.h"
#include "train/progress.h"

namespace plait::train {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kLastLosses = 20;

/// Of the last kLastLosses that were logged, or of all where there are fewer.
std::optional<double> median_of_last(const std::vector<Record>& records) {
  std::vector<double> losses;
  for (auto r = records.rbegin(); r != records.rend() && losses.size() < kLastLosses; ++r) {
    if (r->loss) losses.push_back(*r->loss);
  }
  if (losses.empty()) return std::nullopt;
  std::sort(losses.begin(), losses.end());
  const std::size_t n = losses.size();
  return (losses[(n - 1) / 2] + losses[n / 2]) / 2;
}

Json number(const Record::Value& value) { return value ? Json(*value) : Json(nullptr); }

std::string short_text(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.4f", value);
  return text;
}

/// ` --prompt '// '`, as a shell takes it; nothing for a newline, which is what generate begins
/// with.
std::string prompt_option(const std::string& prompt) {
  if (prompt.find_first_of("\n'") != prompt.npos) return "";
  return str(" --prompt '", prompt, "'");
}

}  // namespace

std::string write_ending(const Job& job, const Finished& finished) {
  const std::vector<Record> records = read_metrics(job.folder->file(kMetricsFile));
  const std::string model = model_title(job.config);
  job.folder->write(kCurveFile, curve_svg({{model, records}}, model + ": loss over steps"));
  const TrainState& state = finished.state;
  const double seconds = state.elapsed_seconds;
  Json json{{"model", model_spec(job.config)},
            {"parameters", job.parameters},
            {"data", job.sources.train->describe()},
            {"steps", state.step},
            {"samples", state.samples},
            {"tokens", state.tokens},
            {"seconds", seconds},
            {"samples_per_second", static_cast<double>(state.samples) / seconds},
            {"loss", number(finished.last.loss)},
            {"smoothed_loss", number(finished.last.smoothed_loss)},
            {"median_of_last_20_logged_losses", number(median_of_last(records))},
            {"eval_loss", number(finished.last.eval_loss)},
            {"eval_perplexity", number(finished.last.eval_perplexity)},
            {"eval_accuracy", number(finished.last.eval_accuracy)},
            {"memory_bytes", job.memory_bytes},
            {"operations_per_step", job.operations},
            {"updates_left_out", finished.left_out},
            {"checkpoint", finished.checkpoint},
            {"sample", finished.sample}};
  // Bytes of a sample that are no text do not keep a summary from being written.
  const std::string text = json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
  job.folder->write(kSummaryFile, text);
  return text;
}

std::string ending_text(const Job& job, const Finished& finished) {
  const std::string& folder = job.folder->path();
  const Record& last = finished.last;
  std::string results = str("step ", finished.state.step);
  if (last.smoothed_loss) results += ", smoothed loss " + short_text(*last.smoothed_loss);
  if (last.eval_loss) results += ", eval loss " + short_text(*last.eval_loss);
  if (last.eval_perplexity) results += ", perplexity " + short_text(*last.eval_perplexity);
  if (last.eval_accuracy) results += ", accuracy " + short_text(*last.eval_accuracy);
  Table table;
  table.rows.push_back(
      {"trained", str(results, ", in ", span_text(finished.state.elapsed_seconds))});
  table.rows.push_back({"curve", job.folder->file(kCurveFile)});
  table.rows.push_back({"weights", str(finished.checkpoint, "/weights.safetensors")});
  table.rows.push_back(
      {"go on", str(finished.program, " train --resume ", folder, " steps=", 2 * job.steps)});
  if (job.vocabulary) {
    const std::string options = prompt_option(job.config.sample.prompt);
    table.rows.push_back({"write", str(finished.program, " generate ", folder, options)});
  }
  std::string out = table.text();
  if (!finished.sample.empty()) out += str("it writes:\n", finished.sample, "\n");
  return out;
}

}  // namespace plait::train
