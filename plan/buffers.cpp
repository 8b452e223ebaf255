// Buffers: which values share one, how long each lives, and its offset.
#include "plan/buffers.h"

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <utility>

#include "base/at.h"
#include "ops/constant.h"
#include "plan/one_nan.h"
#include "plan/place/place.h"

namespace plait::plan {
namespace {

using program::aligned;
using program::Buffer;
using program::BufferId;
using program::Program;
using program::Region;
using program::Uses;

/// A step of more workspace runs on the first stream alone.
constexpr std::int64_t kMostSideBytes = 32 << 20;

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
bool overwrites(const DraftStep& step, ViewId u, ViewId v) {
  if (reads_whole(step.step, u)) return false;
  bool found = false;
  for (const StepKernel& k : step.kernels) {
    const loop::Kernel& kernel = *k.kernel;
    const auto number = [&](ViewId id) {
      const auto it = std::find(k.views.begin(), k.views.end(), id);
      return it == k.views.end() ? -1 : static_cast<int>(it - k.views.begin());
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

/// First and last step; last is -1 where no step touches it.
struct Life {
  int first = 0, last = -1;
};

class Assignment {
 public:
  Assignment(const PlanContext& s, const SharedStates& shared, Draft& draft, const Target& target,
             Program& program)
      : s_(s), shared_(shared), draft_(draft), target_(target), p_(program) {}

  void run() {
    for (const DraftStep& d : draft_.steps) uses_.push_back(program::uses_of(d.step));
    hold_states();
    hold_feeds_and_constants();
    save_old_states();
    copy_states_that_cannot_be_advanced_in_place();
    find_lifetimes();
    share();
    bind_results();
    place_all();
    place_workspaces();
    for (DraftStep& d : draft_.steps) p_.steps.push_back(std::move(d.step));
    p_.views = std::move(draft_.views);
  }

 private:
  program::View& view(ViewId v) { return draft_.views[v.index()]; }
  const program::View& view(ViewId v) const { return draft_.views[v.index()]; }
  const std::string& name(ViewId v) const { return view(v).name; }
  std::int64_t bytes(ViewId v) const { return aligned(view(v).type.bytes().hi()); }
  Buffer& buffer_of(ViewId v) { return p_.buffers[view(v).buffer.index()]; }
  const Buffer& buffer_of(ViewId v) const { return p_.buffers[view(v).buffer.index()]; }
  bool is_held(ViewId v) const { return view(v).buffer.valid(); }
  ViewId view_of(ir::ValueId v) { return draft_.view(s_.graph, s_.layouts, v); }
  Life& life(ViewId v) { return life_[v.index()]; }

  void hold(ViewId v, Region region) {
    view(v).buffer = BufferId(p_.buffers.size());
    p_.buffers.push_back({name(v), region, bytes(v), 0, 0, 0});
  }

  /// The table's in their order, then those that the graph adds to it.
  void hold_states() {
    using Key = std::pair<std::string, std::optional<DType>>;  // a copy has its dtype
    std::map<Key, ViewId> used;
    const auto key_of = [&](const ir::State& state) -> Key {
      const auto copy = shared_.copy_of.find(state.name);
      if (copy == shared_.copy_of.end()) return {state.name, std::nullopt};
      return {copy->second, state.type.dtype};
    };
    for (const ir::StateUse& use : s_.graph.states) {
      used.emplace(key_of(use.state), view_of(use.value));
    }
    for (const program::TableEntry& e : shared_.table.entries) {
      const Key key{e.state.name, e.is_copy ? std::optional(e.state.type.dtype) : std::nullopt};
      const auto view = used.find(key);
      const std::string name = e.state.name + (e.is_copy ? ".kept" : "");
      hold_state(
          e.state, e.is_copy, e.advanced,
          view != used.end() ? view->second : draft_.add({name, e.state.type, e.layout, {}, 0}));
      if (view != used.end()) used.erase(view);
    }
    for (const ir::StateUse& use : s_.graph.states) {
      const Key key = key_of(use.state);
      if (!used.count(key)) continue;
      ir::State state = use.state;
      state.name = key.first;
      hold_state(state, key.second.has_value(), false, view_of(use.value));
    }
  }

  /// `advanced`: by another program.
  void hold_state(const ir::State& state, bool is_copy, bool advanced, ViewId view) {
    hold(view, Region::kState);
    if (is_copy) {
      p_.rounded.push_back({state.name, view});
    } else {
      p_.states.push_back({state, view, advanced || is_advanced(state.name)});
    }
  }

  bool is_advanced(const std::string& state) const {
    const ir::StateUse* use = s_.graph.find_state(state);
    return use && std::any_of(s_.graph.nexts.begin(), s_.graph.nexts.end(), [&](const auto& n) {
             return n.state == state && n.value != use->value;
           });
  }

  void hold_feeds_and_constants() {
    for (ir::ValueId id : s_.graph.feeds) {
      p_.feeds.push_back({s_.graph.value(id).name, view_of(id)});
      hold(p_.feeds.back().view, Region::kArena);
    }
    for (ir::ValueId v : read_constants()) {
      hold(view_of(v), Region::kConstant);
      const ir::NodeId by = s_.graph.value(v).producer;
      const auto literal = ir::decode<ops::Constant>(s_.graph.node(by).attrs, "constant");
      p_.constants.emplace_back(view_of(v), with_one_nan(*literal.value.array));
    }
  }

  /// In the order of the graph.
  std::vector<ir::ValueId> read_constants() const {
    std::vector<ir::ValueId> read;
    for (const Uses& uses : uses_) {
      for (ViewId v : uses.reads) read.push_back(draft_.value(v));
    }
    for (const ir::Fetch& f : s_.graph.fetches) read.push_back(f.value);
    for (const ir::NextState& n : s_.graph.nexts) read.push_back(n.value);
    std::erase_if(read, [&](ir::ValueId v) {
      const ir::NodeId by = s_.graph.value(v).producer;
      return by == ir::kNone || s_.facts[at(by)].kind != Kind::kConstant;
    });
    std::sort(read.begin(), read.end());
    read.erase(std::unique(read.begin(), read.end()), read.end());
    return read;
  }

  bool is_state(ir::ValueId v) const {
    return s_.graph.value(v).producer == ir::kNone &&
           s_.graph.find_state(s_.graph.value(v).name) != nullptr;
  }

  void insert_step(std::size_t where, DraftStep step) {
    const auto offset = static_cast<std::ptrdiff_t>(where);
    uses_.insert(uses_.begin() + offset, program::uses_of(step.step));
    draft_.steps.insert(draft_.steps.begin() + offset, std::move(step));
  }

  /// What is fetched, or becomes another state, of a state as it was: copied before all else.
  void save_old_states() {
    std::vector<ir::ValueId> wanted;
    for (const ir::Fetch& f : s_.graph.fetches) {
      if (is_state(f.value)) wanted.push_back(f.value);
    }
    for (const ir::NextState& n : s_.graph.nexts) {
      if (is_state(n.value) && s_.graph.value(n.value).name != n.state) wanted.push_back(n.value);
    }
    std::sort(wanted.begin(), wanted.end());
    wanted.erase(std::unique(wanted.begin(), wanted.end()), wanted.end());
    for (ir::ValueId v : wanted) {
      const ViewId old = view_of(v);
      const ViewId saved = saved_[v] = draft_.copy(old, ".old");
      insert_step(0, copy_step(old, saved, name(saved), target_, draft_));
    }
  }

  /// Where a value is to be read that is fetched or becomes a state.
  ViewId source_of(ir::ValueId v) {
    const auto saved = saved_.find(v);
    return saved == saved_.end() ? view_of(v) : saved->second;
  }

  /// Decides which next states land in their state's own buffer; the others are copied at the end.
  void copy_states_that_cannot_be_advanced_in_place() {
    std::vector<int> maker(draft_.views.size(), -1), last_reader(draft_.views.size(), -1);
    for (std::size_t i = 0; i < uses_.size(); ++i) {
      for (ViewId v : uses_[i].writes) maker[v.index()] = static_cast<int>(i);
      for (ViewId v : uses_[i].reads) last_reader[v.index()] = static_cast<int>(i);
    }
    const auto made_at = [&](ViewId v) { return v.index() < maker.size() ? maker[v.index()] : -1; };
    for (const ir::NextState& n : s_.graph.nexts) {
      const ir::ValueId old_value = s_.graph.find_state(n.state)->value;
      if (n.value == old_value) continue;
      const ViewId old = view_of(old_value), next = view_of(n.value);
      const int made = made_at(next);
      if (made >= 0 && !in_state_.count(next) &&
          in_place(old, next, made, last_reader[old.index()])) {
        in_state_[next] = old;
        note("in place", n.state, "every reader of what it was has run");
        continue;
      }
      note("copied", n.state,
           target_.is_node_by_node()
               ? "states are replaced together, behind the last node"
               : "something still reads what it was, or it is another value's too");
      insert_step(draft_.steps.size(),
                  copy_step(source_of(n.value), old, n.state, target_, draft_));
    }
  }

  bool in_place(ViewId old, ViewId next, int step, int last_reader) const {
    if (target_.is_node_by_node()) return false;
    if (last_reader < step) return true;
    return last_reader == step && overwrites(draft_.steps[at(step)], old, next);
  }

  void note(std::string what, const std::string& state, std::string why) {
    p_.log.push_back({"place", "state " + state, std::move(what), std::move(why)});
  }

  void find_lifetimes() {
    const int end = static_cast<int>(draft_.steps.size()) - 1;
    std::vector<ViewId> fetched;
    for (const ir::Fetch& f : s_.graph.fetches) fetched.push_back(source_of(f.value));
    life_.assign(draft_.views.size(), {});
    for (std::size_t i = 0; i < uses_.size(); ++i) {
      const int step = static_cast<int>(i);
      for (ViewId v : uses_[i].writes) {
        if (life(v).last < 0) life(v) = {step, step};
      }
      for (ViewId v : uses_[i].reads) life(v).last = std::max(life(v).last, step);
    }
    for (const program::Binding& f : p_.feeds) life(f.view).last = std::max(life(f.view).last, 0);
    for (ViewId v : fetched) life(v).last = std::max(0, end);
  }

  bool is_arena(ViewId v) const { return is_held(v) && buffer_of(v).region == Region::kArena; }

  /// Values of steps get buffers: a state's own, one that dies in that step, or a new one.
  void share() {
    given_.assign(draft_.views.size(), false);
    for (std::size_t i = 0; i < draft_.steps.size(); ++i) {
      for (ViewId v : uses_[i].writes) {
        if (is_held(v)) continue;  // a state at the end
        if (const auto state = in_state_.find(v); state != in_state_.end()) {
          view(v).buffer = view(state->second).buffer;
          continue;
        }
        const ViewId dying = takes_over(i, v);
        if (dying.valid()) {
          view(v).buffer = view(dying).buffer;
          given_[dying.index()] = true;
          p_.log.push_back(
              {"place", "%" + name(v), "in place", "of %" + name(dying) + ", which ends here"});
        } else {
          hold(v, Region::kArena);
          buffer_of(v).first = life(v).first;
        }
        extend(v);
      }
      for (ViewId v : uses_[i].reads) extend(v);
    }
    for (const program::Binding& f : p_.feeds) extend(f.view);
  }

  void extend(ViewId v) {
    if (!is_arena(v)) return;
    Buffer& b = buffer_of(v);
    b.last = std::max(b.last, life(v).last);
  }

  bool is_fetched(ViewId v) const {
    return std::any_of(s_.graph.fetches.begin(), s_.graph.fetches.end(),
                       [&](const ir::Fetch& f) { return f.value == draft_.value(v); });
  }

  ViewId takes_over(std::size_t step, ViewId v) {
    for (ViewId u : uses_[step].reads) {
      if (draft_.is_copy(u) || given_[u.index()] || !is_arena(u)) continue;
      if (life(u).last != static_cast<int>(step)) continue;
      if (is_fetched(u)) continue;  // it is read once more, after the last step
      const program::View &from = view(u), &to = view(v);
      if (size_of(from.type.dtype) != size_of(to.type.dtype) ||
          !(from.type.shape == to.type.shape) || !(from.layout == to.layout) || bytes(u) == 0) {
        continue;
      }
      // Whoever shares u's buffer must end here too.
      if (buffer_of(u).last > static_cast<int>(step)) continue;
      if (overwrites(draft_.steps[step], u, v)) return u;
    }
    return {};
  }

  void bind_results() {
    for (const ir::Fetch& f : s_.graph.fetches) p_.fetches.push_back({f.name, source_of(f.value)});
  }

  void place_all() {
    std::vector<Interval> intervals;
    std::vector<std::size_t> numbers;
    std::int64_t table_bytes = 0;
    for (std::size_t b = 0; b < p_.buffers.size(); ++b) {
      Buffer& buffer = p_.buffers[b];
      if (buffer.region == Region::kArena) {
        intervals.push_back({buffer.bytes, buffer.first, buffer.last});
        numbers.push_back(b);
        continue;
      }
      std::int64_t& end = buffer.region == Region::kState ? table_bytes : p_.constants_bytes;
      buffer.offset = end;
      buffer.last = static_cast<int>(draft_.steps.size());
      end += buffer.bytes;
    }
    p_.states_bytes = table_bytes + p_.constants_bytes;
    const Placement placement = place(intervals);
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      p_.buffers[numbers[i]].offset = placement.offsets[i];
    }
    p_.arena_bytes = placement.height;
    p_.lower_bound_bytes = placement.lower_bound;
    p_.placed_by = placement.method;
  }

  /// Calls of a step run together: each has a part of its workspace.
  void place_workspaces() {
    for (DraftStep& d : draft_.steps) {
      Step& step = d.step;
      const auto take = [](program::Workspace& w, std::int64_t& end) {
        w.offset = end;
        end += w.bytes;
      };
      for (program::Call& call : step.calls) {
        if (auto* loop = std::get_if<LoopCall>(&call)) take(loop->workspace, step.shared_bytes);
        if (auto* hand = std::get_if<HandCall>(&call)) take(hand->workspace, step.shared_bytes);
        auto* product = std::get_if<ProductCall>(&call);
        for (std::size_t i = 0; product && i < product->parts.size(); ++i) {
          take(product->parts[i].workspace, step.shared_bytes);
          take(product->parts[i].packed, p_.persistent_bytes);
        }
      }
      p_.persistent_bytes = aligned(p_.persistent_bytes);
      p_.shared_bytes = std::max(p_.shared_bytes, aligned(step.shared_bytes));
      p_.thread_bytes = std::max(p_.thread_bytes, aligned(step.thread_bytes));
      if (p_.streams > 1 && step.shared_bytes <= kMostSideBytes) {
        p_.side_bytes = std::max(p_.side_bytes, aligned(step.shared_bytes));
      }
    }
    p_.scratch_bytes = p_.shared_bytes + p_.side_bytes * (p_.streams - 1) +
                       p_.thread_bytes * p_.threads + p_.persistent_bytes;
  }

  const PlanContext& s_;
  const SharedStates& shared_;
  Draft& draft_;
  const Target& target_;
  Program& p_;
  std::vector<Uses> uses_;               // per step
  std::vector<Life> life_;               // per view
  std::vector<bool> given_;              // per view: another took its buffer over
  std::map<ViewId, ViewId> in_state_;    // next value -> the state's
  std::map<ir::ValueId, ViewId> saved_;  // a state's old value -> its copy
};

}  // namespace

void place_buffers(const PlanContext& context, const SharedStates& shared, Draft& draft,
                   const Target& target, Program& program) {
  Assignment(context, shared, draft, target, program).run();
}

}  // namespace plait::plan
