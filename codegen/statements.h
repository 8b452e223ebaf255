// The statements of a loop kernel as text, in both dialects: operands behind their guards,
// formulas, roundings, the ends of reductions, stores. Which loops stand around them, where values
// live and when they are loaded is the business of C's loops (body_c.h) or of a CUDA schedule
// (cuda/body.h).
#pragma once

#include <string>
#include <vector>

#include "codegen/lines.h"
#include "codegen/scalar_c.h"
#include "loop/kernel.h"

namespace plait::codegen {

/// What the dialects say differently.
struct Dialect {
  std::string index_type;  // of an index of the kernel
  /// The compiler is kept from knowing which elements a guard lets through: Parameters::guarded().
  bool hides_guards = false;
  /// Row maxima of floats: where zeros of both signs meet, the sign may be either's.
  bool any_zero = false;
};

/// One step of a row's reduction.
std::string step_text(const Dialect& dialect, const loop::Let& let, const std::string& a,
                      const std::string& b);

/// The indices from their common number, the last running fastest, in vectors of `lanes`: that one
/// is left in first_ as well. 0 lanes: no vectors.
void decode(Lines& out, const std::vector<loop::KernelIndex>& indices, std::string number,
            const std::string& type, int lanes, Parameters& parameters);

class Statements {
 public:
  bool may_fail() const { return may_fail_; }

 protected:
  /// `first_buffer` is the number of the kernel's buffer 0 in the text.
  Statements(const loop::Kernel& kernel, Parameters& parameters, Dialect dialect, int first_buffer);
  ~Statements() = default;
  Statements(const Statements&) = delete;
  Statements& operator=(const Statements&) = delete;

  // What the loops around say.
  /// An operand in a register, its guards applied. `inside`: where its statement stands, not where
  /// the statement's reduction ends.
  virtual std::string operand_text(int let, int operand, bool inside) = 0;
  /// Where a statement's value is kept for later stages.
  virtual std::string kept_text(int let) const = 0;
  /// The left side of a statement's value.
  virtual std::string value_text(int let) const;
  virtual void column_step(Lines& out, int let, const std::string& term) = 0;

  /// A statement: its value, or a step of its reduction (row sums are a0, a1...).
  void let(Lines& out, int i);
  /// The statement's value from what its reduction came to.
  void finish(Lines& out, int i, const std::string& reduced);
  /// The same for a column, and what is stored of it; inner indices are in scope.
  void finish_column(Lines& out, int i, const std::string& reduced);
  void store(Lines& out, const loop::KernelStore& s, const std::string& place,
             const std::string& when = "") const;
  /// Whether a store is at the inner points of a stage.
  bool is_inner_store(const loop::KernelStore& s, int stage) const;
  /// Row reductions of a stage, in the order of their statements.
  std::vector<int> sums(int stage) const;

  std::string element(int buffer, const Dim& offset);
  std::string guard_text(const std::vector<loop::Guard>& guards);
  /// A value where an operand's guards hold (and `live`), what stands for it elsewhere.
  std::string guarded_text(const loop::KernelOperand& o, const std::string& value,
                           const std::string& live = "");
  DType dtype_of(const loop::KernelOperand& o) const;
  /// A half that its formula leaves a half: the result is one of operands of its own dtype.
  bool is_exact(const loop::Let& let) const;

  const loop::Kernel& k_;
  Parameters& n_;
  const Dialect dialect_;
  const int first_;
  std::string tile_;         // the element of a contraction's tile
  std::vector<char> as_is_;  // per statement: its value is not rounded

 private:
  Piece operand(int i, int j, bool inside);
  Piece formula_of(Lines& out, int i);

  bool may_fail_ = false;
};

}  // namespace plait::codegen
