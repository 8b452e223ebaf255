// A program in memory, ready to run: states, arena and workspace allocated once, code loaded. A run
// allocates nothing.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "base/array.h"
#include "program/program.h"
#include "run/placement.h"

namespace plait {

class Executor {
 public:
  /// Keeps the runtime for as long as it lives.
  Executor(program::Program program, std::shared_ptr<const Runtime> runtime);

  /// Sizes of the program's symbols, from the shapes of its feeds. UserError when one is missing,
  /// out of its range, or two feeds disagree.
  void set_sizes(const DimBindings& sizes);
  DimBindings sizes_from(const std::map<std::string, Array>& feeds) const;
  const DimBindings& sizes() const { return sizes_; }

  void set_feed(const std::string& name, const Array& value);
  /// A feed of the run after the one that goes on. False: it cannot be taken before that is done,
  /// or is not what the program wants at its present sizes.
  bool feed_ahead(const std::string& name, const Array& value);
  /// Whether run() may return before it is done.
  bool runs_beside() const { return code_->runs_beside(); }
  /// False while run() still tries which way is the faster one.
  bool is_settled() const { return code_->is_settled(); }
  void set_state(const std::string& name, const Array& value);
  /// All its elements are 0.
  void zero_state(const std::string& name);
  /// Its elements, in the order of its memory, are these over and over.
  void fill_state(const std::string& name, const Array& pattern);
  Array state(const std::string& name) const;
  Array fetch(const std::string& name) const;
  /// All of them, with one wait.
  std::map<std::string, Array> fetches() const;
  /// What a view's memory holds at this moment; steps write over each other's.
  Array value(program::ViewId view) const { return take(view); }

  /// One step of the program. RunError names the kernel and what went wrong.
  void run();
  /// The same with the target's own clock, where it has one: seconds per kernel, else false.
  bool run_timed(std::vector<double>& seconds);
  /// Several runs on the same feeds as one launch, timed by the target's own clock; false where
  /// there is none. Feeds must outlast a run.
  bool run_row(int runs, double& seconds, bool in_order = false);
  /// The same, kernel by kernel: before(i) and after(i) stand round each.
  template <class Before, class After>
  void run_steps(Before before, After after) {
    for (std::size_t i = 0; i < program_->steps.size(); ++i) {
      before(i);
      const char* error = code_->run(i);
      after(i);
      if (error) raise(i, error);
    }
  }

  /// Where it runs.
  const Runtime& runtime() const { return *runtime_; }
  const program::Program& program() const { return *program_; }
  const Code& code() const { return *code_; }
  double load_seconds() const { return load_seconds_; }
  const Space& arena() const { return *arena_; }
  /// What states, arena and workspace took by the driver's count, where there is a driver; it gives
  /// memory in pieces of its own size.
  std::optional<std::int64_t> measured_bytes() const { return measured_bytes_; }
  /// What runs behind the caller's back is done. RunError names the kernel and what went wrong.
  void wait() const;

 private:
  [[noreturn]] void raise(std::size_t step, const char* error) const;
  /// A buffer's memory, and where it begins there.
  Space& space_of(program::BufferId buffer) const;
  Space& space_of(program::ViewId view) const { return space_of(program_->view(view).buffer); }
  std::int64_t offset_of(program::ViewId view) const;
  program::ViewId state_view(const std::string& name) const;
  program::ViewId feed_view(const std::string& name) const;
  /// What a feed is at the present sizes.
  ir::Type wanted(program::ViewId view) const;
  void put(program::ViewId view, const Array& value);
  void fill(program::ViewId view, const Array& pattern);
  /// Writes NaN patterns over what the next run has to write itself, where a test asks for it.
  void fill_unset();
  /// Those of a state that the program keeps rounded: they are set with it.
  template <class See>
  void each_copy(const std::string& state, See see) {
    for (const program::Binding& copy : program_->rounded) {
      if (copy.name == state) see(copy.view);
    }
  }
  Laid laid_of(program::ViewId view, const Array& value) const;
  /// Whether code holds a packed copy of it.
  bool is_packed(program::ViewId view) const;
  Array take(program::ViewId view) const;

  std::shared_ptr<const program::Program> program_;  // code refers to it
  std::shared_ptr<const Runtime> runtime_;
  Placement placement_;
  std::unique_ptr<Space> states_, arena_, scratch_;
  std::unique_ptr<Code> code_;
  DimBindings sizes_;
  double load_seconds_ = 0;
  std::optional<std::int64_t> measured_bytes_;
};

}  // namespace plait
