// A kernel's statements, compiled for interpretation: what interpret() of kernels and of
// contractions are made of.
#pragma once

#include <optional>
#include <tuple>

#include "loop/index_fn.h"
#include "loop/interpret_kernel.h"
#include "loop/sum_blocks.h"

namespace plait::loop {

/// A value as it is held: `real` of a float dtype, `whole` of the others.
struct HeldValue {
  double real = 0;
  std::int64_t whole = 0;
};

/// Memory of one buffer.
struct HeldBuffer {
  DType dtype;
  bool written;
  std::span<std::byte> bytes;
  std::int64_t count() const { return static_cast<std::int64_t>(bytes.size() / size_of(dtype)); }
  HeldValue load(std::int64_t i) const;
  void store(std::int64_t i, const HeldValue& value) const;  // of its dtype
};

/// The extents of indices, walked like an odometer over slots.
struct Extents {
  std::vector<std::int64_t> sizes;
  std::size_t first = 0;  // slot of the first

  std::int64_t count() const;
  /// Sets the slots to point number `n`.
  void set(std::vector<std::int64_t>& slots, std::int64_t n) const;
};

class KernelInterpreter {
 public:
  /// Its buffers are those of the run from `first_buffer` on.
  KernelInterpreter(const Kernel& kernel, const KernelRun& run, std::size_t first_buffer);

  /// The element of the contraction's tile at an inner point, held as `tile_dtype`.
  using Tile = std::function<HeldValue(std::int64_t inner)>;

  std::int64_t rows() const { return rows_.count(); }
  std::int64_t inner() const { return inner_.count(); }
  /// What stands once per call; before all rows.
  void call();
  /// Row number `n`: all of its stages.
  void row(std::int64_t n, const Tile& tile = nullptr, DType tile_dtype = DType::f32);
  /// What is reduced over the rows; behind them all.
  void columns();
  Faults faults() const { return faults_; }

 private:
  struct Formula {
    Tape tape;
    std::vector<IndexFn> indices;  // per step: of kIndex
  };
  struct BoundGuard {
    IndexFn index, lo, hi;
  };
  struct Operand {
    IndexFn offset;
    std::vector<BoundGuard> guards;
  };
  struct Statement {
    Formula body;
    std::optional<Formula> finish;
    std::vector<Operand> operands;
    std::vector<HeldValue> values{};  // of the operands, at this point
    std::int64_t index_extent = 0;
    std::size_t index_slot = 0;
    bool blocked = false;
  };
  /// What happens together: at a level of a stage.
  struct Place {
    std::vector<int> statements;
    std::vector<std::size_t> stores;
  };
  /// A reduction under way: `total` of the blocks before this one.
  struct Sum {
    double real = 0, total = 0, size = 0;
    std::int64_t whole = 0, terms = 0;
  };

  IndexFn compiled(const Dim& d) const { return compile(d, names_, run_.sizes); }
  Formula compiled(const Expr& e) const;
  Statement compiled(const Let& let) const;

  void find_places();
  const Place& place(int stage, Level level) const;
  void run(const Place& place);
  void statement(int i);
  void store(std::size_t number);
  void inner_points(int stage, const Tile& tile);
  bool begins_block() const;
  void finish_rows(int stage);

  DType held_as(const KernelOperand& o) const;
  HeldValue operand(int let, int number);
  HeldValue value_of(int reader, int let) const;
  [[noreturn]] void outside(int let, const char* does, int buffer, std::int64_t element) const;
  template <class T>
  T scalar(ScalarOp op, T a, T b, T c);
  template <class T>
  T computed(int let, const Formula& formula, T acc);
  template <class T>
  HeldValue rounded(int let, T value);

  static Sum first_of(const Let& let);
  template <class T>
  void add(int let, Sum& sum, T term);
  static void close_block(Sum& sum);
  HeldValue finished(int i, Sum& sum);

  const Kernel& k_;
  const KernelRun& run_;
  std::vector<HeldBuffer> buffers_;
  SlotNames names_;  // rows, inner, loaded
  std::vector<std::int64_t> slots_;
  Extents rows_, inner_;
  std::vector<Statement> statements_;
  std::vector<IndexFn> store_offsets_;
  std::vector<Place> places_;
  std::vector<HeldValue> values_;
  std::vector<std::vector<HeldValue>> kept_;  // per statement: a row's values
  std::vector<Sum> sums_;                     // per statement: a row's
  std::vector<std::vector<Sum>> columns_;     // per statement: one for each column
  std::tuple<std::vector<float>, std::vector<double>, std::vector<std::int64_t>> registers_;
  RowBlocks blocks_;
  std::int64_t point_ = 0, rows_done_ = 0;
  HeldValue tile_;
  DType tile_dtype_ = DType::f32;
  bool in_columns_ = false;
  Faults faults_;
};

}  // namespace plait::loop
