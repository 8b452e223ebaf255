// Graph to program, and what a program is known by.
#include "plan/program.h"

#include <algorithm>
#include <chrono>
#include <set>

#include "base/hash.h"
#include "base/text.h"
#include "ir/text.h"
#include "plan/memory.h"

namespace plait::plan {
namespace {

std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

class Clock {
 public:
  explicit Clock(std::map<std::string, double>& into) : into_(into) {}
  void lap(const std::string& name) {
    const auto now = std::chrono::steady_clock::now();
    into_[name] += std::chrono::duration<double>(now - last_).count();
    last_ = now;
  }

 private:
  std::map<std::string, double>& into_;
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

/// Whether two buffers share memory: at one time or after each other.
bool overlap(const Buffer& a, const Buffer& b) {
  return a.space == b.space && a.offset < b.offset + b.bytes && b.offset < a.offset + a.bytes;
}

bool meet(const Program& p, const std::vector<int>& a, const std::set<int>& b) {
  for (int x : a) {
    for (int y : b) {
      if (x == y || overlap(p.buffers[at(x)], p.buffers[at(y)])) return true;
    }
  }
  return false;
}

/// Neighbouring loop kernels that touch nothing of each other run as one step: the updates of all
/// parameters, say.
void join_independent(Program& p) {
  constexpr std::size_t kMostCalls = 256;
  std::vector<Step> joined;
  std::set<int> reads, writes;
  const auto is_plain = [](const Step& s) {
    if (s.calls.size() != 1 || s.shared_bytes > 0) return false;
    const auto* loop = std::get_if<LoopCall>(&s.calls[0]);
    return loop && loop->column_sizes.empty();
  };
  bool open = false;
  std::vector<int> number;  // of each step after joining
  for (Step& s : p.steps) {
    const bool plain = is_plain(s);
    const bool free = plain && open && joined.back().calls.size() < kMostCalls &&
                      !meet(p, s.reads, writes) && !meet(p, s.writes, writes) &&
                      !meet(p, s.writes, reads);
    if (!free) {
      joined.push_back(std::move(s));
      reads.clear();
      writes.clear();
      open = plain;
    } else {
      Step& to = joined.back();
      to.calls.push_back(std::move(s.calls[0]));
      to.nodes.insert(to.nodes.end(), s.nodes.begin(), s.nodes.end());
      to.reads.insert(to.reads.end(), s.reads.begin(), s.reads.end());
      to.writes.insert(to.writes.end(), s.writes.begin(), s.writes.end());
      to.operations = to.operations + s.operations;
      to.bytes_read = to.bytes_read + s.bytes_read;
      to.bytes_written = to.bytes_written + s.bytes_written;
      to.thread_bytes = std::max(to.thread_bytes, s.thread_bytes);
      if (to.kernel != s.kernel && !to.kernel.ends_with("+")) to.kernel += "+";
    }
    number.push_back(static_cast<int>(joined.size()) - 1);
    reads.insert(joined.back().reads.begin(), joined.back().reads.end());
    writes.insert(joined.back().writes.begin(), joined.back().writes.end());
  }
  p.steps = std::move(joined);
  const auto renumbered = [&](int step) {
    return step < static_cast<int>(number.size()) ? number[at(step)]
                                                  : static_cast<int>(p.steps.size());
  };
  for (Buffer& b : p.buffers) {
    b.first = renumbered(b.first);
    b.last = renumbered(b.last);
  }
}

}  // namespace

std::string Options::text() const {
  return str("fuse=", fuse, " measure=", measure, " reorder=", reorder);
}

DimBindings largest(const std::map<std::string, Dim>& symbols) {
  DimBindings out;
  for (const auto& [name, symbol] : symbols) out.emplace(name, Dim(symbol.hi()));
  return out;
}

Program make_program(const ir::Graph& graph, const Target& target, const Options& options) {
  Program p;
  Clock clock(p.seconds);
  p.graph_name = graph.name;
  p.graph_text = ir::print(graph);
  p.backend = target.name();
  p.target = target.identity();
  p.options = options.text();
  p.threads = target.threads();
  p.symbols = symbols_of(graph);
  const DimBindings most = largest(p.symbols);
  clock.lap("text");
  const std::vector<NodeFacts> facts = facts_of(graph);
  clock.lap("facts");
  const Layouts layouts = choose_layouts(graph, facts);
  clock.lap("layout");
  const Grouping grouping = group(graph, facts, layouts, {.fuse = options.fuse}, p.log);
  clock.lap("group");
  const Sight sight{graph, facts, layouts, grouping};
  Draft draft = make_draft(sight, target, options, most, p.log);
  clock.lap("lower and choose");
  std::vector<DraftStep> ordered;
  for (int i : choose_order(graph, draft, options, p.log)) {
    ordered.push_back(std::move(draft.steps[at(i)]));
  }
  draft.steps = std::move(ordered);
  clock.lap("order");
  assign_memory(sight, draft, target, p);
  clock.lap("place");
  for (auto& [name, text] : draft.texts) p.texts.push_back(text);
  p.whole = draft.whole;
  if (!p.whole) join_independent(p);
  clock.lap("join");
  return p;
}

std::uint64_t program_hash(const ir::Graph& graph, const Target& target, const Options& options) {
  std::uint64_t hash = fnv1a64(ir::print(graph));
  hash = fnv1a64(target.identity(), hash);
  return fnv1a64(str(" threads=", target.threads(), " ", options.text()), hash);
}

}  // namespace plait::plan
