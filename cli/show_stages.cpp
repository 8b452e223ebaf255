// Stages of planning as text.
#include "cli/show_stages.h"

#include <algorithm>
#include <cstdio>

#include "backends/backends.h"
#include "base/text.h"
#include "cli/compiled.h"
#include "cli/output.h"
#include "io/file.h"
#include "ir/text.h"
#include "passes/pipeline.h"
#include "plan/stage_text.h"
#include "plan/stages.h"

namespace plait::cli {
namespace {

/// Texts of passes and stages as numbered files.
class Dump {
 public:
  Dump(const Args& args, const std::string& graph) : graph_(io::file_name_for(graph)) {
    if (!args.has("--dump")) return;
    folder_ = args.text("--dump");
    io::make_folder(folder_);
  }

  void write(std::string_view name, std::string_view ending, const std::string& text) {
    if (folder_.empty()) return;
    char number[16];
    std::snprintf(number, sizeof number, "%02d", next_++);
    io::write_file(str(folder_, "/", graph_, ".", number, "_", name, ending), {text});
  }
  bool is_wanted() const { return !folder_.empty(); }

 private:
  std::string folder_, graph_;
  int next_ = 0;
};

std::string ms_text(double seconds) {
  char text[32];
  std::snprintf(text, sizeof text, "%.2f", seconds * 1e3);
  return text;
}

void print_timings(const std::string& graph, const PipelineResult& passed,
                   const plan::Planning& planning) {
  Table table{{"stage", "ms"}, {false, true}, {}};
  double total = 0;
  const auto add = [&](const std::string& name, double seconds) {
    total += seconds;
    table.rows.push_back({name, ms_text(seconds)});
  };
  for (const PassTiming& t : passed.timings) add(t.pass, t.seconds);
  for (const plan::Stage& stage : plan::stages()) {
    const auto taken = planning.program.seconds.find(std::string(stage.name));
    if (taken != planning.program.seconds.end()) add(taken->first, taken->second);
  }
  table.rows.push_back({"all", ms_text(total)});
  print_error(str("graph ", graph, "\n", table.text()));
}

void print_log(const DecisionLog& log) {
  for (const LogEntry& e : log) {
    print_error(str(e.pass, ": ", e.what, ": ", e.node, ": ", e.why, "\n"));
  }
}

}  // namespace

bool is_stage(std::string_view name) {
  return std::any_of(plan::stages().begin(), plan::stages().end(),
                     [&](const plan::Stage& stage) { return stage.name == name; });
}

std::vector<std::string> stages_of_steps() {
  std::vector<std::string> names;
  for (const plan::Stage& stage : plan::stages()) {
    if (stage.leaves_steps) names.emplace_back(stage.name);
  }
  return names;
}

std::string show_stage(const ir::Graph& graph, const Args& args) {
  Dump dump(args, graph.name);
  dump.write("input", ".plait", dump.is_wanted() ? ir::print(graph) : "");
  const std::string backend = args.text("--backend", "cpu");
  const auto target = make_plan_target(backend, target_options(args, backend));
  PipelineOptions passes = passes_for(*target);
  if (args.has("--grad")) passes.requested.push_back("differentiate");
  if (dump.is_wanted()) {
    passes.after_each = [&](const Pass& pass, const ir::Graph& after) {
      dump.write(pass.name, ".plait", ir::print(after));
    };
  }
  passes.slice_bytes = slice_bytes(args);
  const PipelineResult passed = run_pipeline(graph, passes);
  const plan::Options options{.fuse = !args.has("--no-fuse"), .slice_bytes = passes.slice_bytes};
  plan::Planning planning(passed.graph, *target, options, {});
  std::string text;
  plan::StageOptions stages{.stop_after = args.text("--after")};
  stages.after_each = [&](const plan::Stage& stage, const plan::Planning& so_far) {
    const bool last = stage.name == args.text("--after");
    if (!last && !dump.is_wanted()) return;
    const bool with_kernels = stage.leaves_steps && args.has("--kernels");
    text = with_kernels ? plan::kernels_text(so_far) : stage.text(so_far);
    dump.write(stage.name, ".txt", text);
  };
  plan::run_stages(planning, stages);
  if (args.has("--timing")) print_timings(graph.name, passed, planning);
  if (args.has("--log")) {
    print_log(passed.log);
    print_log(planning.program.log);
  }
  return text;
}

}  // namespace plait::cli
