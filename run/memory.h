// The memory of the programs of one package: their states, once for all of them, and one piece for
// arena and workspace, as large as the largest of them needs, which they use in turns.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/array.h"
#include "program/state_table.h"
#include "run/placement.h"

namespace plait {

class PackageMemory {
 public:
  explicit PackageMemory(std::shared_ptr<const Runtime> runtime) : runtime_(std::move(runtime)) {}

  /// Makes room for a program, which was planned over this table or an earlier state of it. States
  /// keep their values; where addresses change, so does moves(). RunError when the device has less
  /// than it takes.
  void add(const program::Program& program, const Placement& placement);

  const program::StateTable& table() const { return table_; }
  const std::shared_ptr<const Runtime>& runtime() const { return runtime_; }
  Space& states() { return *states_; }
  Space& work() { return *work_; }
  int moves() const { return moves_; }

  /// To be told apart from the other programs.
  int join() { return ++programs_; }
  /// Before a run: whether another program ran since, or none at all.
  bool take_turn(int program) { return std::exchange(turn_, program) != program; }

  /// These set a state's rounded copies too.
  void set_state(const std::string& name, const Array& value);
  /// All its elements are 0.
  void zero_state(const std::string& name);
  /// Its elements, in the order of its memory, are these over and over.
  void fill_state(const std::string& name, const Array& pattern);
  Array state(const std::string& name) const;
  /// How often it was set from here.
  int times_set(const std::string& name) const { return entry(name).times_set; }

 private:
  /// An entry of the table, where it is.
  struct Entry {
    program::TableEntry of;
    std::int64_t offset = 0;
    int times_set = 0;
  };
  std::size_t number_of(const std::string& state) const;
  const Entry& entry(const std::string& name) const { return entries_[number_of(name)]; }
  Array read(const Entry& entry) const;
  /// The copies of a state.
  template <class See>
  void each_copy(const std::string& state, See see) {
    for (const Entry& e : entries_) {
      if (e.of.is_copy && e.of.state.name == state) see(e);
    }
  }
  void check_fits(const program::Program& program, std::int64_t held) const;
  void grow_states(const program::Program& program, const Placement& placement);

  std::shared_ptr<const Runtime> runtime_;
  program::StateTable table_;
  std::vector<Entry> entries_;  // of the table, in its order
  std::unique_ptr<Space> states_, work_;
  int moves_ = 0, programs_ = 0, turn_ = 0;
};

}  // namespace plait
