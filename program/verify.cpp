// Every number of a program against what it counts, every read against what was written before.
#include "program/verify.h"

#include <algorithm>
#include <map>
#include <set>

#include "base/at.h"
#include "base/cpus.h"

namespace plait::program {
namespace {

constexpr int kMostStreams = 64;  // far above what any device runs concurrently

/// a + b of bytes, neither negative.
std::int64_t sum(std::int64_t a, std::int64_t b) {
  std::int64_t total = 0;
  if (a < 0 || b < 0 || __builtin_add_overflow(a, b, &total)) {
    fail("there cannot be ", a, " + ", b, " bytes");
  }
  return total;
}

class Checker {
 public:
  explicit Checker(const Program& program) : p_(program) {}

  void run() const {
    memory();
    for (const Buffer& b : p_.buffers) buffer(b);
    for (const View& v : p_.views) view(v);
    for (const Step& s : p_.steps) step(s);
    for (const Binding& b : p_.feeds) view_number(b.view, b.name);
    for (const Binding& b : p_.fetches) view_number(b.view, b.name);
    for (const StateBinding& s : p_.states) state(s);
    for (const Binding& b : p_.rounded) rounded(b);
    for (const auto& [number, array] : p_.constants) constant(number, array);
  }

 private:
  void memory() const {
    if (p_.threads < 1 || p_.threads > kMostThreads) {
      fail("there cannot be ", p_.threads, " threads");
    }
    sum(sum(p_.states_bytes, p_.arena_bytes), p_.scratch_bytes);
    if (p_.constants_bytes < 0 || p_.constants_bytes > p_.states_bytes) {
      fail("the constants are larger than their ", p_.states_bytes, " bytes");
    }
    if (p_.streams < 1 || p_.streams > kMostStreams)
      fail("there cannot be ", p_.streams, " streams");
    std::int64_t threads_bytes = 0, streams_bytes = 0;
    if (p_.thread_bytes < 0 || p_.side_bytes < 0 ||
        __builtin_mul_overflow(p_.thread_bytes, std::int64_t{p_.threads}, &threads_bytes) ||
        __builtin_mul_overflow(p_.side_bytes, std::int64_t{p_.streams - 1}, &streams_bytes) ||
        sum(sum(sum(p_.shared_bytes, streams_bytes), threads_bytes), p_.persistent_bytes) >
            p_.scratch_bytes) {
      fail("the workspace is larger than its ", p_.scratch_bytes, " bytes");
    }
  }

  void buffer(const Buffer& b) const {
    const std::int64_t room = b.region == Region::kArena      ? p_.arena_bytes
                              : b.region == Region::kConstant ? p_.constants_bytes
                                                              : p_.table_bytes();
    if (sum(b.offset, b.bytes) > room) {
      fail("buffer '", b.name, "' ends at ", b.offset + b.bytes, ", its region at ", room);
    }
    if (b.offset % kAlignment != 0) fail("buffer '", b.name, "' begins at ", b.offset);
    if (b.first < 0 || b.last < b.first) {
      fail("buffer '", b.name, "' lives from step ", b.first, " to ", b.last);
    }
  }

  void view(const View& v) const {
    if (!v.buffer.valid() || v.buffer.index() >= p_.buffers.size()) {
      fail("'", v.name, "' is in buffer ", v.buffer.number(), ", there are ", p_.buffers.size());
    }
    Layout axes = v.layout;
    std::sort(axes.begin(), axes.end());
    if (axes != default_layout(v.type.shape.size())) {
      fail("the layout of '", v.name, "' is not an order of its ", v.type.rank(), " axes");
    }
    for (const Dim& d : v.type.shape) {
      if (d.lo() < 0) fail("'", v.name, "' cannot have the size ", d);
    }
    const Buffer& b = p_.buffer(v.buffer);
    if (sum(v.offset, v.type.bytes().hi()) > b.bytes) {
      fail("'", v.name, "' is ", v.type, ", its buffer has ", b.bytes - v.offset, " bytes");
    }
  }

  void state(const StateBinding& s) const {
    view_number(s.view, s.state.name);
    const ir::Type& type = p_.view(s.view).type;
    if (!(s.state.type == type)) fail("state '", s.state.name, "' is not ", type);
  }

  void rounded(const Binding& b) const {
    view_number(b.view, b.name);
    const auto of = std::find_if(p_.states.begin(), p_.states.end(),
                                 [&](const StateBinding& s) { return s.state.name == b.name; });
    const View& copy = p_.view(b.view);
    if (of == p_.states.end() || of->state.type.shape != copy.type.shape) {
      fail("'", copy.name, "' is no copy of a state '", b.name, "'");
    }
  }

  void constant(ViewId number, const Array& array) const {
    view_number(number, "a constant");
    const View& v = p_.view(number);
    if (array.dtype() != v.type.dtype || shape_of(array.sizes()) != v.type.shape) {
      fail("the constant '", v.name, "' is ", v.type, ", its content ", type_text(array));
    }
  }

  void step(const Step& s) const {
    if (s.shared_bytes < 0 || s.shared_bytes > p_.shared_bytes || s.thread_bytes < 0 ||
        s.thread_bytes > p_.thread_bytes) {
      fail("step '", s.name, "' has more workspace than there is");
    }
    for (const Call& call : s.calls) {
      std::visit([&](const auto& c) { check_call(c, s); }, call);
      each_argument(call, [&](ViewId view, Access) { view_number(view, s.name); });
    }
  }

  void workspace(const Workspace& w, std::int64_t room, const Step& s) const {
    if (w.bytes == 0 && w.offset == 0) return;
    if (sum(w.offset, w.bytes) > room) {
      fail("a call of '", s.name, "' has workspace up to ", w.offset + w.bytes, " of ", room);
    }
  }

  void function(const Function& f, const Step& s) const {
    if (!p_.texts.contains(f.name)) {
      fail("step '", s.name, "' calls '", f.name, "', of which there is no text");
    }
  }

  void check_call(const LoopCall& c, const Step& s) const {
    function(c.function, s);
    if (c.scratch_rows < 0) fail("a loop of '", s.name, "' keeps ", c.scratch_rows, " rows");
    workspace(c.workspace, s.shared_bytes, s);
    if (c.table) return;
    for (const Argument& a : c.arguments) view_number(a.view, s.name);
  }

  void check_call(const ProductCall& c, const Step& s) const {
    for (const ProductCall::Part& part : c.parts) {
      workspace(part.workspace, s.shared_bytes, s);
      workspace(part.packed, p_.persistent_bytes, s);
      if (!part.generated.function.name.empty()) {
        check_call(part.generated, s);
        continue;
      }
      view_number(c.a, s.name);
      view_number(c.b, s.name);
      if (!part.epilogue.name.empty()) function(part.epilogue, s);
      if (part.arguments.empty()) view_number(c.c, s.name);
    }
  }

  void check_call(const HandCall& c, const Step& s) const {
    if (c.inputs.size() != c.input_views.size() || c.outputs.size() != c.output_views.size()) {
      fail("the operands of '", s.name, "' and their types differ in number");
    }
    if (!c.code.empty() && !p_.texts.contains(c.code)) {
      fail("step '", s.name, "' is made of '", c.code, "', of which there is no text");
    }
    workspace(c.workspace, s.shared_bytes, s);
  }

  void view_number(ViewId id, const std::string& where) const {
    if (!id.valid() || id.index() >= p_.views.size()) {
      fail("'", where, "' names value ", id.number(), ", there are ", p_.views.size());
    }
  }

  const Program& p_;
};

/// Bytes of a region, from the first to behind the last.
struct Range {
  std::int64_t begin = 0, end = 0;
  bool meets(const Range& other) const { return begin < other.end && other.begin < end; }
};

/// What is written by when, and who lives beside whom. Numbers are checked before.
class Lifetimes {
 public:
  explicit Lifetimes(const Program& program) : p_(program), held_(p_.buffers.size()) {}

  void run() {
    for (const Step& s : p_.steps) {
      for (const ViewId v : uses_of(s).writes) written_.insert(p_.view(v).buffer);
    }
    for (const Binding& b : p_.feeds) held_[p_.view(b.view).buffer.index()].push_back(b.view);
    for (const StateBinding& s : p_.states) hold(s.view);
    for (const Binding& b : p_.rounded) hold(b.view);
    for (const auto& [view, content] : p_.constants) hold(view);
    for (std::size_t i = 0; i < p_.steps.size(); ++i) step(static_cast<int>(i));
    for (const Binding& b : p_.fetches) read(b.view, "fetch '" + b.name + "'");
    for (const StateBinding& s : p_.states) fresh(s);
    for (const Binding& copy : p_.rounded) fresh_copy(copy);
    overlaps();
  }

 private:
  Range range_of(ViewId id) const {
    const View& v = p_.view(id);
    return {v.offset, v.offset + v.type.bytes().hi()};
  }

  /// The buffer holds this value; what lay there is gone.
  void hold(ViewId id) {
    std::vector<ViewId>& held = held_[p_.view(id).buffer.index()];
    const Range mine = range_of(id);
    std::erase_if(held, [&](ViewId other) { return range_of(other).meets(mine); });
    held.push_back(id);
  }

  void read(ViewId id, const std::string& where) const {
    const std::vector<ViewId>& held = held_[p_.view(id).buffer.index()];
    if (std::find(held.begin(), held.end(), id) != held.end()) return;
    if (p_.view(id).type.elements().is(0)) return;
    fail(where, " reads '", p_.view(id).name, "', which is not in its buffer then");
  }

  void step(int number) {
    const Step& s = p_.steps[at(number)];
    const Uses uses = uses_of(s);
    for (ViewId v : uses.reads) read(v, "step '" + s.name + "'");
    for (const auto* list : {&uses.reads, &uses.writes}) {
      for (ViewId v : *list) {
        const Buffer& b = p_.buffer_of(v);
        if (b.region == Region::kArena && (number < b.first || number > b.last)) {
          fail("step '", s.name, "' uses '", p_.view(v).name, "', whose buffer lives from step ",
               b.first, " to ", b.last);
        }
        if (b.region == Region::kConstant && list == &uses.writes) {
          fail("step '", s.name, "' writes the constant '", b.name, "'");
        }
      }
    }
    if (s.calls.size() > 1) beside(s);
    for (ViewId v : uses.writes) hold(v);
  }

  /// No call of a step writes what another one touches, but for parts of one value.
  void beside(const Step& s) const {
    struct Touch {
      std::size_t call;
      ViewId view;
    };
    std::map<BufferId, std::vector<Touch>> written;
    for (std::size_t c = 0; c < s.calls.size(); ++c) {
      each_argument(s.calls[c], [&](ViewId v, Access access) {
        if (access == Access::kWrite) written[p_.view(v).buffer].push_back({c, v});
      });
    }
    for (std::size_t c = 0; c < s.calls.size(); ++c) {
      each_argument(s.calls[c], [&](ViewId v, Access access) {
        const auto found = written.find(p_.view(v).buffer);
        if (found == written.end()) return;
        for (const Touch& t : found->second) {
          if (t.call == c || !range_of(t.view).meets(range_of(v))) continue;
          if (access == Access::kWrite && t.view == v) continue;
          // A part of one value, in place of what the call reads at the same elements.
          if (access == Access::kRead && writes(s.calls[c], t.view)) continue;
          fail("two calls of step '", s.name, "' meet in '", p_.view(v).name, "'");
        }
      });
    }
  }

  static bool writes(const Call& call, ViewId view) {
    bool found = false;
    each_argument(call, [&](ViewId v, Access a) { found |= a == Access::kWrite && v == view; });
    return found;
  }

  /// A state's buffer ends with the state's next value: one of its own type and place.
  void fresh(const StateBinding& s) const {
    if (!s.advanced && written_.count(p_.view(s.view).buffer)) {
      fail("state '", s.state.name, "' gets next values, which its binding does not say");
    }
    for (ViewId id : held_[p_.view(s.view).buffer.index()]) {
      const View& v = p_.view(id);
      const View& own = p_.view(s.view);
      if (v.type == own.type && v.layout == own.layout && v.offset == own.offset) return;
    }
    if (!s.state.type.elements().is(0)) {
      fail("the buffer of state '", s.state.name, "' ends with something else");
    }
  }

  /// Who gives a state next values says so, and gives them to its copies too.
  void fresh_copy(const Binding& copy) const {
    for (const StateBinding& s : p_.states) {
      if (s.state.name != copy.name || !written_.count(p_.view(s.view).buffer)) continue;
      if (written_.count(p_.view(copy.view).buffer)) continue;
      fail("'", p_.view(copy.view).name, "' keeps what state '", copy.name, "' was");
    }
  }

  /// Buffers that live at one time: those of the arena by their steps, the others always.
  void overlaps() const {
    for (const Region region : {Region::kArena, Region::kState, Region::kConstant}) {
      const bool arena = region == Region::kArena;
      std::vector<const Buffer*> all;
      for (const Buffer& b : p_.buffers) {
        if (b.region == region && b.bytes > 0) all.push_back(&b);
      }
      std::stable_sort(all.begin(), all.end(), [&](const Buffer* a, const Buffer* b) {
        return arena ? a->first < b->first : a->offset < b->offset;
      });
      std::map<std::int64_t, const Buffer*> live;  // by offset
      std::multimap<int, const Buffer*> ends;      // by last step
      for (const Buffer* b : all) {
        while (arena && !ends.empty() && ends.begin()->first < b->first) {
          live.erase(ends.begin()->second->offset);
          ends.erase(ends.begin());
        }
        const auto above = live.lower_bound(b->offset);
        if (above != live.end()) apart(*b, *above->second);
        if (above != live.begin()) apart(*b, *std::prev(above)->second);
        live.emplace(b->offset, b);
        ends.emplace(b->last, b);
      }
    }
  }

  static void apart(const Buffer& a, const Buffer& b) {
    if (!Range{a.offset, a.offset + a.bytes}.meets({b.offset, b.offset + b.bytes})) return;
    fail("buffers '", a.name, "' and '", b.name, "' live at one time and overlap");
  }

  const Program& p_;
  std::vector<std::vector<ViewId>> held_;  // by buffer: what it holds now
  std::set<BufferId> written_;             // by a step
};

/// Steps of several streams that meet in memory, the later one behind the earlier one: by its
/// stream's order, or by what it and those before it wait for.
class Ordering {
 public:
  explicit Ordering(const Program& program)
      : p_(program), last_(at(p_.streams), kNone), seen_(p_.steps.size()) {
    for (const Step& s : p_.steps) {
      const Uses uses = uses_of(s);
      for (const auto* views : {&uses.reads, &uses.writes}) {
        for (ViewId v : *views) {
          const auto [begin, end] = range_of(p_, v);
          pieces_[begin];
          pieces_[end];
        }
      }
    }
  }

  void run() {
    for (int i = 0; i < static_cast<int>(p_.steps.size()); ++i) step(i);
  }

 private:
  static constexpr int kNone = -1;

  /// By stream, the last step there that touched a piece.
  struct Piece {
    std::vector<int> read, written;
  };

  void step(int number) {
    const Step& s = p_.steps[at(number)];
    if (s.stream < 0 || s.stream >= p_.streams) {
      fail("step '", s.name, "' is on stream ", s.stream, " of ", p_.streams);
    }
    if (s.stream > 0 && s.shared_bytes > p_.side_bytes) {
      fail("step '", s.name, "' has more workspace than its stream");
    }
    std::vector<int>& seen = seen_[at(number)];
    seen.assign(at(p_.streams), kNone);
    if (const int before = last_[at(s.stream)]; before != kNone) seen = seen_[at(before)];
    for (StepId id : s.waits) {
      if (!id.valid() || id.number() >= number) {
        fail("step '", s.name, "' waits for step ", id.number(), ", which is not before it");
      }
      const std::vector<int>& theirs = seen_[id.index()];
      for (std::size_t i = 0; i < seen.size(); ++i) seen[i] = std::max(seen[i], theirs[i]);
    }
    const Uses uses = uses_of(s);
    for (ViewId v : uses.reads) {
      each_piece(v, [&](Piece& p) { behind(p.written, seen, s); });
    }
    for (ViewId v : uses.writes) {
      each_piece(v, [&](Piece& p) {
        behind(p.written, seen, s);
        behind(p.read, seen, s);
      });
    }
    seen[at(s.stream)] = last_[at(s.stream)] = number;
    for (ViewId v : uses.reads) {
      each_piece(v, [&](Piece& p) { touch(p.read, s.stream, number); });
    }
    for (ViewId v : uses.writes) {
      each_piece(v, [&](Piece& p) { touch(p.written, s.stream, number); });
    }
  }

  template <class F>
  void each_piece(ViewId view, F see) {
    const auto [begin, end] = range_of(p_, view);
    for (auto p = pieces_.find(begin); p->first < end; ++p) see(p->second);
  }

  void behind(const std::vector<int>& others, const std::vector<int>& seen, const Step& s) const {
    for (std::size_t stream = 0; stream < others.size(); ++stream) {
      if (others[stream] <= seen[stream]) continue;
      fail("step '", s.name, "' does not wait for step '", p_.steps[at(others[stream])].name,
           "', which it meets in memory");
    }
  }

  void touch(std::vector<int>& of, int stream, int number) const {
    of.resize(at(p_.streams), kNone);
    of[at(stream)] = number;
  }

  const Program& p_;
  std::map<std::int64_t, Piece> pieces_;  // by where they begin
  std::vector<int> last_;                 // by stream: its last step
  std::vector<std::vector<int>> seen_;    // by step and stream: the last one that it is behind
};

}  // namespace

void verify(const Program& program) {
  Checker(program).run();
  Lifetimes(program).run();
  Ordering(program).run();
}

}  // namespace plait::program
