// What stands in the log, section by section.
#include "report/oneflow_sections.h"

#include <algorithm>
#include <cstdio>
#include <map>
#include <set>

#include "base/error.h"

namespace plait::report {

using namespace io::oneflow;

namespace {

template <class T>
std::int64_t size_of_list(const T& list) {
  return static_cast<std::int64_t>(list.size());
}

void add_words(Section& s, std::string name, const std::string& text) {
  if (!text.empty()) s.facts.push_back(words(std::move(name), text));
}

std::int64_t count_kind(const Record& r, OpKind kind) {
  return std::count_if(r.ops.begin(), r.ops.end(),
                       [&](const TracedOp& o) { return o.kind == kind; });
}

}  // namespace

std::string fixed(double value, int digits) {
  char text[64];
  std::snprintf(text, sizeof text, "%.*f", digits, value);
  return text;
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
    const std::string text =
        str(with_commas(d.tokens), " tokens, ", with_commas(d.unique), " unique");
    if (s.facts.empty() || s.facts.back().text != text) s.facts.push_back(words("data", text));
  }
  if (s.facts.empty()) page.sections.pop_back();
}

void add_trace(Page& page, const Record& r) {
  if (r.ops.empty()) return;
  std::set<std::string> types;
  double elements = 0;
  for (const TracedOp& op : r.ops) {
    if (op.kind == OpKind::kUser) types.insert(op.type);
    if (op.kind == OpKind::kVariable)
      elements += static_cast<double>(element_count(op.blob->shape));
  }
  Section& s = page.section("Traced");
  s.facts = {
      count("ops", size_of_list(r.ops)),
      words("of them",
            str(count_kind(r, OpKind::kInput), " inputs, ", count_kind(r, OpKind::kVariable),
                " variables, ", count_kind(r, OpKind::kOutput), " outputs, ",
                count_kind(r, OpKind::kUser), " user ops of ", types.size(), " types")),
      count("modules", size_of_list(r.modules)),
      count("parameters", count_kind(r, OpKind::kVariable)),
  };
  if (elements < kMostBytes) {
    s.facts.push_back(count("elements", static_cast<std::int64_t>(elements)));
  }
}

void add_tree(Page& page, const OneflowFacts& f) {
  if (f.order.empty()) return;
  std::map<std::string, std::int64_t> by_type;
  std::int64_t states = 0, moments = 0, parameters = 0, to_half = 0, from_half = 0;
  double elements = 0;  // of the parameters
  std::set<std::string> notes, inputs;
  for (const TreeLine& line : f.record.tree->lines) {
    const auto* note = std::get_if<TensorNote>(&line.what);
    if (note && note->kind == TensorNote::kParameter) notes.insert(note->name);
    if (note && note->kind == TensorNote::kInput) inputs.insert(note->name);
  }
  const std::map<std::string, std::string> types = types_of(f.record);
  for (const Operator* op : f.order) {
    const bool source = op->inputs.empty() && op->outputs.size() == 1 && op->outputs[0].bare;
    if (source && notes.count(op->name)) {
      ++parameters;
      elements += static_cast<double>(element_count(op->outputs[0].blob.shape));
    } else if (source && (op->name.ends_with("-m") || op->name.ends_with("-v"))) {
      ++moments;
    } else if (source && !inputs.count(op->name)) {
      ++states;
    } else if (!source) {
      ++by_type[types.at(op->name)];
    }
    to_half += op->name.ends_with("-cast_f2h");
    from_half += op->name.ends_with("-cast_h2f");
  }
  Section& s = page.section("After the passes");
  s.facts = {count("operators", size_of_list(f.order)), count("parameters", parameters),
             count("moments", moments), count("other states", states)};
  if (elements > 0) {
    s.facts.push_back(bytes("state bytes", f.state_bytes,
                            fixed(static_cast<double>(f.state_bytes) / elements, 2) +
                                " for each element of a parameter"));
  }
  if (!f.products.empty()) {
    double work = 0;
    for (const Product& p : f.products) work += static_cast<double>(p.operations);
    if (work < kMostBytes) {
      const std::string text = with_commas(static_cast<std::int64_t>(work));
      s.facts.push_back(
          words("matrix products", str(f.products.size(), ": ", text, " operations")));
    }
  }
  if (to_half + from_half > 0) {
    s.facts.push_back(words("precision casts", str(to_half + from_half, ": ", to_half, " to half, ",
                                                   from_half, " back")));
  }
  if (by_type.count("adam_update"))
    s.facts.push_back(count("Adam updates", by_type["adam_update"]));
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
    s.table.rows.push_back(
        {rows[i].second, fixed(rows[i].first * 1e3, 1), percent_text(rows[i].first, all)});
  }
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
      milliseconds("step", last.seconds,
                   str("of it ", fixed(last.data_seconds * 1e3, 1), " ms waiting for data")),
      words("samples a second", fixed(last.throughput, 2)),
      words("learning rate", str(last.lr)),
  };
}

}  // namespace plait::report
