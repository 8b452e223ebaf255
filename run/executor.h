// A program in memory, ready to run: constants and code loaded, states and arena in a memory that
// programs of one package share. A run allocates nothing.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/array.h"
#include "program/program.h"
#include "run/memory.h"

namespace plait {

/// A step of a program is done.
using StepDone = std::function<void(const program::Program&, const program::Step&)>;

class Executor {
 public:
  /// In a memory of its own.
  Executor(program::Program program, std::shared_ptr<const Runtime> runtime);
  /// Among others, which write over its feeds and results: what it is fed is for a run that comes
  /// before theirs.
  Executor(program::Program program, std::shared_ptr<PackageMemory> memory);

  /// Moves along where the memory did since; feeds that were given ahead are dropped then. Whether
  /// it did. Running and feeding do so too.
  bool follow_memory();

  /// Sizes of the program's symbols. UserError when one is missing or out of its range.
  void set_sizes(const DimBindings& sizes);
  const DimBindings& sizes() const { return sizes_; }

  void set_feed(const std::string& name, const Array& value);
  /// A feed of the run after the one that goes on. False: it cannot be taken before that is done,
  /// or is not what the program wants at its present sizes.
  bool feed_ahead(const std::string& name, const Array& value);
  /// Whether run() may return before it is done.
  bool runs_beside() const { return code_->runs_beside(); }
  /// False while run() still tries which way is the faster one.
  bool is_settled() const { return code_->is_settled(); }
  /// Its states are set here, whichever program runs next.
  PackageMemory& memory() { return *memory_; }
  Array state(const std::string& name) const;
  Array fetch(const std::string& name) const;
  /// All of them, with one wait.
  std::map<std::string, Array> fetches() const;
  /// What a view's memory holds at this moment; steps write over each other's.
  Array value(program::ViewId view) const { return take(view); }

  /// The program, once. RunError names the kernel and what went wrong. `done`: see
  /// Session::on_step.
  void run(const StepDone& done = {});
  /// The same with the target's own clock, where it has one: seconds per kernel, else false.
  bool run_timed(std::vector<double>& seconds);
  /// Several runs on the same feeds as one launch, timed by the target's own clock; false where
  /// there is none. Feeds must outlast a run.
  bool run_row(int runs, double& seconds, bool in_order = false);
  /// The same, kernel by kernel: before(i) and after(i) stand round each.
  template <class Before, class After>
  void run_steps(Before before, After after) {
    begin_run();
    for (std::size_t i = 0; i < program_->steps.size(); ++i) {
      before(i);
      const char* error = code_->run(i);
      after(i);
      if (error) raise(i, error);
    }
  }

  /// Where it runs.
  const Runtime& runtime() const { return *memory_->runtime(); }
  const program::Program& program() const { return *program_; }
  const Code& code() const { return *code_; }
  double load_seconds() const { return load_seconds_; }
  std::int64_t resident_arena_bytes() const {
    return work().resident_bytes(placement_.arena, program_->arena_bytes);
  }
  /// What it took besides the memory that was there, by the driver's count, where there is a
  /// driver; it gives memory in pieces of its own size.
  std::optional<std::int64_t> measured_bytes() const { return measured_bytes_; }
  /// What runs behind the caller's back is done. RunError names the kernel and what went wrong.
  void wait() const;

 private:
  [[noreturn]] void raise(std::size_t step, const char* error) const;
  void bind();
  /// The memory is this program's, and what it packed is what the states are.
  void begin_run();
  Space& work() const { return fenced_work_ ? *fenced_work_ : memory_->work(); }
  /// A buffer's memory, and where a view begins there.
  Space& space_of(program::BufferId buffer) const;
  Space& space_of(program::ViewId view) const { return space_of(program_->view(view).buffer); }
  std::int64_t offset_of(program::ViewId view) const;
  program::ViewId feed_view(const std::string& name) const;
  /// What a view holds at the present sizes.
  ir::Type wanted(program::ViewId view) const;
  Array take(program::ViewId view) const;

  std::shared_ptr<const program::Program> program_;  // code refers to it
  std::shared_ptr<PackageMemory> memory_;
  Placement placement_;
  std::unique_ptr<Space> constants_, fenced_work_;
  std::unique_ptr<Code> code_;
  std::vector<std::pair<std::string, int>> packed_;  // states, and how often they were set before
  int number_ = 0, moves_ = 0;                       // of the memory, when it was bound
  DimBindings sizes_;
  double load_seconds_ = 0;
  std::optional<std::int64_t> measured_bytes_;
};

/// Sizes of a program's symbols that feeds of these shapes say.
DimBindings sizes_from(const program::Program& program, const std::map<std::string, Array>& feeds);

}  // namespace plait
