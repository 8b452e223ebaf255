// scatter_add (the gradient of gather and embedding), scatter_add_along and scatter_columns. Each
// element's updates are added in their order, in Wide, and rounded once. A left-out x is zeros.
#include <cstdio>
#include <cstring>

#include "backends/cpu/hand/families.h"
#include "backends/cpu/hand/line_tasks.h"
#include "backends/cpu/hand/wide.h"
#include "ops/index.h"
#include "ops/shape.h"

namespace plait::cpu {
namespace {

/// Indices of either dtype, checked against the axis they point into.
struct Indices {
  const void* data;
  bool wide;  // i64, else i32
  std::int64_t size;
  std::int64_t at(std::int64_t i) const {
    return wide ? static_cast<const std::int64_t*>(data)[i]
                : static_cast<const std::int32_t*>(data)[i];
  }
  bool outside(std::int64_t index) const { return index < 0 || index >= size; }
  const char* complain(std::int64_t index) const {
    thread_local char text[80];
    std::snprintf(text, sizeof text, "index %lld is outside [0, %lld)",
                  static_cast<long long>(index), static_cast<long long>(size));
    return text;
  }
};

bool is_wide(const NodeView& node) { return node.in(1).dtype == DType::i64; }

/// Rows, updates and slots are counted in 32 bits.
void want_countable(const NodeView& node, std::int64_t count) {
  if (count > INT32_MAX) node.fail(count, " rows or updates along the axis are too many");
}

template <class T>
void copy_or_zero(const T* x, std::int64_t count, T* out) {
  const std::size_t bytes = static_cast<std::size_t>(count) * sizeof(T);
  x ? std::memcpy(out, x, bytes) : std::memset(static_cast<void*>(out), 0, bytes);
}

/// A task takes some inner columns of a range of rows: it sorts the updates by row, keeping their
/// order, and then writes every row once. Few rows are cut by columns, many by rows.
template <class T>
class ScatterAdd final : public HandKernel {
 public:
  explicit ScatterAdd(const NodeView& node)
      : lines_(ops::lines_along(
            sizes_of(node.in(0).shape),
            ops::axis_of(node, node.as<ops::GatherAxis>().axis, node.in(0).rank()))),
        updates_(element_count(sizes_of(node.in(1).shape))),
        wide_(is_wide(node)) {
    want_countable(node, std::max(lines_.size, updates_));
    const std::int64_t widest = lines_.size < kManyRows ? kFewColumns : kColumns;
    columns_ = std::max<std::int64_t>(1, std::min(widest, lines_.inners));
    // Each task reads all indices: few enough ranges that this stays a small part of the work.
    rows_ = std::max(kTaskElements / columns_, updates_ / 4);
    rows_ = std::max<std::int64_t>(1, std::min(rows_, lines_.size));
    ranges_ = (lines_.size + rows_ - 1) / rows_;
    blocks_ = (lines_.inners + columns_ - 1) / columns_;
  }
  std::int64_t tasks() const override { return lines_.outers * ranges_ * blocks_; }
  std::int64_t scratch_bytes() const override { return (rows_ + 1 + updates_) * 4; }

  const char* run(std::int64_t task, const void* const* inputs, void* const* outputs,
                  const HandMemory& memory) const noexcept override {
    const std::int64_t block = task % blocks_, range = task / blocks_ % ranges_;
    const std::int64_t outer = task / blocks_ / ranges_;
    const std::int64_t first = range * rows_, count = std::min(rows_, lines_.size - first);
    auto *ends = static_cast<std::int32_t*>(memory.scratch), *order = ends + rows_ + 1;
    if (const char* wrong = sort({inputs[1], wide_, lines_.size}, first, count, ends, order)) {
      return wrong;
    }
    const std::int64_t column = block * columns_;
    const int columns = static_cast<int>(std::min(columns_, lines_.inners - column));
    const std::int64_t from = lines_.at(outer, first, column);
    const T* x = inputs[0] ? static_cast<const T*>(inputs[0]) + from : nullptr;
    const T* updates = static_cast<const T*>(inputs[2]) + outer * updates_ * lines_.inners + column;
    T* out = static_cast<T*>(outputs[0]) + from;
    for (std::int64_t r = 0; r < count; ++r) {
      const std::int64_t row = r * lines_.inners;
      add_row(x ? x + row : nullptr, updates, order + (r ? ends[r - 1] : 0), order + ends[r],
              columns, out + row);
    }
    return nullptr;
  }

 private:
  static constexpr std::int64_t kColumns = 512, kFewColumns = 64, kManyRows = 2048;
  static constexpr std::int64_t kTaskElements = 131072;

  /// order: the updates of rows first .. first + count - 1, by row; ends: where each row's end.
  const char* sort(const Indices& indices, std::int64_t first, std::int64_t count,
                   std::int32_t* ends, std::int32_t* order) const noexcept {
    std::fill_n(ends, count + 1, 0);
    for (std::int64_t u = 0; u < updates_; ++u) {
      const std::int64_t index = indices.at(u);
      if (indices.outside(index)) return indices.complain(index);
      if (index >= first && index < first + count) ++ends[index - first + 1];
    }
    for (std::int64_t r = 0; r < count; ++r) ends[r + 1] += ends[r];  // where row r begins
    for (std::int64_t u = 0; u < updates_; ++u) {
      const std::int64_t index = indices.at(u);
      if (index >= first && index < first + count) {
        order[ends[index - first]++] = static_cast<std::int32_t>(u);
      }
    }
    return nullptr;
  }

  /// The updates of a row lie far apart.
  static void fetch(const T* update, int columns) {
    constexpr int kLine = 64 / sizeof(T);
    for (int j = 0; j < columns; j += kLine) __builtin_prefetch(update + j);
  }

  void add_row(const T* x, const T* updates, const std::int32_t* u, const std::int32_t* end,
               int columns, T* out) const noexcept {
    if (u == end) return copy_or_zero(x, columns, out);
    Wide<T> sums[kColumns];
    for (int j = 0; j < columns; ++j) sums[j] = x ? widen(x[j]) : Wide<T>(0);
    for (; u != end; ++u) {
      const T* update = updates + *u * lines_.inners;
      if (u + 1 != end) fetch(updates + u[1] * lines_.inners, columns);
      for (int j = 0; j < columns; ++j) sums[j] += widen(update[j]);
    }
    for (int j = 0; j < columns; ++j) out[j] = narrow<T>(sums[j]);
  }

  ops::Lines lines_;
  std::int64_t updates_;
  bool wide_;
  std::int64_t rows_, columns_;   // of a task
  std::int64_t ranges_, blocks_;  // tasks along the rows and the columns
};

/// The distinct rows that a line's updates go to, each with a sum of its own.
template <class T>
class Slots {
 public:
  static std::int64_t bytes(std::int64_t size, std::int64_t updates) {
    return updates * (8 + 4 + 4) + (updates > 1 ? size * 4 : 0);
  }
  Slots(void* scratch, std::int64_t size, std::int64_t updates)
      : updates_(updates),
        sums_(static_cast<Wide<T>*>(scratch)),
        slot_(reinterpret_cast<std::int32_t*>(sums_ + updates)),
        row_(slot_ + updates),
        slot_of_row_(row_ + updates) {
    if (updates > 1) std::fill_n(slot_of_row_, size, -1);
  }

  /// The rows are indices[first], indices[first + stride]...
  const char* assign(const Indices& indices, std::int64_t first, std::int64_t stride) {
    if (updates_ > 1) {
      for (int s = 0; s < used_; ++s) slot_of_row_[row_[s]] = -1;
    }
    used_ = 0;
    for (std::int64_t u = 0; u < updates_; ++u) {
      const std::int64_t row = indices.at(first + u * stride);
      if (indices.outside(row)) return indices.complain(row);
      std::int32_t slot = updates_ > 1 ? slot_of_row_[row] : -1;
      if (slot < 0) {
        slot = used_++;
        row_[slot] = static_cast<std::int32_t>(row);
        if (updates_ > 1) slot_of_row_[row] = slot;
      }
      slot_[u] = slot;
    }
    return nullptr;
  }

  /// Adds updates[0], updates[stride]... to the line out[0], out[stride]...
  void add(const T* updates, T* out, std::int64_t stride) {
    for (int s = 0; s < used_; ++s) sums_[s] = widen(out[row_[s] * stride]);
    for (std::int64_t u = 0; u < updates_; ++u) sums_[slot_[u]] += widen(updates[u * stride]);
    for (int s = 0; s < used_; ++s) out[row_[s] * stride] = narrow<T>(sums_[s]);
  }

 private:
  std::int64_t updates_;
  int used_ = 0;
  Wide<T>* sums_;
  std::int32_t *slot_, *row_, *slot_of_row_;
};

template <class T>
class ScatterAlong final : public HandKernel {
 public:
  explicit ScatterAlong(const NodeView& node)
      : tasks_(node, node.as<ops::Axis>().axis),
        updates_(ops::lines_along(sizes_of(node.in(1).shape),
                                  ops::axis_of(node, node.as<ops::Axis>().axis, node.in(1).rank()))
                     .size),
        wide_(is_wide(node)) {
    want_countable(node, std::max(tasks_.lines().size, updates_));
  }
  std::int64_t tasks() const override { return tasks_.tasks(); }
  std::int64_t scratch_bytes() const override {
    return Slots<T>::bytes(tasks_.lines().size, updates_);
  }
  const char* run(std::int64_t task, const void* const* inputs, void* const* outputs,
                  const HandMemory& memory) const noexcept override {
    const ops::Lines& lines = tasks_.lines();
    const Indices indices{inputs[1], wide_, lines.size};
    const auto *x = static_cast<const T*>(inputs[0]), *updates = static_cast<const T*>(inputs[2]);
    auto* out = static_cast<T*>(outputs[0]);
    const char* wrong = nullptr;
    Slots<T> slots(memory.scratch, lines.size, updates_);
    tasks_.each(task, [&](const LineBlock& block) {
      const std::int64_t first = lines.at(block.outer, 0, block.first);
      const std::int64_t update = block.outer * updates_ * lines.inners + block.first;
      const bool together = block.count == lines.inners;  // the block is one stretch of memory
      const std::int64_t rows = together ? 1 : lines.size;
      const std::int64_t piece = together ? lines.size * lines.inners : block.count;
      for (std::int64_t i = first; i < first + rows * lines.inners; i += lines.inners) {
        copy_or_zero(x ? x + i : nullptr, piece, out + i);
      }
      for (int j = 0; j < block.count && !wrong; ++j) {
        wrong = slots.assign(indices, update + j, lines.inners);
        if (!wrong) slots.add(updates + update + j, out + first + j, lines.inners);
      }
    });
    return wrong;
  }

 private:
  LineTasks tasks_;
  std::int64_t updates_;  // along the axis
  bool wide_;
};

/// A task takes some rows of one batch, which all go to the same columns.
template <class T>
class ScatterColumns final : public HandKernel {
 public:
  explicit ScatterColumns(const NodeView& node)
      : sizes_(sizes_of(node.in(0).shape)),
        depth_(sizes_of(node.out().shape)[2]),
        rows_(std::max<std::int64_t>(8, 131072 / std::max<std::int64_t>(1, depth_))),
        groups_((sizes_[1] + rows_ - 1) / rows_),
        wide_(is_wide(node)) {
    want_countable(node, std::max(depth_, sizes_[2]));
  }
  std::int64_t tasks() const override { return sizes_[0] * groups_; }
  std::int64_t scratch_bytes() const override { return Slots<T>::bytes(depth_, sizes_[2]); }
  const char* run(std::int64_t task, const void* const* inputs, void* const* outputs,
                  const HandMemory& memory) const noexcept override {
    const std::int64_t batch = task / groups_, columns = sizes_[2];
    Slots<T> slots(memory.scratch, depth_, columns);
    const Indices ids{inputs[1], wide_, depth_};  // [B,J]
    if (const char* wrong = slots.assign(ids, batch * columns, 1)) return wrong;
    const std::int64_t first = task % groups_ * rows_, end = std::min(sizes_[1], first + rows_);
    for (std::int64_t t = first; t < end; ++t) {
      const std::int64_t row = batch * sizes_[1] + t;
      T* out = static_cast<T*>(outputs[0]) + row * depth_;
      copy_or_zero<T>(nullptr, depth_, out);
      slots.add(static_cast<const T*>(inputs[0]) + row * columns, out, 1);
    }
    return nullptr;
  }

 private:
  Sizes sizes_;  // of c: [B,T,J]
  std::int64_t depth_, rows_, groups_;
  bool wide_;
};

template <template <class> class Kernel>
std::unique_ptr<HandKernel> of_dtype(const NodeView& node) {
  return visit_dtype(node.in(0).dtype, [&]<class T>(TypeTag<T>) -> std::unique_ptr<HandKernel> {
    return std::make_unique<Kernel<T>>(node);
  });
}

}  // namespace

std::unique_ptr<HandKernel> make_scatter_add(const NodeView& node) {
  return of_dtype<ScatterAdd>(node);
}
std::unique_ptr<HandKernel> make_scatter_add_along(const NodeView& node) {
  return of_dtype<ScatterAlong>(node);
}
std::unique_ptr<HandKernel> make_scatter_columns(const NodeView& node) {
  return of_dtype<ScatterColumns>(node);
}

}  // namespace plait::cpu
