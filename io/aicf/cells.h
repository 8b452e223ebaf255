// Storage cells over time: who reads and writes each, what it held before the step, and what it is
// to the step. An id names a cell, not a value: a reader sees the latest write above its line.
#pragma once

#include <cstdint>
#include <vector>

#include "io/aicf/record.h"

namespace plait::io::aicf {

enum class CellRole {
  kUnused,   // no node names it
  kInput,    // read before anything writes it, and fed by the caller
  kParam,    // the same, as a weight or bias: a trained state
  kMoment,   // the same, as a moment of Adam
  kCounter,  // the same, counted by StepInc
  kStatic    // written before it is read: made in this step
};

struct Access {
  std::int32_t node;
  bool write;
};

struct CellUse {
  CellRole role = CellRole::kUnused;
  std::vector<Access> accesses{};  // by line; a node reads before it writes
  bool written = false;
  std::int64_t fan_in = 0;  // of a parameter: the features that the layer reads
  /// A counter that StepInc leaves alone while it writes another cell: that cell; else -1.
  Cell counted_in = -1;

  /// Whether its content before the step matters.
  bool external() const { return !accesses.empty() && !accesses[0].write; }
  bool is_state() const {
    return role == CellRole::kParam || role == CellRole::kMoment || role == CellRole::kCounter;
  }
};

/// By cell.
std::vector<CellUse> cell_uses(const Record& record);

/// UserError `FILE:LINE: ...` when a node reads a cell that only a later line writes.
void check_order(const Record& record);

/// What a cell holds from one write to the next: a value. `writer` -1 before the first.
struct Version {
  Cell cell;
  std::int32_t writer;
  std::vector<std::int32_t> readers{};
  std::int32_t overwriter = -1;
};

/// Every content that is read or written, by cell and then by line.
std::vector<Version> versions(const std::vector<CellUse>& uses);

}  // namespace plait::io::aicf
