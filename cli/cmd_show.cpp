// plait show FILE: the text form, as loaded or after passes.
#include <algorithm>
#include <cstdio>

#include "base/error.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/compiled.h"
#include "cli/output.h"
#include "cli/show_stages.h"
#include "cli/source.h"
#include "cli/tensors.h"
#include "cli/written.h"
#include "io/file.h"
#include "io/safetensors.h"
#include "ir/text.h"
#include "passes/pipeline.h"
#include "plan/stages.h"

namespace plait::cli {
namespace {

constexpr Flag kShowFlags[] = {
    {"--after", "PASS",
     "run the passes, or the stages of planning, up to this one and show what it leaves"},
    {"--kernels", "", "of stages that leave steps: the contractions and kernels of each as well"},
    {"--grad", "", "differentiate the first fetch with respect to all trained states"},
    {"--timing", "", "run the passes and print the time of each on standard error"},
    {"--log", "", "run the passes and print what they decided, and why, on standard error"},
    {"--dump", "DIR", "run the passes and write the graph after each to a file in DIR"},
    {"--as", "FORMAT", kFormatsHelp},
    {"--backend", "NAME",
     "of stages: cpu, the default, cuda, ref or null, which needs no compiler"},
    kFp32Flag,
    kThreadsFlag,
    kNoFuseFlag,
    kSliceFlag,
    kGraphFlag,
    kSetFlag,
    {"--json", "", "of a safetensors file: JSON instead of a table"},
};

/// Whether the passes run at all.
bool runs_passes(const Args& args) {
  const std::string_view asking[] = {"--after", "--grad", "--timing", "--log", "--dump"};
  return std::any_of(std::begin(asking), std::end(asking),
                     [&](std::string_view flag) { return args.has(flag); });
}

/// Passes on request (differentiate) are for one graph; the others are for all of a package.
bool wants_one_graph(const Args& args) {
  return args.has("--graph") || args.has("--grad") ||
         std::any_of(pipeline().begin(), pipeline().end(), [&](const Pass& pass) {
           return pass.on_request && pass.name == args.text("--after");
         });
}

void dump(const std::string& folder, const ir::Graph& graph, int number, std::string_view pass) {
  char prefix[16];
  std::snprintf(prefix, sizeof prefix, "%02d", number);
  io::write_file(str(folder, "/", io::file_name_for(graph.name), ".", prefix, "_", pass, ".plait"),
                 {ir::print(graph)});
}

void print_timings(const ir::Graph& graph, const PipelineResult& result) {
  Table table{{"pass", "ms", "nodes before", "nodes after"}, {false, true, true, true}, {}};
  double total = 0;
  const auto ms = [](double seconds) {
    char text[32];
    std::snprintf(text, sizeof text, "%.2f", seconds * 1e3);
    return std::string(text);
  };
  for (const PassTiming& t : result.timings) {
    total += t.seconds;
    table.rows.push_back({t.pass, ms(t.seconds), str(t.nodes_before), str(t.nodes_after)});
  }
  table.rows.push_back({"all", ms(total), str(graph.nodes.size()), str(result.graph.nodes.size())});
  print_error(str("graph ", graph.name, "\n", table.text()));
}

ir::Graph run_passes(const ir::Graph& graph, const Args& args) {
  PipelineOptions options;
  if (args.has("--grad")) options.requested = {"differentiate"};
  options.stop_after = args.text("--after");
  options.slice_bytes = slice_bytes(args);
  // --grad alone shows the gradients themselves, before anything simplifies them.
  const bool reports = args.has("--timing") || args.has("--log") || args.has("--dump");
  if (args.has("--grad") && !args.has("--after") && !reports) options.stop_after = "differentiate";
  if (args.has("--dump")) {
    const std::string folder = args.text("--dump");
    io::make_folder(folder);
    dump(folder, graph, 0, "input");
    options.after_each = [folder, number = 1](const Pass& pass, const ir::Graph& after) mutable {
      dump(folder, after, number++, pass.name);
    };
  }
  PipelineResult result = run_pipeline(graph, options);
  if (args.has("--timing")) print_timings(graph, result);
  if (args.has("--log")) {
    for (const LogEntry& entry : result.log) {
      print_error(str(entry.pass, ": ", entry.what, ": ", entry.node, ": ", entry.why, "\n"));
    }
  }
  return result.graph;
}

void check_kernels(const Args& args) {
  if (!args.has("--kernels")) return;
  const std::vector<std::string> stages = stages_of_steps();
  if (std::find(stages.begin(), stages.end(), args.text("--after")) != stages.end()) return;
  throw UsageError("--kernels goes with --after and a stage that leaves steps: " +
                   join(stages, ", "));
}

void check_after(const Args& args) {
  if (!args.has("--after")) return;
  const std::string name = args.text("--after");
  const std::vector<std::string> passes = pass_names(), stages = plan::stage_names();
  std::vector<std::string> known = passes;
  known.insert(known.end(), stages.begin(), stages.end());
  if (std::find(known.begin(), known.end(), name) != known.end()) return;
  fail("there is no pass or stage '", name, "'.", suggestion(name, known), " The passes are ",
       join(passes, ", "), "; the stages are ", join(stages, ", "));
}

void run_show(const Args& args) {
  check_kernels(args);
  check_after(args);
  const std::string& file = args.words()[0];
  if (io::is_safetensors(file) || (file.ends_with(".safetensors") && io::is_there(file))) {
    if (args.has("--as") || runs_passes(args) || args.has("--graph") || args.has("--set")) {
      throw UsageError("a safetensors file holds tensors, no graph: only --json goes with it");
    }
    return show_tensors(file, args.has("--json"));
  }
  if (args.has("--json")) throw UsageError("--json is for safetensors files: a graph is text");
  if (is_plan(file)) {
    if (args.has("--as") || runs_passes(args) || args.has("--graph") || args.has("--set")) {
      throw UsageError(str(file,
                           " is a plan, shown as it is: passes and stages ran when it was "
                           "compiled. `plait explain ",
                           file, "` says what they decided"));
    }
    return print(to_text(program::from_bytes(io::read_file(file), file)));
  }
  const std::string format = args.text("--as", "plait");
  check_format("--as", format);
  const io::Document document = load_document(file);
  ir::Package package = set_symbols(document.import, args);
  if (wants_one_graph(args)) package.graphs = {ir::Graph(chosen_graph(package, args))};
  if (is_stage(args.text("--after"))) {
    for (const ir::Graph& graph : package.graphs) print(show_stage(graph, args));
    return;
  }
  if (runs_passes(args)) {
    for (ir::Graph& graph : package.graphs) graph = run_passes(graph, args);
  }
  const bool as_read = !args.has("--set") && !wants_one_graph(args) && !runs_passes(args);
  if (as_read && format == document.format) return print(text_as_read(document));
  print(text_of(package, format));
}

}  // namespace

constinit const Command kShow{
    .name = "show",
    .usage = "FILE [options]",
    .doc = "prints the graphs of FILE, as they are or after passes; lists a file of weights",
    .least_words = 1,
    .most_words = 1,
    .flags = kShowFlags,
    .details =
        "FILE is a path to a graph in the text form (.plait) or to a document of AICF, MegEngine,\n"
        "Chainer, OneFlow/LiBai or AITemplate (found by its content), '-' for standard input, or "
        "a\n"
        "model: model:NAME or model:NAME?key=value&key=value (`plait models` lists names and "
        "keys).\n"
        "A document names its main sizes (batch, time, image...): --set changes them. Of a\n"
        "safetensors file the names, dtypes and shapes of its tensors are listed.\n"
        "A plan that `plait compile` wrote is printed whole. Passes and stages, in order:\n"
        "verify, differentiate, amp, amp_f16, expand, fold, simplify, cse, dead, slice;\n"
        "keep_rounded, facts, layout, group, choose, order, recompute, batch, join, place, "
        "streams, code.\n",
    .example =
        "  $ plait show 'model:mlp?dtype=f32' --after dead --timing\n"
        "  graph mlp\n"
        "  pass        ms  nodes before  nodes after\n"
        "  verify    0.13             3            3\n"
        "  ...\n"
        "  graph mlp(\n"
        "      x: f32[64,8]) state(\n"
        "  ...\n"
        "    %linear = linear(x, 0.W, 0.b)          : f32[64,8]   @ 0 (models/mlp.cpp:26)\n"
        "  ...\n",
    .run = run_show};

}  // namespace plait::cli
