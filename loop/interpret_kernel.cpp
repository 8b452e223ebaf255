// Kernels: what happens at which level and stage, row by row.
#include <algorithm>

#include "base/at.h"
#include "loop/kernel_interpreter.h"
#include "loop/statements.h"

namespace plait::loop {

std::int64_t Extents::count() const {
  std::int64_t n = 1;
  for (const std::int64_t size : sizes) n *= size;
  return n;
}

void Extents::set(std::vector<std::int64_t>& slots, std::int64_t n) const {
  for (std::size_t i = sizes.size(); i-- > 0;) {
    slots[first + i] = n % sizes[i];
    n /= sizes[i];
  }
}

// --- compiling -----------------------------------------------------------------------------------

KernelInterpreter::KernelInterpreter(const Kernel& kernel, const KernelRun& run,
                                     std::size_t first_buffer)
    : k_(kernel), run_(run), blocks_(row_blocks(kernel)) {
  check(run.buffers.size() == first_buffer + k_.buffers.size(), run.name, " has ",
        first_buffer + k_.buffers.size(), " buffers, given ", run.buffers.size());
  for (std::size_t b = 0; b < k_.buffers.size(); ++b) {
    buffers_.push_back({k_.buffers[b].dtype, k_.buffers[b].written, run.buffers[first_buffer + b]});
  }
  inner_.first = k_.rows.size();
  for (const KernelIndex& x : k_.rows) rows_.sizes.push_back(evaluate(x.extent, run.sizes));
  for (const KernelIndex& x : k_.inner) inner_.sizes.push_back(evaluate(x.extent, run.sizes));
  for (const auto* list : {&k_.rows, &k_.inner}) {
    for (const KernelIndex& x : *list) names_.push_back(x.symbol);
  }
  for (const Let& let : k_.lets) {
    if (!let.index.empty()) names_.push_back(let.index);
  }
  slots_.assign(names_.size(), 0);
  for (const Let& let : k_.lets) statements_.push_back(compiled(let));
  for (const KernelStore& s : k_.stores) store_offsets_.push_back(compiled(s.offset));
  find_places();
  values_.resize(k_.lets.size());
  kept_.resize(k_.lets.size());
  sums_.resize(k_.lets.size());
  columns_.resize(k_.lets.size());
  for (std::size_t i = 0; i < k_.lets.size(); ++i) {
    const Let& let = k_.lets[i];
    if (let.kept) kept_[i].resize(at(inner()));
    if (let.column) columns_[i].assign(let.level == Level::kInner ? at(inner()) : 1, first_of(let));
  }
}

KernelInterpreter::Formula KernelInterpreter::compiled(const Expr& e) const {
  Formula out{flatten(e), {}};
  for (const Tape::Step& s : out.tape.steps) {
    out.indices.push_back(s.op == ScalarOp::kIndex ? compiled(s.index) : IndexFn());
  }
  return out;
}

KernelInterpreter::Statement KernelInterpreter::compiled(const Let& let) const {
  check(static_cast<bool>(let.body), run_.name, " has a statement without a formula");
  check(let.index.empty() || let.dtype == DType::i64, run_.name, ": the index ", let.index,
        " is of ", let.dtype, ", not i64");
  Statement out{compiled(let.body), std::nullopt, {}};
  if (let.finish) out.finish = compiled(let.finish);
  for (const KernelOperand& o : let.operands) {
    Operand operand;
    if (o.kind == KernelOperand::kLoad) operand.offset = compiled(o.load.offset);
    for (const Guard& g : o.guards) {
      operand.guards.push_back({compiled(g.index), compiled(g.lo), compiled(g.hi)});
    }
    out.operands.push_back(std::move(operand));
  }
  out.values.resize(let.operands.size());
  if (!let.index.empty()) {
    out.index_extent = evaluate(let.index_extent, run_.sizes);
    out.index_slot = static_cast<std::size_t>(std::find(names_.begin(), names_.end(), let.index) -
                                              names_.begin());
  }
  out.blocked = let.column ? is_blocked_column(k_, let) : is_blocked_row(k_, let);
  return out;
}

// --- levels --------------------------------------------------------------------------------------

/// Stages follow each other; behind the last one, what it reduced is stored.
const KernelInterpreter::Place& KernelInterpreter::place(int stage, Level level) const {
  return places_[3 * at(stage) + static_cast<std::size_t>(level)];
}

void KernelInterpreter::find_places() {
  places_.resize(3 * (at(k_.stages) + 1));
  const auto place = [&](int stage, Level level) -> Place& {
    check(stage >= 0 && stage <= k_.stages, run_.name, ": a kernel of ", k_.stages,
          " stages has one of number ", stage);
    return places_[3 * at(level == Level::kCall ? 0 : stage) + static_cast<std::size_t>(level)];
  };
  for (std::size_t i = 0; i < k_.lets.size(); ++i) {
    place(k_.lets[i].stage, k_.lets[i].level).statements.push_back(static_cast<int>(i));
  }
  for (std::size_t j = 0; j < k_.stores.size(); ++j) {
    const KernelStore& s = k_.stores[j];
    if (!is_column_store(k_, s)) place(store_stage(k_, s), store_level(k_, s)).stores.push_back(j);
  }
}

void KernelInterpreter::run(const Place& place) {
  for (const int i : place.statements) statement(i);
  for (const std::size_t j : place.stores) store(j);
}

void KernelInterpreter::call() { run(place(0, Level::kCall)); }

void KernelInterpreter::row(std::int64_t n, const Tile& tile, DType tile_dtype) {
  rows_.set(slots_, n);
  tile_dtype_ = tile_dtype;
  for (int stage = 0; stage <= k_.stages; ++stage) {
    finish_rows(stage - 1);
    run(place(stage, Level::kRow));
    inner_points(stage, tile);
  }
  ++rows_done_;
  if (rows_done_ % kColumnBlock != 0) return;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    if (!statements_[i].blocked) continue;
    for (Sum& s : columns_[i]) close_block(s);
  }
}

void KernelInterpreter::inner_points(int stage, const Tile& tile) {
  for (std::size_t i = 0; i < k_.lets.size(); ++i) {
    if (k_.lets[i].stage == stage) sums_[i] = first_of(k_.lets[i]);
  }
  const Place& here = place(stage, Level::kInner);
  const std::int64_t points = here.statements.empty() && here.stores.empty() ? 0 : inner();
  for (point_ = 0; point_ < points; ++point_) {
    inner_.set(slots_, point_);
    if (tile) tile_ = tile(point_);
    if (begins_block()) {
      for (std::size_t i = 0; i < sums_.size(); ++i) {
        if (statements_[i].blocked) close_block(sums_[i]);
      }
    }
    run(here);
  }
  point_ = 0;
}

bool KernelInterpreter::begins_block() const {
  if (blocks_.step == 0) return false;
  for (std::size_t x = blocks_.at + 1; x < inner_.sizes.size(); ++x) {
    if (slots_[inner_.first + x] != 0) return false;
  }
  return slots_[inner_.first + blocks_.at] % blocks_.step == 0;
}

void KernelInterpreter::finish_rows(int stage) {
  for (std::size_t i = 0; i < k_.lets.size(); ++i) {
    const Let& let = k_.lets[i];
    if (let.reduce == Reduce::kNone || let.column || let.stage != stage) continue;
    values_[i] = finished(static_cast<int>(i), sums_[i]);
  }
}

void KernelInterpreter::columns() {
  in_columns_ = true;
  for (std::size_t i = 0; i < k_.lets.size(); ++i) {
    for (std::size_t j = 0; j < columns_[i].size(); ++j) {
      point_ = static_cast<std::int64_t>(j);
      if (inner() > 0) inner_.set(slots_, point_);
      values_[i] = finished(static_cast<int>(i), columns_[i][j]);
      for (std::size_t s = 0; s < k_.stores.size(); ++s) {
        if (at(k_.stores[s].let) == i) store(s);
      }
    }
  }
}

Faults interpret(const Kernel& kernel, const KernelRun& run) {
  check(!kernel.epilogue, run.name, " is an epilogue: its contraction runs it");
  KernelInterpreter interpreter(kernel, run, 0);
  interpreter.call();
  for (std::int64_t row = 0; row < interpreter.rows(); ++row) interpreter.row(row);
  interpreter.columns();
  return interpreter.faults();
}

}  // namespace plait::loop
