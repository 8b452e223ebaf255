// A program: everything a run needs, as data. Symbols, buffers with their offsets, steps in order
// with their calls and kernel ids, what each feed, fetch and state is bound to, the code's text,
// the decision log and the graph it was made from. It can be written to a file and read back.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "backends/target.h"
#include "base/array.h"
#include "base/log.h"
#include "ir/graph.h"
#include "plan/layout.h"

namespace plait::plan {

inline constexpr std::int64_t kAlignment = 64;
/// A step of more workspace runs on the first lane alone.
inline constexpr std::int64_t kMostSideBytes = 32 << 20;

enum class Space { kArena, kState, kConstant };

/// A piece of memory. Sizes of symbolic shapes are those at the end of the symbols' ranges.
struct Buffer {
  std::string name;  // of the first value it holds
  Space space = Space::kArena;
  std::int64_t bytes = 0;   // rounded up to kAlignment
  std::int64_t offset = 0;  // in its space
  int first = 0, last = 0;  // steps; what is fed begins at 0, what is fetched ends at the last
};

/// A value of the graph that has memory.
struct Held {
  std::string name;
  ir::Type type;
  Layout layout;
  int buffer = -1;
};

struct Step {
  std::string kernel;              // id
  std::string kind;                // conv2d, matmul, linear..., or pointwise, row, column, wkv...
  std::string name;                // of the value it is known by
  std::string path;                // module
  std::vector<std::string> nodes;  // names of the values it computes
  std::vector<Call> calls;         // independent of each other: they run together
  std::vector<int> reads, writes;  // buffers
  Dim operations = 0, bytes_read = 0, bytes_written = 0;
  std::int64_t shared_bytes = 0, thread_bytes = 0;
};

struct Binding {
  std::string name;
  int held = -1;
};

struct StateBinding {
  ir::State state;
  int held = -1;
};

struct Options {
  bool fuse = true;
  bool measure = false;  // time contractions' implementations
  bool reorder = true;   // change the order of steps where that lowers the peak
  std::string text() const;
};

struct Program {
  std::string graph_name;
  std::string graph_text;  // of the graph that was planned
  std::string backend, target;
  std::string options;
  TuningResults tuning;  // that choices were made by
  int threads = 1;
  std::map<std::string, Dim> symbols;

  std::vector<Buffer> buffers;
  std::vector<Held> values;
  std::vector<Step> steps;
  std::vector<Binding> feeds, fetches;
  std::vector<StateBinding> states;
  std::vector<Binding> rounded;                  // copies that are kept: of which state
  std::vector<std::pair<int, Array>> constants;  // held value, content
  std::vector<std::string> texts;                // functions of the code
  bool whole = false;                            // small: all steps are one function

  std::int64_t states_bytes = 0;  // states, their copies, constants
  std::int64_t arena_bytes = 0;
  std::int64_t scratch_bytes = 0;     // workspaces and packed weights
  std::int64_t persistent_bytes = 0;  // of scratch: packed weights
  std::int64_t shared_bytes = 0, thread_bytes = 0;
  std::int64_t side_bytes = 0;  // workspace of each lane but the first
  int lanes = 1;
  std::int64_t lower_bound_bytes = 0;
  std::string placed_by;
  DecisionLog log;
  std::map<std::string, double> seconds;  // of each stage of planning

  std::int64_t peak_bytes() const { return states_bytes + arena_bytes + scratch_bytes; }
};

/// Graph to program: group, choose, order, place. The graph is what the passes left, composites
/// expanded. UserError on what the target cannot run. `tuned`: what was measured for the same graph
/// before, which then makes the same program.
Program make_program(const ir::Graph& graph, const Target& target, const Options& options = {},
                     const TuningResults& tuned = {});

/// Over graph, target and options: programs of one hash are the same.
std::uint64_t program_hash(const ir::Graph& graph, const Target& target, const Options& options);

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

}  // namespace plait::plan
