// How the points of a loop kernel are dealt out to blocks and threads. Decided by the kernel and
// its sizes alone, so that equal programs add in equal order.
#pragma once

#include <cstdint>
#include <string>

#include "base/device_model.h"
#include "codegen/lines.h"
#include "loop/statements.h"

namespace plait::codegen::cuda {

struct Schedule {
  /// kPoints: every thread makes vectors of points. kRows: a row belongs to some threads of one
  /// block. kColumns: a block walks a part of the rows and adds them up, for some columns or, where
  /// rows are whole (`whole_rows`), for all of them.
  enum Kind { kPoints, kRows, kColumns } kind = kPoints;
  bool flat = false;        // one index, any size: the last vector may be cut
  bool wide = false;        // indices need 64 bits
  int threads = 256;        // of a block; 32: all of it happens inside a warp
  int lanes = 1;            // neighbouring elements of the last inner index in a vector
  int along = 1;            // threads along the inner points of a row
  int rows = 256;           // rows of a block at once
  bool by_columns = false;  // neighbouring threads stand on neighbouring rows
  int steps = 0;            // vectors per thread, written out; 0: a loop
  bool down = false;        // of kPoints: these lie in rows that follow each other
  int accumulators = 0;     // columns in registers: their number per thread; 0: in memory
  bool whole_rows = false;  // of kColumns
  bool even = false;        // of whole rows: `rows` divides their number
  bool ahead = false;       // of whole rows: shared memory takes what the rows to come load
  int tasks = 1;            // of kColumns: parts of the rows
  int deep = 1;             // of kColumns without whole rows: rows that a thread loads at once
  int parts = 1;            // of kRows: blocks that share a row
  int per_processor = 0;    // blocks that a multiprocessor holds at once, at least; 0: any
  std::int64_t grid = 0;    // at most so many blocks; 0: as many as it takes
  const DeviceModel* device = &h200();  // it is for
  /// What a later stage reads.
  enum Kept { kRegisters, kShared, kScratch } kept = kRegisters;
};

Schedule schedule_of(const loop::Kernel& kernel, const DeviceModel& device = h200());

/// For the decision log: `8 elements to a vector, 32 threads to a row, 8 rows to a block`.
std::string to_text(const Schedule& schedule);

/// Where the threads of a row meet.
void row_barrier(Lines& out, const Schedule& schedule);

/// Whether indices of the kernel need 64 bits.
bool is_wide(const loop::Kernel& kernel);
/// Whether an index expression can be evaluated in 32 bits, step by step.
bool fits_int(const Dim& d);
/// Whether every value of the expression is a multiple of `by`.
bool is_multiple(const Dim& d, int by);

/// Elements of the last inner index at this offset are neighbours, and the first of a vector of
/// `lanes` lies at a multiple of it.
bool is_vector(const loop::Kernel& kernel, const Dim& offset, int lanes);
/// Whether an expression changes with the last inner index, or by an index loaded inside the row.
bool varies(const loop::Kernel& kernel, const Dim& d);

/// Whether points are read at an offset that is no index.
bool reads_slice(const loop::Kernel& kernel);

/// Whether an expression changes with the rows.
bool mentions_rows(const loop::Kernel& kernel, const Dim& d);

}  // namespace plait::codegen::cuda
