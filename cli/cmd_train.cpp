// plait train: a config, a preset or a run to go on with; Ctrl-C ends it in order.
#include <unistd.h>

#include <fstream>
#include <string>

#include "base/error.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/output.h"
#include "cli/own_text.h"
#include "cli/timing.h"
#include "io/file.h"
#include "train/config.h"
#include "train/curve.h"
#include "train/presets.h"
#include "train/stop_signal.h"
#include "train/trainer.h"

namespace plait::cli {
namespace {

constexpr Flag kTrainFlags[] = {
    {"--resume", "RUN", "go on with the run of this folder, from its newest whole checkpoint"},
    {"--overwrite", "", "remove a run that the output folder holds, and begin anew"},
    {"--presets", "", "list the presets"},
    {"--curves", "RUN,RUN,...", "draw the losses of these runs into one picture, -o says where"},
    {"-o", "F.svg", "with --curves: the picture; curves.svg unless said"},
    {"--backend", "NAME", "cpu (the default), cuda, ref or null: train.backend"},
    {"--threads", "N", "of the cpu backend; as many as there are cpus unless said: train.threads"},
    {"--json", "", "print the summary as JSON; progress goes to standard error"},
};

/// The program as it was called, for commands that the user can copy.
std::string called_as() {
  std::ifstream words("/proc/self/cmdline", std::ios::binary);
  std::string first;
  std::getline(words, first, '\0');
  return first.empty() ? "plait" : first;
}

bool lost = false;  // the output: nothing more is printed there

/// Prints while that can be done. A run is worth more than its lines: it goes on without them.
void print_while_read(std::string_view text) {
  if (lost) return;
  try {
    print(text);
  } catch (const OutputClosed&) {
    lost = true;
    note("nobody reads the output any more: training goes on without it");
  } catch (const RunError& e) {
    lost = true;
    note(str(e.what(), ": training goes on without it"));
  }
}

train::Progress::Place place_of(bool json) {
  const Clock::time_point start = Clock::now();
  train::Progress::Place place;
  place.print = json ? print_error : print_while_read;
  place.seconds = [start] { return seconds_since(start); };
  place.redraws = json ? error_is_terminal() : output_is_terminal();
  place.columns = [json] { return train::terminal_columns(json ? STDERR_FILENO : STDOUT_FILENO); };
  return place;
}

train::TrainRequest request_from(const Args& args) {
  train::TrainRequest request;
  std::vector<std::string> words = args.words();
  for (const char* flag : {"--backend", "--threads"}) {
    if (args.has(flag)) words.push_back(str("train.", flag + 2, "=", args.text(flag)));
  }
  if (args.has("--resume")) {
    if (args.has("--overwrite")) throw UsageError("--resume goes on, --overwrite begins anew");
    const std::string run = args.text("--resume");
    const std::string config = run + "/" + train::kConfigFile;
    if (!io::is_there(config)) {
      fail(run, " is not a run's folder: there is no ", config);
    }
    request.config = train::load_run_config(config, words);
    request.config.output.folder = run;
    request.open = train::RunFolder::Open::resume;
  } else {
    if (args.words().empty()) throw UsageError("wants CONFIG.toml, preset:NAME or --resume RUN");
    const std::string source = words.front();
    words.erase(words.begin());
    request.config = train::load_config(source, words);
    if (args.has("--overwrite")) request.open = train::RunFolder::Open::overwrite;
  }
  request.own_text = own_text();
  request.program = called_as();
  request.place = place_of(args.has("--json"));
  request.stop = train::StopSignal::asked;
  return request;
}

void list_presets() {
  Table table;
  for (const train::Preset& preset : train::all_presets()) {
    table.rows.push_back({"preset:" + std::string(preset.name), std::string(preset.doc)});
  }
  print(table.text());
}

void draw_curves(const Args& args) {
  std::vector<train::Curve> curves;
  for (const std::string& run : split(args.text("--curves"), ',')) {
    const std::string metrics = run + "/" + train::kMetricsFile;
    curves.push_back({run, train::read_metrics(metrics)});
    if (curves.back().records.empty()) {
      note(str(metrics, " has no readable line: there is no curve of it"));
    }
  }
  const std::string path = args.text("-o", "curves.svg");
  io::write_file(path, {train::curve_svg(curves, "loss over steps")});
  print(str("wrote ", path, "\n"));
}

void run_train(const Args& args) {
  if (args.has("--presets")) return list_presets();
  if (args.has("--curves")) return draw_curves(args);
  if (args.has("-o")) throw UsageError("-o goes with --curves");
  const train::TrainRequest request = request_from(args);
  const train::StopSignal signal;
  const std::string& folder = request.config.output.folder;
  const train::TrainResult result = train::train(request);
  if (!result.finished) {
    const std::string stopped = str(train::StopSignal::name(), ": stopped ");
    const std::string said = result.begun
                                 ? str(stopped, "after step ", result.step, " of ", result.steps,
                                       "; to go on: ", request.program, " train --resume ", folder)
                                 : str(stopped, "before the first step: ", folder, " is as it was");
    request.place.print(said + "\n");
    if (lost) note(said);
  }
  if (args.has("--json")) print(result.summary);
}

}  // namespace

constinit const Command kTrain{
    .name = "train",
    .usage = "CONFIG.toml|preset:NAME [key=value ...] | --resume RUN [key=value ...]",
    .doc = "trains a model as a config says, or goes on with a run",
    .least_words = 0,
    .most_words = 1000,
    .flags = kTrainFlags,
    .details =
        "A config is TOML; docs/train.md lists every key. key=value comes over what the file\n"
        "says: `steps=200 optimizer.lr=1e-3`. model.name is one of `plait models`, model.file any\n"
        "graph with a loss, in the text form or a document. The output folder gets config.toml "
        "(all keys),\n"
        "metrics.jsonl, TensorBoard events, checkpoints, and at the end curve.svg, summary.json.\n"
        "Ctrl-C, SIGTERM or a terminal that closes: the step is finished, a checkpoint written, "
        "and\n"
        "how to go on is said; a second Ctrl-C ends at once. A resumed run gives the same bits as "
        "one that never stopped.\n",
    .example =
        "  $ plait train preset:rwkv4-small\n"
        "  $ plait train run.toml steps=500 output.folder=runs/first\n"
        "  $ plait train --resume runs/first steps=1000\n",
    .run = run_train};

}  // namespace plait::cli
