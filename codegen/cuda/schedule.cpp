// The choice of a schedule, for multiprocessors of 2048 threads.
#include "codegen/cuda/schedule.h"

#include <algorithm>
#include <limits>
#include <map>
#include <set>

#include "base/at.h"
#include "base/text.h"
#include "codegen/cuda/print.h"
#include "loop/unroll.h"

namespace plait::codegen::cuda {
namespace {

using loop::Kernel;
using loop::KernelOperand;
using loop::Let;
using loop::Level;
using loop::Reduce;

constexpr std::int64_t kInt = std::numeric_limits<std::int32_t>::max();
constexpr std::int64_t kSharedBytes = 40 * 1024;

/// The largest absolute value that evaluation meets; kInt + 1 or more: too large.
double reach(const Dim& d) {
  double sum = std::abs(static_cast<double>(d.constant()));
  if (d.is_const()) return sum;
  for (const DimTerm& t : d.terms()) {
    double product = std::abs(static_cast<double>(t.coefficient));
    for (const DimAtomPtr& f : t.factors) {
      double most =
          std::max(std::abs(static_cast<double>(f->lo)), std::abs(static_cast<double>(f->hi)));
      if (f->kind != DimAtom::kSymbol) {
        most = std::max({most, reach(f->a), reach(f->b)});
      }
      product *= most;
    }
    sum += product;
  }
  return sum;
}

template <class F>
void visit_inner_offsets(const Kernel& k, const F& f) {
  for (const Let& let : k.lets) {
    for (const KernelOperand& o : let.operands) {
      if (o.kind == KernelOperand::kLoad && loop::level_of(k, o.load.offset) == Level::kInner) {
        f(let.stage, o.load.buffer, o.load.offset);
      }
    }
  }
  for (const loop::KernelStore& s : k.stores) {
    if (!k.lets[at(s.let)].column && loop::level_of(k, s.offset) == Level::kInner) {
      f(store_stage(k, s), s.buffer, s.offset);
    }
  }
}

/// Bytes of the vectors that a thread loads and stores in a stage, for one element; the most of all
/// stages. `widest`: of an element.
std::size_t bytes_of(const Kernel& k, int lanes, std::size_t& widest) {
  std::set<std::string> seen;
  std::map<int, std::size_t> bytes;  // per stage
  std::size_t most = 0;
  visit_inner_offsets(k, [&](int stage, int buffer, const Dim& offset) {
    if (!is_vector(k, offset, lanes)) return;
    if (!seen.insert(str(stage, ' ', buffer, ' ', offset.text())).second) return;
    const std::size_t size = size_of(k.buffers[at(buffer)].dtype);
    most = std::max(most, bytes[stage] += size);
    widest = std::max(widest, size);
  });
  return most;
}

/// Elements per vector: 16 bytes of what is widest, as long as the vectors of a thread in a
/// stage stay small. Those of a window need not be there at once.
int lanes_of(const Kernel& k, bool flat, std::size_t bytes = 160) {
  constexpr std::size_t kWindowBytes = 512;
  if (k.inner.empty()) return 1;
  if (loop::reads_windows(k)) bytes = std::max(bytes, kWindowBytes);
  for (int lanes : {8, 4, 2}) {
    if (!flat && !is_multiple(k.inner.back().extent, lanes)) continue;
    std::size_t widest = 1;
    const std::size_t most = bytes_of(k, lanes, widest);
    const auto n = static_cast<std::size_t>(lanes);
    if (most == 0 || widest * n > 16 || most * n > bytes) continue;
    return lanes;
  }
  return 1;
}

/// Whether no formula has functions or quotients.
bool is_cheap(const Kernel& k) {
  return std::all_of(k.lets.begin(), k.lets.end(), [](const Let& l) {
    const std::vector<loop::Tape::Step> steps = loop::flatten(l.body).steps;
    return std::all_of(steps.begin(), steps.end(), [](const loop::Tape::Step& s) {
      using Op = loop::ScalarOp;
      return (s.op < Op::kExp || s.op > Op::kErfc) && (s.op < Op::kDiv || s.op > Op::kPow) &&
             s.op != Op::kAtan2;
    });
  });
}

std::int64_t power_above(std::int64_t n, std::int64_t most) {
  std::int64_t p = 1;
  while (p < n && p < most) p *= 2;
  return p;
}

std::int64_t most_of(const Dim& d) { return std::max<std::int64_t>(d.hi(), 0); }

std::int64_t processors(const Schedule& s) { return s.device->processors; }

std::int64_t over(std::int64_t n, std::int64_t by) { return (n + by - 1) / by; }

/// Neighbouring rows are neighbours in memory, and neighbouring inner points are not.
bool is_by_columns(const Kernel& k) {
  if (k.rows.empty() || k.inner.empty()) return false;
  int along = 0, across = 0;
  visit_inner_offsets(k, [&](int, int, const Dim& offset) {
    const loop::Linear inner = loop::coefficient_of(offset, k.inner.back().symbol);
    const loop::Linear row = loop::coefficient_of(offset, k.rows.back().symbol);
    if (inner.is_linear && inner.coefficient.is(1)) {
      ++along;
    } else if (row.is_linear && row.coefficient.is(1)) {
      ++across;
    }
  });
  return across > along;
}

bool reduces_rows(const Kernel& k) {
  return std::any_of(k.lets.begin(), k.lets.end(),
                     [](const Let& l) { return l.reduce != Reduce::kNone && !l.column; });
}

bool stores_rows(const Kernel& k) {
  return std::any_of(k.stores.begin(), k.stores.end(), [&](const loop::KernelStore& s) {
    return !k.lets[at(s.let)].column && store_level(k, s) == Level::kRow;
  });
}

int column_count(const Kernel& k) {
  return static_cast<int>(std::count_if(k.lets.begin(), k.lets.end(), [](const Let& l) {
    return l.column && l.level == Level::kInner;
  }));
}

/// So few points that a warp is through with them as soon as a block, which has to meet.
bool is_tiny(const Kernel& k) {
  constexpr std::int64_t kPoints = 1024;
  const Dim points = row_count(k) * inner_count(k);
  return points.is_const() && points.value() <= kPoints;
}

/// Threads of a row, for rows that are walked whole: `most` elements per thread, and more threads
/// where there are few rows.
void deal_rows(const Kernel& k, Schedule& s, std::int64_t most) {
  const Dim vectors = floordiv(inner_count(k), Dim(s.lanes));
  const std::int64_t count = std::max<std::int64_t>(1, most_of(vectors));
  const std::int64_t rows = most_of(row_count(k));
  if (s.by_columns) {
    std::int64_t along = 1;
    while (along < 8 && along * 2 <= count && rows * along < processors(s) * 1024) along *= 2;
    s.along = static_cast<int>(along);
  } else {
    std::int64_t along = power_above(count, 32);
    const auto each = [&] { return (count + along - 1) / along * s.lanes; };
    const std::int64_t widest = is_tiny(k) ? 32 : s.threads;
    while (along < widest && along < count &&
           (each() > most || rows * along < processors(s) * 1024)) {
      along *= 2;
    }
    s.along = static_cast<int>(along);
  }
  s.rows = s.threads / s.along;
  const std::int64_t steps = (count + s.along - 1) / s.along;
  if (vectors.is_const() && steps <= 16 && steps * s.lanes <= 32) s.steps = static_cast<int>(steps);
}

/// Few long rows, nothing of which is needed when their sums are known: several blocks for each.
void share_rows(const Kernel& k, Schedule& s) {
  constexpr std::int64_t kLong = 16 * 1024, kVectors = 4 * kThreads;
  const std::int64_t blocks = 4 * processors(s);
  const std::int64_t inner = most_of(inner_count(k)),
                     rows = std::max<std::int64_t>(1, most_of(row_count(k)));
  if (s.by_columns || kept_count(k) > 0 || inner < kLong || rows >= processors(s)) return;
  for (const Let& l : k.lets) {
    if (l.reduce != Reduce::kNone && l.stage > 0) return;
  }
  for (int stage = 1; stage <= k.stages; ++stage) {
    if (has_inner(k, stage)) return;
  }
  const std::int64_t parts = std::min(blocks / rows, over(inner, s.lanes) / kVectors);
  if (parts < 2 || !reduces_rows(k)) return;
  s.parts = static_cast<int>(parts);
  s.along = kThreads;
  s.rows = 1;
  s.steps = 0;
}

void place_kept(const Kernel& k, Schedule& s) {
  const int kept = kept_count(k);
  if (kept == 0 || (s.steps > 0 && kept * s.steps * s.lanes <= 96)) return;
  s.steps = 0;
  const std::int64_t inner = most_of(inner_count(k));
  s.kept = inner <= kSharedBytes && inner * kept * 8 * s.rows <= kSharedBytes ? Schedule::kShared
                                                                              : Schedule::kScratch;
  if (s.kept == Schedule::kScratch) s.grid = 2 * processors(s);
}

/// Blocks that a multiprocessor holds, by the registers of a thread for sums and vectors.
int blocks_of(std::int64_t registers) { return registers <= 44 ? 4 : registers <= 64 ? 3 : 2; }

/// Blocks walk rows whole, with their sums in registers where these suffice.
std::int64_t deal_whole_rows(const Kernel& k, Schedule& s, std::int64_t vectors) {
  deal_rows(k, s, 8);
  place_kept(k, s);
  s.grid = 0;
  const int columns = column_count(k);
  s.accumulators = s.steps * s.lanes;
  if (s.accumulators * std::max(1, columns) > 64) s.accumulators = 0;
  if (s.accumulators == 0 && columns > 0) {  // one owner for each column
    s.along = kThreads;
    s.rows = 1;
    if (s.steps > 0) s.steps = static_cast<int>(over(vectors, kThreads));
  }
  constexpr std::int64_t kManyPoints = 1 << 18;
  s.even = row_count(k).is_const() && is_multiple(row_count(k), s.rows);
  s.ahead = s.threads == kThreads && s.steps > 0 && s.kept == Schedule::kRegisters &&
            most_of(row_count(k) * inner_count(k)) >= kManyPoints;
  const int kept = s.kept == Schedule::kRegisters ? kept_count(k) : 0;
  std::size_t widest = 1, later = 0;  // bytes that registers may hold ahead
  visit_inner_offsets(k, [&](int stage, int buffer, const Dim&) {
    const loop::KernelBuffer& b = k.buffers[at(buffer)];
    if (stage > 0 && !b.written && !s.ahead) later += size_of(b.dtype);
  });
  const std::size_t held = (4 * at(kept + columns) + later) * at(std::max(1, s.steps));
  const std::size_t registers = (held + bytes_of(k, s.lanes, widest)) * at(s.lanes) / 4;
  s.per_processor = blocks_of(static_cast<std::int64_t>(registers));
  return s.per_processor * processors(s);
}

/// Threads along a row: more than `along` where there are so few rows that those below each other
/// would stand idle, as long as the blocks fill the processors.
int along_few_rows(const Kernel& k, const Schedule& s, std::int64_t vectors, int along) {
  const std::int64_t rows = most_of(row_count(k));
  while (along < kThreads && rows <= kThreads / along / 2 * s.deep &&
         over(vectors, 2 * along) >= 2 * processors(s)) {
    along *= 2;
  }
  return along;
}

/// Blocks share the columns: whole lines of them, each block a part of the rows; or, where that is
/// faster than adding parts up, pieces of lines that fill the processors by themselves.
std::int64_t deal_cut_columns(const Kernel& k, Schedule& s, std::int64_t vectors) {
  const double rate = s.device->bytes_of("column"), one = s.device->processor_bytes_per_second;
  constexpr std::int64_t kLoadBytes = 128, kLoadBytesAlone = 256, kSector = 32;
  s.by_columns = false;
  s.steps = 1;
  s.accumulators = s.lanes;
  std::size_t widest = 1, narrowest = 16;
  std::int64_t loaded = 0;  // bytes of a vector
  bool scattered = false;
  std::set<std::string> seen;
  visit_inner_offsets(k, [&](int, int buffer, const Dim& offset) {
    const loop::KernelBuffer& b = k.buffers[at(buffer)];
    if (b.written || !seen.insert(str(buffer, ' ', offset.text())).second) return;
    if (!is_vector(k, offset, s.lanes)) {
      scattered = true;
      return;
    }
    narrowest = std::min(narrowest, size_of(b.dtype));
    loaded += static_cast<std::int64_t>(size_of(b.dtype)) * s.lanes;
  });
  const auto deepen = [&](std::int64_t bytes, int most) {
    while (loaded > 0 && s.deep < most && 2 * s.deep * loaded <= bytes) s.deep *= 2;
  };
  deepen(kLoadBytes, scattered ? 2 : 8);
  s.per_processor = blocks_of(column_count(k) * s.lanes + loaded * s.deep / 4);
  s.along = static_cast<int>(power_above(vectors, 32));
  if (s.threads == 32) {
    s.rows = s.threads / s.along;
    return 1;
  }
  const std::int64_t wanted = s.per_processor * processors(s) / over(vectors, s.along);
  if (loaded > 0) {
    const double bytes = static_cast<double>(bytes_of(k, s.lanes, widest)) * s.lanes *
                         static_cast<double>(vectors * most_of(row_count(k)));
    const auto size = static_cast<std::int64_t>(narrowest) * s.lanes;
    const std::int64_t along = std::max<std::int64_t>(1, kSector / size);
    const auto blocks = static_cast<double>(over(vectors, along));
    const double alone = bytes / std::min(rate, blocks * one);
    if (along < s.along && alone < bytes / rate + s.device->finish_seconds) {
      s.per_processor = 1;
      deepen(kLoadBytesAlone, scattered ? 2 : 16);
      s.along = along_few_rows(k, s, vectors, static_cast<int>(along));
      s.rows = kThreads / s.along;
      return 1;
    }
  }
  s.rows = kThreads / s.along;
  return wanted;
}

void deal_columns(const Kernel& k, Schedule& s) {
  s.whole_rows = reduces_rows(k) || stores_rows(k) || kept_count(k) > 0;
  s.lanes = lanes_of(k, false, s.whole_rows ? 224 : 160);
  constexpr int kMostSums = 64;  // of a thread, in registers
  while (s.lanes > 1 && column_count(k) * s.lanes > kMostSums) s.lanes /= 2;
  const std::int64_t inner = std::max<std::int64_t>(1, most_of(inner_count(k)));
  // In a warp there is a thread for each pair of columns first, then for each row.
  while (s.threads == 32 && !s.whole_rows && s.lanes > 2 && inner < 8 * s.lanes) s.lanes /= 2;
  const std::int64_t vectors = over(inner, s.lanes);
  const std::int64_t blocks =
      s.whole_rows ? deal_whole_rows(k, s, vectors) : deal_cut_columns(k, s, vectors);
  const std::int64_t fewest = s.whole_rows ? 2 : std::max(8, s.deep);  // rows of a thread
  if (s.threads == 32) return;                                         // one task
  const std::int64_t by_rows = over(most_of(row_count(k)), s.rows * fewest);
  const std::int64_t by_memory = (std::int64_t(4) << 20) / inner;
  s.tasks = static_cast<int>(
      std::max<std::int64_t>(1, std::min({blocks, by_rows, by_memory, std::int64_t(1024)})));
}

/// Bytes in flight: one vector of a thread may be too little, and is where its block first looks
/// for its call in a table. Where what it loads serves several rows, its vectors are of these.
void deal_points(const Kernel& k, Schedule& s, std::int64_t points) {
  constexpr std::int64_t kBytes = 32, kRowBytes = 128;
  std::set<std::string> seen;
  std::int64_t bytes = 0, shared = 0;  // of all vectors that are loaded; of those of all rows
  for (const Let& let : k.lets) {
    for (const KernelOperand& o : let.operands) {
      if (o.kind != KernelOperand::kLoad || k.inner.empty()) continue;
      if (!is_vector(k, o.load.offset, s.lanes)) continue;
      if (!seen.insert(str(o.load.buffer, ' ', o.load.offset.text())).second) continue;
      const auto more =
          static_cast<std::int64_t>(size_of(k.buffers[at(o.load.buffer)].dtype)) * s.lanes;
      bytes += more;
      if (!mentions_rows(k, o.load.offset)) shared += more;
    }
  }
  s.steps = 1;
  if (s.lanes == 1) return;
  const std::int64_t vectors = points / s.lanes, whole = 4 * processors(s) * 2048;
  if ((s.flat || k.open || vectors > whole) && bytes > 0 && bytes <= kBytes) s.steps = 2;
  s.down = !s.flat && !k.rows.empty() && shared > 0 && bytes > shared && s.steps == 1;
  for (int rows = 4; s.down && s.steps == 1 && rows > 1; rows /= 2) {
    if (vectors / rows >= processors(s) * 1024 && rows * (bytes - shared) <= kRowBytes)
      s.steps = rows;
  }
  s.down = s.down && s.steps > 1;
}

/// Whether registers hold the sums of columns and what is kept.
bool stays_in_warp(const Kernel& k, const Schedule& s) {
  return s.along <= 32 && s.kept == Schedule::kRegisters &&
         (s.accumulators > 0 || column_count(k) == 0);
}

}  // namespace

bool fits_int(const Dim& d) { return reach(d) < static_cast<double>(kInt); }

bool is_multiple(const Dim& d, int by) {
  if (d.constant() % by != 0) return false;
  if (d.is_const()) return true;
  return std::all_of(d.terms().begin(), d.terms().end(),
                     [&](const DimTerm& t) { return t.coefficient % by == 0; });
}

bool varies(const Kernel& k, const Dim& d) {
  if (!k.inner.empty() && loop::mentions(d, k.inner.back().symbol)) return true;
  return std::any_of(k.lets.begin(), k.lets.end(), [&](const Let& l) {
    return !l.index.empty() && l.level == Level::kInner && loop::mentions(d, l.index);
  });
}

bool is_vector(const Kernel& k, const Dim& offset, int lanes) {
  const std::string& last = k.inner.back().symbol;
  const loop::Linear l = loop::coefficient_of(offset, last);
  if (!l.is_linear || !l.coefficient.is(1)) return false;
  const Dim base = offset.substitute({{last, Dim(0)}});
  return !varies(k, base) && is_multiple(base, lanes);
}

bool reads_slice(const Kernel& k) {
  constexpr std::size_t kMostIndices = 2;  // one quotient of sizes that the compiler does not know
  if (k.rows.size() + k.inner.size() > kMostIndices || loop::reads_windows(k)) return false;
  return std::any_of(k.lets.begin(), k.lets.end(), [&](const Let& l) {
    return std::any_of(l.operands.begin(), l.operands.end(), [&](const KernelOperand& o) {
      return o.kind == KernelOperand::kLoad && o.guards.empty() && o.load.offset.constant() != 0 &&
             loop::level_of(k, o.load.offset) == Level::kInner;
    });
  });
}

bool mentions_rows(const Kernel& k, const Dim& d) {
  return std::any_of(k.rows.begin(), k.rows.end(),
                     [&](const loop::KernelIndex& x) { return loop::mentions(d, x.symbol); });
}

void row_barrier(Lines& out, const Schedule& s) {
  if (s.along <= 32 && !s.by_columns) return out.add("__syncwarp();");
  // Rows may have barriers of their own where few blocks share a multiprocessor: a barrier whose
  // number is a variable takes all 16 of its block.
  const bool own =
      !s.by_columns && s.along < s.threads && s.per_processor > 0 && s.per_processor <= 2;
  if (own) return out.add(str("pl_meet<", s.along, ">(1 + ty_);"));
  out.barrier();
}

bool is_wide(const Kernel& k) {
  const auto large = [](const Dim& d) { return !fits_int(d); };
  // Numbers of vectors are rounded up to whole blocks.
  if (large(row_count(k) * inner_count(k) + Dim(1 << 20))) return true;
  for (const Let& let : k.lets) {
    if (large(let.index_extent)) return true;
    for (const KernelOperand& o : let.operands) {
      if (o.kind == KernelOperand::kLoad && large(o.load.offset)) return true;
      for (const loop::Guard& g : o.guards) {
        if (large(g.index) || large(g.lo) || large(g.hi)) return true;
      }
    }
    for (const loop::Expr* e : {&let.body, &let.finish}) {
      if (!*e) continue;
      for (const loop::Tape::Step& s : loop::flatten(*e).steps) {
        if (s.op == loop::ScalarOp::kIndex && large(s.index)) return true;
      }
    }
  }
  return std::any_of(k.stores.begin(), k.stores.end(),
                     [&](const loop::KernelStore& s) { return large(s.offset); });
}

std::string to_text(const Schedule& s) {
  std::vector<std::string> parts;
  const auto say = [&](bool when, std::string text) {
    if (when) parts.push_back(std::move(text));
  };
  say(s.lanes > 1, str("vectors of ", s.lanes));
  say(s.kind == Schedule::kPoints && s.steps > 1,
      str(s.steps, s.down ? " rows to a thread" : " vectors to a thread"));
  say(s.kind != Schedule::kPoints, str(s.along, s.along == 1 ? " thread" : " threads",
                                       s.by_columns ? " down a row" : " along a row"));
  say(s.kind == Schedule::kRows, str(s.rows, s.rows == 1 ? " row" : " rows", " to a block"));
  say(s.parts > 1, str(s.parts, " blocks to a row"));
  say(s.kind == Schedule::kColumns, s.whole_rows
                                        ? "blocks walk whole rows"
                                        : str("columns over ", s.tasks, " parts of the rows"));
  say(s.deep > 1, str(s.deep, " rows loaded at once"));
  say(s.ahead, "shared memory loads rows ahead");
  say(s.kept == Schedule::kShared, "later stages read shared memory");
  say(s.kept == Schedule::kScratch, "later stages read scratch");
  say(s.threads == 32, "in one warp");
  say(s.wide, "64-bit indices");
  return join(parts, ", ");
}

Schedule schedule_of(const Kernel& k, const DeviceModel& device) {
  Schedule s;
  s.device = &device;
  s.wide = is_wide(k);
  if (k.has_columns()) {
    s.kind = Schedule::kColumns;
    Schedule warp = s;
    warp.threads = 32;
    if (is_tiny(k)) deal_columns(k, warp);
    deal_columns(k, s);
    return is_tiny(k) && stays_in_warp(k, warp) ? warp : s;
  }
  if (reduces_rows(k) || stores_rows(k) || kept_count(k) > 0) {
    s.kind = Schedule::kRows;
    s.by_columns = is_by_columns(k) && !is_tiny(k);
    s.lanes = s.by_columns ? 1 : lanes_of(k, false);
    std::size_t widest = 1;
    const bool heavy = !k.inner.empty() && bytes_of(k, s.lanes, widest) > 12;
    deal_rows(k, s, heavy ? 8 : kept_count(k) > 1 ? 16 : 32);
    place_kept(k, s);
    share_rows(k, s);
    return s;
  }
  s.flat = k.rows.empty() && k.inner.size() == 1;
  if (k.rows.empty() && k.inner.empty()) s.threads = 32;
  s.lanes = lanes_of(k, s.flat);
  const std::int64_t points = most_of(row_count(k) * inner_count(k));
  // Calls of one function share a launch: few points of each are many in all.
  const bool alone = !k.open && !(reads_slice(k) && is_cheap(k));
  while (alone && !s.flat && s.lanes > 1 && points / s.lanes < processors(s) * kThreads)
    s.lanes /= 2;
  deal_points(k, s, points);
  return s;
}

}  // namespace plait::codegen::cuda
