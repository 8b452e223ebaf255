// Scalar parts of C text: types, conversions, index expressions and formulas.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/dtype.h"
#include "loop/kernel.h"

namespace plait::codegen {

/// How an element lies in memory: `float`, `uint16_t`...
std::string memory_type(DType t);
/// How its value is held: `float`, `double`, `int64_t`, `int` for bool.
std::string register_type(DType t);
/// f, d or i: the suffix of the prelude's functions that compute in f32, f64 or i64.
char suffix_of(DType compute);

/// `expression` of what lies in memory, as it is held.
std::string loaded_text(DType t, const std::string& expression);
/// What is held, as it lies in memory.
std::string stored_text(DType t, const std::string& expression);
/// A number in a compute type.
std::string number_text(DType compute, double value);
/// A value in a compute type, rounded or wrapped to a dtype and held.
std::string rounded_text(DType compute, DType to, const std::string& expression);

/// Sizes that a kernel's text leaves open: numbers of its call, in the order of their use. With
/// `fixed`, sizes that are numbers stand in the text. With `alike`, equal sizes are one number, and
/// the compiler sees what is computed twice; without, texts do not depend on which sizes are equal.
/// With `zeros`, nor on which offsets are 0.
class Parameters {
 public:
  explicit Parameters(bool fixed, bool alike = true, bool zeros = false)
      : fixed_(fixed), alike_(alike), zeros_(zeros) {}
  bool is_fixed() const { return fixed_; }
  /// The text of a size over program symbols.
  std::string text(const Dim& size);
  /// The text of adding an offset to an index.
  std::string plus(const Dim& offset);
  /// An index of a guard. Where sizes stand in the text, the compiler is kept from knowing which
  /// elements pass: gcc 12 then turns a masked load into a whole one, which may begin before the
  /// buffer or end behind it.
  std::string guarded(const std::string& index);
  const std::vector<Dim>& values() const { return values_; }
  /// Declarations of the numbers that the text names.
  std::string declarations() const;

 private:
  bool fixed_, alike_, zeros_;
  std::string number(const Dim& size);

  bool hides_ = false;
  std::vector<Dim> values_;
};

/// Whether a symbol is an index of the kernel ($r0) rather than a size of the program.
inline bool is_index(const std::string& symbol) { return !symbol.empty() && symbol[0] == '$'; }
/// The C name of an index.
std::string index_name(const std::string& symbol);

/// An index expression as C text over the indices' names.
std::string index_text(const Dim& d, Parameters& parameters);

/// A subexpression: its text, and whether it is a truth value (an int, 0 or 1).
struct Piece {
  std::string text;
  bool truth = false;
};

/// Writes the steps of a formula as statements and returns the result in the compute type (or as a
/// truth value). `name` is the stem of the locals.
Piece formula(const loop::Expr& e, DType compute, const std::vector<Piece>& loads,
              const std::string& acc, const std::string& name, Parameters& parameters,
              const std::function<void(const std::string&)>& line);
std::string as_number(const Piece& p, DType compute);
std::string as_truth(const Piece& p);

/// What a reduction starts with, and one step of it.
std::string identity_text(loop::Reduce reduce, DType compute);
std::string combined_text(loop::Reduce reduce, DType compute, const std::string& a,
                          const std::string& b);
/// A number as it is held: what stands for an element where a guard fails.
std::string other_text(DType held, double otherwise);
/// Whether it divides integers, which a zero makes fail.
bool divides(const loop::Let& let);

}  // namespace plait::codegen
