// Loops of a step as batches: what one task runs of them. Decided by sizes alone.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "backends/cpu/cut.h"
#include "codegen/compile.h"
#include "codegen/print_c.h"

namespace plait::cpu {

/// A loop call with sizes and addresses fixed.
struct LoopRun {
  codegen::LoopFunction function = nullptr;
  codegen::FinishFunction finish = nullptr;
  std::vector<char*> pointers;
  std::vector<std::int64_t> sizes;
  std::int64_t rows = 0, finish_rows = 0, work = 0, tasks = 0, finish_tasks = 0;
  bool interleaved = false;

  void run(std::int64_t task, char* scratch, int* bad) const {
    function(pointers.data(), sizes.data(), first_row(task, tasks, rows),
             first_row(task + 1, tasks, rows), task, scratch, bad);
  }
};

/// Loops [first, last) of a step and their tasks. With `block`, these are cut by the rows that all
/// loops have, and run so many of each loop before the next ones: what lies between each other is
/// in the cache until it is whole.
struct LoopBatch {
  std::size_t first = 0, last = 0;
  std::int64_t tasks = 1, block = 0;

  void run(const std::vector<LoopRun>& loops, std::int64_t task, char* scratch, int* bad) const {
    if (block == 0) {
      for (std::size_t i = first; i < last; ++i) loops[i].run(task, scratch, bad);
      return;
    }
    const std::int64_t rows = loops[first].rows, end = first_row(task + 1, tasks, rows);
    for (std::int64_t row = first_row(task, tasks, rows); row < end; row += block) {
      for (std::size_t i = first; i < last; ++i) {
        const LoopRun& l = loops[i];
        l.function(l.pointers.data(), l.sizes.data(), row, std::min(row + block, end), task,
                   scratch, bad);
      }
    }
  }
};

/// Rows of each loop before the next ones: a block fits in the first cache, unless that were calls
/// of too few elements. Rows that fill whole lines by themselves need no other's.
inline std::int64_t block_of(std::int64_t rows, std::int64_t work, std::int64_t loops) {
  constexpr std::int64_t kBlock = 8 * 1024, kLine = 16, kFewest = 16, kFewestOfLines = 512;
  const bool fills = work >= rows * loops * kLine;
  const std::int64_t most = std::max(kBlock, loops * (fills ? kFewestOfLines : kFewest));
  return std::max<std::int64_t>(1, rows * most / std::max<std::int64_t>(1, work));
}

/// Loops whose rows take turns in memory are one batch, others as many as make a task.
inline std::vector<LoopBatch> batches_of(const std::vector<LoopRun>& loops) {
  std::vector<LoopBatch> out;
  for (std::size_t i = 0; i < loops.size();) {
    const LoopRun& mine = loops[i];
    LoopBatch b{i, i + 1, mine.tasks, 0};
    std::int64_t work = mine.work;
    const auto goes_on = [&](const LoopRun& next) {
      if (mine.interleaved || next.interleaved) {
        return mine.interleaved && next.interleaved && mine.rows == next.rows;
      }
      return !mine.finish && !next.finish && mine.tasks == 1 && next.tasks == 1 &&
             work + next.work <= kLeastWork;
    };
    while (b.last < loops.size() && goes_on(loops[b.last])) work += loops[b.last++].work;
    if (mine.interleaved) {
      b.tasks = loop_tasks(mine.rows, work);
      b.block = block_of(mine.rows, work, static_cast<std::int64_t>(b.last - b.first));
    }
    i = b.last;
    out.push_back(b);
  }
  return out;
}

}  // namespace plait::cpu
