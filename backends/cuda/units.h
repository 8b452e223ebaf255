// The kernels of a program, compiled: generated functions a few to a unit, hand kernels by their
// text, or one unit for the whole program.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "backends/cuda/device.h"
#include "backends/cuda/target.h"
#include "backends/target.h"

namespace plait::cuda {

/// The libraries that the steps call are opened beside what goes on.
void expect_libraries(const Libraries& libraries, const program::Program& program);

class Units {
 public:
  /// The program outlives it.
  Units(Device& device, const program::Program& program);

  bool is_single_kernel() const { return whole_; }
  const void* single_kernel_function() const;
  /// `more` behind the name: "_finish", "_many", "_finish_many".
  const void* function(const std::string& name, const char* more = "") const {
    return built_.modules[unit_of_.at(name)]->function(name + more);
  }
  const Module& hand(const HandCall& call) const { return *built_.modules[hands_.at(&call)]; }

  double seconds() const { return built_.seconds; }
  int from_cache() const { return built_.from_cache; }
  int count() const { return static_cast<int>(built_.modules.size()); }

 private:
  Built built_;
  std::map<std::string, std::size_t> unit_of_;    // of a function
  std::map<const HandCall*, std::size_t> hands_;  // unit of a call in the steps
  bool whole_ = false;
};

}  // namespace plait::cuda
