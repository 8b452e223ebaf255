// Storage cells over time.
#include "io/aicf/cells.h"

#include <algorithm>

#include "base/error.h"
#include "io/aicf/op.h"

namespace plait::io::aicf {
namespace {

CellUse& use_of(std::vector<CellUse>& uses, Cell cell) {
  return uses[static_cast<std::size_t>(cell)];
}

CellRole role_of(Use use) {
  switch (use) {
    case Use::kWeight:
      return CellRole::kParam;
    case Use::kMoment:
      return CellRole::kMoment;
    case Use::kCounter:
      return CellRole::kCounter;
    default:
      return CellRole::kInput;
  }
}

/// A cell with several uses takes the first of these that it has.
int rank_of(CellRole role) {
  switch (role) {
    case CellRole::kParam:
      return 0;
    case CellRole::kMoment:
      return 1;
    case CellRole::kCounter:
      return 2;
    default:
      return 3;
  }
}

void note_accesses(const Record& record, std::vector<CellUse>& uses) {
  for (std::size_t i = 0; i < record.nodes.size(); ++i) {
    const auto node = static_cast<std::int32_t>(i);
    for (Cell c : record.nodes[i].inputs) use_of(uses, c).accesses.push_back({node, false});
    for (Cell c : record.nodes[i].outputs) {
      use_of(uses, c).accesses.push_back({node, true});
      use_of(uses, c).written = true;
    }
  }
}

}  // namespace

std::vector<CellUse> cell_uses(const Record& record) {
  std::vector<CellUse> uses(record.values.size());
  note_accesses(record, uses);
  for (CellUse& use : uses) {
    if (!use.accesses.empty()) use.role = use.external() ? CellRole::kInput : CellRole::kStatic;
  }
  for (const Node& node : record.nodes) {
    const OpRule& rule = *find_rule(node.op);
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      CellUse& use = use_of(uses, node.inputs[i]);
      const CellRole role = role_of(rule.inputs[static_cast<int>(i)].use);
      if (use.external() && rank_of(role) < rank_of(use.role)) use.role = role;
      if (rule.inputs[0].axes == "mk" && i > 0) {
        use.fan_in = record.value(node.inputs[0]).shape[1];
      }
    }
    if (node.op != "StepInc") continue;
    CellUse& counter = use_of(uses, node.inputs[0]);
    if (!counter.written && counter.external()) counter.counted_in = node.outputs[0];
  }
  return uses;
}

void check_order(const Record& record) {
  const std::vector<CellUse> uses = cell_uses(record);
  std::int32_t first = -1;
  Cell bad = -1;
  for (std::size_t c = 0; c < uses.size(); ++c) {
    const CellUse& use = uses[c];
    if (!use.external() || !use.written) continue;
    const auto write = std::find_if(use.accesses.begin(), use.accesses.end(),
                                    [](const Access& a) { return a.write; });
    // An update in place reads the cell that it writes.
    const bool in_place = std::prev(write)->node == write->node;
    const std::int32_t reader = use.accesses[0].node;
    if (in_place || (first >= 0 && first <= reader)) continue;
    first = reader;
    bad = static_cast<Cell>(c);
  }
  if (bad < 0) return;
  const CellUse& use = uses[static_cast<std::size_t>(bad)];
  const auto write = std::find_if(use.accesses.begin(), use.accesses.end(),
                                  [](const Access& a) { return a.write; });
  const auto reader = static_cast<std::size_t>(first);
  const auto writer = static_cast<std::size_t>(write->node);
  fail(record.file, ":", record.line_of_node(reader), ": ", record.node(reader).op, " reads ",
       id_text(record.value(bad).id), " ", record.value(bad).name,
       " before anything wrote it; line ", record.line_of_node(writer), " (",
       record.node(writer).op, ") writes it. Are lines exchanged?");
}

std::vector<Version> versions(const std::vector<CellUse>& uses) {
  std::vector<Version> found;
  for (std::size_t c = 0; c < uses.size(); ++c) {
    const CellUse& use = uses[c];
    if (use.external()) found.push_back({static_cast<Cell>(c), -1});
    bool open = use.external();
    for (const Access& a : use.accesses) {
      if (!a.write) {
        found.back().readers.push_back(a.node);
        continue;
      }
      if (open) found.back().overwriter = a.node;
      found.push_back({static_cast<Cell>(c), a.node});
      open = true;
    }
  }
  return found;
}

}  // namespace plait::io::aicf
