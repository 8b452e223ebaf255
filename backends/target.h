// What a backend offers to planning, and what a program asks of it: the code of calls as text, and
// the choice of an implementation with its reasons. No graph, no loop lives past this seam.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/error.h"
#include "ir/graph.h"
#include "loop/contraction.h"
#include "loop/kernel.h"
#include "program/program.h"

namespace plait {

// What a generated kernel says went wrong in it; it does not know in which of its nodes.
inline constexpr const char* kIndexError = "an index is out of range";
inline constexpr const char* kDivisionError = "integer division by zero";

using program::Function;
using program::HandCall;
using program::LoopCall;
using program::ProductCall;
using program::TuningResults;

/// An implementation that was chosen, and those it was chosen over.
struct Choice {
  std::string kernel;                 // id: every step of a program carries one
  std::string variant;                // what the code needs to know to build it again
  std::string why;                    // for the decision log
  std::int64_t shared_bytes = 0;      // workspace of the step
  std::int64_t thread_bytes = 0;      // workspace per thread
  std::int64_t persistent_bytes = 0;  // packed weights, for as long as the program lives
  bool generated = false;             // as loops
  bool fused = false;                 // does what the epilogue does: none is printed
  /// The product is left in the workspace as this dtype, placed as the result would be; the
  /// epilogue is a kernel of its own that reads it there.
  std::optional<DType> apart{};
  bool turned = false;  // an epilogue had better run along m: see Part::turned
};

/// What choices are made by, besides rules.
struct Tuning {
  bool measure = false;   // time the candidates
  TuningResults given{};  // of the planning that is repeated
  TuningResults used{};   // those that choices were made by
};

/// Printed code of one kernel, with the call that runs it.
struct PrintedLoop {
  LoopCall call;     // arguments are filled in by the caller
  std::string text;  // of the function or functions
};

/// How an array lies in memory: elements of `width` bytes, the axes of `sizes` in this order, the
/// innermost last. The array itself is in row-major order.
struct Laid {
  std::int64_t width = 0;
  std::vector<std::int64_t> sizes;
  std::vector<int> order;
  bool plain() const { return std::is_sorted(order.begin(), order.end()); }
  std::int64_t bytes() const {
    std::int64_t out = width;
    for (std::int64_t size : sizes) out *= size;
    return out;
  }
};

/// A piece of memory where a target computes.
class Space {
 public:
  virtual ~Space() = default;
  virtual char* data() const = 0;    // an address for code
  virtual bool is_host() const = 0;  // the host may use data() itself
  virtual std::int64_t bytes() const = 0;
  virtual void write(std::int64_t offset, const void* from, std::int64_t bytes) = 0;
  /// Writes an array in its layout; false where the host had better do that.
  virtual bool write_laid(std::int64_t, const void* /*from*/, const Laid&) { return false; }
  /// Sets bytes to 0; false where the host had better do that.
  virtual bool zero(std::int64_t /*offset*/, std::int64_t /*bytes*/) { return false; }
  /// Writes the `part` bytes at `offset` again and again behind themselves, until `bytes` are
  /// filled; false where the host had better do that.
  virtual bool repeat(std::int64_t /*offset*/, std::int64_t /*part*/, std::int64_t /*bytes*/) {
    return false;
  }
  /// Waits for the runs that were asked for before.
  virtual void read(std::int64_t offset, void* to, std::int64_t bytes) const = 0;
  /// Bytes of it that take memory now.
  virtual std::int64_t resident_bytes() const = 0;
};

/// Products of one shape, bare or each with a kernel behind it, as one launch: how a call is
/// printed, how many make one launch, and the workspace of each.
struct Together {
  PrintedLoop print;
  int most = 0;
  std::int64_t shared_bytes = 0;
};

class Code;

/// What a device does at most, measured on it.
struct Ceilings {
  std::string device;           // as its maker calls it
  double bytes_per_second = 0;  // read and written by a copy far larger than the caches
  /// Of large products, by how they multiply: f16, bf16, tf32, f32.
  std::map<std::string, double> operations_per_second;
  std::string f32 = "f32";  // how products of f32 multiply on this target: f32 or tf32
};

class Target {
 public:
  virtual ~Target() = default;
  virtual std::string_view name() const = 0;
  /// What the code depends on besides the program: instruction sets, compiler.
  virtual std::string identity() const = 0;
  /// The build of the code that plans for it, where it is no part of the program.
  virtual std::string build() const { return ""; }
  virtual int threads() const = 0;
  /// Steps that it may run beside each other.
  virtual int lanes() const { return 1; }
  /// Whether it has a kernel for an op that is not loops.
  virtual Decision has_hand(const std::string& op) const = 0;

  /// `fixed`: sizes that are numbers stand in the text.
  virtual PrintedLoop print(const loop::Kernel& kernel, bool fixed) const = 0;
  /// `variant` is that of a choice that said `generated`; empty: the first that serves.
  virtual PrintedLoop print(const loop::Contraction& contraction, const loop::Kernel* epilogue,
                            bool fixed, const std::string& variant) const = 0;

  /// `largest` binds every symbol to the end of its range. What follows the contraction is
  /// `epilogue`; null: the product is the result.
  virtual Choice choose(const loop::Contraction& contraction, const loop::Kernel* epilogue,
                        bool b_constant, const DimBindings& largest, Tuning& tuning) const = 0;
  virtual Choice choose(const LoopCall& call, const DimBindings& largest) const = 0;
  /// For a part that is the whole product, bare, or whose product is left apart; nothing where one
  /// launch of several is no faster.
  virtual std::optional<Together> together(const ProductCall::Part&, bool /*bare*/,
                                           const DimBindings&) const {
    return std::nullopt;
  }
  virtual Choice choose(const HandCall& call, const DimBindings& largest) const = 0;

  /// RunError that says for what and how much was asked when there is no more.
  virtual std::unique_ptr<Space> allocate(std::int64_t bytes, const std::string& what) const = 0;
  /// Compiles the program's texts and binds its calls. The program outlives its code.
  virtual std::unique_ptr<Code> load(const program::Program& program) const = 0;
  /// Bytes that nobody has there, by the driver's count; nothing where the host's memory is used.
  virtual std::optional<std::int64_t> free_bytes() const { return std::nullopt; }
  /// Seconds of what starting took so far, part by part; none where it takes no time.
  virtual std::vector<std::pair<std::string, double>> start_seconds() const { return {}; }
  /// Measured at the first call on a device, then kept; nothing where the processor computes.
  virtual std::optional<Ceilings> ceilings() const { return std::nullopt; }
};

/// Where a program's buffers are.
struct Memory {
  std::vector<char*> buffers;  // by number
  char* shared = nullptr;           // workspace of the step that runs
  std::int64_t shared_bytes = 0;
  char* side = nullptr;  // workspace of lane 1; lane i has it (i - 1) * side_bytes further
  std::int64_t side_bytes = 0;
  char* threads = nullptr;  // workspace of thread 0; thread i has it i * thread_bytes further
  std::int64_t thread_bytes = 0;
  char* persistent = nullptr;  // packed weights, one after the other

  /// Where a value of the program is; null for none.
  char* at(const program::Program& program, program::ViewId id) const {
    if (!id.valid()) return nullptr;
    const program::View& view = program.view(id);
    return buffers[view.buffer.index()] + view.offset;
  }
};

/// A program's code, loaded. One run at a time.
class Code {
 public:
  virtual ~Code() = default;
  /// Fixes sizes and addresses; may allocate. Weights are packed again at the next run.
  virtual void bind(const DimBindings& sizes, const Memory& memory) = 0;
  /// Takes a feed of the next run, beside the one that runs; it is in its buffer when that run
  /// begins. `from` may be changed on return. False: the caller writes it into the buffer.
  virtual bool feed(program::ViewId, const void* /*from*/, const Laid&) { return false; }
  /// Bytes that it holds besides the memory that it was given.
  virtual std::int64_t held_bytes() const { return 0; }
  /// What is constant (see ProductCall) has changed: pack it again.
  virtual void constants_changed() = 0;
  /// Runs one step; allocates nothing. Null, or what went wrong.
  virtual const char* run(std::size_t step) = 0;
  /// Runs all steps as one function; false when there is none.
  virtual bool run_whole(const char*& error) = 0;
  virtual bool has_whole() const = 0;
  /// False while run_whole() still tries which way is the faster one.
  virtual bool is_settled() const { return true; }
  /// run_whole() returns before it is done.
  virtual bool runs_beside() const { return false; }
  /// A target may run behind its caller's back. This waits for it; null, or what went wrong since
  /// the last time, and in which step.
  virtual const char* wait(std::size_t& step) = 0;
  /// Runs all steps once, timed by the target's own clock (seconds per step); false where the
  /// caller's clock is as good.
  virtual bool run_timed(std::vector<double>& seconds) = 0;
  /// Runs the program `runs` times in a row as one thing, where it can be one; false otherwise.
  /// With `seconds`, waits and says how long it took by the target's own clock. `in_order`: no two
  /// steps beside each other.
  virtual bool run_row(int runs, double* seconds, bool in_order = false) = 0;
  /// How the kernels came: compiled now or found.
  virtual double build_seconds() const = 0;
  virtual int built_from_cache() const = 0;
  virtual int units() const = 0;
};

}  // namespace plait
