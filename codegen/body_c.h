// The body of a kernel as C text: its statements in loops, by stage and level. Used for loop
// kernels, epilogues on tiles and epilogues inside a generated contraction.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "codegen/statements.h"

namespace plait::codegen {

class Body final : private Statements {
 public:
  /// `first_buffer` is the number of the kernel's buffer 0 among the function's pointers.
  Body(const loop::Kernel& kernel, Parameters& parameters, int first_buffer);

  /// Pointers and values of the call.
  void prologue(Lines& out);
  /// One row: its stages. Row indices are in scope. `inner_begin` and `inner_end` bound the inner
  /// loop of a kernel with one inner index; empty: all of it. `tile` is the text of the tile's
  /// element at the inner index.
  void row(Lines& out, const std::string& inner_begin, const std::string& inner_end,
           const std::string& tile);
  /// Behind each row of a loop whose variable is `row`, from `begin` on.
  void row_done(Lines& out);
  /// Behind all rows.
  void epilogue(Lines& out);
  /// Second function of column reductions: from partial results to the stores.
  void finish_columns(Lines& out);

  int kept_count() const { return kept_; }
  /// What a task's part of each column reduction takes, in elements of 8 bytes.
  std::vector<Dim> column_sizes() const;
  /// Elements of the widest.
  Dim most_columns() const;

 private:
  std::string operand_text(int let, int operand, bool inside) override;
  std::string kept_text(int let) const override;
  void column_step(Lines& out, int let, const std::string& term) override;
  void stores(Lines& out, int stage, loop::Level level);
  /// Row sums: the clause of a loop that adds to them, the numbers of those that are made of
  /// blocks, and the text with which a block begins.
  struct RowSums {
    std::string clause, begin;
    std::vector<std::string> blocked;
  };
  void inner_loop(Lines& out, int stage, const std::string& begin, const std::string& end);
  void inner_points(Lines& out, int stage, const std::string& begin, const std::string& end,
                    const RowSums& sums, const std::vector<char>& pass);
  std::vector<std::vector<char>> passes(int stage) const;
  void prefetches(Lines& out, int stage);
  RowSums declare_sums(Lines& out, int stage);
  struct ColumnRun {
    std::size_t let = 0;  // the first of them
    int first = 0, count = 1;
  };
  std::vector<ColumnRun> column_runs() const;
  void open_run(Lines& out, const ColumnRun& run, const std::string& count);
  std::string column_count(const loop::Let& let);
  void begin_columns(Lines& out);
  void add_columns(Lines& out);
  void add_tasks(Lines& out);
  std::vector<std::string> row_guards(int stage);
  void place(Lines& out, const loop::KernelLoad& load, const std::string& key, bool constant,
             const std::string& when);
  void pointers(Lines& out, int stage);
  std::string lanes_text(int stage) const;
  std::string placed_element(const loop::KernelLoad& load, const std::string& key);
  bool is_hoisted(const loop::KernelOperand& o) const;
  bool is_partial(const loop::KernelOperand& o) const;
  std::string inner_number() const;

  int kept_ = 0;
  std::vector<int> kept_of_;          // per let: its row of scratch, or -1
  std::vector<int> column_of_;        // per let: its column, or -1
  std::vector<std::string> extents_;  // text of each inner index's extent
  bool all_hold_ = false;             // the row's guards hold, where text is made now
  /// A pointer that is set up before the inner loop, and how far from it an element lies.
  struct Place {
    std::string pointer;
    std::int64_t distance = 0;
    int buffer = 0;
    Dim base;
    std::string when;
    bool constant = false;
  };
  std::map<std::string, Place> places_;  // by operand or store
};

}  // namespace plait::codegen
