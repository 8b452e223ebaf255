// The half of the seam that running sees: memory where a backend computes, a program's code loaded
// there, and runs of it. Nothing here chooses anything.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "program/program.h"

namespace plait {

// What a generated kernel says went wrong in it; it does not know in which of its nodes.
inline constexpr const char* kIndexError = "an index is out of range";
inline constexpr const char* kDivisionError = "integer division by zero";

/// How an array lies in memory: elements of `width` bytes, the axes of `sizes` in this order, the
/// innermost last. The array itself is in row-major order.
struct HostLayout {
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
  virtual bool write_in_layout(std::int64_t, const void* /*from*/, const HostLayout&) {
    return false;
  }
  /// Sets bytes to 0; false where the host had better do that.
  virtual bool zero(std::int64_t /*offset*/, std::int64_t /*bytes*/) { return false; }
  /// Writes the `part` bytes at `offset` again and again behind themselves, until `bytes` are
  /// filled; false where the host had better do that.
  virtual bool repeat(std::int64_t /*offset*/, std::int64_t /*part*/, std::int64_t /*bytes*/) {
    return false;
  }
  /// Waits for the runs that were asked for before.
  virtual void read(std::int64_t offset, void* to, std::int64_t bytes) const = 0;
  /// Bytes of a part of it that take memory now.
  virtual std::int64_t resident_bytes(std::int64_t offset, std::int64_t bytes) const = 0;
};

/// Where a program's buffers are.
struct Memory {
  std::vector<char*> buffers;  // by number
  char* shared = nullptr;      // workspace of the step that runs
  std::int64_t shared_bytes = 0;
  char* side = nullptr;  // workspace of stream 1; stream i has it (i - 1) * side_bytes further
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
  virtual bool feed(program::ViewId, const void* /*from*/, const HostLayout&) { return false; }
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

/// Where programs for one target run.
class Runtime {
 public:
  virtual ~Runtime() = default;
  /// RunError that says for what and how much was asked when there is no more.
  virtual std::unique_ptr<Space> allocate(std::int64_t bytes, const std::string& what) const = 0;
  /// Compiles the program's texts and binds its calls. The program outlives its code.
  virtual std::unique_ptr<Code> load(const program::Program& program) const = 0;
  /// Bytes that nobody has there, by the driver's count; nothing where the host's memory is used.
  virtual std::optional<std::int64_t> free_bytes() const { return std::nullopt; }
  /// Seconds of what starting took so far, part by part; none where it takes no time.
  virtual std::vector<std::pair<std::string, double>> start_seconds() const { return {}; }
};

}  // namespace plait
