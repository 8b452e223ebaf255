// A loop nest: one output element per point of the parallel indices, made from loads at
// quasi-affine indices, a scalar body, an optional reduction and what follows it. An op whose input
// indices are quasi-affine in its output index is exactly one Nest; its index part is the op's
// index map, from which operation counts, sharding and fusion are derived.
#pragma once

#include <string>
#include <vector>

#include "base/array.h"
#include "base/dim.h"
#include "loop/expr.h"

namespace plait::loop {

enum class Reduce { kNone, kSum, kMax, kMin, kProd };

/// An index of the nest. As a Dim it is a symbol named after it, ranging over [0, extent).
struct IndexVar {
  std::string name;
  Dim extent;
  bool reduced = false;
};

/// lo <= index < hi must hold for a load to happen.
struct Guard {
  Dim index, lo, hi;
};

/// operand[index...], or `otherwise` where a guard fails (padding).
struct Access {
  int operand = 0;
  std::vector<Dim> index;
  std::vector<Guard> guards{};
  double otherwise = 0;
};

/// An index read from an integer operand (gather). Its value must lie in [0, extent).
struct LoadedIndex {
  std::string name;
  Dim extent;
  Access from;
};

struct Nest {
  std::vector<IndexVar> vars;  // the output's, in the order of its dimensions, then the reduced
  std::vector<LoadedIndex> loaded;
  std::vector<Access> loads;
  Expr body;  // over the loads
  Reduce reduce = Reduce::kNone;
  Expr finish{};  // over acc() and loads that no reduced index enters; empty: the reduced value
  /// The variable along which the loads stand one behind the other: load i is the value where its
  /// one guard, on that variable, holds, and is read at the distance from that guard's `lo`. -1:
  /// they do not.
  int joined = -1;
};

/// The Dim that stands for an index variable of this extent.
Dim index_symbol(const std::string& name, const Dim& extent);
/// Makes the variable and returns its Dim.
Dim add_index(Nest& nest, const std::string& name, const Dim& extent, bool reduced = false);
Dim add_loaded(Nest& nest, const std::string& name, const Dim& extent, Access from);
/// Appends a load and returns it as an expression.
Expr add_load(Nest& nest, Access access);

/// `mk,nk->mn`: operand indices, then the output's. Compound indices stand in brackets.
std::string map_text(const Nest& nest);

/// Points of the nest: the product of all extents.
Dim point_count(const Nest& nest);

/// Runs the nest. Sizes come from the arrays; `bindings` fixes symbols that are not indices.
/// Computes in int64 when all are integers, in double when a reduction or an f64 takes part, else
/// in float; rounds once into `out`. RunError when a loaded index is out of range.
void interpret(const Nest& nest, const std::vector<const Array*>& operands, Array& out,
               const DimBindings& bindings = {});

}  // namespace plait::loop
