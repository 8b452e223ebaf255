// The kernels and contractions that planning makes of a graph, lowered on the null target: what
// tests of their text, of the printers and of the interpreter go over.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "ir/graph.h"
#include "loop/contraction.h"
#include "loop/kernel.h"
#include "ops/op.h"

namespace plait::plan {

struct PlannedKernel {
  std::string where;  // of its step: `%conv1`
  std::shared_ptr<const loop::Kernel> kernel;
  std::vector<Dim> elements;  // of each buffer: those of the value it holds
};

struct PlannedProduct {
  std::string where;
  loop::Contraction contraction;
  std::shared_ptr<const loop::Kernel> epilogue;  // null: the product is the result
  std::vector<Dim> elements;                     // of a, b, then of c or the epilogue's buffers
};

struct Planned {
  std::vector<PlannedKernel> kernels;  // no epilogues
  std::vector<PlannedProduct> products;
  DimBindings largest;  // of the graph's symbols
};

Planned planned_of(const ir::Graph& graph);

/// Every sample of an op as a graph, in f32 and in `other` where the op takes that.
std::vector<ir::Graph> sample_graphs(const Op& op, DType other);

}  // namespace plait::plan
