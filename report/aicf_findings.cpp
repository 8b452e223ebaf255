// What the author of the document may not know, by rules over its cells.
#include <algorithm>
#include <set>

#include "base/error.h"
#include "io/aicf/op.h"
#include "ops/table.h"
#include "passes/dead.h"
#include "report/aicf_step.h"

namespace plait::report {
namespace {

using io::aicf::Cell;
using io::aicf::CellRole;
using io::aicf::CellUse;
using io::aicf::Node;
using io::aicf::Version;

/// Work on values that nothing reads. What a document without MseGrad leaves unread is its result.
void find_dead(Page& page, const AicfStep& step) {
  DecisionLog log;
  const ir::Graph alive = remove_dead(step.graph, log);
  Finding found{"",
                "What nothing reads need not be made: the backward of a layer whose x is fed can "
                "leave out dX.",
                {}};
  std::int64_t operations = 0, all = 0, bytes = 0;
  for (const ir::Node& node : step.graph.nodes) {
    const std::int64_t work = operations_of(step.graph, node).value();
    all += work;
    bool read = false;
    for (ir::ValueId out : node.outputs) {
      read = read || alive.find_value(step.graph.value(out).name) != ir::kNone;
    }
    if (!read) operations += work;
  }
  const auto& nodes = step.record.nodes;
  const bool trains =
      std::any_of(nodes.begin(), nodes.end(), [](const Node& n) { return n.op == "MseGrad"; });
  for (const Version& v : step.versions) {
    const CellUse& use = step.uses[static_cast<std::size_t>(v.cell)];
    if (v.writer < 0 || !v.readers.empty() || use.is_state()) continue;
    if (!trains && v.overwriter < 0) continue;
    found.nodes.push_back(step.cell_text(v.cell) + " of " +
                          step.node_text(static_cast<std::size_t>(v.writer)));
    bytes += step.bytes_of(v.cell);
  }
  if (found.nodes.empty()) return;
  found.what = str(counted(found.nodes.size(), "value is", "values are"),
                   " written and never read: ", bytes_text(bytes), ", ", with_commas(operations),
                   " of ", with_commas(all), " operations (",
                   percent_text(static_cast<double>(operations), static_cast<double>(all)), ").");
  page.findings.push_back(std::move(found));
}

void find_missing_loss(Page& page, const AicfStep& step) {
  Finding found{
      "No loss value is computed, only its gradient: the step cannot say how well it does.",
      "Add the mean of the squared difference beside MseGrad; it reads the same two values.",
      {}};
  for (std::size_t i = 0; i < step.record.nodes.size(); ++i) {
    if (step.record.node(i).op == "MseGrad") found.nodes.push_back(step.node_text(i));
  }
  if (!found.nodes.empty()) page.findings.push_back(std::move(found));
}

/// Copies apart: they are a finding of their own.
bool is_pointwise(const Node& node) {
  return node.op != "Save" && io::aicf::find_rule(node.op)->is_pointwise();
}

/// A saved value whose source still holds it whenever the copy is read.
void find_copies(Page& page, const AicfStep& step) {
  Finding found{
      "", "The source is not overwritten before the last reader of the copy: read the source.", {}};
  std::int64_t bytes = 0;
  for (const Version& v : step.versions) {
    if (v.writer < 0 || v.readers.empty()) continue;
    const Node& save = step.record.node(static_cast<std::size_t>(v.writer));
    if (save.op != "Save") continue;
    const Version& source = step.version_read(save.inputs[0], v.writer);
    const bool kept = source.overwriter < 0 || source.overwriter > v.readers.back() ||
                      (source.overwriter == v.readers.back() &&
                       is_pointwise(step.record.node(static_cast<std::size_t>(source.overwriter))));
    if (!kept) continue;
    found.nodes.push_back(step.node_text(static_cast<std::size_t>(v.writer)) + " (" +
                          step.cell_text(save.inputs[0]) + " -> " + step.cell_text(v.cell) + ")");
    bytes += step.bytes_of(v.cell);
  }
  if (found.nodes.empty()) return;
  found.what =
      str(counted(found.nodes.size(), "copy", "copies"),
          " that need not be one: ", bytes_text(bytes), " kept twice, read and written again.");
  page.findings.push_back(std::move(found));
}

/// Cells that are overwritten after others have read them: nothing but the lines says so.
void find_order(Page& page, const AicfStep& step) {
  Finding found{"",
                "A scheduler that moves lines must keep readers above the writer; Plait holds each "
                "content as a value of its own.",
                {}};
  for (const Version& v : step.versions) {
    if (v.overwriter < 0) continue;
    std::vector<std::string> readers;
    for (std::int32_t r : v.readers) {
      if (r != v.overwriter) readers.push_back(io::aicf::index_text(static_cast<std::size_t>(r)));
    }
    if (readers.empty()) continue;
    found.nodes.push_back(step.cell_text(v.cell) + " (read by " + join(readers, ", ") +
                          ", overwritten by " +
                          io::aicf::index_text(static_cast<std::size_t>(v.overwriter)) + ")");
  }
  if (found.nodes.empty()) return;
  found.what =
      str(counted(found.nodes.size(), "cell is", "cells are"),
          " overwritten in place after other nodes read ", found.nodes.size() == 1 ? "it" : "them",
          ": only the order of lines keeps this "
          "right.");
  page.findings.push_back(std::move(found));
}

/// Whether node `rider` may be done where node `maker` ends: nothing between them writes what it
/// reads, or touches what it writes.
bool may_ride(const AicfStep& step, std::int32_t maker, std::int32_t rider) {
  const Node& node = step.record.node(static_cast<std::size_t>(rider));
  const auto touches = [](const std::vector<Cell>& cells, const std::vector<Cell>& others) {
    return std::any_of(cells.begin(), cells.end(), [&](Cell c) {
      return std::find(others.begin(), others.end(), c) != others.end();
    });
  };
  for (std::int32_t i = maker + 1; i < rider; ++i) {
    const Node& between = step.record.node(static_cast<std::size_t>(i));
    if (touches(node.inputs, between.outputs) || touches(node.outputs, between.inputs) ||
        touches(node.outputs, between.outputs)) {
      return false;
    }
  }
  return true;
}

/// Pointwise nodes that read what a product or its bias sum has just made.
void find_epilogues(Page& page, const AicfStep& step) {
  Finding found{"", "The product can do it before it stores its result.", {}};
  std::int64_t saved = 0, all = 0;
  for (const Node& node : step.record.nodes) {
    for (Cell c : node.inputs) all += step.bytes_of(c);
    for (Cell c : node.outputs) all += step.bytes_of(c);
  }
  std::set<std::int32_t> riders;
  for (const Version& v : step.versions) {
    if (v.writer < 0 || v.readers.empty()) continue;
    const Node& maker = step.record.node(static_cast<std::size_t>(v.writer));
    const auto reader = static_cast<std::size_t>(v.readers[0]);
    const Node& node = step.record.node(reader);
    const bool product = maker.op == "Linear" || maker.op == "LinearBwd";
    if (!product || !is_pointwise(node) || !may_ride(step, v.writer, v.readers[0])) continue;
    if (!riders.insert(v.readers[0]).second) continue;
    // Alone it need not be stored at all; otherwise it need not be read again.
    saved += (v.readers.size() == 1 ? 2 : 1) * step.bytes_of(v.cell);
    found.nodes.push_back(step.node_text(reader) + " after " +
                          step.node_text(static_cast<std::size_t>(v.writer)));
  }
  if (found.nodes.empty()) return;
  found.what = str(counted(found.nodes.size(), "pointwise node", "pointwise nodes"),
                   " could ride in the epilogue of the product before: ", bytes_text(saved), " of ",
                   bytes_text(all), " moved (",
                   percent_text(static_cast<double>(saved), static_cast<double>(all)), ").");
  page.findings.push_back(std::move(found));
}

/// Parameters in half precision, with no wider copy behind them.
void find_half_updates(Page& page, const AicfStep& step) {
  Finding found{"", "Keep an f32 copy of the parameters and round it for the products.", {}};
  std::set<std::string> names;
  for (const Node& node : step.record.nodes) {
    if (node.op != "SgdStep" && node.op != "AdamStep") continue;
    const Cell p = node.inputs[0];
    const DType dtype = step.record.value(p).dtype;
    if (!is_half(dtype) || p != node.outputs[0]) continue;
    found.nodes.push_back(step.cell_text(p));
    names.insert(io::aicf::torch_name(dtype));
  }
  if (found.nodes.empty()) return;
  found.what =
      str(counted(found.nodes.size(), "parameter is", "parameters are"), " updated in ",
          join({names.begin(), names.end()}, " and "), " itself: a step smaller than ",
          names.contains("torch.bfloat16") ? "1/512" : "1/4096", " of a weight is rounded away.");
  page.findings.push_back(std::move(found));
}

void find_unused(Page& page, const AicfStep& step) {
  Finding found{"", "It is bound and allocated all the same; is something not connected?", {}};
  std::int64_t bytes = 0;
  for (std::size_t c = 0; c < step.uses.size(); ++c) {
    if (step.uses[c].role != CellRole::kUnused) continue;
    found.nodes.push_back(step.cell_text(static_cast<Cell>(c)));
    bytes += step.bytes_of(static_cast<Cell>(c));
  }
  if (found.nodes.empty()) return;
  found.what = str(counted(found.nodes.size(), "value is", "values are"),
                   " neither read nor written: ", bytes_text(bytes), ".");
  page.findings.push_back(std::move(found));
}

void find_lost_counts(Page& page, const AicfStep& step) {
  Finding found{"",
                "Let StepInc write the cell that it reads. A run here takes the next step from the "
                "other cell.",
                {}};
  for (std::size_t c = 0; c < step.uses.size(); ++c) {
    const Cell to = step.uses[c].counted_in;
    if (to < 0) continue;
    found.nodes.push_back(step.cell_text(static_cast<Cell>(c)) + " -> " + step.cell_text(to));
  }
  if (found.nodes.empty()) return;
  found.what =
      "StepInc writes another cell than it reads: replayed as it stands, the step is always "
      "the first, and Adam's corrections never change.";
  page.findings.push_back(std::move(found));
}

void find_races(Page& page, const AicfStep& step) {
  Finding found{
      "A product writes over an operand that it still reads: its result depends on the kernel.",
      "Give the result a cell of its own.",
      {}};
  for (std::size_t i = 0; i < step.record.nodes.size(); ++i) {
    const Node& node = step.record.node(i);
    if (node.op != "Linear" && node.op != "LinearBwd") continue;
    const bool over = std::any_of(node.outputs.begin(), node.outputs.end(), [&](Cell c) {
      return std::find(node.inputs.begin(), node.inputs.end(), c) != node.inputs.end();
    });
    if (over) found.nodes.push_back(step.node_text(i));
  }
  if (!found.nodes.empty()) page.findings.push_back(std::move(found));
}

}  // namespace

void add_aicf_findings(Page& page, const AicfStep& step) {
  for (const auto find : {find_dead, find_missing_loss, find_copies, find_epilogues, find_order,
                          find_half_updates, find_unused, find_lost_counts, find_races}) {
    find(page, step);
  }
}

}  // namespace plait::report
