// A program: everything a run needs, as data. Symbols, buffers with their offsets and the views
// into them, steps in order with their calls and kernel ids, what each feed, fetch and state is
// bound to, the code's text, the decision log and the graph it was made from. It can be written to
// a file and read back.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/array.h"
#include "base/device_model.h"
#include "base/log.h"
#include "ir/graph.h"
#include "program/call.h"
#include "program/layout.h"

namespace plait::program {

inline constexpr std::int64_t kAlignment = 64;

constexpr std::int64_t aligned(std::int64_t bytes) {
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

enum class Region { kArena, kState, kConstant };

/// A piece of memory. Sizes of symbolic shapes are those at the end of the symbols' ranges.
struct Buffer {
  std::string name;  // of the first value it holds
  Region region = Region::kArena;
  std::int64_t bytes = 0;   // rounded up to kAlignment
  std::int64_t offset = 0;  // in its region
  int first = 0, last = 0;  // steps; what is fed begins at 0, what is fetched ends at the last
};

/// A value in a buffer, or in a part of one.
struct View {
  std::string name;
  ir::Type type;
  Layout layout;
  BufferId buffer{};
  std::int64_t offset = 0;  // bytes into the buffer
};

struct Step {
  std::string kernel;              // id
  std::string kind;                // conv2d, matmul, linear..., or pointwise, row, column, wkv...
  std::string name;                // of the value it is known by
  std::string path;                // module
  std::vector<std::string> nodes;  // names of the values it computes
  std::vector<Call> calls;         // independent of each other: they run together
  Dim operations = 0, bytes_read = 0, bytes_written = 0;
  std::int64_t shared_bytes = 0, thread_bytes = 0;  // workspace: the step's, each thread's
  double seconds = 0;                               // predicted, without DeviceModel::step_seconds
  std::string bound;          // what most of it is bound by: products, memory...
  int stream = 0;             // on which steps run in their order
  std::vector<StepId> waits;  // for steps of other streams, before it begins

  /// One more call, of so many seconds.
  void predict(double more, const std::string& by) {
    if (more >= seconds) bound = by;
    seconds += more;
  }
};

struct Binding {
  std::string name;
  ViewId view{};
};

/// A state of the table that the programs of a package share (program/state_table.h), whether this
/// one uses it or not.
struct StateBinding {
  ir::State state;
  ViewId view{};
  bool advanced = false;  // this program or one before it in the table gives it next values
};

/// What choices are made by, besides rules, by kind and key (backends/tuning.h): kept with a
/// program, so that planning its graph again makes the same program.
using TuningResults = std::map<std::string, std::string>;

/// What planning was asked for.
struct PlanOptions {
  bool fuse = true;
  bool measure = false;  // time contractions' implementations
  bool reorder = true;   // change the order of steps where that lowers the peak
  /// Results of contractions of more bytes are sliced by rows (passes/slice.h); 0: none is.
  std::int64_t slice_bytes = 0;
  friend bool operator==(const PlanOptions&, const PlanOptions&) = default;
};

/// The function among a program's texts that is all of its steps, where it is small.
inline constexpr std::string_view kSingleKernel = "plait_single_kernel";

struct Program {
  std::string graph_name;
  std::string graph_text;  // of the graph that was planned
  std::string backend, target;
  DeviceModel device;  // that costs were computed from
  PlanOptions options;
  TuningResults tuning;  // that choices were made by
  int threads = 1;
  std::map<std::string, Dim> symbols;

  std::vector<Buffer> buffers;
  std::vector<View> views;
  std::vector<Step> steps;
  std::vector<Binding> feeds, fetches;
  std::vector<StateBinding> states;
  std::vector<Binding> rounded;                     // copies that are kept: of which state
  std::vector<std::pair<ViewId, Array>> constants;  // with their content
  std::map<std::string, std::string> texts;         // of the code's functions, by name
  bool single_kernel = false;                       // small: all steps are one function

  std::int64_t states_bytes = 0;     // states, their copies, constants
  std::int64_t constants_bytes = 0;  // of these: constants, in a region of their own
  std::int64_t arena_bytes = 0;
  std::int64_t scratch_bytes = 0;     // workspaces and packed weights
  std::int64_t persistent_bytes = 0;  // of scratch: packed weights
  std::int64_t shared_bytes = 0, thread_bytes = 0;
  std::int64_t side_bytes = 0;  // workspace of each stream but the first
  int streams = 1;
  std::int64_t lower_bound_bytes = 0;
  std::string placed_by;
  DecisionLog log;
  std::map<std::string, double> seconds;  // of each stage of planning

  std::int64_t table_bytes() const { return states_bytes - constants_bytes; }
  /// Memory that programs of one table use in turns.
  std::int64_t work_bytes() const { return arena_bytes + scratch_bytes; }
  std::int64_t peak_bytes() const { return states_bytes + work_bytes(); }
  const View& view(ViewId id) const { return views[id.index()]; }
  const Buffer& buffer(BufferId id) const { return buffers[id.index()]; }
  const Buffer& buffer_of(ViewId id) const { return buffer(view(id).buffer); }
};

/// What a step reads and writes, each view once, in the order of its calls' arguments.
struct Uses {
  std::vector<ViewId> reads, writes;
};
Uses uses_of(const Step& step);

/// A view's whole buffer as bytes of one address space, from the first to behind the last: buffers
/// that share memory meet here.
std::pair<std::int64_t, std::int64_t> range_of(const Program& program, ViewId view);

/// Gives the views that a step's calls name other numbers.
template <class Change>
void renumber(Step& step, Change change) {
  for (Call& call : step.calls) {
    each_argument(call, [&](ViewId& view, Access) { view = change(view); });
  }
}

/// A file's content: text, with a check of its length and content. UserError naming `where` when it
/// is not one, is cut, or is of another version. A program is code: one from a file that anybody
/// may have changed is not run, but compared with what its graph gives (run/compile.h).
std::string to_bytes(const Program& program);
/// The same without the check, to be read and edited; from_bytes takes it too.
std::string to_text(const Program& program);
Program from_bytes(std::string_view bytes, const std::string& where);

/// What differs in two programs, but for the log and how long planning took: "step 3, %conv1: its
/// kernel is a, not b". Empty: nothing does.
std::string difference(const Program& made, const Program& stored);

/// The largest value of each symbol.
DimBindings largest(const std::map<std::string, Dim>& symbols);

}  // namespace plait::program
