// Facts of the log, section by section.
#include "report/oneflow.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <set>

#include "base/error.h"
#include "ops/table.h"
#include "passes/measure.h"
#include "report/graph.h"
#include "report/oneflow_findings.h"
#include "report/oneflow_plan.h"

namespace plait::report {
namespace {

using namespace io::oneflow;

constexpr double kMostBytes = 4e18;  // sums beyond it do not fit 64 bits

template <class T>
std::int64_t size_of_list(const T& list) {
  return static_cast<std::int64_t>(list.size());
}

std::string fixed(double value, int digits) {
  char text[64];
  std::snprintf(text, sizeof text, "%.*f", digits, value);
  return text;
}

void add_words(Section& s, std::string name, const std::string& text) {
  if (!text.empty()) s.facts.push_back(words(std::move(name), text));
}

void add_config(Page& page, const Record& r) {
  Section& s = page.section("Configuration and data");
  if (r.config.world_size) s.facts.push_back(count("processes", *r.config.world_size));
  add_words(s, "configuration", r.config.file);
  const std::string micro = r.config.setting("train.train_micro_batch_size");
  add_words(s, "micro batch", micro.empty() ? "" : micro + " a process");
  add_words(s, "mixed precision", r.config.setting("train.amp.enabled"));
  add_words(s, "learning rate", r.config.setting("lr"));
  add_words(s, "recompute", r.config.setting("train.activation_checkpoint.enabled"));
  if (r.config.train_iter) s.facts.push_back(count("iterations", *r.config.train_iter));
  for (const Data& d : r.data) {
    const std::string text = str(with_commas(d.tokens), " tokens, ", with_commas(d.unique), " unique");
    if (s.facts.empty() || s.facts.back().text != text) s.facts.push_back(words("data", text));
  }
  if (s.facts.empty()) page.sections.pop_back();
}

std::int64_t count_kind(const Record& r, OpKind kind) {
  return std::count_if(r.ops.begin(), r.ops.end(), [&](const TracedOp& o) { return o.kind == kind; });
}

void add_trace(Page& page, const Record& r) {
  if (r.ops.empty()) return;
  std::set<std::string> types;
  double elements = 0;
  for (const TracedOp& op : r.ops) {
    if (op.kind == OpKind::kUser) types.insert(op.type);
    if (op.kind == OpKind::kVariable) elements += static_cast<double>(element_count(op.blob->shape));
  }
  Section& s = page.section("Traced");
  s.facts = {
      count("ops", size_of_list(r.ops)),
      words("of them", str(count_kind(r, OpKind::kInput), " inputs, ", count_kind(r, OpKind::kVariable),
                           " variables, ", count_kind(r, OpKind::kOutput), " outputs, ",
                           count_kind(r, OpKind::kUser), " user ops of ", types.size(), " types")),
      count("modules", size_of_list(r.modules)),
      count("parameters", count_kind(r, OpKind::kVariable)),
  };
  if (elements < kMostBytes) {
    s.facts.push_back(count("elements", static_cast<std::int64_t>(elements)));
  }
}

/// What the passes left: by what the operators are.
void add_tree(Page& page, const OneflowFacts& f) {
  if (f.order.empty()) return;
  std::map<std::string, std::int64_t> by_type;
  std::int64_t states = 0, parameters = 0, to_half = 0, from_half = 0;
  std::set<std::string> notes, traced;
  for (const TreeLine& line : f.record.tree->lines) {
    const auto* note = std::get_if<TensorNote>(&line.what);
    if (note && note->kind == TensorNote::kParameter) notes.insert(note->name);
    if (note && note->kind == TensorNote::kInput) traced.insert(note->name);
  }
  const std::map<std::string, std::string> types = types_of(f.record);
  for (const Operator* op : f.order) {
    const bool source = op->inputs.empty() && op->outputs.size() == 1 && op->outputs[0].bare;
    if (source && !traced.count(op->name)) {
      notes.count(op->name) ? ++parameters : ++states;
    } else if (!source) {
      ++by_type[types.at(op->name)];
    }
    to_half += op->name.ends_with("-cast_f2h");
    from_half += op->name.ends_with("-cast_h2f");
  }
  Section& s = page.section("After the passes");
  s.facts = {count("operators", size_of_list(f.order)), count("parameters", parameters),
             count("other states", states)};
  if (to_half + from_half > 0) {
    s.facts.push_back(words("precision casts", str(to_half + from_half, ": ", to_half, " to half, ",
                                                   from_half, " back")));
  }
  if (by_type.count("adam_update")) s.facts.push_back(count("Adam updates", by_type["adam_update"]));
  std::vector<std::pair<std::string, std::int64_t>> rows(by_type.begin(), by_type.end());
  std::stable_sort(rows.begin(), rows.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  s.table = {{"type", "operators"}, {false, true}, {}};
  for (const auto& [type, n] : rows) s.table.rows.push_back({type, with_commas(n)});
}

void add_layouts(Page& page, const OneflowFacts& f) {
  if (f.changes.empty()) return;
  struct Row {
    std::int64_t count = 0;
    double bytes = 0;
    std::string first;
  };
  std::map<std::string, Row> rows;
  for (const Reboxing& c : f.changes) {
    Row& row = rows[c.from + " -> " + c.to + ": " + c.name];
    if (row.count++ == 0) row.first = c.reader->name;
    row.bytes += static_cast<double>(c.bytes);
  }
  Section& s = page.section("Changes of layout between operators");
  s.table = {{"change", "tensors", "MB", "first read by"}, {false, true, true, false}, {}};
  for (const auto& [change, row] : rows) {
    s.table.rows.push_back({change, with_commas(row.count), fixed(row.bytes * 1e-6, 1), row.first});
  }
}

void add_passes(Page& page, const Record& r) {
  if (r.passes.empty()) return;
  std::vector<std::pair<double, std::string>> rows;
  double all = 0;
  for (const Pass& p : r.passes) {
    if (!p.finish) continue;
    rows.emplace_back(seconds_between(p.start, *p.finish), p.name);
    all += rows.back().first;
  }
  std::stable_sort(rows.begin(), rows.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  Section& s = page.section("Compile passes");
  s.facts = {count("passes", size_of_list(r.passes)), milliseconds("together", all)};
  if (r.build_seconds) s.facts.push_back(milliseconds("building the graph", *r.build_seconds));
  if (r.compile_seconds) s.facts.push_back(milliseconds("compiling", *r.compile_seconds));
  if (r.plan_seconds) s.facts.push_back(milliseconds("building the plan", *r.plan_seconds));
  s.table = {{"slowest", "ms", "share"}, {false, true, true}, {}};
  for (std::size_t i = 0; i < std::min<std::size_t>(rows.size(), 8); ++i) {
    s.table.rows.push_back({rows[i].second, fixed(rows[i].first * 1e3, 1),
                            percent_text(rows[i].first, all)});
  }
}

void add_printed_memory(Page& page, const OneflowFacts& f) {
  const Record& r = f.record;
  if (r.memory.empty()) return;
  const RankMemory& m = r.memory[0];
  const double unit = unit_of(r, f.state_bytes);
  Section& s = page.section(str("Memory of rank ", m.rank, " as printed"));
  const auto size = [&](const std::string& name, double printed, const std::string& note) {
    const std::string text = str(fixed(printed, 2), " \"MiB\"", note.empty() ? "" : ", " + note);
    s.facts.push_back({name, text, printed});
  };
  size("together", m.total, unit == 1e6 ? "which are 10^6 bytes" : "");
  size("chunk", m.chunk, str(m.chunk_blocks, " blocks: activations and temporaries"));
  const auto largest = std::max_element(r.blocks.begin(), r.blocks.end(),
                                        [](const auto& a, const auto& b) { return a.size < b.size; });
  if (largest != r.blocks.end()) {
    size("largest block", largest->size, str("shared by ", with_commas(largest->tensors), " tensors"));
  }
  size("unshared", m.unshared, str(with_commas(m.unshared_blocks), " blocks"));
  size("states", m.states, str(m.state_blocks, " blocks"));
}

void add_lifetimes(Page& page, const OneflowFacts& f, const OneflowPlan& plan) {
  double sum = static_cast<double>(plan.state_bytes);
  for (const Buffer& b : plan.buffers) sum += static_cast<double>(b.bytes);
  if (plan.buffers.empty() || sum > kMostBytes) return;
  const MemoryFigures m = memory_figures(plan.buffers);
  Section& s = page.section("Memory of one process as it could be");
  s.facts = {
      bytes("states", plan.state_bytes),
      bytes("keep all", m.keep_all_bytes, "every tensor in a buffer of its own"),
      bytes("live peak", m.peak_bytes, "by lifetime, in this order: no plan can be below"),
      words("at", f.order[static_cast<std::size_t>(m.peak_step)]->name),
      bytes("shared", m.shared_bytes, "one arena, greedy offsets"),
  };
  if (f.record.memory.empty() || unit_of(f.record, f.state_bytes) == 0) return;
  const RankMemory& printed = f.record.memory[0];
  const double unit = unit_of(f.record, f.state_bytes);
  const double asked = (printed.chunk + printed.unshared) * unit;
  if (!(asked > 0 && asked < kMostBytes)) return;
  s.facts.push_back(bytes("the log's plan", static_cast<std::int64_t>(asked),
                          str("chunk and unshared, ",
                              percent_text(asked - static_cast<double>(m.peak_bytes),
                                           static_cast<double>(m.peak_bytes)),
                              " above the live peak")));
}

void add_training(Page& page, const Record& r) {
  if (r.training.empty()) return;
  const TrainLine &first = r.training.front(), &last = r.training.back();
  Section& s = page.section("Training as printed");
  const auto loss = [](const TrainLine& t) {
    return str(t.loss ? str(*t.loss) : "not a number", " at iteration ", t.iteration);
  };
  s.facts = {
      count("lines", size_of_list(r.training)),
      words("iterations", str(last.iteration, " of ", with_commas(last.iterations))),
      words("loss", str("from ", loss(first), " to ", loss(last),
                        "; a line prints the median over up to 200 steps, so it lags behind")),
      milliseconds("step", last.seconds, str("of it ", fixed(last.data_seconds * 1e3, 1),
                                             " ms waiting for data")),
      words("samples a second", fixed(last.throughput, 2)),
      words("learning rate", str(last.lr)),
  };
}

/// Whether the sums over the graph fit 64 bits.
bool adds_up(const ir::Graph& graph) {
  double sum = 0;
  try {
    for (const ir::Node& node : graph.nodes) {
      sum += static_cast<double>(operations_of(graph, node).value());
      sum += static_cast<double>(bytes_of(graph, node).value());
    }
  } catch (const UserError&) {
    return false;
  }
  for (const ir::StateUse& use : graph.states) {
    sum += static_cast<double>(use.state.type.elements().value()) * 8;
  }
  return sum < kMostBytes;
}

/// The traced graph at the document's sizes, as any graph is reported; layout casts are not copies
/// to avoid, and unread buffers have a finding of their own.
void add_traced_graph(Page& page, const ir::Graph& graph) {
  add_graph(page, graph);
  Page found;
  add_findings(found, graph);
  for (Finding& finding : found.findings) {
    const bool known = finding.what.find("read by no node") != std::string::npos ||
                       finding.what.find("that need not be") != std::string::npos;
    if (!known) page.findings.push_back(std::move(finding));
  }
}

OneflowFacts facts_of(const Record& record) {
  OneflowFacts f{record, {}, hidden_inputs(record), {}, {}};
  try {
    f.order = execution_order(record, f.hidden);
  } catch (const UserError&) {
    f.hidden.clear();
    f.order = execution_order(record, {});
  }
  f.products = products_of(record, f.order);
  f.changes = reboxings(f.order);
  double all = 0;
  for (const Product& p : f.products) all += static_cast<double>(p.operations);
  if (all < kMostBytes) f.step_operations = static_cast<std::int64_t>(all);
  return f;
}

/// The device that most operators run on.
std::string main_device(const std::vector<const Operator*>& order) {
  std::map<std::string, int> counts;
  for (const Operator* op : order) ++counts[op->placement.device];
  std::string most;
  for (const auto& [device, n] : counts) {
    if (most.empty() || n > counts[most]) most = device;
  }
  return most;
}

}  // namespace

Page of_oneflow(const Record& record, const io::Import& import) {
  Page page;
  const std::string name = record.graph.empty() && record.tree ? record.tree->name : record.graph;
  page.title = str("OneFlow log ", record.file.text, ": graph ", name);
  OneflowFacts f = facts_of(record);
  const OneflowPlan plan = plan_of(record, f.order, f.hidden, main_device(f.order));
  f.state_bytes = plan.state_bytes;
  add_config(page, record);
  add_trace(page, record);
  add_tree(page, f);
  add_layouts(page, f);
  add_passes(page, record);
  add_printed_memory(page, f);
  add_lifetimes(page, f, plan);
  add_training(page, record);
  if (!record.ops.empty()) {
    const ir::Graph traced = ir::substitute(import.package.graphs[0], import.bindings());
    if (adds_up(traced)) {
      f.step_operations = measure(traced).operations;
      find_in_oneflow(page, f);
      add_traced_graph(page, traced);
      return page;
    }
  }
  find_in_oneflow(page, f);
  return page;
}

}  // namespace plait::report
