// Named sizes and reshapes over them.
#include "io/import.h"

#include <algorithm>

#include "base/error.h"
#include "ops/verify.h"

namespace plait::io {
namespace {

/// A piece of a size that a reshape keeps whole, or a number that it may split.
struct Factor {
  Dim dim;
  std::int64_t value;
};

/// 4*batch*time -> 4, batch, time. A sum, or a quotient, is one piece.
void append_factors(const Dim& dim, const DimBindings& values, std::vector<Factor>& out) {
  const auto is_symbol = [](const DimAtomPtr& atom) { return atom->kind == DimAtom::kSymbol; };
  const bool product =
      !dim.is_const() && dim.constant() == 0 && dim.terms().size() == 1 &&
      std::all_of(dim.terms()[0].factors.begin(), dim.terms()[0].factors.end(), is_symbol);
  if (!product) {
    out.push_back({dim, evaluate(dim, values)});
    return;
  }
  const DimTerm& term = dim.terms()[0];
  if (term.coefficient != 1) out.push_back({Dim(term.coefficient), term.coefficient});
  for (const DimAtomPtr& atom : term.factors) {
    const Dim symbol = Dim::symbol(atom->name, atom->lo, atom->hi);
    out.push_back({symbol, evaluate(symbol, values)});
  }
}

/// The product of some of `left` whose value is `target`, symbols before numbers; takes them out.
std::optional<Dim> take_product(std::vector<Factor>& left, std::int64_t target) {
  if (target == 1) return Dim(1);
  for (int numbers = 0; numbers < 2; ++numbers) {
    for (std::size_t i = 0; i < left.size(); ++i) {
      const Factor f = left[i];
      if (f.dim.is_const() != (numbers == 1) || f.value <= 1) continue;
      if (target % f.value == 0) {
        left.erase(left.begin() + static_cast<std::ptrdiff_t>(i));
        if (const auto rest = take_product(left, target / f.value)) return f.dim * *rest;
        left.insert(left.begin() + static_cast<std::ptrdiff_t>(i), f);
      } else if (numbers == 1 && f.value % target == 0) {
        left[i] = {Dim(f.value / target), f.value / target};
        return Dim(target);
      }
    }
  }
  return std::nullopt;
}

}  // namespace

Dim Import::named(const std::string& name, std::int64_t value) {
  constexpr std::int64_t kRoom = 1 << 16;
  sizes[name] = value;
  return Dim::symbol(name, 1, std::max(kRoom, value > kRoom ? value * 4 : value));
}

DimBindings Import::bindings() const {
  DimBindings out;
  for (const auto& [name, value] : sizes) out.emplace(name, Dim(value));
  return out;
}

Import import_with_sizes(const std::function<Import(bool)>& build) {
  std::string why;
  try {
    Import import = build(true);
    for (const ir::Graph& graph : import.package.graphs) {
      verify_types(graph);
      verify_types(substitute(graph, import.bindings()));
    }
    return import;
  } catch (const UserError& e) {
    why = e.what();
  }
  Import import = build(false);
  for (const ir::Graph& graph : import.package.graphs) verify_types(graph);
  import.notes.push_back("sizes are numbers and --set cannot change them: " + why);
  return import;
}

std::optional<Shape> reshaped(const Shape& from, const Sizes& target, const DimBindings& values) {
  std::vector<Factor> left;
  std::int64_t waiting = 1;  // the product of the factors in `left`
  std::size_t next = 0;
  Shape out;
  for (std::int64_t size : target) {
    if (size <= 0) return std::nullopt;
    // Sizes of `from` are taken up in order until they can hold this one.
    while (waiting % size != 0 && next < from.size()) {
      append_factors(from[next], values, left);
      const std::int64_t value = evaluate(from[next++], values);
      if (value <= 0) return std::nullopt;
      waiting *= value;
    }
    if (waiting % size != 0) return std::nullopt;
    const std::optional<Dim> dim = take_product(left, size);
    if (!dim) return std::nullopt;
    out.push_back(*dim);
    waiting /= size;
  }
  while (next < from.size()) waiting *= evaluate(from[next++], values);
  if (waiting != 1) return std::nullopt;
  return out;
}

std::string why_bad_sizes(const Sizes& sizes) {
  constexpr std::int64_t kMaxElements = std::int64_t{1} << 48;
  std::int64_t elements = 1;
  for (std::int64_t size : sizes) {
    if (size < 0) return str("size ", size, " is negative");
    if (size > kMaxElements || (size > 0 && elements > kMaxElements / size)) {
      return str("sizes ", shape_text(sizes), " are more than 2^48 elements");
    }
    elements = std::max<std::int64_t>(elements * size, 1);
  }
  return "";
}

}  // namespace plait::io
