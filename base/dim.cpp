// Canonical form of dimensions: a sorted sum of terms, each a coefficient and sorted atoms.
#include "base/dim.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <limits>

#include "base/error.h"

namespace plait {
namespace {

constexpr std::int64_t kMin64 = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t kMax64 = std::numeric_limits<std::int64_t>::max();
// Products of sums and chains of quotients grow faster than the text that states them.
constexpr std::size_t kMaxTextLength = 4096, kMaxProductTerms = 4096;

std::int64_t saturate(__int128 v) {
  return v < kMin64 ? kMin64 : v > kMax64 ? kMax64 : static_cast<std::int64_t>(v);
}

std::int64_t exact_add(std::int64_t a, std::int64_t b) {
  std::int64_t r;
  if (__builtin_add_overflow(a, b, &r)) fail("size overflows 64 bits: ", a, " + ", b);
  return r;
}

std::int64_t exact_mul(std::int64_t a, std::int64_t b) {
  std::int64_t r;
  if (__builtin_mul_overflow(a, b, &r)) fail("size overflows 64 bits: ", a, " * ", b);
  return r;
}

std::int64_t floor_quotient(std::int64_t a, std::int64_t b) {
  const std::int64_t q = a / b;
  return q - ((a % b != 0 && (a < 0) != (b < 0)) ? 1 : 0);
}

std::int64_t floor_remainder(std::int64_t a, std::int64_t b) {
  const std::int64_t r = a % b;
  return r + ((r != 0 && (r < 0) != (b < 0)) ? b : 0);
}

struct Interval {
  std::int64_t lo, hi;
};

Interval times(Interval a, Interval b) {
  const __int128 p[] = {static_cast<__int128>(a.lo) * b.lo, static_cast<__int128>(a.lo) * b.hi,
                        static_cast<__int128>(a.hi) * b.lo, static_cast<__int128>(a.hi) * b.hi};
  return {saturate(*std::min_element(p, p + 4)), saturate(*std::max_element(p, p + 4))};
}

bool factors_less(const DimTerm& a, const DimTerm& b) {
  return std::lexicographical_compare(
      a.factors.begin(), a.factors.end(), b.factors.begin(), b.factors.end(),
      [](const DimAtomPtr& x, const DimAtomPtr& y) { return x->name < y->name; });
}

bool same_factors(const DimTerm& a, const DimTerm& b) {
  return std::equal(a.factors.begin(), a.factors.end(), b.factors.begin(), b.factors.end(),
                    [](const DimAtomPtr& x, const DimAtomPtr& y) { return x->name == y->name; });
}

std::string operand_text(const Dim& d) {
  const bool simple = d.is_const()
                          ? d.value() >= 0
                          : d.constant() == 0 && d.terms().size() == 1 &&
                                d.terms()[0].coefficient == 1 && d.terms()[0].factors.size() == 1 &&
                                d.terms()[0].factors[0]->kind == DimAtom::kSymbol;
  return simple ? d.text() : "(" + d.text() + ")";
}

std::string atom_text(DimAtom::Kind kind, const Dim& a, const Dim& b) {
  switch (kind) {
    case DimAtom::kFloorDiv:
      return operand_text(a) + "//" + operand_text(b);
    case DimAtom::kMod:
      return operand_text(a) + "%" + operand_text(b);
    case DimAtom::kMin:
      return "min(" + a.text() + "," + b.text() + ")";
    case DimAtom::kMax:
      return "max(" + a.text() + "," + b.text() + ")";
    case DimAtom::kSymbol:
      break;
  }
  throw Bug("a symbol has no operands");
}

/// A product prints its quotients and remainders in parentheses, so that reading is exact.
std::string factor_text(const DimAtom& atom, bool alone) {
  const bool infix = atom.kind == DimAtom::kFloorDiv || atom.kind == DimAtom::kMod;
  return infix && !alone ? "(" + atom.name + ")" : atom.name;
}

Interval atom_bounds(DimAtom::Kind kind, const Dim& a, const Dim& b) {
  const Interval x{a.lo(), a.hi()}, y{std::max<std::int64_t>(b.lo(), 1), b.hi()};
  switch (kind) {
    case DimAtom::kFloorDiv: {
      const std::int64_t q[] = {floor_quotient(x.lo, y.lo), floor_quotient(x.lo, y.hi),
                                floor_quotient(x.hi, y.lo), floor_quotient(x.hi, y.hi)};
      return {*std::min_element(q, q + 4), *std::max_element(q, q + 4)};
    }
    case DimAtom::kMod:
      return {0, x.lo >= 0 ? std::min(x.hi, y.hi - 1) : y.hi - 1};
    case DimAtom::kMin:
      return {std::min(x.lo, b.lo()), std::min(x.hi, b.hi())};
    case DimAtom::kMax:
      return {std::max(x.lo, b.lo()), std::max(x.hi, b.hi())};
    case DimAtom::kSymbol:
      break;
  }
  throw Bug("a symbol states its bounds");
}

/// a / b when b is one term and divides every term of a; false otherwise.
bool divide_exactly(const Dim& a, const Dim& b, std::int64_t& constant,
                    std::vector<DimTerm>& terms) {
  if (b.is_const()) {
    const std::int64_t c = b.value();
    if (a.constant() % c != 0) return false;
    constant = a.constant() / c;
    for (const DimTerm& t : a.terms()) {
      if (t.coefficient % c != 0) return false;
      terms.push_back({t.coefficient / c, t.factors});
    }
    return true;
  }
  if (b.constant() != 0 || b.terms().size() != 1 || a.constant() != 0) return false;
  const DimTerm& by = b.terms()[0];
  constant = 0;
  for (const DimTerm& t : a.terms()) {
    if (by.coefficient == -1 && t.coefficient == kMin64) return false;  // the quotient overflows
    if (t.coefficient % by.coefficient != 0) return false;
    DimTerm q{t.coefficient / by.coefficient, t.factors};
    for (const DimAtomPtr& f : by.factors) {
      auto it = std::find_if(q.factors.begin(), q.factors.end(),
                             [&](const DimAtomPtr& x) { return x->name == f->name; });
      if (it == q.factors.end()) return false;
      q.factors.erase(it);
    }
    if (q.factors.empty()) {
      constant = exact_add(constant, q.coefficient);
    } else {
      terms.push_back(std::move(q));
    }
  }
  return true;
}

}  // namespace

struct Dim::Sum {
  std::vector<DimTerm> terms;
  std::int64_t lo, hi;
  std::string text;
};

const std::vector<DimTerm>& Dim::terms() const {
  static const std::vector<DimTerm> none;
  return sum_ ? sum_->terms : none;
}

std::int64_t Dim::lo() const { return sum_ ? sum_->lo : constant_; }
std::int64_t Dim::hi() const { return sum_ ? sum_->hi : constant_; }

std::int64_t Dim::value() const {
  if (sum_) fail("the size ", text(), " is symbolic where a number is needed; fix it with --set");
  return constant_;
}

std::string Dim::text() const { return sum_ ? sum_->text : std::to_string(constant_); }

Dim Dim::from_terms(std::int64_t constant, std::vector<DimTerm> terms) {
  std::sort(terms.begin(), terms.end(), factors_less);
  std::vector<DimTerm> merged;
  for (DimTerm& t : terms) {
    if (!merged.empty() && same_factors(merged.back(), t)) {
      merged.back().coefficient = exact_add(merged.back().coefficient, t.coefficient);
    } else {
      merged.push_back(std::move(t));
    }
  }
  std::erase_if(merged, [](const DimTerm& t) { return t.coefficient == 0; });
  Dim d(constant);
  if (merged.empty()) return d;
  auto sum = std::make_shared<Sum>();
  __int128 lo = constant, hi = constant;
  for (const DimTerm& t : merged) {
    Interval range{t.coefficient, t.coefficient};
    std::string text;
    const bool alone = t.factors.size() == 1 && t.coefficient == 1 && merged.size() == 1;
    for (const DimAtomPtr& f : t.factors) {
      range = times(range, {f->lo, f->hi});
      text += (text.empty() ? "" : "*") + factor_text(*f, alone && constant == 0);
    }
    lo += range.lo;
    hi += range.hi;
    if (t.coefficient == -1) {
      text = "-" + text;
    } else if (t.coefficient != 1) {
      text = std::to_string(t.coefficient) + "*" + text;
    }
    if (!sum->text.empty() && text[0] != '-') sum->text += "+";
    sum->text += text;
    if (sum->text.size() > kMaxTextLength) {
      fail("a size expression is longer than ", kMaxTextLength,
           " characters: ", sum->text.substr(0, 40), "...");
    }
  }
  if (constant > 0) sum->text += "+";
  if (constant != 0) sum->text += std::to_string(constant);
  sum->lo = saturate(lo);
  sum->hi = saturate(hi);
  sum->terms = std::move(merged);
  d.sum_ = std::move(sum);
  return d;
}

Dim Dim::from_atom(DimAtomPtr atom) {
  if (atom->lo == atom->hi && atom->kind != DimAtom::kSymbol) return Dim(atom->lo);
  return from_terms(0, {DimTerm{1, {std::move(atom)}}});
}

Dim Dim::symbol(std::string name, std::int64_t lo, std::int64_t hi) {
  if (lo > hi) fail("symbol ", name, " has an empty range [", lo, ", ", hi, "]");
  return from_atom(
      std::make_shared<DimAtom>(DimAtom{DimAtom::kSymbol, std::move(name), lo, hi, 0, 0}));
}

Dim Dim::atom_of(int kind_number, const Dim& a, const Dim& b) {
  const auto kind = static_cast<DimAtom::Kind>(kind_number);
  const Interval bounds = atom_bounds(kind, a, b);
  return from_atom(
      std::make_shared<DimAtom>(DimAtom{kind, atom_text(kind, a, b), bounds.lo, bounds.hi, a, b}));
}

Dim operator+(const Dim& a, const Dim& b) {
  if (a.is_const() && b.is_const()) return Dim(exact_add(a.constant_, b.constant_));
  std::vector<DimTerm> terms = a.terms();
  terms.insert(terms.end(), b.terms().begin(), b.terms().end());
  return Dim::from_terms(exact_add(a.constant_, b.constant_), std::move(terms));
}

Dim operator*(const Dim& a, const Dim& b) {
  if (a.is_const() && b.is_const()) return Dim(exact_mul(a.constant_, b.constant_));
  if (a.terms().size() * b.terms().size() > kMaxProductTerms) {
    fail("a product of two sizes has more than ", kMaxProductTerms, " terms");
  }
  std::vector<DimTerm> terms;
  for (const DimTerm& x : a.terms()) {
    if (b.constant_ != 0) terms.push_back({exact_mul(x.coefficient, b.constant_), x.factors});
    for (const DimTerm& y : b.terms()) {
      DimTerm t{exact_mul(x.coefficient, y.coefficient), x.factors};
      t.factors.insert(t.factors.end(), y.factors.begin(), y.factors.end());
      std::sort(t.factors.begin(), t.factors.end(),
                [](const DimAtomPtr& p, const DimAtomPtr& q) { return p->name < q->name; });
      terms.push_back(std::move(t));
    }
  }
  if (a.constant_ != 0) {
    for (const DimTerm& y : b.terms()) {
      terms.push_back({exact_mul(a.constant_, y.coefficient), y.factors});
    }
  }
  return Dim::from_terms(exact_mul(a.constant_, b.constant_), std::move(terms));
}

Dim operator-(const Dim& a, const Dim& b) { return a + b * Dim(-1); }

bool operator==(const Dim& a, const Dim& b) {
  if (a.constant_ != b.constant_ || !a.sum_ != !b.sum_) return false;
  return a.sum_ == b.sum_ || a.sum_->text == b.sum_->text;
}

Dim floordiv(const Dim& a, const Dim& b) {
  if (b.lo() <= 0) fail("division of a size by ", b.text(), ", which may be zero or negative");
  if (a.is_const() && b.is_const()) return Dim(floor_quotient(a.constant_, b.constant_));
  std::int64_t constant = 0;
  std::vector<DimTerm> terms;
  if (divide_exactly(a, b, constant, terms)) return Dim::from_terms(constant, std::move(terms));
  if (b.is_const()) {  // (c*x + r) // c = x + r // c
    const std::int64_t c = b.constant_;
    std::vector<DimTerm> whole, rest;
    for (const DimTerm& t : a.terms()) {
      if (t.coefficient % c == 0) {
        whole.push_back({t.coefficient / c, t.factors});
      } else {
        rest.push_back(t);
      }
    }
    const Dim r = Dim::from_terms(floor_remainder(a.constant_, c), std::move(rest));
    const Dim head = Dim::from_terms(floor_quotient(a.constant_, c), std::move(whole));
    if (r.lo() >= 0 && r.hi() < c) return head;
    if (r.constant_ == 0 && r.terms().size() == 1 && r.terms()[0].factors.size() == 1 &&
        r.terms()[0].coefficient == 1) {
      const DimAtom& inner = *r.terms()[0].factors[0];
      if (inner.kind == DimAtom::kFloorDiv && inner.b.is_const()) {  // (x//m)//n = x//(m*n)
        return head + floordiv(inner.a, inner.b * b);
      }
    }
    return head + Dim::atom_of(DimAtom::kFloorDiv, r, b);
  }
  return Dim::atom_of(DimAtom::kFloorDiv, a, b);
}

Dim mod(const Dim& a, const Dim& b) {
  if (b.lo() <= 0) fail("remainder of a size by ", b.text(), ", which may be zero or negative");
  if (a.is_const() && b.is_const()) {
    return Dim(floor_remainder(a.constant_, b.constant_));
  }
  std::int64_t constant = 0;
  std::vector<DimTerm> terms;
  if (divide_exactly(a, b, constant, terms)) return Dim(0);
  if (!b.is_const()) return Dim::atom_of(DimAtom::kMod, a, b);
  const std::int64_t c = b.constant_;
  std::vector<DimTerm> rest;
  for (const DimTerm& t : a.terms()) {
    const std::int64_t k = floor_remainder(t.coefficient, c);
    if (k != 0) rest.push_back({k, t.factors});
  }
  const Dim r = Dim::from_terms(floor_remainder(a.constant_, c), std::move(rest));
  if (r.lo() >= 0 && r.hi() < c) return r;
  if (r.constant_ == 0 && r.terms().size() == 1 && r.terms()[0].factors.size() == 1 &&
      r.terms()[0].coefficient == 1) {
    const DimAtom& inner = *r.terms()[0].factors[0];
    if (inner.kind == DimAtom::kMod && inner.b.is_const() && inner.b.constant() % c == 0) {
      return mod(inner.a, b);  // (x % (c*n)) % c = x % c
    }
  }
  return Dim::atom_of(DimAtom::kMod, r, b);
}

Dim min(const Dim& a, const Dim& b) {
  const Dim difference = a - b;
  if (difference.hi() <= 0) return a;
  if (difference.lo() >= 0) return b;
  return a.text() < b.text() ? Dim::atom_of(DimAtom::kMin, a, b)
                             : Dim::atom_of(DimAtom::kMin, b, a);
}

Dim max(const Dim& a, const Dim& b) {
  const Dim difference = a - b;
  if (difference.lo() >= 0) return a;
  if (difference.hi() <= 0) return b;
  return a.text() < b.text() ? Dim::atom_of(DimAtom::kMax, a, b)
                             : Dim::atom_of(DimAtom::kMax, b, a);
}

Dim Dim::substitute(const DimBindings& bindings) const {
  if (is_const()) return *this;
  Dim result(constant_);
  for (const DimTerm& t : terms()) {
    Dim product(t.coefficient);
    for (const DimAtomPtr& f : t.factors) {
      Dim value;
      switch (f->kind) {
        case DimAtom::kSymbol: {
          const auto it = bindings.find(f->name);
          value = it == bindings.end() ? from_atom(f) : it->second;
          break;
        }
        case DimAtom::kFloorDiv:
          value = floordiv(f->a.substitute(bindings), f->b.substitute(bindings));
          break;
        case DimAtom::kMod:
          value = mod(f->a.substitute(bindings), f->b.substitute(bindings));
          break;
        case DimAtom::kMin:
          value = min(f->a.substitute(bindings), f->b.substitute(bindings));
          break;
        case DimAtom::kMax:
          value = max(f->a.substitute(bindings), f->b.substitute(bindings));
          break;
      }
      product = product * value;
    }
    result = result + product;
  }
  return result;
}

void Dim::collect_symbols(std::map<std::string, Dim>& out) const {
  for (const DimTerm& t : terms()) {
    for (const DimAtomPtr& f : t.factors) {
      if (f->kind == DimAtom::kSymbol) {
        out.emplace(f->name, from_atom(f));
      } else {
        f->a.collect_symbols(out);
        f->b.collect_symbols(out);
      }
    }
  }
}

Dim dim_of(const DimAtomPtr& atom) { return Dim::from_atom(atom); }

std::int64_t evaluate(const Dim& d, const DimBindings& bindings) {
  return d.is_const() ? d.constant() : d.substitute(bindings).value();
}

}  // namespace plait
