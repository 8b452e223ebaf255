// The storage cells of a record under construction: which value of a graph is kept in which.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "io/aicf/record.h"
#include "ir/graph.h"

namespace plait::io::aicf {

class RecordCells {
 public:
  /// Both must outlive this.
  RecordCells(const ir::Graph& graph, Record& record);

  /// -1 while the value has none.
  Cell find(ir::ValueId value) const { return cells_[static_cast<std::size_t>(value)]; }
  void put(ir::ValueId value, Cell cell) { cells_[static_cast<std::size_t>(value)] = cell; }
  /// A cell for a value: by its own name; where that is only its op's, by the name it is fetched
  /// as, else `otherwise`.
  Cell make(ir::ValueId value, const std::string& otherwise = "");
  /// A cell for what is no value of the graph.
  Cell fresh(const std::string& name, const ir::Type& type);

 private:
  bool has_default_name(ir::ValueId value) const;
  std::string unique(std::string name);

  const ir::Graph& g_;
  Record& record_;
  std::vector<Cell> cells_;  // by value
  std::map<ir::ValueId, std::string> fetched_as_;
  std::set<std::string> names_;
};

}  // namespace plait::io::aicf
