// What a device does for a program: memory, code, launches, capture. Behind it stand the driver's
// device and, for tests, one that runs the same kernel text on the CPU. One stream: whatever is
// asked for happens in order; only feeds travel beside it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"

namespace plait::cuda {

/// One argument of a kernel: an address or a number.
using Word = std::uint64_t;

/// A launch. A kernel takes one parameter, a struct of these words by value.
struct Launch {
  const void* function = nullptr;  // of a Module
  std::int64_t blocks = 1;         // 0: nothing to do
  int threads = 1;                 // of a block
  int block_bytes = 0;             // of dynamic shared memory
  std::vector<Word> words;
  int maps = 0;  // as codegen::cuda::Printed has them
  /// It begins with pl_begin() (codegen/cuda/prelude_device.h): programmatic dependent launch.
  bool dependent = false;
};

/// Compiled kernels, loaded.
class Module {
 public:
  virtual ~Module() = default;
  /// Bug when there is none of this name.
  virtual const void* function(const std::string& name) const = 0;
};

struct Built {
  std::vector<std::shared_ptr<Module>> modules;  // one per text
  int from_cache = 0;
  double seconds = 0;
};

/// Launches recorded once, run many times.
class Recording {
 public:
  virtual ~Recording() = default;
};

class Device {
 public:
  virtual ~Device() = default;
  /// What decides numbers and code: the chip, its architecture, the compiler's and libraries'
  /// versions.
  virtual std::string identity() const = 0;
  virtual int multiprocessors() const = 0;
  /// Bytes of dynamic shared memory that a block may ask for.
  virtual int most_block_bytes() const = 0;
  virtual std::int64_t free_bytes() const = 0;
  /// Whether launches may have maps.
  virtual bool has_pairs() const { return false; }

  /// 256-byte aligned. RunError that names `what`, the bytes asked for and those free.
  virtual char* allocate(std::int64_t bytes, const std::string& what) = 0;
  virtual void release(char* data) noexcept = 0;

  /// `from` may be changed once this returns.
  virtual void write(char* to, const void* from, std::int64_t bytes) = 0;
  /// Waits for what was asked before.
  virtual void read(void* to, const char* from, std::int64_t bytes) = 0;
  virtual void zero(char* to, std::int64_t bytes) = 0;
  virtual void copy(char* to, const char* from, std::int64_t bytes) = 0;  // within the device

  /// A write on a second stream, beside what runs, into one of two slots of memory, 0 or 1: it
  /// comes behind the last feeds_taken(slot). `from` may be changed once this returns.
  virtual void feed(int slot, char* to, const void* from, std::int64_t bytes) = 0;
  /// What is asked for from now on finds what the slot was fed.
  virtual void take_feeds(int slot) = 0;
  /// What was asked for before is the last to read the slot.
  virtual void feeds_taken(int slot) = 0;

  /// RunError with what the device said when something asked before went wrong.
  virtual void wait() = 0;

  /// Each text is a whole unit of CUDA C++ without includes. In parallel, cached by content; a text
  /// that does not compile is a Bug that shows the compiler's first lines.
  virtual Built compile(const std::vector<std::string>& texts) = 0;
  virtual void launch(const Launch& launch) = 0;
  /// The maps and words of a launch as a row of a table; Bug where there are no pairs.
  virtual std::vector<Word> mapped(const Launch&) const {
    throw Bug("this device has no two-block clusters");
  }

  /// What is launched between the two is recorded and not run.
  virtual bool can_record() const = 0;
  virtual void begin_recording() = 0;
  virtual std::unique_ptr<Recording> end_recording() = 0;
  virtual void replay(const Recording& recording) = 0;

  /// Launches on different streams between fork() and join() may run at the same time. fork() sets
  /// stream 0; all begin behind what was asked before; join() waits for all and sets stream 0.
  virtual void fork(int streams) = 0;
  virtual void set_stream(int which) = 0;
  virtual void join() = 0;
  /// A point of the current stream, good until the next fork(); what is asked of a stream after
  /// await() comes behind it.
  virtual int signal() = 0;
  virtual void await(int signal) = 0;

  /// A point in the stream; seconds between two of them, once both are past.
  virtual int mark() = 0;
  virtual double seconds(int from, int to) = 0;
  /// Marks are used anew.
  virtual void forget_marks() = 0;

  /// Seconds that parts of the start took; none where there is no driver.
  virtual std::vector<std::pair<std::string, double>> start_seconds() const { return {}; }

  /// The driver's CUstream that is set, for libraries; null where there is no driver.
  virtual void* stream() const = 0;
};

}  // namespace plait::cuda
