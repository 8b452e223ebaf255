// A program's calls on a device: launches and library calls with all addresses fixed, and the
// tables and error bits that they share.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "backends/cuda/code.h"
#include "backends/cuda/device.h"
#include "backends/cuda/hand/hand.h"
#include "backends/cuda/library/library.h"
#include "backends/cuda/units.h"
#include "backends/runtime.h"
#include "backends/target.h"

namespace plait::cuda {

/// A library's call with addresses fixed.
struct LibraryRun {
  std::unique_ptr<LibraryCall> call;
  LibraryOperands operands;
};

/// One thing to do: a library's call, then launches behind it.
struct Act {
  LibraryRun library;
  std::vector<Launch> launches;
};

class Binding {
 public:
  Binding(std::shared_ptr<Device> device, std::shared_ptr<const Libraries> libraries,
          const program::Program& program)
      : device_(std::move(device)),
        libraries_(std::move(libraries)),
        program_(program),
        units_(*device_, program) {}
  ~Binding() {
    if (tables_) device_->release(tables_);
  }
  Binding(const Binding&) = delete;
  Binding& operator=(const Binding&) = delete;

  /// What the next bind() is for.
  void place(const DimBindings& sizes, const Memory& memory);
  /// Once for a place, with the first run: libraries prepare their calls while states are written.
  void bind();

  const Units& units() const { return units_; }
  std::size_t count() const { return program_.steps.size(); }
  const std::vector<Act>& acts(std::size_t step) const { return acts_[step]; }
  Launch& single_kernel() { return single_kernel_; }  // its first word: how many runs
  std::int64_t held_bytes() const { return tables_bytes_; }
  /// Error bits by step, since they were last cleared.
  const std::vector<int>& read_flags();
  void clear_flags() { device_->zero(tables_, flags_bytes()); }

 private:
  char* pointer(program::ViewId view) const { return memory_.at(program_, view); }
  /// Error bits of each step, then tables of calls that are launched together.
  void reserve_tables();
  std::int64_t flags_bytes() const { return rounded(static_cast<std::int64_t>(4 * flags_.size())); }
  char* flag_of(std::size_t step) const { return tables_ + 4 * step; }
  /// Where a call's part of its step's workspace is.
  char* workspace(std::size_t step, const program::Workspace& part) const;
  std::vector<Act> bind_step(std::size_t step, const DimBindings& sizes);
  /// One launch, or two where columns are reduced.
  std::vector<Launch> bind_loop(const LoopCall& call, const program::Workspace& workspace,
                                std::size_t step, const DimBindings& sizes);
  /// Where the words lie, behind the tables before.
  char* put_table(const std::vector<Word>& words);
  /// Calls of one function: a table of their words, and the first block of each.
  Act grouped_launch(const std::string& name, const std::vector<std::vector<Launch>>& each);
  void bind_product(const ProductCall& call, std::size_t step, const DimBindings& sizes,
                    std::vector<Act>& acts);
  static bool is_tabled(const ProductCall& call);
  /// A row of its product's table, and of both tables of what follows.
  static std::int64_t tabled_bytes(const ProductCall::Part& p);
  /// Products of one shape by a table of their maps and words, then what follows all of them.
  Act bind_tabled(const std::vector<const ProductCall*>& calls, std::size_t step,
                  const DimBindings& sizes);
  Act bind_library(const ProductCall& call, const ProductCall::Part& p, std::size_t step,
                   const DimBindings& sizes);
  Launch bind_epilogue(const ProductCall::Part& p, char* product, std::size_t step,
                       const DimBindings& sizes);
  Act bind_hand(const HandCall& call, std::size_t step, const DimBindings& sizes);
  Word hand_word(const HandWord& w, const HandCall& call, std::size_t step, char* scratch) const;
  void bind_single_kernel(const DimBindings& sizes);

  std::shared_ptr<Device> device_;
  std::shared_ptr<const Libraries> libraries_;
  const program::Program& program_;
  const Units units_;
  bool bound_ = false;
  DimBindings sizes_;
  Memory memory_;
  char* tables_ = nullptr;
  std::int64_t tables_bytes_ = 0, first_table_ = 0;
  std::vector<int> flags_;
  std::vector<std::vector<Act>> acts_;
  Launch single_kernel_;
};

}  // namespace plait::cuda
