// Buffers: which values share one, how long each lives, and its offset.
#include "plan/memory.h"

#include <algorithm>
#include <limits>
#include <map>
#include <set>

#include "base/at.h"
#include "ops/constant.h"
#include "plan/one_nan.h"

namespace plait::plan {
namespace {

std::int64_t rounded(std::int64_t bytes) {
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

/// When in a row something happens: stage by stage, what is of the row before the inner loop.
int moment(loop::Level level, int stage) {
  if (level == loop::Level::kCall) return -1;
  return 2 * stage + (level == loop::Level::kInner ? 1 : 0);
}

/// When a statement has read all its operands. What finishes a reduction reads after its loop.
int last_read(const loop::Let& let) {
  if (!let.finish) return moment(let.level, let.stage);
  return let.column ? std::numeric_limits<int>::max() : moment(loop::Level::kRow, let.stage + 1);
}

loop::Level level_of_store(const loop::Kernel& kernel, const loop::KernelStore& store) {
  const loop::Let& let = kernel.lets[at(store.let)];
  const loop::Level least = let.stage > 0 ? loop::Level::kRow : loop::Level::kCall;
  return std::max({let.level, level_of(kernel, store.offset), least});
}

int written(const loop::Kernel& kernel, const loop::KernelStore& store) {
  return moment(level_of_store(kernel, store), kernel.lets[at(store.let)].stage);
}

/// Whether an element is stored more than once, by several rows, inner indices or tasks: the second
/// time would read what the first wrote.
bool repeats(const loop::Kernel& kernel, const loop::KernelStore& store) {
  const auto missed = [&](const loop::KernelIndex& x) {
    return !x.extent.is(1) && !loop::mentions(store.offset, x.symbol);
  };
  const bool inner = level_of_store(kernel, store) == loop::Level::kInner;
  const bool call = level_of_store(kernel, store) == loop::Level::kCall;
  return std::any_of(kernel.rows.begin(), kernel.rows.end(), missed) ||
         ((inner || call) && std::any_of(kernel.inner.begin(), kernel.inner.end(), missed));
}

/// Whether one step may write `v` where it reads `u`: every element of u is read where, and no
/// later than when, the same element of v is written.
bool overwrites(const DraftStep& step, ir::ValueId u, ir::ValueId v) {
  const auto& whole = step.whole_reads;
  if (std::find(whole.begin(), whole.end(), u) != whole.end()) return false;
  bool found = false;
  for (std::size_t k = 0; k < step.kernels.size(); ++k) {
    const loop::Kernel& kernel = *step.kernels[k];
    const auto number = [&](ir::ValueId id) {
      const auto it = std::find(step.values[k].begin(), step.values[k].end(), id);
      return it == step.values[k].end() ? -1 : static_cast<int>(it - step.values[k].begin());
    };
    const int to = number(v), from = number(u);
    if (to < 0 && from < 0) continue;  // another call of the step
    if (to < 0) return false;
    found = true;
    const loop::KernelStore* store = nullptr;
    for (const loop::KernelStore& s : kernel.stores) {
      if (s.buffer == to) store = &s;
    }
    if (!store) return false;
    const loop::Let& made = kernel.lets[at(store->let)];
    if (made.reduce != loop::Reduce::kNone || repeats(kernel, *store)) return false;
    for (const loop::Let& let : kernel.lets) {
      for (const loop::KernelOperand& o : let.operands) {
        if (o.kind != loop::KernelOperand::kLoad) continue;
        if (o.load.buffer != from) continue;
        if (!(o.load.offset == store->offset) || last_read(let) > written(kernel, *store)) {
          return false;
        }
      }
    }
  }
  return found;
}

class Assignment {
 public:
  Assignment(const Sight& s, Draft& draft, const Target& target, Program& program)
      : s_(s), draft_(draft), target_(target), p_(program) {
    for (const auto& [copy, v] : draft.again) {
      temporaries_[copy] = s.graph.type(v);
      origin_of_temporary_[copy] = v;
      next_temporary_ = std::min(next_temporary_, copy);
    }
  }

  void run() {
    hold_states_feeds_and_constants();
    save_old_states();
    copy_states_that_cannot_be_advanced_in_place();
    find_lifetimes();
    share();
    bind_results();
    place_all();
    rewrite_calls();
  }

 private:
  const ir::Type& type(ir::ValueId v) const {
    return v >= 0 ? s_.graph.type(v) : temporaries_.at(v);
  }
  std::int64_t bytes(ir::ValueId v) const { return rounded(type(v).bytes().hi()); }
  const Layout& layout(ir::ValueId v) const {
    return s_.layouts.at(v >= 0 ? v : origin_of_temporary_.at(v));
  }
  std::string name(ir::ValueId v) const {
    if (v >= 0) return s_.graph.value(v).name;
    return s_.graph.value(origin_of_temporary_.at(v)).name +
           (draft_.again.count(v) ? ".again" : ".old");
  }

  int new_buffer(ir::ValueId v, Space space) {
    p_.buffers.push_back({name(v), space, bytes(v), 0, 0, 0});
    return static_cast<int>(p_.buffers.size()) - 1;
  }

  int hold(ir::ValueId v, int buffer) {
    p_.values.push_back({name(v), type(v), layout(v), buffer});
    buffer_of_[v] = buffer;
    return held_of_[v] = static_cast<int>(p_.values.size()) - 1;
  }

  void hold_states_feeds_and_constants() {
    for (const ir::StateUse& use : s_.graph.states) {
      p_.states.push_back({use.state, hold(use.value, new_buffer(use.value, Space::kState))});
    }
    for (ir::ValueId id : s_.graph.feeds) {
      p_.feeds.push_back({s_.graph.value(id).name, hold(id, new_buffer(id, Space::kArena))});
    }
    std::set<ir::ValueId> read;
    for (const DraftStep& d : draft_.steps) read.insert(d.reads.begin(), d.reads.end());
    for (const ir::Fetch& f : s_.graph.fetches) read.insert(f.value);
    for (const ir::NextState& n : s_.graph.nexts) read.insert(n.value);
    for (ir::ValueId v : read) {
      const ir::NodeId by = v < 0 ? ir::kNone : s_.graph.value(v).producer;
      if (by == ir::kNone || s_.facts[at(by)].kind != Kind::kConstant) continue;
      const int held = hold(v, new_buffer(v, Space::kConstant));
      const auto literal = ir::decode<ops::Constant>(s_.graph.node(by).attrs, "constant");
      p_.constants.emplace_back(held, with_one_nan(*literal.value.array));
    }
  }

  bool is_state(ir::ValueId v) const {
    return v >= 0 && s_.graph.value(v).producer == ir::kNone &&
           s_.graph.find_state(s_.graph.value(v).name) != nullptr;
  }

  /// What is fetched, or becomes another state, of a state as it was: copied before all else.
  void save_old_states() {
    std::set<ir::ValueId> wanted;
    for (const ir::Fetch& f : s_.graph.fetches) {
      if (is_state(f.value)) wanted.insert(f.value);
    }
    for (const ir::NextState& n : s_.graph.nexts) {
      if (is_state(n.value) && s_.graph.value(n.value).name != n.state) wanted.insert(n.value);
    }
    for (ir::ValueId v : wanted) {
      const ir::ValueId copy = --next_temporary_;
      temporaries_[copy] = s_.graph.type(v);
      origin_of_temporary_[copy] = v;
      saved_[v] = copy;
      draft_.steps.insert(draft_.steps.begin(), copy_step(s_.graph, v, copy, s_.graph.type(v),
                                                          name(copy), target_, draft_));
    }
  }

  ir::ValueId source_of(ir::ValueId v) const {
    const auto saved = saved_.find(v);
    return saved == saved_.end() ? v : saved->second;
  }

  /// Decides which next states land in their state's own buffer; the others are copied at the end.
  void copy_states_that_cannot_be_advanced_in_place() {
    std::map<ir::ValueId, int> maker;
    std::map<ir::ValueId, int> last_reader;
    for (std::size_t i = 0; i < draft_.steps.size(); ++i) {
      for (ir::ValueId v : draft_.steps[i].writes) maker[v] = static_cast<int>(i);
      for (ir::ValueId v : draft_.steps[i].reads) last_reader[v] = static_cast<int>(i);
    }
    std::set<ir::ValueId> taken;
    for (const ir::NextState& n : s_.graph.nexts) {
      const ir::ValueId old = s_.graph.find_state(n.state)->value;
      if (n.value == old) continue;
      const auto made = maker.find(n.value);
      if (made != maker.end() && !taken.count(n.value) &&
          in_place(old, n.value, made->second, last_reader)) {
        in_state_[n.value] = old;
        taken.insert(n.value);
        note("in place", n.state, "every reader of what it was has run");
        continue;
      }
      note("copied", n.state, "something still reads what it was, or it is another value's too");
      draft_.steps.push_back(copy_step(s_.graph, source_of(n.value), old, s_.graph.type(old),
                                       n.state, target_, draft_));
    }
  }

  bool in_place(ir::ValueId old, ir::ValueId next, int step,
                const std::map<ir::ValueId, int>& last_reader) const {
    const auto reader = last_reader.find(old);
    if (reader == last_reader.end() || reader->second < step) return true;
    return reader->second == step && overwrites(draft_.steps[at(step)], old, next);
  }

  void note(std::string what, const std::string& state, std::string why) {
    p_.log.push_back({"place", "state " + state, std::move(what), std::move(why)});
  }

  void find_lifetimes() {
    const int end = static_cast<int>(draft_.steps.size()) - 1;
    for (std::size_t i = 0; i < draft_.steps.size(); ++i) {
      for (ir::ValueId v : draft_.steps[i].writes) {
        if (!life_.count(v)) life_[v] = {static_cast<int>(i), static_cast<int>(i)};
      }
      for (ir::ValueId v : draft_.steps[i].reads) {
        if (!life_.count(v)) life_[v] = {0, 0};
        life_[v].second = std::max(life_[v].second, static_cast<int>(i));
      }
    }
    for (ir::ValueId v : s_.graph.feeds) life_.emplace(v, std::pair(0, 0));
    for (const ir::Fetch& f : s_.graph.fetches) life_[source_of(f.value)].second = std::max(0, end);
  }

  bool is_arena(ir::ValueId v) const {
    const auto held = buffer_of_.find(v);
    return held != buffer_of_.end() && p_.buffers[at(held->second)].space == Space::kArena;
  }

  /// Values of steps get buffers: a state's own, one that dies in that step, or a new one.
  void share() {
    for (std::size_t i = 0; i < draft_.steps.size(); ++i) {
      const DraftStep& d = draft_.steps[i];
      for (ir::ValueId v : d.writes) {
        if (buffer_of_.count(v)) continue;  // a state at the end
        if (const auto state = in_state_.find(v); state != in_state_.end()) {
          hold(v, buffer_of_.at(state->second));
          continue;
        }
        const ir::ValueId dying = takes_over(d, v, static_cast<int>(i));
        if (dying != ir::kNone) {
          const int buffer = buffer_of_.at(dying);
          hold(v, buffer);
          given_.insert(dying);
          p_.log.push_back(
              {"place", "%" + name(v), "in place", "of %" + name(dying) + ", which ends here"});
        } else {
          const int buffer = new_buffer(v, Space::kArena);
          hold(v, buffer);
          p_.buffers[at(buffer)].first = life_[v].first;
        }
        extend(v);
      }
      for (ir::ValueId v : d.reads) extend(v);
    }
    for (ir::ValueId v : s_.graph.feeds) extend(v);
  }

  void extend(ir::ValueId v) {
    if (!is_arena(v)) return;
    Buffer& b = p_.buffers[at(buffer_of_.at(v))];
    b.last = std::max(b.last, life_[v].second);
  }

  bool is_fetched(ir::ValueId v) const {
    return std::any_of(s_.graph.fetches.begin(), s_.graph.fetches.end(),
                       [&](const ir::Fetch& f) { return f.value == v; });
  }

  ir::ValueId takes_over(const DraftStep& d, ir::ValueId v, int step) {
    for (ir::ValueId u : d.reads) {
      if (u < 0 || given_.count(u) || !is_arena(u) || life_[u].second != step) continue;
      if (is_fetched(u)) continue;  // it is read once more, after the last step
      if (size_of(type(u).dtype) != size_of(type(v).dtype) || !(type(u).shape == type(v).shape) ||
          !(layout(u) == layout(v)) || bytes(u) == 0) {
        continue;
      }
      // Whoever shares u's buffer must end here too.
      const int buffer = buffer_of_.at(u);
      if (p_.buffers[at(buffer)].last > step) continue;
      if (overwrites(d, u, v)) return u;
    }
    return ir::kNone;
  }

  void bind_results() {
    for (const ir::Fetch& f : s_.graph.fetches) {
      p_.fetches.push_back({f.name, held_of_.at(source_of(f.value))});
    }
  }

  void place_all() {
    std::vector<Interval> intervals;
    std::vector<int> numbers;
    for (std::size_t b = 0; b < p_.buffers.size(); ++b) {
      Buffer& buffer = p_.buffers[b];
      if (buffer.space == Space::kArena) {
        intervals.push_back({buffer.bytes, buffer.first, buffer.last});
        numbers.push_back(static_cast<int>(b));
        continue;
      }
      buffer.offset = p_.states_bytes;
      buffer.last = static_cast<int>(draft_.steps.size());
      p_.states_bytes += buffer.bytes;
    }
    const Placement placement = place(intervals);
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      p_.buffers[at(numbers[i])].offset = placement.offsets[i];
    }
    p_.arena_bytes = placement.height;
    p_.lower_bound_bytes = placement.lower_bound;
    p_.placed_by = placement.method;
    for (const DraftStep& d : draft_.steps) {
      p_.shared_bytes = std::max(p_.shared_bytes, rounded(d.step.shared_bytes));
      p_.thread_bytes = std::max(p_.thread_bytes, rounded(d.step.thread_bytes));
      if (p_.lanes > 1 && d.step.shared_bytes <= kMostSideBytes) {
        p_.side_bytes = std::max(p_.side_bytes, rounded(d.step.shared_bytes));
      }
      p_.persistent_bytes += rounded(d.persistent_bytes);
    }
    p_.scratch_bytes = p_.shared_bytes + p_.side_bytes * (p_.lanes - 1) +
                       p_.thread_bytes * p_.threads + p_.persistent_bytes;
  }

  int buffer_number(int value) const { return value == ir::kNone ? -1 : buffer_of_.at(value); }

  void rewrite_calls() {
    for (DraftStep& d : draft_.steps) {
      for (Call& call : d.step.calls) each_buffer(call, [&](int& v) { v = buffer_number(v); });
      for (ir::ValueId v : d.reads) d.step.reads.push_back(buffer_number(v));
      for (ir::ValueId v : d.writes) d.step.writes.push_back(buffer_number(v));
      p_.steps.push_back(std::move(d.step));
    }
  }

  const Sight& s_;
  Draft& draft_;
  const Target& target_;
  Program& p_;
  std::map<ir::ValueId, int> buffer_of_, held_of_;
  std::map<ir::ValueId, std::pair<int, int>> life_;
  std::map<ir::ValueId, ir::ValueId> in_state_;  // next value -> the state's value
  std::map<ir::ValueId, ir::ValueId> saved_;     // a state's old value -> its copy
  std::map<ir::ValueId, ir::Type> temporaries_;
  std::map<ir::ValueId, ir::ValueId> origin_of_temporary_;
  std::set<ir::ValueId> given_;  // values whose buffer another took over
  ir::ValueId next_temporary_ = -1;
};

}  // namespace

void assign_memory(const Sight& sight, Draft& draft, const Target& target, Program& program) {
  Assignment(sight, draft, target, program).run();
}

}  // namespace plait::plan
