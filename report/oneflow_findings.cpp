// Findings of the log, each by a rule that other logs may or may not meet.
#include "report/oneflow_findings.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <unordered_map>

#include "base/error.h"
#include "io/oneflow/gradients.h"
#include "io/oneflow/sizes.h"

namespace plait::report {
namespace {

using namespace io::oneflow;

constexpr double kMega = 1e6, kMebi = 1048576;
constexpr double kMemorised = 0.1;  // a loss that text does not reach unless it is known by heart

std::string tera_text(double operations) {
  char text[64];
  std::snprintf(text, sizeof text, "%.2f TFLOP", operations * 1e-12);
  return operations >= 1e10 ? text : with_commas(static_cast<std::int64_t>(operations)) + " FLOP";
}

/// The first op that reads, whole on every rank, what was split before: `the op, as the tree`.
struct Origin {
  const Operator* op = nullptr;
  std::string type;
  std::size_t same = 0, same_replicated = 0;  // of its type
};

/// Identities only carry the changed tensor on; who reads them is meant.
Origin origin_of(const OneflowFacts& facts) {
  const std::map<std::string, std::string> types = types_of(facts.record);
  std::set<std::string> gathered;  // tensors that were split and are whole now
  for (const Reboxing& c : facts.changes) {
    if (c.name == "all-gather") gathered.insert(c.tensor);
  }
  Origin origin;
  for (const Operator* op : facts.order) {
    const bool reads = std::any_of(op->inputs.begin(), op->inputs.end(), [&](const Operand& in) {
      return gathered.count(in.tensor) > 0;
    });
    if (!reads || !is_replicated(*op)) continue;
    if (types.at(op->name) == "identity") {
      for (const Operand& out : op->outputs) gathered.insert(op->tensor_of(out));
      continue;
    }
    origin.op = op;
    origin.type = types.at(op->name);
    break;
  }
  if (!origin.op) return origin;
  for (const Operator* op : facts.order) {
    if (types.at(op->name) != origin.type) continue;
    ++origin.same;
    origin.same_replicated += is_replicated(*op);
  }
  return origin;
}

void find_replicated(Page& page, const OneflowFacts& facts) {
  std::map<std::string, std::pair<int, int>> by_type;  // replicated, all
  double repeated = 0, all = 0;
  Finding finding;
  std::size_t ranks = 0;
  for (const Product& p : facts.products) {
    auto& [some, total] = by_type[p.type];
    ++total;
    all += static_cast<double>(p.operations);
    if (!p.replicated) continue;
    ++some;
    repeated += static_cast<double>(p.operations);
    ranks = std::max(ranks, p.op->placement.ranks.size());
    finding.nodes.push_back(p.op->name);
  }
  if (finding.nodes.empty()) return;
  std::vector<std::string> parts;
  for (const auto& [type, counts] : by_type) {
    parts.push_back(str(counts.first, " of ", counts.second, " ", type));
  }
  const auto step = static_cast<double>(facts.step_operations);
  finding.what = str(finding.nodes.size(), " of ", facts.products.size(),
                     " matrix products are computed whole by each of ", ranks, " ranks (",
                     join(parts, ", "), "): ", tera_text(repeated), " of the ", tera_text(step),
                     " of a step, ", percent_text(repeated, step), " of the step and ",
                     percent_text(repeated, all), " of all products, done ", ranks, " times.");
  const Origin origin = origin_of(facts);
  if (origin.op) {
    finding.advice = str("The split ends at ", origin.op->name, ": ", origin.same_replicated,
                         " of ", origin.same, " `", origin.type,
                         "` run with every operand broadcast, and what follows stays so. ");
  }
  finding.advice += "Give these operators a split layout (along the batch): more ranks then help.";
  page.findings.push_back(std::move(finding));
}

/// Work that is not a product, in bytes: every rank reads and writes the same.
void find_replicated_rest(Page& page, const OneflowFacts& facts) {
  std::set<const Operator*> products;
  for (const Product& p : facts.products) products.insert(p.op);
  Finding finding;
  double bytes = 0, all = 0;
  for (const Operator* op : facts.order) {
    if (op->inputs.empty() || op->outputs.empty() || products.count(op)) continue;
    if (op->placement.ranks.size() < 2) continue;
    double moved = 0;
    for (const auto* side : {&op->inputs, &op->outputs}) {
      for (const Operand& o : *side) {
        moved += static_cast<double>(share_bytes(o.blob, op->placement));
      }
    }
    all += moved;
    if (!is_replicated(*op)) continue;
    bytes += moved;
    finding.nodes.push_back(op->name);
  }
  if (finding.nodes.empty() || bytes <= 0 || bytes > 9e18) return;
  finding.what =
      str(finding.nodes.size(),
          finding.nodes.size() == 1 ? " other operator repeats" : " other operators repeat",
          " the same on every rank: ", bytes_text(static_cast<std::int64_t>(bytes)),
          " read and written by each, ", percent_text(bytes, all), " of what such operators move.");
  page.findings.push_back(std::move(finding));
}

/// Traced tensors that no traced op reads and that are no gradient of a parameter.
void find_unread(Page& page, const OneflowFacts& facts) {
  std::set<std::string> read;
  std::map<std::string, std::string> gradients = gradients_in_tree(facts.record);
  gradients.merge(gradients_in_trace(facts.record));
  for (const auto& [parameter, tensor] : gradients) read.insert(tensor);
  for (const TracedOp& op : facts.record.ops) {
    for (const Port& p : op.inputs) read.insert(p.tensors.begin(), p.tensors.end());
  }
  Finding finding;
  for (const TracedOp& op : facts.record.ops) {
    if (op.kind != OpKind::kUser) continue;
    for (const Port& p : op.outputs) {
      for (const std::string& tensor : p.tensors) {
        if (!read.count(tensor)) finding.nodes.push_back(tensor);
      }
    }
  }
  if (finding.nodes.empty()) return;
  finding.what = str(finding.nodes.size(),
                     finding.nodes.size() == 1 ? " traced tensor is" : " traced tensors are",
                     " read by nothing and no gradient of a parameter.");
  finding.advice = "The pass that removes dead ops takes them out; tracing them costs only time.";
  page.findings.push_back(std::move(finding));
}

void find_unread_buffers(Page& page, const OneflowFacts& facts) {
  std::map<std::string, const TensorNote*> buffers;
  for (const TensorNote& t : facts.record.tensors) {
    if (t.kind == TensorNote::kBuffer) buffers.emplace(t.name, &t);
  }
  if (facts.record.tree) {
    for (const TreeLine& line : facts.record.tree->lines) {
      const auto* note = std::get_if<TensorNote>(&line.what);
      if (note && note->kind == TensorNote::kBuffer) buffers.emplace(note->name, note);
    }
  }
  const auto used = [&](const std::string& tensor) {
    buffers.erase(tensor.substr(0, tensor.rfind('/')));
  };
  for (const TracedOp& op : facts.record.ops) {
    for (const Port& p : op.inputs) {
      for (const std::string& t : p.tensors) used(t);
    }
  }
  for (const Operator* op : facts.order) {
    for (const Operand& in : op->inputs) used(in.tensor);
  }
  if (buffers.empty()) return;
  Finding finding;
  bool mask = false;
  std::int64_t bytes = 0;
  for (const auto& [name, note] : buffers) {
    finding.nodes.push_back(name);
    bytes += share_bytes(note->blob, note->placement);
    mask |= name.find("mask") != std::string::npos;
  }
  finding.what = str(join(finding.nodes, ", "), finding.nodes.size() == 1 ? " is" : " are",
                     " read by no op: ", bytes_text(bytes), " held for nothing.");
  if (mask) {
    finding.advice =
        "A mask that is not applied hides nothing: what it was to keep apart is seen, "
        "in a copy head or an attention the tokens that come later. The loss then says "
        "little about prediction.";
  }
  page.findings.push_back(std::move(finding));
}

void find_unit(Page& page, const OneflowFacts& facts) {
  if (unit_of(facts.record, facts.state_bytes) != kMega) return;
  const RankMemory& m = facts.record.memory[0];
  page.findings.push_back(
      {str("What the log calls MiB is 10^6 bytes: its states are printed as ", m.states,
           " MiB and are ", with_commas(facts.state_bytes), " bytes."),
       str("In MiB of 2^20 bytes the ", m.total, " it asks for are ",
           std::round(m.total * kMega / kMebi * 100) / 100, "."),
       {}});
}

void find_hidden(Page& page, const OneflowFacts& facts) {
  if (facts.hidden.empty()) return;
  Finding finding;
  for (const HiddenInput& h : facts.hidden) finding.nodes.push_back(h.op->name);
  finding.what =
      str("The tree hides an operand of ", finding.nodes.size(),
          finding.nodes.size() == 1 ? " operator" : " operators",
          ": a pass fused the sum behind it into it (", facts.hidden[0].sum, " is gone, and ",
          facts.hidden[0].op->name, " adds ", facts.hidden[0].tensor, ").");
  finding.advice =
      "Read from the tree alone, the network seems to lack these sums; the traced ops "
      "have them.";
  page.findings.push_back(std::move(finding));
}

/// A language model, by its table of tokens: what a loss of nearly nothing means is known there.
void find_memorised(Page& page, const OneflowFacts& facts) {
  const auto& training = facts.record.training;
  if (training.size() < 2 || !find_embedding(facts.record)) return;
  const TrainLine &first = training.front(), &last = training.back();
  if (!first.loss || !last.loss || *last.loss >= kMemorised || *first.loss < 10 * kMemorised)
    return;
  page.findings.push_back(
      {str("The printed loss falls from ", *first.loss, " to ", *last.loss, " at iteration ",
           last.iteration, ", after ", with_commas(last.samples), " samples."),
       "New text does not give such a loss: the same samples come again and again and are known by "
       "heart. Is the data loader shuffled, does the mask work?",
       {}});
}

void find_end(Page& page, const OneflowFacts& facts) {
  const Record& r = facts.record;
  if (r.ending.empty()) return;
  std::string what = "The run did not end by itself";
  if (!r.training.empty() && r.training.back().iteration + 1 < r.training.back().iterations) {
    what += str(": the last line is iteration ", r.training.back().iteration, " of ",
                with_commas(r.training.back().iterations));
  }
  page.findings.push_back({what + ". It said: " + join(r.ending, "; ") + ".", "", {}});
}

}  // namespace

double unit_of(const Record& record, std::int64_t state_bytes) {
  if (record.memory.empty() || state_bytes <= 0) return 0;
  const double printed = record.memory[0].states;
  for (double unit : {kMega, kMebi}) {
    if (std::abs(printed * unit / static_cast<double>(state_bytes) - 1) < 1e-3) return unit;
  }
  return 0;
}

void find_in_oneflow(Page& page, const OneflowFacts& facts) {
  find_replicated(page, facts);
  find_replicated_rest(page, facts);
  find_unread_buffers(page, facts);
  find_unread(page, facts);
  find_unit(page, facts);
  find_hidden(page, facts);
  find_memorised(page, facts);
  find_end(page, facts);
}

}  // namespace plait::report
