// A dimension: a number, a named symbol with a range, or an expression over them (sums, products,
// floor-division, modulo, min, max). Values are kept in canonical form, so equality is comparison.
// Loop indices are Dims too: an index map is a list of Dims over index symbols.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <ostream>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace plait {

class Dim;
struct DimAtom;
using DimAtomPtr = std::shared_ptr<const DimAtom>;

/// One term of the canonical sum: coefficient times a product of atoms (repeated for powers).
struct DimTerm {
  std::int64_t coefficient = 0;
  std::vector<DimAtomPtr> factors;  // sorted by name; never empty
};

using DimBindings = std::map<std::string, Dim, std::less<>>;

class Dim {
 public:
  Dim(std::int64_t value = 0) : constant_(value) {}
  Dim(int value) : constant_(value) {}

  /// A symbol that takes a value in [lo, hi]. Two symbols of one name must have one range.
  static Dim symbol(std::string name, std::int64_t lo, std::int64_t hi);

  bool is_const() const { return !sum_; }
  /// The number; UserError naming the expression when it is symbolic.
  std::int64_t value() const;
  bool is(std::int64_t v) const { return is_const() && constant_ == v; }

  /// Canonical sum: constant() + terms().
  std::int64_t constant() const { return constant_; }
  const std::vector<DimTerm>& terms() const;

  /// Bounds by interval arithmetic; saturated at the ends of int64.
  std::int64_t lo() const;
  std::int64_t hi() const;

  /// Replaces symbols by name; symbols not named stay.
  Dim substitute(const DimBindings& bindings) const;
  /// Adds the symbols of this expression, by name, to `out`.
  void collect_symbols(std::map<std::string, Dim>& out) const;
  std::string text() const;

  friend Dim operator+(const Dim& a, const Dim& b);
  friend Dim operator-(const Dim& a, const Dim& b);
  friend Dim operator*(const Dim& a, const Dim& b);
  friend Dim floordiv(const Dim& a, const Dim& b);
  friend Dim mod(const Dim& a, const Dim& b);
  friend Dim min(const Dim& a, const Dim& b);
  friend Dim max(const Dim& a, const Dim& b);
  friend bool operator==(const Dim& a, const Dim& b);
  friend Dim dim_of(const DimAtomPtr& atom);

 private:
  struct Sum;
  static Dim from_terms(std::int64_t constant, std::vector<DimTerm> terms);
  static Dim from_atom(DimAtomPtr atom);
  static Dim atom_of(int kind, const Dim& a, const Dim& b);

  std::int64_t constant_ = 0;
  std::shared_ptr<const Sum> sum_;  // null for a number
};

Dim operator+(const Dim& a, const Dim& b);
Dim operator-(const Dim& a, const Dim& b);
Dim operator*(const Dim& a, const Dim& b);
/// Rounds towards minus infinity; the divisor must be positive.
Dim floordiv(const Dim& a, const Dim& b);
Dim mod(const Dim& a, const Dim& b);
Dim min(const Dim& a, const Dim& b);
Dim max(const Dim& a, const Dim& b);
bool operator==(const Dim& a, const Dim& b);
inline Dim ceildiv(const Dim& a, const Dim& b) { return floordiv(a + b - 1, b); }
inline std::ostream& operator<<(std::ostream& out, const Dim& d) { return out << d.text(); }

/// What a term is a product of: a symbol, or an operation that does not distribute over sums.
struct DimAtom {
  enum Kind { kSymbol, kFloorDiv, kMod, kMin, kMax };
  Kind kind;
  std::string name;  // the symbol's name, or the canonical text: the atom's identity
  std::int64_t lo, hi;
  Dim a, b;  // operands, for all but symbols
};

/// An atom alone, as a dimension.
Dim dim_of(const DimAtomPtr& atom);

/// Fixed symbols give a number; anything left symbolic is a UserError naming it.
std::int64_t evaluate(const Dim& d, const DimBindings& bindings);

/// Resolves an identifier while an expression is parsed.
using DimResolver = std::function<Dim(std::string_view name)>;

/// Parses the text form (`4*batch+1`, `(h+1)//2`, `min(a,b)`); `pos` moves past what was read.
/// UserError names the column on malformed text.
Dim parse_dim(std::string_view text, std::size_t& pos, const DimResolver& resolve);

}  // namespace plait
