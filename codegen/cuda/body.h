// The statements of a loop kernel as CUDA text: what stands once per call, once per row and at the
// inner points, for a schedule. The functions around them are print.cpp's.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "codegen/cuda/schedule.h"
#include "codegen/statements.h"

namespace plait::codegen::cuda {

/// The vectors of a thread in a row: `steps` of them written out, the number of each in c_, or 0
/// for a loop that `open` opens. `open` writes what comes before a vector, and returns how many
/// braces it opened.
struct Walk {
  int steps = 1;
  std::function<int(Lines&)> open;
  std::function<void(Lines&)> also{};   // written once per vector, before its lanes
  bool batched = false;                 // loads of all vectors come first in any case
  bool down = false;                    // so do they, and stores come last
  std::function<void(Lines&)> still{};  // of `down`: what of `open` is the same for all rows
};

/// Indices are ints where these suffice.
Dialect dialect_of(const Schedule& schedule);

class Body final : private Statements {
 public:
  /// `tile`: text of the tile's element, for an epilogue. `lanes`: 1 for what is left over of a
  /// flat kernel, else the schedule's.
  Body(const loop::Kernel& kernel, const Schedule& schedule, int lanes, Parameters& parameters,
       std::string tile = "");

  using Statements::finish_column;
  using Statements::may_fail;
  using Statements::sums;

  /// From here on, live_ says whether a thread has a row. Those that have none load nothing: their
  /// row is another's, who may store where it was loaded from.
  void some_have_no_row() { rowless_ = true; }
  /// Values of the call, and what is stored of them: by one thread, named by `once`.
  void call(Lines& out, const std::string& once);
  /// Rooms for what registers keep from stage to stage.
  void declare_kept(Lines& out);
  /// Values of the row that are known when a stage begins, and what is stored of them where
  /// `once` holds.
  void row(Lines& out, int stage, const std::string& once);
  /// Loads of a later stage that nothing stands in the way of, before the first one: they are on
  /// their way while sums are made.
  void fetch(Lines& out, const Walk& walk);
  /// Gives the loads of a row's vectors places in shared memory, `most` bytes at most: send() fills
  /// them for a row to come. Returns the bytes taken. For rows of `steps` vectors per thread.
  int reserve(int most, int steps);
  /// Whether loads of a stage have places there; how many stages have.
  bool sends(int stage) const;
  int sending_stages() const;
  /// Copies what a stage loads in the row whose indices are in scope. ahead_ is where places begin.
  void send(Lines& out, int stage, const Walk& walk);
  /// Sums of a thread, before the inner points of a stage.
  void declare_sums(Lines& out, int stage);
  /// The inner points of a stage. Stores happen where `live` holds; empty: always.
  void inner(Lines& out, int stage, const Walk& walk, const std::string& live);
  /// Column reductions that have one value per row.
  void row_columns(Lines& out, int stage, const std::string& live);
  /// Whether a stage loads what an earlier one stored, by another thread perhaps.
  bool loads_stored(int stage) const;
  /// Everything at one point, all indices in scope: for an epilogue in another kernel. Values of
  /// the call and of the row are stored at one of their points.
  void point(Lines& out, const std::string& call_once, const std::string& row_once);

 private:
  /// A load of inner statements, each distinct one once.
  struct Read {
    enum Reach { kRow, kVector, kOnce, kLane } reach;
    const loop::KernelOperand* operand;
    std::string key;
    int place = -1;  // in shared memory, as reserve() gave it
  };

  std::string operand_text(int let, int operand, bool inside) override;
  std::string kept_text(int let) const override;
  std::string value_text(int let) const override;
  void column_step(Lines& out, int let, const std::string& term) override;
  void find_reads();
  Read::Reach reach_of(const loop::KernelOperand& o) const;
  /// An element of memory in a register.
  std::string load_text(const loop::KernelOperand& o);
  std::string read_text(int stage, int number);
  void vector_load(Lines& out, int stage, std::size_t read, bool split);
  void vector_loads(Lines& out, int stage, bool split);
  void open_lanes(Lines& out);
  void sent_loads(Lines& out, int stage);
  bool is_filled(const Read& read) const;
  std::string place_text(const Read& read) const;
  int read_bytes(const Read& read) const;
  bool is_known(const loop::KernelOperand& o) const;
  void once_loads(Lines& out, int stage);
  void lanes(Lines& out, int stage);
  void find_fixed();
  void find_rounded();
  void fixed(Lines& out, const Walk& walk);
  void rooms(Lines& out, int stage, int steps);
  void stores(Lines& out, int stage, const std::string& live);
  void row_stores(Lines& out, int stage, const std::string& once);
  int vector_bytes(int stage) const;
  bool is_early(int stage) const;
  void batch(Lines& out, int stage, const Walk& walk);
  void steps(Lines& out, const Walk& walk, const std::function<void()>& inside);
  bool has_inner_stores(int stage) const;
  bool is_vector_store(const loop::KernelStore& s) const;
  bool is_packed(const loop::KernelStore& s) const;
  std::string lane() const { return lanes_ == 1 ? "0" : "l_"; }

  const Schedule& s_;
  int lanes_;
  bool split_ = false;                     // loads of all vectors come first
  bool rowless_ = false;                   // see some_have_no_row()
  bool late_ = false;                      // stores of all vectors come last
  std::vector<bool> fixed_;                // per let: made once for the rows of a thread
  std::vector<bool> rounded_by_store_;     // per let: a half that is a float until it is stored
  std::vector<bool> fetched_;              // per stage: its vectors were loaded before the first
  std::vector<std::vector<Read>> reads_;   // per stage
  std::vector<std::vector<int>> read_of_;  // per let and operand; -1: not one of them
};

}  // namespace plait::codegen::cuda
