// The states that the programs of a package share: one layout and one place for each, whichever
// program runs. The first program makes the table; a later one takes it over and may append.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "program/program.h"

namespace plait::program {

/// A state, or a copy of one as a narrower float.
struct TableEntry {
  ir::State state;  // of a copy: the state it is of, with the copy's type
  bool is_copy = false;
  bool advanced = false;  // a program so far gives the state next values
  Layout layout;
  std::int64_t offset = 0, bytes = 0;
};

struct StateTable {
  std::vector<TableEntry> entries;  // each begins where the one before ends

  std::int64_t bytes() const;
  /// Null where there is none.
  const TableEntry* find(const std::string& state) const;
  const TableEntry* find_copy(const std::string& state, DType dtype) const;
};

/// All states of a program, those included that it was handed and does not use.
StateTable table_of(const Program& program);
/// The views of these entries, in their order.
std::vector<ViewId> table_views(const Program& program);

/// A line for each entry: what planning a program takes from the table.
std::string text(const StateTable& table);

/// Whether programs over `all` and over `first` agree where each entry of `first` lies.
bool begins_with(const StateTable& all, const StateTable& first);

}  // namespace plait::program
