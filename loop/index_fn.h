// Index expressions compiled for evaluation: an affine part over slots, and a rest. A slot is the
// current value of an index variable or of a loaded index.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "base/dim.h"

namespace plait::loop {

/// An index expression over slots (the nest's variables, then its loaded indices).
struct IndexFn {
  struct Factor {
    int slot = -1;         // >= 0: the value of a slot
    DimAtom::Kind kind{};  // otherwise an operation on two expressions
    std::vector<IndexFn> operands{};
  };
  struct Product {
    std::int64_t coefficient;
    std::vector<Factor> factors;
  };
  std::int64_t constant = 0;
  std::vector<std::int64_t> linear;  // per slot
  std::vector<Product> rest;

  std::int64_t eval(const std::vector<std::int64_t>& slots) const {
    std::int64_t v = constant;
    for (std::size_t i = 0; i < linear.size(); ++i) v += linear[i] * slots[i];
    for (const Product& p : rest) {
      std::int64_t product = p.coefficient;
      for (const Factor& f : p.factors) product *= factor(f, slots);
      v += product;
    }
    return v;
  }

  /// Whether the part that is not affine changes with a slot.
  bool rest_mentions(std::size_t slot) const {
    for (const Product& p : rest) {
      for (const Factor& f : p.factors) {
        if (f.slot == static_cast<int>(slot)) return true;
        for (const IndexFn& o : f.operands) {
          if (o.linear[slot] != 0 || o.rest_mentions(slot)) return true;
        }
      }
    }
    return false;
  }

  static std::int64_t factor(const Factor& f, const std::vector<std::int64_t>& slots) {
    if (f.slot >= 0) return slots[static_cast<std::size_t>(f.slot)];
    const std::int64_t a = f.operands[0].eval(slots), b = f.operands[1].eval(slots);
    if (f.kind == DimAtom::kMin) return std::min(a, b);
    if (f.kind == DimAtom::kMax) return std::max(a, b);
    const std::int64_t q = a / b - ((a % b != 0 && (a < 0) != (b < 0)) ? 1 : 0);
    return f.kind == DimAtom::kFloorDiv ? q : a - q * b;
  }
};

using SlotNames = std::vector<std::string>;

/// Symbols are slots by name, or fixed by `bindings`; UserError naming one that is neither.
IndexFn compile(const Dim& symbolic, const SlotNames& names, const DimBindings& bindings);

}  // namespace plait::loop
