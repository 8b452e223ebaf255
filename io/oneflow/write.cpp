// Record to text: the sections in the order of a log. A record that holds only a tree gives a tree.
#include <algorithm>

#include "base/text.h"
#include "io/oneflow/conf.h"
#include "io/oneflow/format.h"
#include "io/oneflow/sections.h"
#include "io/oneflow/tree.h"

namespace plait::io::oneflow {
namespace {

constexpr std::string_view kLogTime = "I00000000 00:00:00.000000";

bool lacks(const Record& record, std::string_view section) {
  return std::find(record.missing.begin(), record.missing.end(), section) != record.missing.end();
}

std::string tracing_text(const Record& record, const std::string& progress) {
  std::string out;
  for (const ModuleNote& m : record.module_notes) out += "(MODULE:" + m.name + ":" + m.type + ")\n";
  for (const TensorNote& t : record.tensors) out += tensor_note_text(t, 0);
  for (const TracedOp& op : record.ops) {
    out += str(kLogTime, " 0 trace:0] Lazy nn.Graph name ", record.graph, " try to add op: \n",
               conf_text(op));
  }
  if (!record.ops.empty() && !lacks(record, "the end of tracing")) {
    out += progress + "end building graph outputs.\n";
  }
  return out;
}

}  // namespace

std::string write(const Record& record) {
  std::string out = config_text(record) + modules_text(record.modules);
  const std::string progress = "(GRAPH:" + record.graph + ":Graph) ";
  if (!record.graph.empty()) out += progress + "start building graph.\n";
  out += tracing_text(record, progress) + passes_text(record);
  if (record.build_seconds) {
    out +=
        str(progress, "building graph Done! Cost time: ", real_text(*record.build_seconds), "s.\n");
  }
  out += memory_text(record);
  if (record.plan_seconds) {
    out +=
        str(progress, "building plan Done! Cost time: ", real_text(*record.plan_seconds), "s.\n");
  }
  if (record.tree) out += tree_text(*record.tree);
  return out + training_text(record);
}

}  // namespace plait::io::oneflow
